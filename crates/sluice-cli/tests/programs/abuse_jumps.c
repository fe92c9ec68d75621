/* A handler of a signal leaves a call by siglongjmp, again and again, while the call has received
   a part of what it waits for. What it used for that must not add up. */
#include "abuse.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { WARM = 20, JUMPS = 300, SENT = 96 << 10, WANTED = 1 << 20, GROWTH = 12 << 20 };

static sigjmp_buf back;
static int ends[2];
static pthread_t first;
static atomic_int turns, done;

static void leave(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

/* Once the kernel has handed all on, the other thread is in the midst of its call. */
static void *send_and_interrupt(void *unused) {
    static char bytes[SENT];
    for (int turn = 1; turn <= WARM + JUMPS; turn++) {
        while (atomic_load(&turns) < turn)
            sched_yield();
        CHECK(send(ends[1], bytes, SENT, 0) == SENT);
        for (int waiting = 1; waiting > 0;)
            CHECK(ioctl(ends[0], FIONREAD, &waiting) == 0);
        CHECK(pthread_kill(first, SIGUSR1) == 0);
    }
    return unused;
}

static size_t resident(void) {
    size_t all, here;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%zu %zu", &all, &here) == 2 && fclose(file) == 0);
    return here * PAGE;
}

int main(void) {
    limit(25);
    uint64_t *words = filled(2048);
    char *buffer = malloc(WANTED);
    CHECK(buffer && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct sigaction action = {.sa_handler = leave};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    first = pthread_self();
    pthread_t other;
    CHECK(pthread_create(&other, NULL, send_and_interrupt, NULL) == 0);
    size_t before = 0;
    for (atomic_store(&done, 0); atomic_load(&done) < WARM + JUMPS; atomic_fetch_add(&done, 1)) {
        if (atomic_load(&done) == WARM)
            before = resident();
        if (sigsetjmp(back, 1) == 0) {
            atomic_fetch_add(&turns, 1);
            recv(ends[0], buffer, WANTED, MSG_WAITALL);
            CHECK(!"still there");
        }
    }
    size_t after = resident();
    if (after > before + GROWTH)
        fprintf(stderr, "%zu KiB more\n", (after - before) >> 10);
    CHECK(after <= before + GROWTH);
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(wrong(words, 2048) == 0);
    puts("well");
    return 0;
}
