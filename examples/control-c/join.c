/* A join that prepares the device for what it needs: the index of the small table is pinned, and
   each part of the large table is prefetched while the part before it is worked on.

   cc -std=c11 -O2 -I crates/sluice-control/include examples/control-c/join.c -o join \
      -L target/release -lsluice_control -Wl,-rpath,$PWD/target/release
   target/release/sluice run --set device.capacity=1GiB --set cache.capacity=8MiB -- ./join

   Without Sluice it computes the same. With an argument it sends the device no command. */
#include "sluice_control.h"
#include <stdio.h>
#include <stdlib.h>

enum { INDEX = 1 << 17, ROWS = 1 << 21, PARTS = 16, PART = ROWS / PARTS };

struct table {
    uint64_t *words;
    size_t bytes;
};

static struct table table(size_t words) {
    struct table made = {malloc(words * sizeof(uint64_t)), words * sizeof(uint64_t)};
    if (made.words == NULL)
        exit(1);
    return made;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
    return x ^ x >> 33;
}

static uint64_t counter(const struct sluice_ctl *device, const char *name) {
    uint64_t value = 0;
    if (device != NULL)
        sluice_ctl_counter(device, name, true, &value);
    return value;
}

int main(int count, char **arguments) {
    (void)arguments;
    int error = 0;
    struct sluice_ctl *device = sluice_ctl_open(&error);
    if (device == NULL)
        fprintf(stderr, "join: %s\n", sluice_ctl_text(error));
    const struct sluice_ctl *told = count > 1 ? NULL : device;

    struct table index = table(INDEX), rows = table(ROWS);
    for (uint64_t n = 0; n < INDEX; n++)
        index.words[n] = mix(n);
    for (uint64_t n = 0; n < ROWS; n++)
        rows.words[n] = mix(n + INDEX) % INDEX;

    if (told != NULL) {
        struct sluice_ctl_result result;
        int code = sluice_ctl_command(told, SLUICE_CTL_PIN, index.words, index.bytes, &result);
        fprintf(stderr, "join: pin: %s, %llu of %llu pages\n", sluice_ctl_text(code),
                (unsigned long long)(result.changed + result.already),
                (unsigned long long)result.pages);
    }
    uint64_t misses = counter(device, "misses");
    uint64_t sum = 0, under_way = 0;
    for (int part = 0; part < PARTS; part++) {
        const uint64_t *words = rows.words + (size_t)part * PART;
        if (told != NULL) {
            /* This part should be there by now; the next one comes while we work. */
            if (part > 0)
                sluice_ctl_end(told, under_way, true, NULL);
            else
                sluice_ctl_command(told, SLUICE_CTL_PREFETCH, words, PART * 8, NULL);
            if (part + 1 < PARTS)
                sluice_ctl_send(told, SLUICE_CTL_PREFETCH, words + PART, PART * 8, &under_way);
        }
        for (int n = 0; n < PART; n++)
            sum += index.words[words[n]] * (uint64_t)(n + 1);
    }
    misses = counter(device, "misses") - misses;

    printf("sum %016llx\n", (unsigned long long)sum);
    printf("misses %llu\n", (unsigned long long)misses);
    if (device != NULL) {
        uint8_t first = 0;
        sluice_ctl_residency(device, index.words, 1, &first);
        printf("index %s\n", first & SLUICE_CTL_PINNED ? "pinned" : "not pinned");
    }
    sluice_ctl_close(device);
    free(index.words);
    free(rows.words);
    return 0;
}
