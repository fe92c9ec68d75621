/* A timer's handler misses, while the program gives memory back and asks for more. Arguments: what
   the program does, microseconds between two signals, the signal (SIGALRM). */
#include "abuse.h"
#include <stdatomic.h>
#include <sys/mman.h>

#define BYTES (16u << 20)
#define ROUNDS 120
#define PIECE (2u << 20)

static unsigned char *counters;
static volatile sig_atomic_t ticks;

/* One byte of another page each time. Byte n * PAGE counts the ticks with this number. */
static void on_tick(int signal) {
    (void)signal;
    size_t page = (size_t)ticks * 1031 % (BYTES / PAGE);
    counters[page * PAGE]++;
    ticks++;
}

static void counts_are_right(void) {
    unsigned char *expected = calloc(BYTES / PAGE, 1);
    CHECK(expected);
    for (size_t tick = 0; tick < (size_t)ticks; tick++)
        expected[tick * 1031 % (BYTES / PAGE)]++;
    for (size_t page = 0; page < BYTES / PAGE; page++)
        CHECK(counters[page * PAGE] == expected[page]);
    free(expected);
}

static void map_and_drop(int round) {
    int both = PROT_READ | PROT_WRITE;
    unsigned char *piece = mmap(NULL, PIECE, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(piece != MAP_FAILED);
    for (size_t at = 0; at < PIECE; at += PAGE)
        piece[at] = (unsigned char)round;
    CHECK(madvise(piece, PIECE, MADV_DONTNEED) == 0);
    CHECK(piece[PAGE] == 0);
    CHECK(munmap(piece, PIECE) == 0);
}

static void allocate_and_free(int round) {
    size_t bytes = (size_t)(round % 40 + 1) * 10000;
    unsigned char *some = malloc(bytes);
    CHECK(some);
    memset(some, round, bytes);
    some = realloc(some, bytes * 2);
    CHECK(some && some[bytes - 1] == (unsigned char)round);
    free(some);
}

static void fork_and_wait(int round) {
    (void)round;
    pid_t child = fork();
    if (child == 0) {
        limit(20);
        _exit(0);
    }
    int status;
    pid_t ended;
    while ((ended = waitpid(child, &status, 0)) < 0)
        continue;
    CHECK(ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Instructions that each need two pages, on many pages. */
static void load_across_pages(int round) {
    for (size_t n = 0; n < 64; n++) {
        size_t boundary = ((size_t)round * 67 + n * 13) % (BYTES / PAGE - 1) + 1;
        const char *at = (const char *)counters + boundary * PAGE - 4;
        uint64_t found;
        __asm__ volatile("" : "+r"(at));
        memcpy(&found, at, sizeof found);
        __asm__ volatile("" : : "r"(found));
    }
}

int main(int count, char **arguments) {
    limit(28);
    CHECK(count == 3 || count == 4);
    int by = count == 4 ? atoi(arguments[3]) : SIGALRM;
    void (*act)(int) = NULL;
    act = strcmp(arguments[1], "map") == 0 ? map_and_drop : act;
    act = strcmp(arguments[1], "malloc") == 0 ? allocate_and_free : act;
    act = strcmp(arguments[1], "fork") == 0 ? fork_and_wait : act;
    act = strcmp(arguments[1], "across") == 0 ? load_across_pages : act;
    CHECK(act);
    counters = aligned_alloc(PAGE, BYTES);
    CHECK(counters);
    memset(counters, 0, BYTES);
    struct sigaction action = {0};
    action.sa_handler = on_tick;
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(by, &action, NULL) == 0);
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = by;
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct timespec every = {0, atol(arguments[2]) * 1000};
    CHECK(timer_settime(timer, 0, &(struct itimerspec){every, every}, NULL) == 0);
    int rounds = act == fork_and_wait ? ROUNDS / 5 : ROUNDS;
    for (int round = 0; round < rounds || ticks < 20; round++)
        act(round);
    CHECK(timer_delete(timer) == 0);
    counts_are_right();
    puts("well");
    return 0;
}
