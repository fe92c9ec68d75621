// A program that keeps pages on a persistent device: each page is its number and a generation,
// sixty-four times over.
//
//   persist PATH write PAGES GENERATION HOW   HOW: msync, fsync, fdatasync, syncfs, sync, aio,
//                                             SYS_msync and its kin by number, async or none
//   persist PATH check PAGES GENERATION       all pages are of this generation
//   persist PATH rounds PAGES LOG             generation after generation; LOG gets each that
//                                             msync says is durable
//   persist PATH since PAGES GENERATION       each page is of this generation or of a later one
//   persist PATH hold PAGES GENERATION FILE   writes, makes FILE and waits for a signal
//   persist PATH titled PAGES GENERATION FILE the same, with a title written over its environment
//   persist PATH keep PAGES GENERATION FILE HOW   the same, and flushes before
//   persist PATH again PAGES GENERATION FILE  flushes until that is done; FILE is made if one fails
//   persist PATH leave PAGES GENERATION FILE  the same in a child of its own session, and ends
//   persist PATH busy PAGES GENERATION FILE   writes while three threads flush a page for ever
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

// The generation of a word, or -1 if it is of another page.
static int64_t of_word(uint64_t page, uint64_t found)
{
    if (found == 0)
        return 0;
    return found >> 32 == page ? (int64_t)(found & 0xffffffff) : -1;
}

// The generations at the start and the end of a page. A program that is killed may have stored the
// first words of the next one. False if it is anything else.
static int look(const uint64_t *memory, uint64_t page, int64_t *first, int64_t *last)
{
    const uint64_t *words = memory + page * WORDS;
    *first = of_word(page, words[0]);
    *last = of_word(page, words[WORDS - 1]);
    int is_well = *last >= 0 && (*first == *last || *first == *last + 1);
    for (int at = 1; at < WORDS; at++) {
        int64_t before = of_word(page, words[at - 1]), now = of_word(page, words[at]);
        is_well &= now == before || (before == *first && now == *last);
    }
    return is_well;
}

// Prints from which word on a page is of which generation.
static void tell_runs(const uint64_t *words, uint64_t page)
{
    for (int at = 0; at < WORDS; at++)
        if (at == 0 || words[at] != words[at - 1])
            printf(" %lld from %d", (long long)of_word(page, words[at]), at);
    printf("\n");
}

static int aio(int fd)
{
    struct aiocb request = {.aio_fildes = fd};
    if (aio_fsync(O_SYNC, &request) != 0)
        return -1;
    while (aio_error(&request) == EINPROGRESS)
        sched_yield();
    return aio_return(&request);
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
    if (!strcmp(how, "syncfs"))
        return syncfs(fd);
    if (!strcmp(how, "sync"))
        sync();
    if (!strcmp(how, "aio"))
        return aio(fd);
    if (!strcmp(how, "SYS_msync"))
        return syscall(SYS_msync, memory, bytes, MS_SYNC);
    if (!strcmp(how, "SYS_fsync"))
        return syscall(SYS_fsync, fd);
    if (!strcmp(how, "SYS_fdatasync"))
        return syscall(SYS_fdatasync, fd);
    if (!strcmp(how, "SYS_syncfs"))
        return syscall(SYS_syncfs, fd);
    if (!strcmp(how, "SYS_sync"))
        return syscall(SYS_sync);
    return 0;
}

// Stores to a page and flushes it for ever.
static void *flush(void *page)
{
    for (uint64_t *word = page;; *word = *word + 0) {
        if (msync(page, PAGE, MS_SYNC) != 0) {
            perror("msync");
            _exit(1);
        }
    }
    return NULL;
}

// Makes a file with this process's number. The file appears whole, so that the process that waits
// for it may read it.
static void tell(const char *path)
{
    char part[4096];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "w");
    if (file == NULL || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) != 0 ||
        rename(part, path) != 0) {
        perror(path);
        _exit(1);
    }
}

int main(int count, char **args)
{
    if (count < 5)
        return 2;
    int fd = open(args[1], O_RDWR | O_CLOEXEC);
    uint64_t pages = strtoull(args[3], NULL, 10);
    size_t bytes = pages * PAGE;
    int is_busy = !strcmp(args[2], "busy");
    uint64_t *memory = mmap(NULL, bytes + 3 * PAGE * is_busy, PROT_READ | PROT_WRITE,
                            MAP_SHARED, fd, 0);
    if (fd < 0 || memory == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    uint64_t generation = strtoull(args[4], NULL, 10);
    for (char **at = environ; !strcmp(args[2], "titled") && *at != NULL; at++)
        memset(*at, ' ', strlen(*at));
    if (!strcmp(args[2], "leave")) {
        // In the parent nothing is left to do.
        if (fork() != 0) {
            while (access(args[5], F_OK) != 0)
                usleep(1000);
            _exit(0);
        }
        setsid();
    }
    if (is_busy) {
        pthread_t thread;
        for (int at = 0; at < 3; at++)
            pthread_create(&thread, NULL, flush, memory + (pages + at) * WORDS);
    }
    if (strcmp(args[2], "check") && strcmp(args[2], "rounds") && strcmp(args[2], "since")) {
        for (uint64_t page = 0; page < pages; page++)
            fill(memory, page, generation);
        if (!strcmp(args[2], "again")) {
            while (msync(memory, bytes, MS_SYNC) != 0)
                tell(args[5]);
            _exit(0);
        }
        if (strcmp(args[2], "write")) {
            // "ctl" is asked from outside, once the file is there.
            if (!strcmp(args[2], "keep") && kept(fd, memory, bytes, args[6]) != 0) {
                perror(args[6]);
                return 1;
            }
            tell(args[5]);
            pause();
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
        int64_t first, last, newest = 0;
        for (uint64_t page = 0; page < pages; page++) {
            look(memory, page, &first, &last);
            newest = first > newest ? first : newest;
        }
        // Each page ends one generation before it begins the next. None goes back to the one
        // before: killed in the midst of that, a page would have older words before newer ones.
        for (uint64_t page = 0; page < pages; page++)
            fill(memory, page, newest);
        for (uint64_t now = newest + 1;; now++) {
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
        int64_t first, last, wanted = (int64_t)generation;
        int is_well = look(memory, page, &first, &last);
        is_well &= is_since ? last >= wanted : first == wanted && last == wanted;
        if (!is_well) {
            printf("page %llu is of generations %lld to %lld:", (unsigned long long)page,
                   (long long)first, (long long)last);
            tell_runs(memory + page * WORDS, page);
            return 1;
        }
    }
    printf("well\n");
    return 0;
}
