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

/* Parts of a program, each of which a run names. */
struct part {
    const char *name;
    void (*run)(void);
};

/* Memory that must stay as it is. */
static uint64_t *words;

/* Runs the part of this name. Returns the exit status. */
static inline int run_part(const struct part *parts, size_t count, const char *name) {
    words = filled(2048);
    for (size_t n = 0; n < count; n++) {
        if (strcmp(parts[n].name, name) == 0) {
            parts[n].run();
            CHECK(wrong(words, 2048) == 0);
            puts("well");
            return 0;
        }
    }
    return 2;
}

#define RUN_PART(parts, name) run_part(parts, sizeof parts / sizeof *parts, name)
