/* Handlers that miss, on stacks of the heap too; contexts; what a program sees of its handlers. */
#include "torture.h"
#include <sys/time.h>
#include <ucontext.h>

#define COUNTERS 1024u

static volatile uint32_t *counters;
/* What they must be. The handler counts both; this one is never on a device. */
static volatile uint32_t counted[COUNTERS];
static volatile uint64_t ticks;

static volatile sig_atomic_t period;

/* One tick: the next begins when its handler is done. A device may be slower than any interval, and
   ticks that come faster than they are handled leave the program no time. */
static void set_timer(int microseconds) {
    period = microseconds;
    struct itimerval once = {{0, 0}, {0, microseconds}};
    MUST(setitimer(ITIMER_REAL, &once, NULL) == 0);
}

static void on_tick(int signal) {
    (void)signal;
    size_t n = mix(++ticks) % COUNTERS;
    counters[n * (PAGE / 4)]++;
    counted[n]++;
    if (now.ticking)
        set_timer(period);
}

static void mask_ticks(int how) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    MUST(sigprocmask(how, &alarm, NULL) == 0);
}

static void step_tick(void) {
    if (now.ticking || now.depth)
        return;
    if (!counters) {
        int both = PROT_READ | PROT_WRITE;
        counters = mmap(NULL, COUNTERS * PAGE, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(counters != MAP_FAILED);
    }
    static void *stack;
    int on_heap = (int)below(2);
    stack = stack ? stack : malloc(64 << 10);
    MUST(stack);
    stack_t alternate = {.ss_sp = stack, .ss_size = 64 << 10};
    if (on_heap && strstr(now.without, "alternate-stack") == NULL)
        MUST(sigaltstack(&alternate, NULL) == 0);
    struct sigaction action = {0};
    action.sa_handler = on_tick;
    action.sa_flags = SA_RESTART | (on_heap ? SA_ONSTACK : 0);
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    now.ticking = 1;
    set_timer(1000);
}

/* The handler comes while memory is given back: its miss may need what the interrupted call holds.
 */
static void step_tick_mapping(void) {
    if (now.depth)
        return;
    if (!now.ticking)
        step_tick();
    set_timer(300);
    size_t bytes = 2 << 20;
    for (int n = 0; n < 60; n++) {
        int both = PROT_READ | PROT_WRITE;
        char *at = mmap(NULL, bytes, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(at != MAP_FAILED);
        for (size_t page = 0; page < bytes; page += 4 * PAGE)
            at[page] = (char)n;
        MUST(madvise(at, bytes, MADV_DONTNEED) == 0 && at[PAGE] == 0 && munmap(at, bytes) == 0);
        free(realloc(malloc(30000), 60000));
    }
    stop_ticking();
}

void check_ticks(void) {
    if (!counters)
        return;
    mask_ticks(SIG_BLOCK);
    for (size_t n = 0; n < COUNTERS; n++)
        if (counters[n * (PAGE / 4)] != counted[n])
            fail("counter %zu is %u, not %u", n, counters[n * (PAGE / 4)], counted[n]);
    mask_ticks(SIG_UNBLOCK);
}

void stop_ticking(void) {
    int was_ticking = (int)now.ticking;
    now.ticking = 0;
    if (was_ticking)
        set_timer(0);
    check_ticks();
}

static volatile sig_atomic_t handled;

static void on_own(int signal) {
    char here[9000];
    memset(here, signal, sizeof here);
    struct region *region = any_region();
    check_region(region, 0, region->pages / 4);
    handled += here[8000] == signal;
}

/* A handler that needs stack, on a stack from malloc that has left the cache. */
static void step_alternate(void) {
    size_t bytes = 96 << 10;
    stack_t stack = {.ss_size = bytes, .ss_sp = malloc(bytes)}, before;
    MUST(stack.ss_sp && sigaltstack(&stack, &before) == 0);
    struct sigaction action = {0};
    action.sa_handler = on_own;
    action.sa_flags = SA_ONSTACK;
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    handled = 0;
    for (int n = 0; n < 3; n++) {
        thrash();
        MUST(raise(SIGUSR1) == 0);
    }
    tell("handled: %d", (int)handled);
    stack_t found;
    MUST(sigaltstack(NULL, &found) == 0);
    tell("the stack is the program's: %d", found.ss_sp == stack.ss_sp && found.ss_size == bytes);
    MUST(sigaltstack(&before, NULL) == 0);
    free(stack.ss_sp);
}

static ucontext_t outer, inner;

static void in_context(void) {
    char here[400];
    memset(here, 7, sizeof here);
    struct region *region = any_region();
    check_region(region, 0, region->pages / 2);
    write_pages(region, 0, region->pages / 2);
    MUST(here[399] == 7);
}

static void run_on(void *stack, size_t bytes) {
    MUST(getcontext(&inner) == 0);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = bytes;
    inner.uc_link = &outer;
    makecontext(&inner, in_context, 0);
    MUST(swapcontext(&outer, &inner) == 0);
}

static void step_context(void) {
    size_t bytes = 64 << 10;
    char *stack = malloc(bytes);
    MUST(stack);
    memset(stack, 1, bytes);
    thrash();
    run_on(stack, bytes);
    free(stack);
}

/* 4 KiB are enough for the program itself. What lies below is not the stack's. */
static void step_small_context(void) {
    static _Alignas(4096) unsigned char memory[(64 << 10) + (4 << 10)];
    memset(memory, 0xa5, 64 << 10);
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    MUST(sigprocmask(SIG_SETMASK, &all, &before) == 0);
    run_on(memory + (64 << 10), 4 << 10);
    MUST(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
    for (size_t n = 0; n < 64 << 10; n++)
        if (memory[n] != 0xa5)
            fail("%zu bytes below a small stack are overwritten", (64 << 10) - n);
}

/* Set by the C library, which shows it in some versions. */
#define RESTORER 0x04000000

int __sigaction(int, const struct sigaction *, struct sigaction *);

/* Reads each action by either name, and sets it again as it was. */
static void step_actions(void) {
    for (int number = 1; number < 32; number++) {
        struct sigaction one = {0}, other = {0};
        int failed = sigaction(number, NULL, &one) | __sigaction(number, NULL, &other);
        int known = one.sa_handler == SIG_DFL ? 0 : one.sa_handler == SIG_IGN ? 1 : 2;
        if (number == SIGALRM || number == SIGUSR1)
            continue;
        tell("signal %d: %d %d %x %d", number, failed, known, one.sa_flags & ~RESTORER,
             one.sa_handler == other.sa_handler &&
                 ((one.sa_flags ^ other.sa_flags) & ~RESTORER) == 0);
        other.sa_flags |= SA_ONSTACK;
        __sigaction(number, &other, NULL);
        sigaction(number, &one, NULL);
    }
    struct region *region = any_region();
    check_region(region, 0, region->pages);
}

/* With everything blocked there is still memory. */
static void step_blocked(void) {
    sigset_t all, before, found;
    sigfillset(&all);
    MUST(sigprocmask(SIG_SETMASK, &all, &before) == 0);
    struct region *region = any_region();
    check_region(region, 0, region->pages);
    write_pages(region, 0, region->pages / 2);
    MUST(sigprocmask(SIG_SETMASK, &before, &found) == 0);
    int blocked = 0;
    for (int number = 1; number < 32; number++)
        blocked += number != SIGBUS && sigismember(&found, number);
    tell("blocked: %d", blocked);
}

const struct step signal_steps[] = {
    {"tick", step_tick, 3, 0},
    {"tick-stop", stop_ticking, 1, 0},
    {"tick-mapping", step_tick_mapping, 2, 0},
    {"alternate-stack", step_alternate, 1, 0},
    {"context", step_context, 1, 0},
    {"small-context", step_small_context, 1, 0},
    {"actions", step_actions, 1, 1},
    {"blocked", step_blocked, 1, 0},
    {0},
};
