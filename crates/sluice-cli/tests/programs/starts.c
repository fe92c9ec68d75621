/* Prints the pages that a program's start touches, and those that a fork and its child do: the
 * medians of a few of each. */
#include "common.h"
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 7 };

/* Faults that were served without reading anything: one for each page touched first. */
static long faults(int who) {
    struct rusage usage;
    CHECK(getrusage(who, &usage) == 0);
    return usage.ru_minflt;
}

static void await(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static long of_start(void) {
    extern char **environ;
    char *arguments[] = {"true", NULL};
    pid_t child;
    long before = faults(RUSAGE_CHILDREN);
    CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0);
    await(child);
    return faults(RUSAGE_CHILDREN) - before;
}

static long of_fork(void) {
    long before = faults(RUSAGE_CHILDREN) + faults(RUSAGE_SELF);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        exit(0);
    await(child);
    return faults(RUSAGE_CHILDREN) + faults(RUSAGE_SELF) - before;
}

static int by_size(const void *a, const void *b) {
    long one = *(const long *)a, other = *(const long *)b;
    return (one > other) - (one < other);
}

static long median(long (*of)(void)) {
    long all[ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        all[round] = of();
    qsort(all, ROUNDS, sizeof *all, by_size);
    return all[ROUNDS / 2];
}

int main(void) {
    long start = median(of_start), fork = median(of_fork);
    printf("%ld %ld\n", start, fork);
    return 0;
}
