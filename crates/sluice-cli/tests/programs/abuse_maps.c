/* Reads every mapping of the process that /proc/self/maps calls readable, as collectors and crash
   reporters do. */
#include "abuse.h"
#include <fcntl.h>

#define PAGES 2048u
#define MANY 4096u

static struct {
    unsigned long from, to;
} ranges[MANY];

static size_t read_ranges(void) {
    size_t count = 0;
    char line[1000];
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) {
        char access[8];
        CHECK(count < MANY);
        int got = sscanf(line, "%lx-%lx %7s", &ranges[count].from, &ranges[count].to, access);
        int special = strstr(line, "[vvar") || strstr(line, "[vsyscall");
        count += got == 3 && access[0] == 'r' && !special;
    }
    fclose(maps);
    return count;
}

/* Whether one can read it: a mapping may be larger than its file. */
static int exists(int pipe_in, int pipe_out, const char *at) {
    char byte;
    return write(pipe_out, at, 1) == 1 && read(pipe_in, &byte, 1) == 1;
}

/* The pages at a mapping's ends and a few in between. */
static unsigned look(int in, int out, unsigned long from, unsigned long to) {
    unsigned sum = 0;
    unsigned long step = (to - from) / 64 / PAGE * PAGE + PAGE;
    for (unsigned long at = from; at < to; at += step)
        if (exists(in, out, (const char *)at))
            sum += *(const volatile unsigned char *)at;
    return sum;
}

int main(void) {
    limit(25);
    uint64_t *words = filled(PAGES);
    int ends[2];
    CHECK(pipe(ends) == 0);
    size_t count = read_ranges();
    CHECK(count > 10);
    unsigned sum = 0;
    for (size_t n = 0; n < count; n++)
        sum += look(ends[0], ends[1], ranges[n].from, ranges[n].to);
    CHECK(sum > 0 && wrong(words, PAGES) == 0);
    puts("well");
    return 0;
}
