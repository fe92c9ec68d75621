/* In a guest, on memory of the device's node or of a DAX device (PAGES [DAX DEVICE]): what commands
   do to the next touches. Counts are those of the whole guest, whose kernel keeps its own data
   elsewhere. */
#define _GNU_SOURCE
#include "sluice_control.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static struct sluice_ctl *device;

static uint64_t counter(const char *name) {
    uint64_t value = 0;
    int code = sluice_ctl_counter(device, name, true, &value);
    if (code != SLUICE_CTL_DONE) {
        printf("failed counter %s: %s\n", name, sluice_ctl_text(code));
        exit(1);
    }
    return value;
}

static void touch(volatile unsigned char *memory, unsigned pages, unsigned char is) {
    for (unsigned page = 0; page < pages; page++)
        if (memory[(size_t)page * PAGE] != is) {
            printf("failed page %u\n", page);
            exit(1);
        }
}

/* A command; its counts, and the traps of touching the range afterwards. */
static void say(const char *what, int operation, unsigned char *memory, unsigned pages) {
    struct sluice_ctl_result result = {0};
    int code = sluice_ctl_command(device, operation, memory, (size_t)pages * PAGE, &result);
    uint64_t traps = counter("traps");
    touch(memory, pages, 1);
    traps = counter("traps") - traps;
    printf("%s %d %llu %llu %llu %llu %llu\n", what, code, (unsigned long long)result.pages,
           (unsigned long long)result.changed, (unsigned long long)result.already,
           (unsigned long long)result.refused, (unsigned long long)traps);
}

int main(int count, char **arguments) {
    unsigned pages = count > 1 ? (unsigned)atoi(arguments[1]) : 8192;
    int error;
    device = sluice_ctl_open(&error);
    if (device == NULL) {
        printf("failed open: %s\n", sluice_ctl_text(error));
        return 1;
    }
    int file = count > 2 ? open(arguments[2], O_RDWR) : -1;
    int flags = count > 2 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    unsigned char *memory =
        mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, flags, file, 0);
    if (memory == MAP_FAILED) {
        perror("failed map");
        return 1;
    }
    /* A DAX device is mapped in large pages only. */
    if (file < 0)
        madvise(memory, (size_t)pages * PAGE, MADV_NOHUGEPAGE);
    memset(memory, 1, (size_t)pages * PAGE);

    unsigned some = 256;
    say("evict", SLUICE_CTL_EVICT, memory, some);
    sluice_ctl_command(device, SLUICE_CTL_EVICT, memory, some * PAGE, NULL);
    say("prefetch", SLUICE_CTL_PREFETCH, memory, some);
    say("pin", SLUICE_CTL_PIN, memory, some);
    touch(memory + some * PAGE, pages - some, 1);
    touch(memory + some * PAGE, pages - some, 1);
    say("pinned", SLUICE_CTL_PIN, memory, some);
    uint8_t known[256];
    int code = sluice_ctl_residency(device, memory, some * PAGE, known);
    unsigned pinned = 0;
    for (unsigned n = 0; n < some; n++)
        pinned += known[n] == (SLUICE_CTL_CACHED | SLUICE_CTL_MAPPED | SLUICE_CTL_PINNED);
    printf("residency %d %u\n", code, pinned);
    code = sluice_ctl_set(device, "cache.policy=lru", NULL, 0);
    printf("policy %d\n", code);
    say("unpin", SLUICE_CTL_UNPIN, memory, some);
    printf("moving %llu %llu\n", (unsigned long long)counter("misses"),
           (unsigned long long)counter("evictions"));
    static const char *still[] = {"command_prefetches", "command_evictions", "pins", "tunes",
                                  "commands"};
    printf("still");
    for (unsigned n = 0; n < sizeof still / sizeof *still; n++) {
        uint64_t value = 0;
        sluice_ctl_counter(device, still[n], false, &value);
        printf(" %llu", (unsigned long long)value);
    }
    printf("\n");
    sluice_ctl_close(device);
    return 0;
}
