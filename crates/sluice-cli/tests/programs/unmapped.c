/* Memory that the program has unmapped: nothing is there for it, for the kernel or for a later
 * mapping. */
#include "abuse.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define BOTH (PROT_READ | PROT_WRITE)
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define PAGES 1000u
#define HOLES 40000u
#define SAYS(call, error) (errno = 0, (call) == -1 && errno == (error))

static __thread sigjmp_buf out;

static void leave(int number) {
    (void)number;
    siglongjmp(out, 1);
}

static int loads(const char *at) {
    if (sigsetjmp(out, 1))
        return 0;
    *(volatile const char *)at;
    return 1;
}

static int stores(char *at) {
    if (sigsetjmp(out, 1))
        return 0;
    *(volatile char *)at = 7;
    return 1;
}

/* The heap is not used: it would be given the pages that are looked at. */
static void gone(char *at, size_t pages) {
    static unsigned char there[PAGES];
    int ends[2];
    CHECK(pipe(ends) == 0);
    for (size_t page = 0; page < pages; page++) {
        CHECK(!loads(at + page * PAGE));
        CHECK(!stores(at + page * PAGE + 8));
    }
    CHECK(SAYS(write(ends[1], at, 1), EFAULT));
    CHECK(write(ends[1], "a", 1) == 1 && SAYS(read(ends[0], at, 1), EFAULT));
    CHECK(SAYS(mincore(at, pages * PAGE, there), ENOMEM));
    CHECK(SAYS(msync(at, pages * PAGE, MS_ASYNC), ENOMEM));
    CHECK(SAYS(mprotect(at, pages * PAGE, BOTH), ENOMEM));
    CHECK(SAYS(madvise(at, pages * PAGE, MADV_WILLNEED), ENOMEM));
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
}

static char *map(size_t pages, int protection, int flags) {
    char *at = mmap(NULL, pages * PAGE, protection, PLAIN | flags, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void is_zero(const char *at, size_t pages) {
    for (size_t byte = 0; byte < pages * PAGE; byte++)
        CHECK(at[byte] == 0);
}

/* From the midst of a mapping, whose rest stays; then all of it comes again, empty. */
static void midst(void) {
    char *at = map(PAGES, BOTH, 0);
    unsigned char there[8];
    fill((uint64_t *)at, PAGES * PER_PAGE, 1);
    CHECK(munmap(at + 100 * PAGE, 700 * PAGE) == 0);
    CHECK(munmap(at + 100 * PAGE, 700 * PAGE) == 0);
    gone(at + 100 * PAGE, 700);
    CHECK(SAYS(mincore(at + 97 * PAGE, 8 * PAGE, there), ENOMEM));
    CHECK(mincore(at + 92 * PAGE, 8 * PAGE, there) == 0);
    CHECK(msync(at, 100 * PAGE, MS_SYNC) == 0);
    CHECK(wrong_words((uint64_t *)at, 100 * PER_PAGE, 1) == 0);
    for (size_t word = 800 * PER_PAGE; word < PAGES * PER_PAGE; word++)
        CHECK(((uint64_t *)at)[word] == mix(1ull << 40 | word));
    pid_t child = fork();
    if (child == 0) {
        limit(60);
        gone(at + 100 * PAGE, 20);
        _Exit(0);
    }
    child_was_well(child);
    char *again = mmap(at + 100 * PAGE, 700 * PAGE, BOTH, PLAIN | MAP_FIXED, -1, 0);
    CHECK(again == at + 100 * PAGE);
    is_zero(again, 700);
    fill((uint64_t *)at, PAGES * PER_PAGE, 1);
    CHECK(wrong_words((uint64_t *)at, PAGES * PER_PAGE, 1) == 0);
    CHECK(munmap(at, PAGES * PAGE) == 0);
    gone(at, PAGES);
}

/* What a program moves or cuts is gone where it was. */
static void moves(void) {
    char *at = map(PAGES, BOTH, 0), *to = map(PAGES, BOTH, 0);
    fill((uint64_t *)at, PAGES * PER_PAGE, 1);
    CHECK(mremap(at, PAGES * PAGE, 600 * PAGE, 0) == at);
    gone(at + 600 * PAGE, 400);
    CHECK(mremap(at, 600 * PAGE, 600 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
    gone(at, 600);
    CHECK(wrong_words((uint64_t *)to, 600 * PER_PAGE, 1) == 0);
    CHECK(munmap(to, PAGES * PAGE) == 0);
    gone(to, PAGES);
}

/* Memory without access, or which is the kernel's by now. */
static void others(void) {
    char *at = map(PAGES, PROT_NONE, MAP_NORESERVE);
    CHECK(mprotect(at, 10 * PAGE, BOTH) == 0);
    CHECK(stores(at + PAGE) && !stores(at + 10 * PAGE));
    CHECK(munmap(at, PAGES * PAGE) == 0);
    gone(at, PAGES);
    at = map(PAGES, BOTH, 0);
    CHECK(stores(at + PAGE) && mprotect(at, 20 * PAGE, PROT_READ) == 0);
    CHECK(loads(at + PAGE) && !stores(at + PAGE));
    CHECK(munmap(at, PAGES * PAGE) == 0);
    gone(at, PAGES);
}

/* A hole is free for a mapping at its place, and only the hole. */
static void wanted(void) {
    char *at = map(PAGES, BOTH, 0), *hole = at + 100 * PAGE;
    int only_there = PLAIN | MAP_FIXED_NOREPLACE;
    fill((uint64_t *)at, PAGES * PER_PAGE, 1);
    CHECK(munmap(hole, 100 * PAGE) == 0);
    CHECK(mmap(hole - PAGE, 100 * PAGE, BOTH, only_there, -1, 0) == MAP_FAILED);
    CHECK(errno == EEXIST);
    gone(hole, 100);
    CHECK(mmap(hole, 40 * PAGE, BOTH, only_there, -1, 0) == hole);
    CHECK(mmap(hole + 40 * PAGE, 10 * PAGE, PROT_READ, only_there, -1, 0) == hole + 40 * PAGE);
    CHECK(mmap(hole + 50 * PAGE, 40 * PAGE, BOTH, PLAIN, -1, 0) == hole + 50 * PAGE);
    is_zero(hole, 90);
    CHECK(stores(hole) && !stores(hole + 40 * PAGE) && stores(hole + 50 * PAGE));
    gone(hole + 90 * PAGE, 10);
    CHECK(wrong_words((uint64_t *)at, 100 * PER_PAGE, 1) == 0);
    CHECK(munmap(at, PAGES * PAGE) == 0);
    gone(at, PAGES);
}

static char *_Atomic shared;
static _Atomic int uses_it, ends;

static void *uses(void *nothing) {
    (void)nothing;
    size_t turn = 0;
    while (!ends) {
        uses_it = 1;
        char *at = shared;
        if (at)
            stores(at + turn++ % 64 * PAGE);
        uses_it = 0;
    }
    return NULL;
}

/* A thread that still stores while another unmaps: no store is seen in the next mapping. */
static void races(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, uses, NULL) == 0);
    for (int round = 0; round < 300; round++) {
        char *at = map(64, BOTH, 0);
        shared = at;
        for (int page = 0; page < 64; page += 8)
            at[page * PAGE + 100] = 1;
        CHECK(munmap(at, 64 * PAGE) == 0);
        shared = NULL;
        while (uses_it)
            sched_yield();
        char *next = map(64, BOTH, 0);
        is_zero(next, 64);
        CHECK(munmap(next, 64 * PAGE) == 0);
    }
    ends = 1;
    CHECK(pthread_join(thread, NULL) == 0);
}

/* More holes than the kernel has mappings for: nothing that is left is lost. */
static void holes(void) {
    char *at = map(2 * HOLES, BOTH, 0);
    for (size_t hole = 0; hole < HOLES; hole += 100)
        *(uint64_t *)(at + 2 * hole * PAGE) = mix(hole);
    for (size_t hole = 0; hole < HOLES; hole++)
        CHECK(munmap(at + (2 * hole + 1) * PAGE, PAGE) == 0 || errno == ENOMEM);
    for (size_t hole = 0; hole < HOLES; hole += 100)
        CHECK(*(uint64_t *)(at + 2 * hole * PAGE) == mix(hole));
    CHECK(munmap(at, 2 * HOLES * PAGE) == 0);
    at = map(2 * HOLES, BOTH, 0);
    for (size_t page = 0; page < 2 * HOLES; page += 100)
        CHECK(*(uint64_t *)(at + page * PAGE) == 0);
    CHECK(munmap(at, 2 * HOLES * PAGE) == 0);
}

int main(void) {
    limit(120);
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    midst();
    moves();
    others();
    wanted();
    races();
    holes();
    puts("well");
    return 0;
}
