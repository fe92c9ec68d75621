/* The program counts by a malloc and a free of its own, which go on by the C library's names for
   itself. All others of the family are the C library's. Built so that libraries find it. */
#include "abuse.h"
#include <dlfcn.h>
#include <malloc.h>

#define PAGES 2048u

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *__libc_valloc(size_t);
void *__libc_pvalloc(size_t);
void __libc_free(void *);

static size_t made, freed;

void *malloc(size_t size) {
    made++;
    return __libc_malloc(size);
}

void free(void *at) {
    freed++;
    __libc_free(at);
}

/* Bytes that are there, and that a longer piece keeps. */
static char *written(char *at, size_t size) {
    CHECK(at);
    memset(at, 7, size);
    at = __libc_realloc(at, 3 * size);
    CHECK(at && at[0] == 7 && at[size - 1] == 7);
    CHECK(malloc_usable_size(at) >= 3 * size);
    return at;
}

static void mixed(size_t size) {
    free(written(calloc(1, size), size));
    free(written(malloc(size), size));
    __libc_free(written(aligned_alloc(64, size), size));
    char *at = realloc(written(__libc_calloc(2, size), size), 5 * size);
    CHECK(at && at[size - 1] == 7);
    free(at);
    free(written(__libc_memalign(256, size), size));
    free(written(__libc_valloc(size), size));
    free(written(__libc_pvalloc(size), size));
    void (*found)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "__libc_free");
    CHECK(found);
    found(written(strdup("text"), 5));
    free(written(__libc_realloc(NULL, size), size));
    __libc_free(NULL);
}

int main(void) {
    limit(25);
    uint64_t *words = filled(PAGES);
    for (size_t size = 16; size < 1 << 21; size *= 3)
        mixed(size);
    CHECK(made > 0 && freed > made);
    CHECK(wrong(words, PAGES) == 0);
    uint64_t *more = malloc(PAGES * PAGE);
    CHECK(more);
    fill(more, PAGES * PER_PAGE, 1);
    CHECK(wrong(more, PAGES) == 0 && wrong(words, PAGES) == 0);
    free(more);
    puts("well");
    return 0;
}
