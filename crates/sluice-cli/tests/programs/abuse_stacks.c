/* Misses on stacks that the program made: small ones, ones on the heap, ones for signals. */
#include "abuse.h"
#include "raw_fork.h"
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define PAGES 4096u
#define SMALL PAGE
#define GUARD 65536u

static ucontext_t outer, inner;
static uint64_t *words;
static volatile uint64_t sum;

/* Uses little of its own stack: one load a page. */
static void look_at_all(void) {
    for (size_t page = 0; page < PAGES; page++)
        sum += words[page * PER_PAGE];
}

static uint64_t expected_sum(void) {
    uint64_t expected = 0;
    for (size_t page = 0; page < PAGES; page++)
        expected += mix(1ull << 40 | page * PER_PAGE);
    return expected;
}

static void run_on(void *stack, size_t bytes) {
    sum = 0;
    CHECK(getcontext(&inner) == 0);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = bytes;
    inner.uc_link = &outer;
    makecontext(&inner, look_at_all, 0);
    CHECK(swapcontext(&outer, &inner) == 0);
    CHECK(sum == expected_sum());
}

/* What lies below a small stack belongs to the program. */
static void small(void) {
    static _Alignas(4096) unsigned char memory[GUARD + SMALL];
    memset(memory, 0xa5, GUARD);
    run_on(memory + GUARD, SMALL);
    size_t overwritten = 0;
    for (size_t at = 0; at < GUARD; at++)
        overwritten += memory[at] != 0xa5;
    if (overwritten)
        fprintf(stderr, "%zu bytes below the stack are overwritten\n", overwritten);
    CHECK(overwritten == 0);
}

static void on_the_heap(void) {
    size_t bytes = 64 << 10;
    char *stack = malloc(bytes);
    CHECK(stack);
    memset(stack, 0, bytes);
    /* It leaves the cache before it is used. */
    CHECK(wrong(words, PAGES) == 0);
    run_on(stack, bytes);
    free(stack);
}

static volatile sig_atomic_t handled;

static void on_signal(int signal) {
    char here[6000];
    memset(here, signal, sizeof here);
    look_at_all();
    handled = here[5000];
}

/* An alternate stack from malloc, out of the cache when the signal comes. */
static void alternate(int raw) {
    size_t bytes = 64 << 10;
    stack_t stack = {.ss_size = bytes, .ss_sp = malloc(bytes)}, before;
    CHECK(stack.ss_sp);
    memset(stack.ss_sp, 0, bytes);
    CHECK((raw ? syscall(SYS_sigaltstack, &stack, NULL) : sigaltstack(&stack, NULL)) == 0);
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int round = 0; round < 3; round++) {
        CHECK(wrong(words, PAGES) == 0);
        handled = 0;
        sum = 0;
        CHECK(raise(SIGUSR1) == 0 && handled == SIGUSR1 && sum == expected_sum());
        CHECK(wrong(words, PAGES) == 0);
    }
    CHECK((raw ? syscall(SYS_sigaltstack, NULL, &before) : sigaltstack(NULL, &before)) == 0);
    CHECK(before.ss_sp == stack.ss_sp && before.ss_size == bytes && before.ss_flags == 0);
}

/* An alternate stack of which nobody has touched a page, in the child of a fork. */
static void alternate_of_a_child(void) {
    size_t bytes = 64 << 10;
    stack_t stack = {.ss_size = bytes, .ss_sp = malloc(bytes)};
    CHECK(stack.ss_sp && sigaltstack(&stack, NULL) == 0);
    for (int raw = 0; raw < 2; raw++) {
        pid_t child = raw ? fork_by_number() : fork();
        if (child == 0) {
            limit(10);
            _exit(wrong(words, PAGES) != 0);
        }
        child_was_well(child);
    }
}

/* One alternate stack for all threads: natively none of them uses it. */
static char *shared_stack;

static void *look_with_shared_stack(void *unused) {
    size_t bytes = 64 << 10;
    stack_t stack = {.ss_size = bytes, .ss_sp = shared_stack}, now;
    CHECK(sigaltstack(&stack, NULL) == 0);
    for (int round = 0; round < 4; round++)
        CHECK(wrong(words, PAGES) == 0);
    CHECK(sigaltstack(NULL, &now) == 0);
    CHECK(now.ss_sp == shared_stack && now.ss_size == bytes && now.ss_flags == 0);
    stack.ss_size = 100;
    CHECK(sigaltstack(&stack, NULL) == -1 && errno == ENOMEM);
    CHECK(sigaltstack(NULL, &now) == 0 && now.ss_size == bytes);
    stack.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&stack, &now) == 0 && now.ss_sp == shared_stack);
    CHECK(sigaltstack(NULL, &now) == 0 && now.ss_flags == SS_DISABLE);
    return unused;
}

static void shared(void) {
    pthread_t threads[8];
    shared_stack = malloc(64 << 10);
    CHECK(shared_stack);
    for (int n = 0; n < 8; n++)
        CHECK(pthread_create(&threads[n], NULL, look_with_shared_stack, NULL) == 0);
    for (int n = 0; n < 8; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
}

/* Destructors of a thread on a small stack: one comes again and again, in further rounds. */
static pthread_key_t once, again;
static _Atomic int destroyed;

/* Nothing that a signal needs has room below. */
static __attribute__((noinline)) void look_from_the_end(void) {
    pthread_attr_t attributes;
    void *start;
    size_t bytes, rest = 1024;
    CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    CHECK(pthread_attr_getstack(&attributes, &start, &bytes) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
    size_t left = (size_t)((char *)__builtin_frame_address(0) - (char *)start);
    volatile char *room = __builtin_alloca(left - rest);
    room[0] = 1;
    sum = 0;
    look_at_all();
    CHECK(sum == expected_sum() && room[0] == 1);
}

static void destroy(void *value) {
    look_from_the_end();
    free(value);
    destroyed++;
}

static void destroy_again(void *value) {
    static _Atomic int rounds;
    if (rounds++ % 3 < 2)
        CHECK(pthread_setspecific(again, malloc(100)) == 0);
    destroy(value);
}

static void *with_keys(void *unused) {
    CHECK(pthread_setspecific(once, malloc(5000)) == 0);
    CHECK(pthread_setspecific(again, malloc(50)) == 0);
    return unused;
}

static void destructors(void) {
    pthread_attr_t small;
    CHECK(pthread_key_create(&once, destroy) == 0);
    CHECK(pthread_key_create(&again, destroy_again) == 0);
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 32 << 10) == 0);
    for (int round = 1; round <= 3; round++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, &small, with_keys, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0 && destroyed == 4 * round);
    }
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    words = filled(PAGES);
    if (strcmp(arguments[1], "small") == 0)
        small();
    else if (strcmp(arguments[1], "heap") == 0)
        on_the_heap();
    else if (strcmp(arguments[1], "alternate") == 0)
        alternate(0);
    else if (strcmp(arguments[1], "raw-alternate") == 0)
        alternate(1);
    else if (strcmp(arguments[1], "alternate-of-a-child") == 0)
        alternate_of_a_child();
    else if (strcmp(arguments[1], "shared") == 0)
        shared();
    else if (strcmp(arguments[1], "destructors") == 0)
        destructors();
    else
        return 2;
    puts("well");
    return 0;
}
