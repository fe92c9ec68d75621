// A program that keeps pages on a persistent device: each page is its number and a generation,
// sixty-four times over.
//
//   persist PATH write PAGES GENERATION HOW   HOW: msync, fsync, fdatasync, async or none
//   persist PATH check PAGES GENERATION       all pages are of this generation
//   persist PATH rounds PAGES LOG             generation after generation; LOG gets each that
//                                             msync says is durable
//   persist PATH since PAGES GENERATION       each page is of this generation or of a later one,
//                                             and as a whole
//   persist PATH hold PAGES GENERATION        writes, says "ready" and waits for a line
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / 8 };

static uint64_t word(uint64_t page, uint64_t generation)
{
    return generation == 0 ? 0 : page << 32 | generation;
}

static void fill(uint64_t *memory, uint64_t page, uint64_t generation)
{
    for (int at = 0; at < WORDS; at++)
        memory[page * WORDS + at] = word(page, generation);
}

// The generation of a page, or -1 if it is none.
static int64_t generation_of(const uint64_t *memory, uint64_t page)
{
    const uint64_t *words = memory + page * WORDS;
    for (int at = 1; at < WORDS; at++)
        if (words[at] != words[0])
            return -1;
    uint64_t generation = words[0] & 0xffffffff;
    return words[0] == word(page, generation) ? (int64_t)generation : -1;
}

static int kept(int fd, void *memory, size_t bytes, const char *how)
{
    if (!strcmp(how, "msync"))
        return msync(memory, bytes, MS_SYNC);
    if (!strcmp(how, "async"))
        return msync(memory, bytes, MS_ASYNC);
    if (!strcmp(how, "fsync"))
        return fsync(fd);
    if (!strcmp(how, "fdatasync"))
        return fdatasync(fd);
    return 0;
}

int main(int count, char **args)
{
    if (count < 5)
        return 2;
    int fd = open(args[1], O_RDWR | O_CLOEXEC);
    uint64_t pages = strtoull(args[3], NULL, 10);
    size_t bytes = pages * PAGE;
    uint64_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || memory == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    uint64_t generation = strtoull(args[4], NULL, 10);
    if (!strcmp(args[2], "write") || !strcmp(args[2], "hold")) {
        for (uint64_t page = 0; page < pages; page++)
            fill(memory, page, generation);
        if (!strcmp(args[2], "hold")) {
            puts("ready");
            fflush(stdout);
            return getchar() == EOF;
        }
        if (kept(fd, memory, bytes, args[5]) != 0) {
            perror(args[5]);
            return 1;
        }
        // Not the library's end: nothing may depend on it.
        printf("written\n");
        fflush(stdout);
        _exit(0);
    }
    if (!strcmp(args[2], "rounds")) {
        int log = open(args[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        int64_t first = generation_of(memory, 0);
        for (uint64_t now = (first > 0 ? first : 0) + 1;; now++) {
            for (uint64_t page = 0; page < pages; page++)
                fill(memory, page, now);
            if (msync(memory, bytes, MS_SYNC) != 0) {
                perror("msync");
                return 1;
            }
            dprintf(log, "%llu\n", (unsigned long long)now);
        }
    }
    int is_since = !strcmp(args[2], "since");
    for (uint64_t page = 0; page < pages; page++) {
        int64_t found = generation_of(memory, page);
        int is_well = is_since ? found >= (int64_t)generation || (found < 0 && 0)
                               : found == (int64_t)generation;
        if (!is_well) {
            printf("page %llu is of generation %lld\n", (unsigned long long)page,
                   (long long)found);
            return 1;
        }
    }
    printf("well\n");
    return 0;
}
