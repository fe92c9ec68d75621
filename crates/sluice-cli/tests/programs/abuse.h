/* What the programs that abuse the system share: a limit in time, and memory that is checked. */
#pragma once
#include "common.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PER_PAGE (PAGE / 8)

/* Kills this process after so many seconds, whatever its threads and handlers do by then. Each
   process sets its own limit: a forked child has no timers. */
static inline void limit(int seconds) {
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec once = {{0, 0}, {seconds, 0}};
    CHECK(timer_settime(timer, 0, &once, NULL) == 0);
}

/* Page-aligned memory of the heap, filled with generation 1. */
static inline uint64_t *filled(size_t pages) {
    uint64_t *words = aligned_alloc(PAGE, pages * PAGE);
    CHECK(words);
    fill(words, pages * PER_PAGE, 1);
    return words;
}

/* Words that are wrong, of memory as `filled` made it. */
static inline size_t wrong(const uint64_t *words, size_t pages) {
    return wrong_words(words, pages * PER_PAGE, 1);
}

/* Waits for a child, and insists that it ended with status 0. */
static inline void child_was_well(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, __WALL) == child);
    if (WIFSIGNALED(status))
        fprintf(stderr, "the child ended by signal %d\n", WTERMSIG(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
