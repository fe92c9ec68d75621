/* Another thread stores while one forks. The child's snapshot holds each page as it was at one
   moment, and keeps it when the page has left the child's cache and come back. */
#include "abuse.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

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

int main(int count, char **arguments) {
    limit(28);
    CHECK(count == 2);
    int rounds = atoi(arguments[1]);
    words = filled(PAGES);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, keep_storing, NULL));
    size_t stale = 0;
    for (int round = 0; round < rounds; round++) {
        make_clean();
        go = 1;
        usleep(round % 20 * 50);
        pid_t child = fork();
        if (child == 0) {
            limit(20);
            _exit(changed_in_the_child() != 0);
        }
        go = 0;
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
        stale += WEXITSTATUS(status) != 0;
    }
    stop = 1;
    pthread_join(thread, NULL);
    if (stale != 0)
        fprintf(stderr, "%zu of %d children saw a page change\n", stale, rounds);
    CHECK(stale == 0);
    puts("well");
    return 0;
}
