/* Reads and writes pages, the popular ones more often than others (Zipf, theta 1), and checks what
 * it reads.
 *
 * zipf PAGES READS FILE: the numbers of the pages go to FILE, 4 bytes each. */
#include "common.h"

enum { PAGES_MAX = 1 << 16, READS_MAX = 1 << 20 };

/* None of this is on the device. */
static double below[PAGES_MAX];
static uint32_t order[PAGES_MAX], chosen[READS_MAX];
static uint64_t newest[PAGES_MAX];

/* Popular pages lie among the others. */
static void shuffle(size_t count, uint64_t *state) {
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count - 1; i > 0; i--) {
        size_t other = next_random(state) % (i + 1);
        uint32_t page = order[i];
        order[i] = order[other], order[other] = page;
    }
}

static uint32_t draw(size_t pages, double sum, uint64_t *state) {
    double at = (next_random(state) >> 11) * 0x1p-53 * sum;
    size_t low = 0, high = pages - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (below[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return order[low];
}

int main(int given, char **words) {
    CHECK(given == 4);
    size_t pages = strtoul(words[1], NULL, 10), reads = strtoul(words[2], NULL, 10);
    CHECK(pages <= PAGES_MAX && reads <= READS_MAX);
    uint64_t state = 1;
    double sum = 0;
    for (size_t i = 0; i < pages; i++)
        below[i] = sum += 1.0 / (i + 1);
    shuffle(pages, &state);
    for (size_t i = 0; i < reads; i++)
        chosen[i] = draw(pages, sum, &state);
    FILE *file = fopen(words[3], "w");
    CHECK(file && fwrite(chosen, sizeof *chosen, reads, file) == reads);
    CHECK(fclose(file) == 0);

    volatile uint64_t *memory = aligned_alloc(PAGE, pages * PAGE);
    for (size_t i = 0; i < reads; i++) {
        size_t page = chosen[i];
        volatile uint64_t *word = memory + page * (PAGE / sizeof *memory);
        CHECK(*word == newest[page]);
        if (i % 4 == 0)
            *word = newest[page] = i;
    }
    puts("well");
    return 0;
}
