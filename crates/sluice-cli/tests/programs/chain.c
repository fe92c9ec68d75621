// Threads that start one another: each joins the one that started it, writes a line of its own, and
// starts the next before it ends. So no more than two of them live at a time. Argument: how many.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX 4096
static volatile unsigned long parts[MAX][8] __attribute__((aligned(64)));
static pthread_t threads[MAX];
static long all;
static pthread_mutex_t started = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t over;

static void *work(void *argument) {
    long own = (long)argument;
    // The thread that started this one holds it until it has noted which thread it started.
    pthread_mutex_lock(&started);
    pthread_mutex_unlock(&started);
    if (own > 0)
        pthread_join(threads[own - 1], 0);
    parts[own][0] = 1;
    if (own + 1 == all) {
        pthread_barrier_wait(&over);
        return 0;
    }
    pthread_mutex_lock(&started);
    if (pthread_create(&threads[own + 1], 0, work, (void *)(own + 1)) != 0)
        abort();
    pthread_mutex_unlock(&started);
    return 0;
}

int main(int count, char **arguments) {
    all = count > 1 ? atol(arguments[1]) : 1;
    if (all < 1 || all > MAX)
        return 2;
    printf("%p\n", (void *)parts);
    pthread_barrier_init(&over, 0, 2);
    pthread_mutex_lock(&started);
    if (pthread_create(&threads[0], 0, work, 0) != 0)
        return 3;
    pthread_mutex_unlock(&started);
    pthread_barrier_wait(&over);
    pthread_join(threads[all - 1], 0);
    return 0;
}
