/* Calls the functions of sluice_control.h as they must not be called, and in a forked child. */
#define _GNU_SOURCE
#include "sluice_control.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                      \
            _exit(1);                                                                            \
        }                                                                                        \
    } while (0)

enum { PAGE = 4096, PAGES = 64 };

static void with_a_ring(struct sluice_ctl *device, char *memory) {
    struct sluice_ctl_result result;
    uint8_t known[PAGES];
    char why[64];
    uint64_t value, number;
    /* The ring has more operations than this header. */
    static const uint32_t none[] = {0, 6, 7, 12, 13, 14, 15, 16, 99, UINT32_MAX};
    for (size_t n = 0; n < sizeof none / sizeof none[0]; n++) {
        CHECK(sluice_ctl_command(device, none[n], memory, PAGE, NULL) == SLUICE_CTL_INVALID);
        CHECK(sluice_ctl_command_bytes(device, none[n], 0, PAGE, NULL) == SLUICE_CTL_INVALID);
        CHECK(sluice_ctl_send(device, none[n], memory, PAGE, &number) == SLUICE_CTL_INVALID);
    }
    CHECK(sluice_ctl_command(NULL, SLUICE_CTL_PIN, memory, PAGE, NULL) == SLUICE_CTL_INVALID);
    CHECK(sluice_ctl_command(device, SLUICE_CTL_PIN, memory, 0, NULL) == SLUICE_CTL_RANGE);
    CHECK(sluice_ctl_command(device, SLUICE_CTL_PIN, &result, 8, NULL) == SLUICE_CTL_RANGE);
    CHECK(sluice_ctl_command(device, SLUICE_CTL_PIN, (void *)-8, 64, NULL) == SLUICE_CTL_RANGE);
    uint64_t end = sluice_ctl_device_bytes(device);
    CHECK(sluice_ctl_command_bytes(device, SLUICE_CTL_EVICT, end - 1, 2, NULL) ==
          SLUICE_CTL_RANGE);
    CHECK(sluice_ctl_command_bytes(device, SLUICE_CTL_EVICT, end - 1, 1, NULL) ==
          SLUICE_CTL_NOTHING);

    CHECK(sluice_ctl_command(device, SLUICE_CTL_EVICT, memory, PAGES * PAGE, NULL) >= 0);
    CHECK(sluice_ctl_residency(device, memory, PAGES * PAGE, known) == SLUICE_CTL_DONE);
    for (int n = 0; n < PAGES; n++)
        CHECK(known[n] == 0);
    /* One byte of the last page is enough for it. */
    CHECK(sluice_ctl_command(device, SLUICE_CTL_PREFETCH, memory + 1, (PAGES - 1) * PAGE,
                             &result) == SLUICE_CTL_DONE);
    CHECK(result.pages == PAGES && result.changed == PAGES && result.refused == 0);
    CHECK(sluice_ctl_residency(device, memory, PAGES * PAGE, known) == SLUICE_CTL_DONE);
    for (int n = 0; n < PAGES; n++)
        CHECK(known[n] == (SLUICE_CTL_CACHED | SLUICE_CTL_MAPPED));
    CHECK(sluice_ctl_send(device, SLUICE_CTL_PIN, memory, PAGE, &number) == SLUICE_CTL_PENDING);
    CHECK(sluice_ctl_end(device, number, true, NULL) == SLUICE_CTL_DONE);
    /* An end is reported once. One that never comes was "under way" for ever. */
    CHECK(sluice_ctl_end(device, number, true, NULL) == SLUICE_CTL_INVALID);
    CHECK(sluice_ctl_end(device, number + 1, false, NULL) == SLUICE_CTL_INVALID);
    CHECK(sluice_ctl_power_cut(device, 0) == SLUICE_CTL_REFUSED);
    known[0] = 0xa5;
    CHECK(sluice_ctl_residency(device, memory, 0, known) == SLUICE_CTL_RANGE);
    /* A list of so many pages has no room anywhere: it ended the program. */
    CHECK(sluice_ctl_residency(device, memory, (size_t)1 << 62, known) == SLUICE_CTL_RANGE);
    CHECK(known[0] == 0xa5);
    CHECK(sluice_ctl_residency(device, memory, 1, known) == SLUICE_CTL_DONE);
    CHECK(known[0] & SLUICE_CTL_PINNED);
    CHECK(sluice_ctl_command(device, SLUICE_CTL_EVICT, memory, 1, &result) == SLUICE_CTL_REFUSED);
    CHECK(strstr(sluice_ctl_reason_text(result.reason), "unpin") != NULL);

    CHECK(sluice_ctl_set(device, "cache.policy=lru", NULL, 0) == SLUICE_CTL_DONE);
    CHECK(sluice_ctl_set(device, "cache.policy=lru", why, sizeof why) == SLUICE_CTL_NOTHING);
    CHECK(sluice_ctl_set(device, "device.capacity=8GiB", why, sizeof why) == SLUICE_CTL_REFUSED);
    CHECK(strstr(why, "device.capacity") != NULL && strlen(why) < sizeof why);
    CHECK(sluice_ctl_set(device, NULL, why, sizeof why) == SLUICE_CTL_INVALID);
    CHECK(sluice_ctl_counter(device, "pinned_pages", true, &value) == SLUICE_CTL_DONE);
    CHECK(value == 1);
    CHECK(sluice_ctl_counter(device, "no such", true, &value) == SLUICE_CTL_INVALID);
}

static void in_a_child(const struct sluice_ctl *device, char *memory) {
    pid_t child = fork();
    if (child == 0) {
        CHECK(sluice_ctl_command(device, SLUICE_CTL_PIN, memory, 1, NULL) == SLUICE_CTL_GONE);
        struct sluice_ctl *own = sluice_ctl_open(NULL);
        CHECK(own != NULL);
        CHECK(sluice_ctl_command(own, SLUICE_CTL_UNPIN, memory, 1, NULL) == SLUICE_CTL_DONE);
        sluice_ctl_close(own);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(sluice_ctl_command(device, SLUICE_CTL_UNPIN, memory, 1, NULL) == SLUICE_CTL_DONE);
}

/* The device is a file, which is mapped twice. */
static void with_a_file(struct sluice_ctl *device, const char *path) {
    uint8_t known[PAGES];
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    char *whole = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *part = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 8 * PAGE);
    CHECK(whole != MAP_FAILED && part != MAP_FAILED);
    CHECK(sluice_ctl_residency(device, whole, PAGES * PAGE, known) == SLUICE_CTL_DONE);
    for (int n = 0; n < PAGES; n++)
        CHECK(known[n] == 0);
    whole[9 * PAGE] = 1;
    CHECK(sluice_ctl_command(device, SLUICE_CTL_PIN, whole + 20 * PAGE, 1, NULL) ==
          SLUICE_CTL_DONE);
    CHECK(sluice_ctl_residency(device, whole, PAGES * PAGE, known) == SLUICE_CTL_DONE);
    for (int n = 0; n < PAGES; n++)
        CHECK((known[n] != 0) == (n == 9 || n == 20));
    CHECK((known[20] & SLUICE_CTL_PINNED) && !(known[9] & SLUICE_CTL_PINNED));
    CHECK(sluice_ctl_residency(device, part, 2 * PAGE, known) == SLUICE_CTL_DONE);
    CHECK(known[0] == 0 && (known[1] & SLUICE_CTL_CACHED));
    CHECK(sluice_ctl_residency(device, &fd, 1, known) == SLUICE_CTL_RANGE);
    CHECK(sluice_ctl_residency(device, part, 0, known) == SLUICE_CTL_RANGE);
}

int main(int count, char **arguments) {
    CHECK(count >= 2 && sluice_ctl_abi() == SLUICE_CTL_ABI);
    CHECK(sluice_ctl_page_bytes() == PAGE);
    int error = 0;
    struct sluice_ctl *device = sluice_ctl_open(&error);
    if (count == 3) {
        CHECK(device != NULL);
        with_a_file(device, arguments[2]);
        sluice_ctl_close(device);
        return 0;
    }
    if (strcmp(arguments[1], "ring") != 0) {
        int expected = !strcmp(arguments[1], "none") ? SLUICE_CTL_NO_RING : SLUICE_CTL_NOT_HERE;
        CHECK(device == NULL && error == expected);
        sluice_ctl_close(device);
        return 0;
    }
    CHECK(device != NULL && error == SLUICE_CTL_DONE);
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
    CHECK(memory != MAP_FAILED);
    memset(memory, 1, PAGES * PAGE);
    with_a_ring(device, memory);
    in_a_child(device, memory);
    sluice_ctl_close(device);
    return 0;
}
