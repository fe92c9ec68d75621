// Four threads that live at the same time write a part each, one word in each line.
#include <pthread.h>
#include <stdio.h>

#define LINES 4096
static volatile unsigned long parts[4][LINES * 8];

static pthread_barrier_t all_there;

static void *work(void *argument) {
    volatile unsigned long *part = argument;
    pthread_barrier_wait(&all_there);
    for (long line = 0; line < LINES; line++) {
        part[line * 8] = 1;
    }
    return 0;
}

int main(void) {
    pthread_t threads[4];
    pthread_barrier_init(&all_there, 0, 4);
    printf("%p\n", (void *)parts);
    for (int at = 0; at < 4; at++) {
        pthread_create(&threads[at], 0, work, (void *)parts[at]);
    }
    for (int at = 0; at < 4; at++) {
        pthread_join(threads[at], 0);
    }
    return 0;
}
