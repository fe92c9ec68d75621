/* A program may move its break. The C library's allocator has moved it before, so that there is
   memory below. */
#include "abuse.h"
#include <sys/mman.h>

#define PAGES 1500u
#define MORE 16

int main(void) {
    limit(25);
    uint64_t *words = filled(PAGES);
    char *small = malloc(100);
    CHECK(small);
    volatile char *end = sbrk(0);
    CHECK(end != (void *)-1 && end[-(int)PAGE] == 0);
    for (int n = 0; n < MORE; n++) {
        volatile char *at = sbrk(PAGE);
        CHECK(at == end + n * PAGE && at[0] == 0);
        at[0] = (char)(n + 1);
        CHECK(n == 0 || at[-(int)PAGE] == n);
    }
    CHECK(munmap((void *)end, PAGE) == 0);
    CHECK(brk((void *)end) == 0 && sbrk(0) == end);
    CHECK(wrong(words, PAGES) == 0);
    free(small);
    puts("well");
    return 0;
}
