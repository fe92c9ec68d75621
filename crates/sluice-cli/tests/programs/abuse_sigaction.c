/* Reads every signal's action back and installs it again, as Erlang does at its start. The actions
   of a fresh program are the default or to be ignored, and its handlers are its own. */
#include "abuse.h"
#include <errno.h>

#define PAGES 2048u

int __sigaction(int, const struct sigaction *, struct sigaction *);

typedef int (*act)(int, const struct sigaction *, struct sigaction *);

static uint64_t *words;
static volatile sig_atomic_t caught;

static void note(int signal) {
    caught = signal;
    if (words[PER_PAGE] != mix(1ull << 40 | PER_PAGE))
        _Exit(3);
}

static void again(act way, int with_stack) {
    for (int number = 1; number <= 31; number++) {
        struct sigaction action;
        if (way(number, NULL, &action) != 0)
            continue;
        if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
            fprintf(stderr, "signal %d has a handler that is not the program's\n", number);
        CHECK(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
        action.sa_flags |= with_stack ? SA_ONSTACK : 0;
        CHECK(way(number, &action, NULL) == 0 || number == SIGKILL || number == SIGSTOP);
    }
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 3);
    int by_alias = strcmp(arguments[1], "alias") == 0;
    int with_stack = strcmp(arguments[2], "stack") == 0;
    act way = by_alias ? __sigaction : sigaction;
    words = filled(PAGES);
    size_t bytes = 13824;
    stack_t stack = {.ss_size = bytes, .ss_sp = malloc(bytes)};
    CHECK(stack.ss_sp);
    if (with_stack)
        CHECK(sigaltstack(&stack, NULL) == 0);
    again(way, with_stack);
    CHECK(wrong(words, PAGES) == 0);
    /* A handler of the program's own, for the same signal. */
    struct sigaction own = {0}, found;
    own.sa_handler = note;
    own.sa_flags = with_stack ? SA_ONSTACK : 0;
    CHECK(way(SIGBUS, &own, NULL) == 0);
    CHECK(wrong(words, PAGES) == 0);
    CHECK(way(SIGBUS, NULL, &found) == 0 && found.sa_handler == note);
    CHECK(raise(SIGBUS) == 0 && caught == SIGBUS);
    CHECK(wrong(words, PAGES) == 0);
    /* Whether it interrupts calls is changed in the program's action, and in no other. */
    for (int interrupts = 1; interrupts >= 0; interrupts--) {
        CHECK(siginterrupt(SIGBUS, interrupts) == 0 && way(SIGBUS, NULL, &found) == 0);
        CHECK(found.sa_handler == note);
        CHECK((found.sa_flags & SA_RESTART ? 0 : 1) == interrupts);
    }
    CHECK(siginterrupt(0, 1) == -1 && errno == EINVAL);
    CHECK(wrong(words, PAGES) == 0);
    CHECK(write(1, "well\n", 5) == 5);
    return 0;
}
