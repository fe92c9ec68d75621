/* Locks, conditions, semaphores and barriers at which threads wait, on pages that leave. */
#include "abuse.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <threads.h>

#define THREADS 5
#define ROUNDS 30
#define PAGES 2048u

/* Each on a page of its own. */
struct locks {
    _Alignas(PAGE) pthread_mutex_t mutex;
    _Alignas(PAGE) pthread_cond_t condition;
    _Alignas(PAGE) pthread_rwlock_t shared;
    _Alignas(PAGE) sem_t semaphore;
    _Alignas(PAGE) pthread_barrier_t barrier;
    _Alignas(PAGE) mtx_t other;
    _Alignas(PAGE) pthread_mutex_t checked;
    _Alignas(PAGE) long count;
    _Alignas(PAGE) struct timespec until[THREADS];
};

static struct locks *locks;
static uint64_t *others;
static int turn;
static atomic_int over;

/* Has pages of others come, so that those of the locks leave. */
static void *evict(void *unused) {
    while (!atomic_load(&over))
        for (size_t at = 0; at < PAGES * PER_PAGE; at += PER_PAGE)
            (void)*(volatile uint64_t *)&others[at];
    return unused;
}

static struct timespec *soon(long thread) {
    struct timespec *until = &locks->until[thread];
    CHECK(clock_gettime(CLOCK_REALTIME, until) == 0);
    until->tv_sec += 20;
    return until;
}

static void pause_for(long microseconds) {
    nanosleep(&(struct timespec){0, microseconds * 1000}, NULL);
}

static void in_turn(long thread, int round) {
    CHECK(pthread_mutex_lock(&locks->mutex) == 0);
    while (turn % THREADS != thread) {
        pthread_cond_t *condition = &locks->condition;
        CHECK((round % 2 ? pthread_cond_wait(condition, &locks->mutex)
                         : pthread_cond_timedwait(condition, &locks->mutex, soon(thread))) == 0);
    }
    turn++;
    CHECK(pthread_cond_broadcast(&locks->condition) == 0);
    CHECK(pthread_mutex_unlock(&locks->mutex) == 0);
}

static void *work(void *argument) {
    long thread = (long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int last = pthread_barrier_wait(&locks->barrier);
        CHECK(last == 0 || last == PTHREAD_BARRIER_SERIAL_THREAD);
        CHECK(pthread_mutex_lock(&locks->mutex) == 0);
        locks->count++;
        pause_for(200);
        CHECK(pthread_mutex_unlock(&locks->mutex) == 0);
        CHECK(pthread_mutex_timedlock(&locks->mutex, soon(thread)) == 0);
        locks->count++;
        CHECK(pthread_mutex_unlock(&locks->mutex) == 0);
        CHECK(pthread_mutex_lock(&locks->checked) == 0);
        CHECK(pthread_mutex_lock(&locks->checked) == EDEADLK);
        CHECK(pthread_mutex_unlock(&locks->checked) == 0);
        CHECK((thread % 2 ? pthread_rwlock_wrlock(&locks->shared)
                          : pthread_rwlock_timedrdlock(&locks->shared, soon(thread))) == 0);
        pause_for(100);
        CHECK(pthread_rwlock_unlock(&locks->shared) == 0);
        in_turn(thread, round);
        CHECK(sem_timedwait(&locks->semaphore, soon(thread)) == 0);
        pause_for(100);
        CHECK(sem_post(&locks->semaphore) == 0 && sem_wait(&locks->semaphore) == 0);
        CHECK(sem_post(&locks->semaphore) == 0);
        CHECK(mtx_lock(&locks->other) == thrd_success);
        locks->count++;
        CHECK(mtx_unlock(&locks->other) == thrd_success);
    }
    return NULL;
}

/* The pages of others, and behind them the locks: on the heap, or in the file of that name. */
static void find_room(const char *path) {
    size_t bytes = PAGES * (size_t)PAGE + sizeof *locks;
    if (path) {
        int fd = open(path, O_RDWR);
        CHECK(fd >= 0);
        others = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(others != MAP_FAILED && close(fd) == 0);
    } else {
        others = aligned_alloc(PAGE, bytes);
        CHECK(others);
    }
    fill(others, PAGES * PER_PAGE, 1);
    locks = (struct locks *)(others + PAGES * PER_PAGE);
    memset(locks, 0, sizeof *locks);
}

int main(int count, char **words) {
    limit(25);
    find_room(count > 1 ? words[1] : NULL);
    pthread_mutexattr_t kind;
    CHECK(pthread_mutexattr_init(&kind) == 0);
    CHECK(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK) == 0);
    CHECK(pthread_mutex_init(&locks->checked, &kind) == 0);
    CHECK(pthread_mutex_init(&locks->mutex, NULL) == 0);
    CHECK(pthread_cond_init(&locks->condition, NULL) == 0);
    CHECK(pthread_rwlock_init(&locks->shared, NULL) == 0);
    CHECK(sem_init(&locks->semaphore, 0, 2) == 0);
    CHECK(pthread_barrier_init(&locks->barrier, NULL, THREADS) == 0);
    CHECK(mtx_init(&locks->other, mtx_plain) == thrd_success);
    pthread_t evictor, threads[THREADS];
    CHECK(pthread_create(&evictor, NULL, evict, NULL) == 0);
    for (long n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, work, (void *)n) == 0);
    for (long n = 0; n < THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    atomic_store(&over, 1);
    CHECK(pthread_join(evictor, NULL) == 0);
    CHECK(turn == THREADS * ROUNDS && wrong(others, PAGES) == 0);
    puts("well");
    return 0;
}
