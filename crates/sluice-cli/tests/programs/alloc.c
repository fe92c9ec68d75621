/* The malloc family from eight threads, every byte checked. */
#include "common.h"
#include <errno.h>
#include <malloc.h>
#include <pthread.h>

enum { THREADS = 8, SLOTS = 200 };

struct block {
    unsigned char *bytes;
    size_t size;
    unsigned char tag;
};

static long operations;

static size_t random_size(uint64_t *random) {
    uint64_t draw = next_random(random);
    switch (draw % 100) {
    case 0: return 0;
    case 1: return (draw >> 8) % (1u << 20);
    case 2 ... 9: return (draw >> 8) % 20000;
    default: return (draw >> 8) % 600;
    }
}

/* First, last and some bytes between: the ends are where blocks overlap. */
static void write_block(struct block *block, unsigned char tag) {
    block->tag = tag;
    if (block->size <= 4096)
        memset(block->bytes, tag, block->size);
    else
        for (size_t i = 0; i < block->size; i += (i + 257 < block->size ? 257 : 1))
            block->bytes[i] = tag;
}

static void check_block(const struct block *block, size_t size) {
    if (block->size <= 4096)
        for (size_t i = 0; i < size; i++)
            CHECK(block->bytes[i] == block->tag);
    else
        for (size_t i = 0; i < size; i += (i + 257 < block->size ? 257 : 1))
            CHECK(block->bytes[i] == block->tag);
}

static void allocate(struct block *block, uint64_t *random) {
    size_t size = random_size(random), align = 16;
    void *p = NULL;
    switch (next_random(random) % 8) {
    case 0:
        p = calloc(1 + size / 16, 16);
        size = (1 + size / 16) * 16;
        for (size_t i = 0; p && i < size; i++)
            CHECK(((char *)p)[i] == 0);
        break;
    case 1:
        align = 8u << next_random(random) % 10;
        CHECK(posix_memalign(&p, align, size) == 0);
        break;
    case 2:
        align = 16u << next_random(random) % 9;
        p = aligned_alloc(align, (size + align - 1) / align * align);
        break;
    case 3:
        align = 1u << next_random(random) % 13;
        p = memalign(align, size);
        break;
    case 4:
        p = reallocarray(NULL, size / 8 + 1, 8);
        size = (size / 8 + 1) * 8;
        break;
    default:
        p = malloc(size);
    }
    CHECK(p && (uintptr_t)p % align == 0 && (uintptr_t)p % 16 % (align < 16 ? align : 16) == 0);
    size_t usable = malloc_usable_size(p);
    CHECK(usable >= size);
    /* All that is said to be usable must be. */
    block->bytes = p;
    block->size = usable;
}

static void resize(struct block *block, uint64_t *random) {
    size_t size = random_size(random) + 1;
    size_t kept = size < block->size ? size : block->size;
    unsigned char *moved = realloc(block->bytes, size);
    CHECK(moved);
    block->bytes = moved;
    check_block(block, kept <= block->size && block->size > 4096 ? (kept < 257 ? 1 : kept - 257)
                                                                 : kept);
    block->size = malloc_usable_size(moved);
    CHECK(block->size >= size);
}

static void *work(void *argument) {
    uint64_t random = (uintptr_t)argument;
    struct block blocks[SLOTS] = {0};
    for (long i = 0; i < operations; i++) {
        struct block *block = &blocks[next_random(&random) % SLOTS];
        unsigned char tag = next_random(&random);
        if (!block->bytes) {
            allocate(block, &random);
        } else if (next_random(&random) % 3 == 0) {
            check_block(block, block->size);
            resize(block, &random);
        } else {
            check_block(block, block->size);
            free(block->bytes);
            block->bytes = NULL;
            continue;
        }
        write_block(block, tag);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (blocks[i].bytes)
            check_block(&blocks[i], blocks[i].size);
        free(blocks[i].bytes);
    }
    return NULL;
}

static void refusals(void) {
    void *p = &p;
    volatile size_t huge = SIZE_MAX / 2;
    errno = 0;
    CHECK(calloc(huge, 4) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(reallocarray(NULL, huge, 4) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(malloc(huge) == NULL && errno == ENOMEM);
    volatile size_t largest = SIZE_MAX;
    CHECK(pvalloc(largest) == NULL && errno == ENOMEM);
    CHECK(memalign(largest, 1) == NULL && errno == EINVAL);
    CHECK(posix_memalign(&p, 24, 100) == EINVAL && posix_memalign(&p, 4, 100) == EINVAL);
    CHECK(p == &p);
    char *kept = malloc(1000);
    CHECK(kept);
    memset(kept, 7, 1000);
    CHECK(realloc(kept, huge) == NULL && kept[0] == 7 && kept[999] == 7);
    CHECK(malloc_usable_size(NULL) == 0);
    free(kept);
    free(NULL);
    free(valloc(100));
    free(pvalloc(5000));
}

int main(int count, char **arguments) {
    operations = count > 1 ? atol(arguments[1]) : 1000;
    refusals();
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, work, (void *)(i + 1)));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("well");
    return 0;
}
