/* One thread misses; another chooses the CPUs of that thread, and finds its choice kept. */
#include "common.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define PAGES 1024
#define ROUNDS 400

static atomic_int is_to_rest, rests, ends, kernels_number;
static volatile char *pages;

static void *misses(void *unused) {
    (void)unused;
    uint64_t random = 1;
    kernels_number = gettid();
    while (!ends) {
        if (is_to_rest) {
            rests = 1;
            sched_yield();
            continue;
        }
        rests = 0;
        pages[next_random(&random) % PAGES * PAGE]++;
    }
    return NULL;
}

/* The device may hold the thread a little longer than its miss, and on a busy machine its own
 * thread waits for a CPU before it lets go: half a minute is long enough for that. */
static int has(pthread_t thread, const cpu_set_t *chosen) {
    for (int look = 0; look < 30000; look++) {
        cpu_set_t now;
        CHECK(pthread_getaffinity_np(thread, sizeof now, &now) == 0);
        if (CPU_EQUAL(&now, chosen))
            return 1;
        usleep(1000);
    }
    return 0;
}

static void wait_a_little(uint64_t *random) {
    struct timespec pause = {0, 50000 + (long)(next_random(random) % 200000)};
    nanosleep(&pause, NULL);
}

int main(void) {
    cpu_set_t all;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    if (CPU_COUNT(&all) < 2) {
        puts("one CPU");
        return 0;
    }
    pages = malloc(PAGES * PAGE);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, misses, NULL) == 0);
    while (!kernels_number)
        sched_yield();
    uint64_t random = 2;
    for (int round = 0; round < ROUNDS; round++) {
        cpu_set_t one;
        int cpu;
        do
            cpu = (int)(next_random(&random) % CPU_SETSIZE);
        while (!CPU_ISSET(cpu, &all));
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        CHECK(pthread_setaffinity_np(thread, sizeof all, &all) == 0);
        is_to_rest = 0;
        while (rests)
            sched_yield();
        wait_a_little(&random);
        if (round % 2)
            CHECK(pthread_setaffinity_np(thread, sizeof one, &one) == 0);
        else
            CHECK(sched_setaffinity(kernels_number, sizeof one, &one) == 0);
        is_to_rest = 1;
        while (!rests)
            sched_yield();
        CHECK(has(thread, &one));
    }
    ends = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    CPU_ZERO(&all);
    CHECK(sched_setaffinity(0, sizeof all, &all) == -1);
    puts("well");
    return 0;
}
