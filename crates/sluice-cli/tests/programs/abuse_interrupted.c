/* A handler of a signal forks, reads, sets an action, or allocates, whatever the program was in the
   midst of: an allocation, or a read by way of memory off the device. Its thread would wait for
   itself. */
#include "abuse.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/time.h>

#define PAGES 2048u
#define ENOUGH 100

static enum { FORK, BARE, READ, ACTION, ALLOCATE } act;
static int pause_us, zeros;
static char *of_handler, *of_program;
static _Atomic(char *) of_both;
static volatile sig_atomic_t count;

static void fork_and_wait(pid_t (*make)(void)) {
    pid_t child = make();
    if (child == 0)
        _exit(0);
    child_was_well(child);
}

/* Of the two the other frees what one has allocated. */
static void exchange(size_t bytes) {
    char *made = calloc(1, bytes);
    CHECK(made);
    for (size_t n = 0; n < bytes; n++)
        CHECK(made[n] == 0);
    memset(made, 7, bytes);
    CHECK(made = realloc(made, 3 * bytes));
    for (size_t n = 0; n < bytes; n++)
        CHECK(made[n] == 7);
    char *other = atomic_exchange(&of_both, made);
    if (other && other[0] == 7)
        CHECK(other = realloc(other, 10 * bytes));
    free(other);
}

/* The next signal comes so long after the handler of the last one: a fork that takes longer must
   not keep the program from everything else. */
static void come_again(void) {
    CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, pause_us}}, NULL) == 0);
}

static void act_once(void) {
    if (act == ALLOCATE)
        exchange(100);
    else if (act == FORK)
        fork_and_wait(fork);
    else if (act == BARE)
        fork_and_wait(_Fork);
    else if (act == READ)
        CHECK(read(zeros, of_handler, 30000) == 30000);
    else
        CHECK(sigaction(SIGBUS, &(struct sigaction){.sa_handler = SIG_DFL}, NULL) == 0);
}

static void handler(int signal) {
    (void)signal;
    act_once();
    if (++count < ENOUGH)
        come_again();
}

static void allocate(unsigned round) {
    void *all[64];
    for (unsigned n = 0; n < 64; n++)
        CHECK(all[n] = malloc(16 + n * round % 3000));
    for (unsigned n = 0; n < 64; n++)
        free(all[n]);
}

/* More than the cache has, so that most signals come while an allocation waits for a page. */
static void allocate_much(unsigned round) {
    static char *all[4096];
    for (unsigned n = 0; n < 4096; n++)
        CHECK(all[n] = malloc(1500 + n * round % 1000));
    exchange(50 + round);
    for (unsigned n = 0; n < 4096; n++)
        free(all[n]);
}

int main(int argc, char **argv) {
    static const char *names[] = {"fork", "_Fork", "read", "action", "allocate"};
    limit(25);
    CHECK(argc == 2);
    while (strcmp(names[act], argv[1]) != 0)
        CHECK(++act <= ALLOCATE);
    uint64_t *words = filled(PAGES);
    zeros = open("/dev/zero", O_RDONLY);
    of_handler = malloc(30000), of_program = malloc(60000);
    CHECK(zeros >= 0 && of_handler && of_program);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    pause_us = act <= BARE ? 3000 : act == ALLOCATE ? 1000 : 200;
    come_again();
    for (unsigned round = 0; count < ENOUGH; round++) {
        if (act == ALLOCATE)
            allocate_much(round);
        else if (act <= BARE)
            allocate(round);
        else
            CHECK(read(zeros, of_program, 10000 + round % 50000) > 0);
    }
    CHECK(wrong(words, PAGES) == 0);
    puts("well");
    return 0;
}
