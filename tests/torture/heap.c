/* malloc and its kin, and brk. */
#include "torture.h"
#include <malloc.h>

#define BLOCKS 160
#define HEAP_BYTES (10ul << 20)

static struct block {
    char *at;
    size_t bytes;
    uint64_t version;
} blocks[BLOCKS];

static size_t heap_in_use(void) {
    size_t all = 0;
    for (size_t n = 0; n < BLOCKS; n++)
        all += blocks[n].bytes;
    return all;
}

static void drop(struct block *block) {
    check_bytes(block->at, block->bytes, block->version, "heap block");
    free(block->at);
    *block = (struct block){0};
}

/* An empty place, and room for so many bytes. */
static struct block *place(size_t bytes) {
    while (heap_in_use() + bytes > HEAP_BYTES) {
        struct block *block = &blocks[below(BLOCKS)];
        if (block->at)
            drop(block);
    }
    struct block *block = &blocks[below(BLOCKS)];
    if (block->at)
        drop(block);
    return block;
}

/* Mostly small, sometimes larger than what malloc maps by itself. */
static size_t any_size(void) {
    switch (below(6)) {
    case 0: return 1 + below(64);
    case 1: return 1 + below(1024);
    case 2: return 1 + below(1 << 20);
    case 3: return PAGE * (1 + below(40)) - 8 + below(16);
    default: return 1 + below(20000);
    }
}

static void keep(struct block *block, void *at, size_t bytes) {
    MUST(at && malloc_usable_size(at) >= bytes);
    *block = (struct block){at, bytes, next_version()};
    fill_bytes(at, bytes, block->version);
}

static void step_malloc(void) {
    for (int n = 0; n < 6; n++) {
        size_t bytes = any_size();
        keep(place(bytes), malloc(bytes), bytes);
    }
}

static void step_calloc(void) {
    size_t bytes = any_size();
    struct block *block = place(bytes);
    char *at = calloc(bytes, 1);
    MUST(at);
    check_bytes(at, bytes, 0, "calloc");
    keep(block, at, bytes);
}

static void step_aligned(void) {
    size_t bytes = any_size(), align = 16ul << below(11);
    struct block *block = place(bytes);
    void *at = NULL;
    switch (below(4)) {
    case 0: MUST(posix_memalign(&at, align, bytes) == 0); break;
    case 1: at = memalign(align, bytes); break;
    case 2: at = aligned_alloc(align, (bytes + align - 1) / align * align); break;
    default: at = valloc(bytes); align = PAGE;
    }
    MUST((uintptr_t)at % align == 0);
    keep(block, at, bytes);
}

static void step_realloc(void) {
    for (int n = 0; n < 4; n++) {
        struct block *block = &blocks[below(BLOCKS)];
        size_t bytes = any_size();
        if (!block->at || heap_in_use() + bytes > HEAP_BYTES)
            continue;
        char *at = realloc(block->at, bytes);
        MUST(at);
        size_t kept = bytes < block->bytes ? bytes : block->bytes;
        check_bytes(at, kept, block->version, "realloc");
        keep(block, at, bytes);
    }
}

static void step_free_blocks(void) {
    for (int n = 0; n < 10; n++) {
        struct block *block = &blocks[below(BLOCKS)];
        if (block->at)
            drop(block);
    }
}

static void step_odd(void) {
    void *volatile none = malloc(0);
    tell("malloc of nothing is something: %d", none != NULL);
    free(none);
    free(NULL);
    volatile size_t huge = SIZE_MAX / 2;
    errno = 0;
    void *volatile much = malloc(huge);
    tell("malloc of too much: %d errno %d", much != NULL, errno);
    errno = 0;
    much = reallocarray(NULL, huge, 8);
    tell("reallocarray that overflows: %d errno %d", much != NULL, errno);
    errno = 0;
    much = calloc(huge, 8);
    tell("calloc that overflows: %d errno %d", much != NULL, errno);
    void *at = NULL;
    tell("posix_memalign by 3: %d", posix_memalign(&at, 3, 100));
    malloc_trim(0);
}

/* The program's break, there and back. */
static void step_brk(void) {
    size_t bytes = (1 + below(100)) * PAGE;
    char *before = sbrk((intptr_t)bytes);
    MUST(before != (void *)-1);
    fill_bytes(before, bytes, 9);
    thrash();
    check_bytes(before, bytes, 9, "break");
    MUST(sbrk(-(intptr_t)bytes) == before + bytes);
    tell("break: %d", sbrk(0) == before);
}

/* A copy between addresses that are nobody's multiple, over many pages, and one onto itself. */
static void step_copy(void) {
    size_t bytes = 1 + below(600000), ahead = 1 + below(9000);
    char *from = malloc(bytes), *to = malloc(bytes + ahead + 64);
    MUST(from && to);
    fill_bytes(from, bytes, now.step);
    memcpy(to + 3, from, bytes);
    check_bytes(to + 3, bytes, now.step, "memcpy");
    memmove(to + 3 + ahead, to + 3, bytes);
    check_bytes(to + 3 + ahead, bytes, now.step, "memmove up");
    memmove(to + 1, to + 3 + ahead, bytes);
    check_bytes(to + 1, bytes, now.step, "memmove down");
    memset(from, 0, bytes);
    check_bytes(from, bytes, 0, "memset");
    free(from);
    free(to);
}

uint64_t check_heap(void) {
    uint64_t hash = 3;
    for (size_t n = 0; n < BLOCKS; n++) {
        if (!blocks[n].at)
            continue;
        check_bytes(blocks[n].at, blocks[n].bytes, blocks[n].version, "heap block");
        hash = hash_bytes(blocks[n].at, blocks[n].bytes, hash);
    }
    return hash;
}

const struct step heap_steps[] = {
    {"malloc", step_malloc, 12, 0},     {"calloc", step_calloc, 4, 0},
    {"aligned", step_aligned, 5, 0},    {"realloc", step_realloc, 8, 0},
    {"free", step_free_blocks, 8, 0},   {"odd-sizes", step_odd, 1, 0},
    {"brk", step_brk, 2, 1},            {"copy", step_copy, 4, 0},
    {0},
};
