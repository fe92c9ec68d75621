// Takes memory of the device by name, and lets nothing else be there.
#define _GNU_SOURCE
#include "sluice_control.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (4ul << 20)
#define WORDS (BYTES / 8)

static void check(int is_so, const char *what, int line) {
    if (!is_so) {
        fprintf(stderr, "line %d: %s (errno %d)\n", line, what, errno);
        exit(1);
    }
}
#define CHECK(is_so) check(is_so, #is_so, __LINE__)

int main(int count, char **words) {
    uint64_t *plain = malloc(BYTES);
    CHECK(plain != NULL);
    memset(plain, 1, BYTES);
    if (count > 1) {
        errno = 0;
        CHECK(sluice_alloc(BYTES) == NULL && errno == atoi(words[1]));
        CHECK(sluice_free(NULL, 0) == 0 && sluice_free(plain, BYTES) == -1 && errno == EINVAL);
        puts("refused");
        return 0;
    }
    for (int round = 0; round < 3; round++) {
        uint64_t *here = sluice_alloc(BYTES - 100);
        CHECK(here != NULL && (uintptr_t)here % 4096 == 0);
        for (uint64_t word = 0; word < WORDS - 20; word += 100)
            CHECK(here[word] == 0);
        for (uint64_t word = 0; word < WORDS - 20; word += 100)
            here[word] = word + round;
        for (uint64_t word = 0; word < WORDS - 20; word += 100)
            CHECK(here[word] == word + round);
        CHECK(sluice_free(here, BYTES - 100) == 0);
        CHECK(sluice_free(here, BYTES - 100) == -1 && errno == EINVAL);
    }
    CHECK(sluice_alloc(0) == NULL && errno == EINVAL);
    CHECK(sluice_alloc(1ul << 40) == NULL && errno == ENOMEM);
    CHECK(sluice_free(plain, BYTES) == -1 && errno == EINVAL);
    puts("well");
}
