/* Mutexes of which the kernel reads and writes words, on pages that leave. */
#include "abuse.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define THREADS 8
#define ROUNDS 40
#define PAGES 2048u
/* More than the runtime once had room for. */
#define MANY 1500u

static uint64_t *others;
static atomic_int over;

/* Has pages of others come, so that all that may leave does. */
static void push_out(void) {
    for (size_t at = 0; at < PAGES * PER_PAGE; at += PER_PAGE)
        (void)*(volatile uint64_t *)&others[at];
}

static void *evict(void *unused) {
    while (!atomic_load(&over))
        push_out();
    return unused;
}

/* A mutex at the end of a page, across to the next, or at its beginning. */
static pthread_mutex_t *mutex_at(char *pages, unsigned n) {
    static const size_t places[3] = {64, PAGE - sizeof(pthread_mutex_t), PAGE - 16};
    return (pthread_mutex_t *)(pages + 2 * (size_t)n * PAGE + places[n % 3]);
}

static char *room(unsigned mutexes) {
    char *pages = aligned_alloc(PAGE, 2 * (size_t)mutexes * PAGE);
    CHECK(pages);
    memset(pages, 0, 2 * (size_t)mutexes * PAGE);
    return pages;
}

static void make(pthread_mutex_t *mutex, int robust, int protocol, int type) {
    pthread_mutexattr_t kind;
    CHECK(pthread_mutexattr_init(&kind) == 0);
    CHECK(pthread_mutexattr_setrobust(&kind, robust) == 0);
    CHECK(pthread_mutexattr_setprotocol(&kind, protocol) == 0);
    CHECK(pthread_mutexattr_settype(&kind, type) == 0);
    CHECK(pthread_mutex_init(mutex, &kind) == 0);
}

/* Ends with mutexes that it has taken each in another way. */
static void *end_with(void *argument) {
    char *pages = argument;
    struct timespec until;
    CHECK(clock_gettime(CLOCK_REALTIME, &until) == 0);
    until.tv_sec += 20;
    for (unsigned n = 0; n < THREADS; n++) {
        pthread_mutex_t *mutex = mutex_at(pages, n);
        int taken = n % 3 == 0   ? pthread_mutex_lock(mutex)
                    : n % 3 == 1 ? pthread_mutex_trylock(mutex)
                                 : pthread_mutex_timedlock(mutex, &until);
        CHECK(taken == 0);
    }
    push_out();
    return NULL;
}

/* The next owner learns of it; the mutex works again, or never. */
static void owners_die(int protocol, int type) {
    char *pages = room(THREADS);
    for (unsigned n = 0; n < THREADS; n++)
        make(mutex_at(pages, n), PTHREAD_MUTEX_ROBUST, protocol, type);
    for (int round = 0; round < 3; round++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, end_with, pages) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        push_out();
        for (unsigned n = 0; n < THREADS; n++) {
            pthread_mutex_t *mutex = mutex_at(pages, n);
            CHECK((n % 2 ? pthread_mutex_lock(mutex) : pthread_mutex_trylock(mutex)) == EOWNERDEAD);
            push_out();
            if (round < 2)
                CHECK(pthread_mutex_consistent(mutex) == 0);
            CHECK(pthread_mutex_unlock(mutex) == 0);
            if (round == 2)
                CHECK(pthread_mutex_lock(mutex) == ENOTRECOVERABLE);
        }
    }
    free(pages);
}

static void *lock_one(void *mutex) {
    CHECK(pthread_mutex_lock(mutex) == 0);
    CHECK(pthread_mutex_trylock(mutex) == 0);
    CHECK(pthread_mutex_unlock(mutex) == 0);
    push_out();
    return NULL;
}

static void *wait_for_one(void *mutex) {
    CHECK(pthread_mutex_lock(mutex) == EOWNERDEAD);
    CHECK(pthread_mutex_consistent(mutex) == 0);
    CHECK(pthread_mutex_unlock(mutex) == 0);
    return NULL;
}

/* It has been taken twice and given back once; others wait. */
static void recursive_owner_dies(void) {
    char *pages = room(1);
    pthread_mutex_t *mutex = mutex_at(pages, 0);
    make(mutex, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_RECURSIVE);
    pthread_t owner, waiter;
    CHECK(pthread_create(&owner, NULL, lock_one, mutex) == 0);
    CHECK(pthread_join(owner, NULL) == 0);
    CHECK(pthread_create(&waiter, NULL, wait_for_one, mutex) == 0);
    CHECK(pthread_join(waiter, NULL) == 0);
    free(pages);
}

static void *end_with_many(void *pages) {
    for (unsigned n = 0; n < MANY; n++)
        CHECK(pthread_mutex_lock(mutex_at(pages, n)) == 0);
    push_out();
    return NULL;
}

static void owner_of_many_dies(void) {
    char *pages = room(MANY);
    for (unsigned n = 0; n < MANY; n++)
        make(mutex_at(pages, n), PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_NORMAL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, end_with_many, pages) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    for (unsigned n = 0; n < MANY; n++) {
        pthread_mutex_t *mutex = mutex_at(pages, n);
        CHECK(pthread_mutex_lock(mutex) == EOWNERDEAD);
        CHECK(pthread_mutex_consistent(mutex) == 0);
        CHECK(pthread_mutex_unlock(mutex) == 0);
    }
    free(pages);
}

struct turns {
    pthread_mutex_t *mutex;
    pthread_cond_t *condition;
    long *count;
};

static void *take_turns(void *argument) {
    struct turns *turns = argument;
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(pthread_mutex_lock(turns->mutex) == 0);
        ++*turns->count;
        nanosleep(&(struct timespec){0, 100000}, NULL);
        CHECK(pthread_cond_broadcast(turns->condition) == 0);
        CHECK(pthread_mutex_unlock(turns->mutex) == 0);
    }
    return NULL;
}

/* Eight threads want it at once while pages leave; one waits at a condition. */
static void contended(int robust, int protocol) {
    char *pages = room(4);
    struct turns turns = {mutex_at(pages, 1), (pthread_cond_t *)(pages + 4 * PAGE),
                          (long *)(pages + 6 * PAGE)};
    make(turns.mutex, robust, protocol, PTHREAD_MUTEX_NORMAL);
    CHECK(pthread_cond_init(turns.condition, NULL) == 0);
    pthread_t evictor, threads[THREADS];
    atomic_store(&over, 0);
    CHECK(pthread_create(&evictor, NULL, evict, NULL) == 0);
    for (long n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, take_turns, &turns) == 0);
    CHECK(pthread_mutex_lock(turns.mutex) == 0);
    while (*turns.count < THREADS * ROUNDS)
        CHECK(pthread_cond_wait(turns.condition, turns.mutex) == 0);
    CHECK(pthread_mutex_unlock(turns.mutex) == 0);
    for (long n = 0; n < THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    atomic_store(&over, 1);
    CHECK(pthread_join(evictor, NULL) == 0);
    free(pages);
}

/* A mutex with a condition, both on one page, and what the threads below are to find. */
struct waited {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    atomic_int waits;
    int answer, ends_by_number;
};

static void *wait_there(void *argument) {
    struct waited *at = argument;
    struct timespec until;
    CHECK(clock_gettime(CLOCK_REALTIME, &until) == 0 && pthread_mutex_lock(&at->mutex) == 0);
    until.tv_sec += 20;
    atomic_store(&at->waits, 1);
    int answer = pthread_cond_timedwait(&at->condition, &at->mutex, &until);
    CHECK(answer == at->answer);
    if (answer == EOWNERDEAD)
        CHECK(pthread_mutex_consistent(&at->mutex) == 0 && pthread_mutex_unlock(&at->mutex) == 0);
    return NULL;
}

static void *wait_to_be_cancelled(void *argument) {
    struct waited *at = argument;
    CHECK(pthread_mutex_lock(&at->mutex) == 0);
    atomic_store(&at->waits, 1);
    pthread_cond_wait(&at->condition, &at->mutex);
    return NULL;
}

static void *signal_and_end(void *argument) {
    struct waited *at = argument;
    CHECK(pthread_mutex_lock(&at->mutex) == 0 && pthread_cond_signal(&at->condition) == 0);
    push_out();
    if (at->ends_by_number)
        syscall(SYS_exit, 0);
    return NULL;
}

static void *lock_once(void *argument) {
    CHECK(pthread_mutex_lock(&((struct waited *)argument)->mutex) == 0);
    push_out();
    return NULL;
}

static void *give_up(void *argument) {
    struct waited *at = argument;
    CHECK(pthread_mutex_lock(&at->mutex) == EOWNERDEAD);
    CHECK(pthread_cond_signal(&at->condition) == 0);
    push_out();
    CHECK(pthread_mutex_unlock(&at->mutex) == 0);
    return NULL;
}

static pthread_t start(void *(*main)(void *), struct waited *at) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, main, at) == 0);
    return thread;
}

static pthread_t start_and_wait(void *(*main)(void *), struct waited *at) {
    atomic_store(&at->waits, 0);
    pthread_t thread = start(main, at);
    while (!atomic_load(&at->waits))
        push_out();
    return thread;
}

/* Owners end while others wait at a condition of their mutex, or while they do so themselves. */
static void waits(int protocol) {
    struct waited *at = (struct waited *)room(1);
    make(&at->mutex, PTHREAD_MUTEX_ROBUST, protocol, PTHREAD_MUTEX_NORMAL);
    CHECK(pthread_cond_init(&at->condition, NULL) == 0);
    at->answer = EOWNERDEAD;
    for (int round = 0; round < 4; round++) {
        at->ends_by_number = round % 2;
        pthread_t waiter = start_and_wait(wait_there, at);
        start(signal_and_end, at);
        CHECK(pthread_join(waiter, NULL) == 0);
    }
    pthread_t waiter = start_and_wait(wait_to_be_cancelled, at);
    CHECK(pthread_cancel(waiter) == 0 && pthread_join(waiter, NULL) == 0);
    push_out();
    CHECK(pthread_mutex_lock(&at->mutex) == EOWNERDEAD);
    CHECK(pthread_mutex_consistent(&at->mutex) == 0 && pthread_mutex_unlock(&at->mutex) == 0);
    at->answer = ENOTRECOVERABLE;
    waiter = start_and_wait(wait_there, at);
    at->ends_by_number = 0;
    CHECK(pthread_mutex_lock(&at->mutex) == 0 && pthread_mutex_unlock(&at->mutex) == 0);
    pthread_t owner = start(lock_once, at);
    CHECK(pthread_join(owner, NULL) == 0);
    pthread_t heir = start(give_up, at);
    CHECK(pthread_join(heir, NULL) == 0 && pthread_join(waiter, NULL) == 0);
    free(at);
}

/* Whether the words are this process's alone. Of others the kernel brings the page first. */
static int private_flag;

static long futex(uint32_t *word, int op, long value, void *time, uint32_t *second,
                  uint32_t third) {
    return syscall(SYS_futex, word, op | private_flag, value, time, second, third);
}

static void *by_number(void *argument) {
    uint32_t *word = argument, me = (uint32_t)gettid();
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(futex(word, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == 0);
        CHECK((*(volatile uint32_t *)word & FUTEX_TID_MASK) == me);
        ++word[PAGE];
        CHECK(futex(word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0);
    }
    return NULL;
}

static void *wait_by_number(void *argument) {
    uint32_t *words = argument;
    CHECK(futex(&words[0], FUTEX_WAIT_REQUEUE_PI, 0, NULL, &words[2 * PAGE / 4], 0) == 0);
    CHECK(futex(&words[2 * PAGE / 4], FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0);
    return NULL;
}

/* The kernel's own operations on words of pages that have left. */
static void numbers(void) {
    uint32_t *words = (uint32_t *)room(4), me = (uint32_t)gettid();
    uint32_t *other = &words[2 * PAGE / 4];
    push_out();
    CHECK(futex(words, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == 0 && words[0] == me);
    push_out();
    CHECK(futex(words, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0);
    push_out();
    CHECK(futex(words, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0) == 0);
    push_out();
    CHECK(futex(words, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0 && words[0] == 0);
    push_out();
    int add = FUTEX_OP(FUTEX_OP_ADD, 7, FUTEX_OP_CMP_EQ, 0);
    CHECK(futex(words, FUTEX_WAKE_OP, 1, (void *)1, other, (uint32_t)add) == 0 && *other == 7);
    push_out();
    *other = 0;
    pthread_t waiter, evictor, threads[THREADS];
    CHECK(pthread_create(&waiter, NULL, wait_by_number, words) == 0);
    long moved;
    do
        push_out();
    while ((moved = futex(words, FUTEX_CMP_REQUEUE_PI, 1, NULL, other, 0)) == 0);
    CHECK(moved == 1 && pthread_join(waiter, NULL) == 0);
    struct timespec *brief = (struct timespec *)(words + 6 * PAGE / 4);
    brief->tv_nsec = 1000;
    push_out();
    CHECK(futex(words, FUTEX_WAIT, 0, brief, NULL, 0) == -1 && errno == ETIMEDOUT);
    CHECK(futex((uint32_t *)8, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == -1 && errno == EFAULT);
    atomic_store(&over, 0);
    CHECK(pthread_create(&evictor, NULL, evict, NULL) == 0);
    for (long n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, by_number, words) == 0);
    for (long n = 0; n < THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    atomic_store(&over, 1);
    CHECK(pthread_join(evictor, NULL) == 0);
    CHECK(words[PAGE] == THREADS * ROUNDS);
    free(words);
}

/* A child has none of its parent's mutexes, but takes its own. */
static void children(void) {
    char *pages = room(THREADS);
    for (unsigned n = 0; n < THREADS; n++)
        make(mutex_at(pages, n), PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_NORMAL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, end_with, pages) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        limit(25);
        for (unsigned n = 0; n < THREADS; n++) {
            CHECK(pthread_mutex_lock(mutex_at(pages, n)) == EOWNERDEAD);
            CHECK(pthread_mutex_consistent(mutex_at(pages, n)) == 0);
        }
        push_out();
        for (unsigned n = 0; n < THREADS; n++)
            CHECK(pthread_mutex_unlock(mutex_at(pages, n)) == 0);
        CHECK(pthread_create(&thread, NULL, end_with, pages) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        for (unsigned n = 0; n < THREADS; n++)
            CHECK(pthread_mutex_lock(mutex_at(pages, n)) == EOWNERDEAD);
        _exit(0);
    }
    child_was_well(child);
    for (unsigned n = 0; n < THREADS; n++)
        CHECK(pthread_mutex_lock(mutex_at(pages, n)) == EOWNERDEAD);
}

/* How many of so many pages are there. */
static unsigned present(const char *pages, unsigned count) {
    uint64_t entries[2 * THREADS];
    int map = open("/proc/self/pagemap", O_RDONLY);
    size_t bytes = count * sizeof *entries;
    CHECK(count <= 2 * THREADS && map >= 0);
    off_t at = (off_t)((uintptr_t)pages / PAGE * sizeof *entries);
    CHECK(pread(map, entries, bytes, at) == (ssize_t)bytes && close(map) == 0);
    unsigned found = 0;
    for (unsigned n = 0; n < count; n++)
        found += entries[n] >> 63;
    return found;
}

/* The program forbids itself what would show who is gone. */
static void forbid(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0);
}

/* Pages leave again after their owners have ended. */
static void filtered(void) {
    char *pages = room(THREADS);
    for (unsigned n = 0; n < THREADS; n++)
        make(mutex_at(pages, n), PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_NORMAL);
    forbid();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, end_with, pages) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    push_out();
    for (unsigned n = 0; n < THREADS; n++) {
        CHECK(pthread_mutex_lock(mutex_at(pages, n)) == EOWNERDEAD);
        CHECK(pthread_mutex_consistent(mutex_at(pages, n)) == 0);
        CHECK(pthread_mutex_unlock(mutex_at(pages, n)) == 0);
    }
    push_out();
    printf("%u pages have stayed\n", present(pages, 2 * THREADS));
}

/* Processes that share a mutex: its owner is killed. */
static void shared(const char *path) {
    size_t bytes = PAGES * (size_t)PAGE;
    int fd = path ? open(path, O_RDWR) : -1, flags = MAP_SHARED | (path ? 0 : MAP_ANONYMOUS);
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    CHECK(pages != MAP_FAILED);
    pthread_mutex_t *mutexes[2];
    for (int n = 0; n < 2; n++) {
        pthread_mutexattr_t kind;
        mutexes[n] = (pthread_mutex_t *)(pages + 8 * (n + 1) * PAGE - 16);
        CHECK(pthread_mutexattr_init(&kind) == 0);
        CHECK(pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST) == 0);
        CHECK(pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED) == 0);
        int protocol = n ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE;
        CHECK(pthread_mutexattr_setprotocol(&kind, protocol) == 0);
        CHECK(pthread_mutex_init(mutexes[n], &kind) == 0);
    }
    for (int round = 0; round < 3; round++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            limit(25);
            CHECK(pthread_mutex_lock(mutexes[0]) == 0 && pthread_mutex_lock(mutexes[1]) == 0);
            for (size_t at = 64 * PAGE; at < bytes; at += PAGE)
                (void)*(volatile char *)&pages[at];
            kill(getpid(), SIGKILL);
        }
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == SIGKILL);
        for (int n = 0; n < 2; n++) {
            CHECK(pthread_mutex_lock(mutexes[n]) == EOWNERDEAD);
            CHECK(pthread_mutex_consistent(mutexes[n]) == 0);
            CHECK(pthread_mutex_unlock(mutexes[n]) == 0);
        }
    }
}

int main(int count, char **words) {
    CHECK(count > 1);
    limit(25);
    others = filled(PAGES);
    const char *part = words[1];
    if (!strcmp(part, "dies")) {
        owners_die(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_NORMAL);
        owners_die(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ERRORCHECK);
        recursive_owner_dies();
    } else if (!strcmp(part, "many")) {
        owner_of_many_dies();
    } else if (!strcmp(part, "contended")) {
        contended(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
        contended(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT);
        contended(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    } else if (!strcmp(part, "waits")) {
        waits(PTHREAD_PRIO_NONE);
        waits(PTHREAD_PRIO_INHERIT);
    } else if (!strcmp(part, "numbers")) {
        numbers();
        private_flag = FUTEX_PRIVATE_FLAG;
        numbers();
    } else if (!strcmp(part, "children")) {
        children();
    } else if (!strcmp(part, "filtered")) {
        filtered();
    } else {
        shared(count > 2 ? words[2] : NULL);
    }
    CHECK(wrong(others, PAGES) == 0);
    puts("well");
    return 0;
}
