/* An allocator of its own, as Chromium's: one lock, and handlers that hold it during a fork. */
#include "abuse.h"
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#define ARENA (64u << 20)
#define PAGES 2048u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *arena;
static size_t used;

static void take(void) { pthread_mutex_lock(&lock); }

static void give(void) { pthread_mutex_unlock(&lock); }

static void *from_arena(size_t align, size_t bytes) {
    take();
    if (!arena) {
        int both = PROT_READ | PROT_WRITE;
        arena = mmap(NULL, ARENA, both, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (arena == MAP_FAILED)
            _Exit(9);
    }
    size_t at = (used + 16 + align - 1) / align * align;
    if (at + bytes > ARENA)
        _Exit(9);
    used = at + bytes;
    memcpy(arena + at - 8, &bytes, 8);
    give();
    return arena + at;
}

void *malloc(size_t bytes) { return from_arena(16, bytes); }

void *calloc(size_t count, size_t bytes) { return from_arena(16, count * bytes); }

void *memalign(size_t align, size_t bytes) { return from_arena(align, bytes); }

void *aligned_alloc(size_t align, size_t bytes) { return from_arena(align, bytes); }

int posix_memalign(void **out, size_t align, size_t bytes) {
    *out = from_arena(align, bytes);
    return 0;
}

void *realloc(void *old, size_t bytes) {
    void *new = from_arena(16, bytes);
    size_t before = 0;
    if (old)
        memcpy(&before, (char *)old - 8, 8);
    return memcpy(new, old ? old : new, before < bytes ? before : bytes);
}

void free(void *old) { (void)old; }

int main(void) {
    limit(25);
    CHECK(pthread_atfork(take, give, give) == 0);
    uint64_t *words = filled(PAGES);
    for (int round = 0; round < 3; round++) {
        pid_t child = fork();
        if (child == 0) {
            limit(20);
            CHECK(wrong(words, PAGES) == 0);
            memset(malloc(PAGE), 1, PAGE);
            _exit(0);
        }
        child_was_well(child);
    }
    CHECK(wrong(words, PAGES) == 0);
    puts("well");
    return 0;
}
