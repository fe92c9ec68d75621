/* A program with signal handlers of its own, on memory that does not fit into the cache. */
#include "common.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define BYTES (8u << 20)
#define WORDS (BYTES / 8)

static uint64_t *words;
static sigjmp_buf back;
static volatile sig_atomic_t caught;
static void *volatile caught_at;
static volatile sig_atomic_t mask_was_right;

static void note(int signal, siginfo_t *info, void *context) {
    (void)context;
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    /* A SIGBUS of the device may come at any time, so that one is never blocked. */
    mask_was_right = sigismember(&now, SIGUSR2) && (signal == SIGBUS || sigismember(&now, signal));
    caught = signal;
    caught_at = info->si_addr;
    /* A handler may need pages itself. */
    if (wrong_words(words, WORDS / 8, 1) != 0)
        _Exit(3);
    siglongjmp(back, 1);
}

static void note_plain(int signal) {
    caught = signal;
    siglongjmp(back, 1);
}

/* A page of a file behind the file's end: a SIGBUS of the program's own making. */
static char *beyond_the_end(void) {
    FILE *file = tmpfile();
    CHECK(file && ftruncate(fileno(file), 1) == 0);
    char *map = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fileno(file), 0);
    CHECK(map != MAP_FAILED);
    return map + PAGE;
}

static char *no_access(void) {
    char *map = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map != MAP_FAILED);
    return map;
}

static void provoke(int signal, volatile char *at, int with_address) {
    for (int round = 0; round < 20; round++) {
        caught = 0;
        if (sigsetjmp(back, 1) == 0) {
            (void)*at;
            CHECK(!"the access was let through");
        }
        CHECK(caught == signal);
        if (with_address)
            CHECK(caught_at == at && mask_was_right);
        size_t part = WORDS / 20;
        for (size_t i = round * part; i < (round + 1) * part; i++)
            CHECK(words[i] == mix(1ull << 40 | i));
    }
}

static void handlers(int number, char *at) {
    struct sigaction action = {0}, before, again;
    action.sa_sigaction = note;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    CHECK(sigaction(number, &action, &before) == 0);
    CHECK(before.sa_handler == SIG_DFL);
    CHECK(sigaction(number, NULL, &again) == 0);
    CHECK(again.sa_sigaction == note && again.sa_flags & SA_SIGINFO);
    provoke(number, at, 1);
    CHECK(number != SIGBUS || wrong_words(words, WORDS, 1) == 0);
    void (*old)(int) = signal(number, note_plain);
    CHECK((void *)old == (void *)note);
    provoke(number, at, 0);
    CHECK(wrong_words(words, WORDS, 1) == 0);
    sigset_t none;
    sigprocmask(SIG_SETMASK, NULL, &none);
    CHECK(!sigismember(&none, number) && !sigismember(&none, SIGUSR2));
}

static volatile sig_atomic_t noted;

static void count_it(int signal) {
    noted += signal;
    if (wrong_words(words, WORDS / 8, 1) != 0)
        _Exit(3);
}

/* The ways of System V and BSD, which are not led through sigaction. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void old_ways(char *at) {
    CHECK(sigset(SIGBUS, count_it) == SIG_DFL && raise(SIGBUS) == 0 && noted == SIGBUS);
    CHECK(wrong_words(words, WORDS, 1) == 0);
    CHECK(ssignal(SIGBUS, note_plain) == count_it);
    provoke(SIGBUS, at, 0);
    CHECK(sighold(SIGBUS) == 0 && wrong_words(words, WORDS, 1) == 0);
    CHECK(sigrelse(SIGBUS) == 0);
    int all = sigblock(~0);
    CHECK(wrong_words(words, WORDS, 1) == 0);
    sigsetmask(~0);
    CHECK(wrong_words(words, WORDS, 1) == 0);
    sigsetmask(all);
    CHECK(sigignore(SIGBUS) == 0 && raise(SIGBUS) == 0);
    CHECK(wrong_words(words, WORDS, 1) == 0);
    /* Once, and then the default again. */
    CHECK(sysv_signal(SIGBUS, count_it) == SIG_IGN && raise(SIGBUS) == 0);
    CHECK(noted == 2 * SIGBUS && wrong_words(words, WORDS, 1) == 0);
    CHECK(signal(SIGBUS, note_plain) == SIG_DFL);
    CHECK(wrong_words(words, WORDS, 1) == 0);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal) {
    (void)signal;
    size_t at = (size_t)alarms * 4099 % WORDS;
    if (words[at] != mix(1ull << 40 | at))
        _Exit(3);
    alarms++;
}

static void alarm_handlers(void) {
    struct sigaction action = {0};
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval every = {{0, 300}, {0, 300}};
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
    while (alarms < 300)
        CHECK(wrong_words(words, WORDS, 1) == 0);
}

static void *blocked(void *unused) {
    (void)unused;
    sigset_t all;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    CHECK(wrong_words(words, WORDS, 1) == 0);
    return NULL;
}

static void block_all(void) {
    sigset_t all;
    sigfillset(&all);
    CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
    CHECK(wrong_words(words, WORDS, 1) == 0);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, blocked, NULL));
    CHECK(!pthread_join(thread, NULL));
}

static void spin(void) {
    puts("ready");
    fflush(stdout);
    for (;;)
        CHECK(wrong_words(words, WORDS, 1) == 0);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    words = malloc(BYTES);
    CHECK(words);
    fill(words, WORDS, 1);
    if (strcmp(what, "bus") == 0)
        handlers(SIGBUS, beyond_the_end());
    else if (strcmp(what, "segv") == 0)
        handlers(SIGSEGV, no_access());
    else if (strcmp(what, "old") == 0)
        old_ways(beyond_the_end());
    else if (strcmp(what, "raise-bus") == 0)
        raise(SIGBUS);
    else if (strcmp(what, "alarm") == 0)
        alarm_handlers();
    else if (strcmp(what, "block") == 0)
        block_all();
    else if (strcmp(what, "spin") == 0)
        spin();
    else if (strcmp(what, "die-bus") == 0)
        return *(volatile char *)beyond_the_end();
    else if (strcmp(what, "die-segv") == 0)
        return *(volatile char *)no_access();
    else if (strcmp(what, "abort") == 0)
        abort();
    else if (strcmp(what, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(what, "status") == 0)
        return 42;
    else
        return 2;
    puts("well");
    return 0;
}
