/* A program compiled with -pg: the C library's handler of its timer writes to memory that the C
   library has allocated, with all signals held back. */
#include "common.h"
#include <time.h>

#define PAGES 1024u
#define TICKS 40


int main(void) {
    /* The heap takes turns in the cache, so that all of it leaves again and again. */
    uint64_t *heap = malloc(PAGES * PAGE);
    CHECK(heap);
    for (uint64_t round = 1; clock() < TICKS * CLOCKS_PER_SEC / 100; round++) {
        fill(heap, PAGES * PAGE / 8, round);
        CHECK(wrong_words(heap, PAGES * PAGE / 8, round) == 0);
    }
    puts("well");
    return 0;
}
