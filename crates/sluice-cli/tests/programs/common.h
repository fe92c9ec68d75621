/* What the test programs share: a pattern that has every word's place and generation. */
#pragma once
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u

/* Ends the program with a message; the tests look at status and text. */
#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            _Exit(1);                                                           \
        }                                                                       \
    } while (0)

static inline uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
}

static inline uint64_t next_random(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15ull;
    return mix(*state);
}

/* Fills words of a page range so that no two generations agree anywhere. */
static inline void fill(uint64_t *words, size_t count, uint64_t generation) {
    for (size_t i = 0; i < count; i++)
        words[i] = mix(generation << 40 | i);
}

static inline size_t wrong_words(const uint64_t *words, size_t count, uint64_t generation) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += words[i] != mix(generation << 40 | i);
    return wrong;
}
