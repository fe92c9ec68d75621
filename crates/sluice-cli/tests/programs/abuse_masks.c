/* Ways to hold every signal back, none of which is a call for the calling thread's mask. */
#include "abuse.h"
#include <pthread.h>
#include <ucontext.h>

#define PAGES 2048u

static uint64_t *words;
static sigset_t all;
static ucontext_t before, within;
static int rounds;

static void *in_thread(void *unused) {
    CHECK(wrong(words, PAGES) == 0);
    return unused;
}

/* Threads begin with a mask that their attributes name. */
static void attributes(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setsigmask_np(&attributes, &all) == 0);
    for (int n = 0; n < 3; n++) {
        CHECK(pthread_create(&thread, &attributes, in_thread, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static void in_context(void) {
    for (;;) {
        CHECK(wrong(words, PAGES) == 0);
        rounds++;
        sigfillset(&before.uc_sigmask);
        if (rounds < 4)
            CHECK(swapcontext(&within, &before) == 0);
        else
            CHECK(setcontext(&before) == 0);
    }
}

/* Contexts go on with the mask that their record has. */
static void contexts(void) {
    CHECK(getcontext(&within) == 0);
    within.uc_stack.ss_size = 1 << 16;
    within.uc_stack.ss_sp = malloc(within.uc_stack.ss_size);
    CHECK(within.uc_stack.ss_sp);
    sigfillset(&within.uc_sigmask);
    makecontext(&within, in_context, 0);
    while (rounds < 4) {
        sigfillset(&within.uc_sigmask);
        CHECK(swapcontext(&before, &within) == 0);
        CHECK(wrong(words, PAGES) == 0);
    }
    sigset_t now;
    CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGTERM) == 1);
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    words = filled(PAGES);
    sigfillset(&all);
    if (strcmp(arguments[1], "attributes") == 0)
        attributes();
    else
        contexts();
    CHECK(wrong(words, PAGES) == 0);
    puts("well");
    return 0;
}
