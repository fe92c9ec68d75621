/* Values of a program on pages that have left the device's cache. */
#pragma once
#include "abuse.h"
#include <sys/mman.h>

/* A copy of a value at the end of one page and the start of the next, of which neither is there. */
static inline void *gone(const void *value, size_t bytes) {
    size_t whole = PAGE + (bytes + PAGE - 1) / PAGE * PAGE;
    char *pages = aligned_alloc(PAGE, whole), *at = pages + PAGE - bytes / 16 * 8 % PAGE;
    CHECK(pages);
    memset(pages, 0, whole);
    memcpy(at, value, bytes);
    CHECK(madvise(pages, whole, MADV_PAGEOUT) == 0);
    return at;
}

static inline char *text(const char *value) {
    return gone(value, strlen(value) + 1);
}

/* Room for an answer, and a value that is written here. */
#define ROOM(type) ((type *)gone(&(type){0}, sizeof(type)))
#define GONE(type, ...) ((type *)gone(&(type)__VA_ARGS__, sizeof(type)))
