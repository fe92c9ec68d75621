/* Another thread stores while one forks. The child's snapshot holds each page as it was at one
   moment, and keeps it when the page has left the child's cache and come back. */
#include "abuse.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* As many pages as fit into a cache of 4 MiB, and more. */
#define PAGES 1024u
#define OTHERS 1280u

static uint64_t *words;
static atomic_int go, stop;

/* Every word of a page gets the round's number, page after page, again and again. */
static void *keep_storing(void *unused) {
    (void)unused;
    for (uint64_t value = 2; !stop; value++) {
        while (!go && !stop)
            sched_yield();
        for (size_t page = 0; page < PAGES && !stop; page++)
            __atomic_store_n(&words[page * PER_PAGE], value, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Reads what is there, pushes it out of the cache, and reads it again. */
static size_t changed_in_the_child(void) {
    static uint64_t found[PAGES];
    for (size_t page = 0; page < PAGES; page++)
        found[page] = words[page * PER_PAGE];
    volatile unsigned char *others = aligned_alloc(PAGE, OTHERS * PAGE);
    CHECK(others);
    for (size_t page = 0; page < OTHERS; page++)
        others[page * PAGE] = 1;
    size_t changed = 0;
    for (size_t page = 0; page < PAGES; page++)
        changed += words[page * PER_PAGE] != found[page];
    return changed;
}

/* Makes every page clean: it leaves the cache and comes back by a load. */
static void make_clean(void) {
    volatile unsigned char *others = aligned_alloc(PAGE, OTHERS * PAGE);
    CHECK(others);
    for (size_t page = 0; page < OTHERS; page++)
        others[page * PAGE] = 1;
    free((void *)others);
    uint64_t sum = 0;
    for (size_t page = PAGES; page-- > 0;)
        sum += *(volatile uint64_t *)&words[page * PER_PAGE];
    CHECK(sum != 0);
}

/* Without giving the CPU away. */
static void wait_about(long microseconds) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &to);
    while ((to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000 < microseconds);
}

int main(int count, char **arguments) {
    limit(28);
    CHECK(count == 2);
    time_t until = time(NULL) + atoi(arguments[1]);
    words = filled(PAGES);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, keep_storing, NULL));
    for (int round = 0; time(NULL) < until || round < 10; round++) {
        make_clean();
        go = 1;
        wait_about(round * 37 % 1000);
        pid_t child = fork();
        if (child == 0) {
            limit(20);
            _exit(changed_in_the_child() != 0);
        }
        go = 0;
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
        if (WEXITSTATUS(status) != 0)
            fprintf(stderr, "the child of round %d saw a page change\n", round);
        CHECK(WEXITSTATUS(status) == 0);
    }
    stop = 1;
    pthread_join(thread, NULL);
    puts("well");
    return 0;
}
