/* Three parts with misses that are known, on a cache of 256 pages that evicts first what came
   first: 512 pages once (all miss), mark "loaded"; the same pages twice (all miss again), mark
   "done"; 64 other pages (all miss). No heap and no streams.

   regions              as above
   regions file PATH    makes the file instead of the first mark, and waits to be noticed
   regions sleep        waits three seconds from its start instead of the first mark
   regions sizes        uses 2048 pages once, then 512 of them ten times between the marks "loaded"
                        and "done", then all again
   regions many         sets as many marks as it can, and says how many these are by its status
   regions bad          names that cannot be a mark's */
#define _GNU_SOURCE
#include "sluice_control.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static void touch(volatile unsigned char *from, int pages) {
    for (int page = 0; page < pages; page++)
        from[page * PAGE]++;
}

static double now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    double start = now();
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "many")) {
        int set = 0;
        while (sluice_mark("again") == SLUICE_CTL_DONE)
            set++;
        return set;
    }
    if (!strcmp(how, "bad"))
        return !(sluice_mark("") == SLUICE_CTL_INVALID && sluice_mark(0) == SLUICE_CTL_INVALID &&
                 sluice_mark("a b") == SLUICE_CTL_INVALID &&
                 sluice_mark("0123456789012345678901234567890123456789012345678901234567890123"
                             "4") == SLUICE_CTL_INVALID);
    unsigned char *memory =
        mmap(0, 1024 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!strcmp(how, "sizes")) {
        memory = mmap(0, 2048 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        touch(memory, 2048);
        int failed = sluice_mark("loaded");
        for (int round = 0; round < 10; round++)
            touch(memory, 512);
        failed |= sluice_mark("done");
        touch(memory, 2048);
        failed |= sluice_mark("last");
        _exit(failed ? 6 : 0);
    }
    touch(memory, 512);
    if (!strcmp(how, "file")) {
        if (open(argv[2], O_CREAT | O_WRONLY, 0600) < 0)
            return 3;
        usleep(1500000);
    } else if (!strcmp(how, "sleep")) {
        while (now() < start + 3)
            usleep(10000);
    } else if (sluice_mark("loaded") != SLUICE_CTL_DONE) {
        return 4;
    }
    touch(memory, 512);
    touch(memory, 512);
    if (sluice_mark("done") != SLUICE_CTL_DONE)
        return 5;
    touch(memory + 512 * PAGE, 64);
    _exit(0);
}
