/* abuse_sent SIGNAL maps|forks: a signal that instructions send is only sent, to a thread that maps
   memory or forks all the time. Its handler maps memory, too, and reads what may be missing. It
   learns who sent the signal, and with which value. */
#include "abuse.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define PAGES 4096u
#define MAPPED (1u << 20)

static uint64_t *words;
static pid_t self;
static _Atomic int sent, answered;

static void remap(void) {
    void *at = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED && munmap(at, MAPPED) == 0);
}

static void handler(int signal, siginfo_t *info, void *context) {
    static unsigned draw = 1;
    (void)signal, (void)context;
    CHECK(getpid() == self && info->si_pid == self && info->si_code == SI_QUEUE);
    int value = info->si_value.sival_int;
    CHECK(value > 0 && value <= sent);
    remap();
    draw = draw * 1103515245 + 12345;
    size_t at = (draw >> 8) % PAGES * PER_PAGE;
    CHECK(words[at] == mix((uint64_t)1 << 40 | at));
    answered = value;
}

static void *maps(void *argument) {
    for (;;)
        remap();
    return argument;
}

static void *forks(void *argument) {
    for (;;) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        child_was_well(child);
    }
    return argument;
}

int main(int argc, char **argv) {
    limit(25);
    CHECK(argc == 3);
    int signal = atoi(argv[1]), is_fork = strcmp(argv[2], "forks") == 0;
    self = getpid();
    words = filled(PAGES);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK(sigaction(signal, &action, NULL) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, is_fork ? forks : maps, NULL) == 0);
    int enough = is_fork ? 40 : 400;
    for (sent = 1; sent <= enough; sent++) {
        /* In signal mode the kernel takes a SIGBUS for the same as that of the thread's miss, if
           they come together: then another is sent. */
        for (int look = 0; answered < sent; look++) {
            union sigval value = {.sival_int = sent};
            if (look % 1000 == 0)
                CHECK(pthread_sigqueue(thread, signal, value) == 0);
            usleep(50);
        }
    }
    puts("well");
    fflush(stdout);
    _exit(0);
}
