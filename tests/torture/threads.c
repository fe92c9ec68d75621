/* Threads that come and go, threads that store during forks, locks on the heap. */
#include "torture.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#define WORKERS 3
#define WORKER_PAGES 128u

static struct worker {
    pthread_t thread;
    uint64_t *words;
    /* Sweeps over all its pages that it has ended. */
    _Atomic uint64_t swept;
    uint64_t noted;
} workers[WORKERS];
static atomic_int stop, hurry;
static int noted_any;

/* Threads take no alarm: the handler is the first thread's. */
static void start(pthread_t *thread, pthread_attr_t *how, void *(*run)(void *), void *argument) {
    sigset_t alarm, before;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    MUST(pthread_sigmask(SIG_BLOCK, &alarm, &before) == 0);
    MUST(pthread_create(thread, how, run, argument) == 0);
    MUST(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

/* Each word holds sweep and place, stored in ascending order. */
static void *sweep(void *argument) {
    struct worker *worker = argument;
    for (uint64_t round = 1; !stop; round++) {
        for (size_t page = 0; page < WORKER_PAGES && !stop; page++) {
            volatile uint64_t *words = worker->words + page * WORDS;
            for (size_t i = 0; i < WORDS; i++) {
                uint64_t found = words[i];
                if (found != ((round - 1) << 32 | (round == 1 ? 0 : page * WORDS + i)))
                    fail("a thread's page %zu word %zu is %lx in round %lu", page, i, found, round);
                words[i] = round << 32 | (page * WORDS + i);
            }
            if (!hurry && page % 16 == 0)
                usleep(500);
        }
        free(memset(malloc(100 + round % 5000), 1, 100));
        if (!stop)
            worker->swept = round;
    }
    return NULL;
}

static void step_workers_start(void) {
    if (now.workers || now.depth)
        return;
    stop = 0;
    now.workers = 1 + below(WORKERS);
    for (unsigned n = 0; n < now.workers; n++) {
        struct worker *worker = &workers[n];
        int both = PROT_READ | PROT_WRITE;
        worker->words = mmap(NULL, WORKER_PAGES * PAGE, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(worker->words != MAP_FAILED);
        worker->swept = worker->noted = 0;
        start(&worker->thread, NULL, sweep, worker);
    }
}

void stop_workers(void) {
    stop = 1;
    for (unsigned n = 0; n < now.workers; n++) {
        MUST(pthread_join(workers[n].thread, NULL) == 0);
        MUST(munmap(workers[n].words, WORKER_PAGES * PAGE) == 0);
    }
    now.workers = 0;
    hurry = 0;
}

/* Before a fork: from now on they store without a pause, and what they have stored so far must be
 * in the child. */
void note_workers(void) {
    hurry = 1;
    noted_any = now.workers != 0;
    if (noted_any)
        usleep(below(2000));
    for (unsigned n = 0; n < now.workers; n++)
        workers[n].noted = workers[n].swept;
}

void forget_workers(void) {
    now.workers = 0;
    hurry = 0;
}

/* In a child: each page is as it was at one moment, and stays so when it has left the cache. */
void check_workers_snapshot(void) {
    static uint64_t seen[WORKERS][WORKER_PAGES * WORDS];
    if (!now.workers || !noted_any)
        return;
    for (unsigned n = 0; n < now.workers; n++) {
        const volatile uint64_t *words = workers[n].words;
        for (size_t i = 0; i < WORKER_PAGES * WORDS; i++) {
            uint64_t round = (seen[n][i] = words[i]) >> 32;
            uint64_t first = seen[n][i - i % WORDS] >> 32;
            if (round < workers[n].noted || (round != first && round + 1 != first))
                fail("a child sees word %zu of a thread in round %lu, its page in %lu, before the"
                     " fork %lu", i, round, first, workers[n].noted);
            if (i % WORDS && round > seen[n][i - 1] >> 32)
                fail("a child sees a later store and not an earlier one: word %zu", i);
        }
    }
    thrash();
    for (unsigned n = 0; n < now.workers; n++) {
        const volatile uint64_t *words = workers[n].words;
        for (size_t i = 0; i < WORKER_PAGES * WORDS; i++)
            if (words[i] != seen[n][i])
                fail("a child's word %zu of a thread changed from %lx to %lx", i, seen[n][i],
                     words[i]);
    }
}

static void *short_life(void *argument) {
    uint64_t version = (uint64_t)(uintptr_t)argument;
    size_t bytes = (1 + version % 300) * 997;
    for (int n = 0; n < 3; n++) {
        char *at = malloc(bytes);
        MUST(at);
        fill_bytes(at, bytes, version);
        check_bytes(at, bytes, version, "a thread's block");
        free(at);
    }
    return (void *)(uintptr_t)(version + 1);
}

static void step_churn(void) {
    pthread_t threads[8];
    unsigned count = 1 + below(8);
    uint64_t first = any() >> 16;
    for (unsigned n = 0; n < count; n++)
        start(&threads[n], NULL, short_life, (void *)(uintptr_t)(first + n));
    for (unsigned n = 0; n < count; n++) {
        void *answer;
        MUST(pthread_join(threads[n], &answer) == 0 && (uintptr_t)answer == first + n + 1);
    }
    tell("%u threads came and went", count);
}

static atomic_int detached;

static void *leaves_alone(void *argument) {
    short_life(argument);
    detached--;
    return NULL;
}

static void step_detach(void) {
    detached = 4;
    for (unsigned n = 0; n < 4; n++) {
        pthread_t thread;
        start(&thread, NULL, leaves_alone, (void *)(uintptr_t)(n + 1));
        MUST(pthread_detach(thread) == 0);
    }
    while (detached)
        usleep(100);
}

/* A thread whose stack is memory of the heap. */
static void step_stack(void) {
    size_t bytes = 256 << 10;
    void *stack = aligned_alloc(PAGE, bytes), *answer;
    pthread_attr_t how;
    pthread_t thread;
    MUST(stack && pthread_attr_init(&how) == 0 && pthread_attr_setstack(&how, stack, bytes) == 0);
    thrash();
    start(&thread, &how, short_life, (void *)77);
    MUST(pthread_join(thread, &answer) == 0 && (uintptr_t)answer == 78);
    pthread_attr_destroy(&how);
    free(stack);
}

static long futex(atomic_int *word, int what, int value) {
    struct timespec limit = {30, 0};
    return syscall(SYS_futex, word, what | FUTEX_PRIVATE_FLAG, value, &limit, NULL, 0);
}

#define TURNS 60

/* Waits until the word has this value. */
static void await(atomic_int *word, int value) {
    for (int found; (found = *word) != value;)
        if (futex(word, FUTEX_WAIT, found) < 0 && errno != EAGAIN && errno != EINTR)
            fail("futex wait: errno %d", errno);
}

static void *answers(void *argument) {
    atomic_int *word = argument;
    for (int turn = 1; turn <= TURNS; turn++) {
        await(word, 2 * turn - 1);
        *word = 2 * turn;
        MUST(futex(word, FUTEX_WAKE, 1) >= 0);
    }
    return NULL;
}

static void step_futex(void) {
    atomic_int *word = aligned_alloc(PAGE, PAGE);
    MUST(word);
    *word = 0;
    pthread_t thread;
    start(&thread, NULL, answers, word);
    for (int turn = 1; turn <= TURNS; turn++) {
        if (turn % 20 == 0)
            thrash();
        *word = 2 * turn - 1;
        MUST(futex(word, FUTEX_WAKE, 1) >= 0);
        await(word, 2 * turn);
    }
    MUST(pthread_join(thread, NULL) == 0 && *word == 2 * TURNS);
    free((void *)word);
}

static struct shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char between[PAGE];
    int turn, total;
} *shared;

static void *takes_turns(void *argument) {
    int own = (int)(uintptr_t)argument;
    for (int n = 0; n < 30; n++) {
        MUST(pthread_mutex_lock(&shared->lock) == 0);
        while (shared->turn != own)
            MUST(pthread_cond_wait(&shared->changed, &shared->lock) == 0);
        shared->turn = (own + 1) % 3;
        shared->total += own;
        MUST(pthread_cond_broadcast(&shared->changed) == 0);
        MUST(pthread_mutex_unlock(&shared->lock) == 0);
    }
    return NULL;
}

static void step_locks(void) {
    pthread_t threads[3];
    shared = calloc(1, sizeof *shared);
    MUST(shared && pthread_mutex_init(&shared->lock, NULL) == 0);
    MUST(pthread_cond_init(&shared->changed, NULL) == 0);
    for (int n = 0; n < 3; n++)
        start(&threads[n], NULL, takes_turns, (void *)(uintptr_t)n);
    thrash();
    for (int n = 0; n < 3; n++)
        MUST(pthread_join(threads[n], NULL) == 0);
    tell("turns: %d", shared->total);
    free(shared);
}

static void *is_last(void *first) {
    MUST(pthread_join(*(pthread_t *)first, NULL) == 0);
    check_everything();
    tell("the last thread ends");
    static const char well[] = "well\n";
    MUST(write(1, well, sizeof well - 1) == sizeof well - 1);
    return NULL;
}

void leave_to_the_last_thread(void) {
    static pthread_t first;
    first = pthread_self();
    pthread_t thread;
    start(&thread, NULL, is_last, &first);
    pthread_exit(NULL);
}

/* A call for processes with one thread only. The runtime's threads go and come again. */
static void step_part(void) {
    int failed = unshare(CLONE_SIGHAND | CLONE_VM);
    /* A thread that has been joined is the kernel's for a moment longer. */
    for (int n = 0; failed && !now.workers && n < 200; n++) {
        usleep(1000);
        failed = unshare(CLONE_SIGHAND | CLONE_VM);
    }
    tell_call("unshare", failed);
    struct region *region = any_region();
    check_region(region, 0, region->pages);
}

const struct step thread_steps[] = {
    {"workers-start", step_workers_start, 2, 0}, {"workers-stop", stop_workers, 1, 0},
    {"churn", step_churn, 3, 0},                 {"detach", step_detach, 1, 0},
    {"heap-stack", step_stack, 1, 0},            {"futex", step_futex, 1, 0},
    {"locks", step_locks, 1, 0},                 {"part", step_part, 2, 1},
    {0},
};
