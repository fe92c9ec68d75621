/* The ways to copy a process that go past fork(). */
#include "abuse.h"
#include "raw_fork.h"
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGES 2048u

static uint64_t *words;

/* Pages with the numbers that the kernel writes for a call, one each, and with its record. All have
   left the cache when the call is made. */
enum { CHILD, PARENT, PIDFD, RECORD, IDS };
static uint64_t *ids;

static int *id(int page) { return (int *)(ids + page * PER_PAGE + 100); }

static void push_ids_out(void) {
    if (ids == NULL)
        ids = filled(IDS);
    fill(ids, IDS * PER_PAGE, 1);
    CHECK(wrong(words, PAGES) == 0);
}

/* Whether a page holds the number, and else what it held; -1 stands for no number. */
static int holds(int page, int number) {
    uint64_t own[PER_PAGE];
    size_t first = page * PER_PAGE;
    for (size_t i = 0; i < PER_PAGE; i++)
        own[i] = mix((uint64_t)1 << 40 | (first + i));
    if (number != -1)
        memcpy(own + 100, &number, sizeof number);
    return memcmp(own, ids + first, sizeof own) == 0;
}

static void ids_are_well(pid_t child) {
    CHECK(holds(CHILD, child == 0 ? getpid() : -1));
    CHECK(holds(PARENT, child == 0 ? -1 : child));
}

/* The child has the whole snapshot, and writes that are its own. */
static int in_the_child(void *unused) {
    (void)unused;
    limit(20);
    CHECK(wrong(words, PAGES) == 0);
    fill(words, PAGES * PER_PAGE, 2);
    CHECK(wrong_words(words, PAGES * PER_PAGE, 2) == 0);
    _exit(0);
}

static pid_t by_clone(void) {
    size_t bytes = 256 << 10;
    char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    return clone(in_the_child, stack + bytes, SIGCHLD, NULL);
}

static pid_t by_heap_clone(void) {
    size_t bytes = 256 << 10;
    char *stack = malloc(bytes);
    CHECK(stack);
    return clone(in_the_child, stack + bytes, SIGCHLD, NULL);
}

static pid_t by_fork_alone(void) { return _Fork(); }

static pid_t by_raw_clone(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

static pid_t by_raw_clone3(void) {
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

#define WITH_IDS (CLONE_CHILD_SETTID | CLONE_PARENT_SETTID)

static int with_ids_in_the_child(void *unused) {
    ids_are_well(0);
    return in_the_child(unused);
}

static pid_t by_clone_with_ids(void) {
    static _Alignas(16) char stack[256 << 10];
    push_ids_out();
    pid_t child = clone(with_ids_in_the_child, stack + sizeof stack, SIGCHLD | WITH_IDS, NULL,
                        id(PARENT), NULL, id(CHILD));
    ids_are_well(child);
    return child;
}

static pid_t by_raw_clone_with_ids(void) {
    push_ids_out();
    pid_t child =
#ifdef __x86_64__
        (pid_t)syscall(SYS_clone, SIGCHLD | WITH_IDS, 0, id(PARENT), id(CHILD), 0);
#else
        (pid_t)syscall(SYS_clone, SIGCHLD | WITH_IDS, 0, id(PARENT), 0, id(CHILD));
#endif
    CHECK(child >= 0);
    ids_are_well(child);
    return child;
}

static pid_t by_raw_clone3_with_ids(void) {
    push_ids_out();
    struct clone_args *record = (struct clone_args *)(ids + RECORD * PER_PAGE);
    struct clone_args arguments = {.flags = WITH_IDS | CLONE_PIDFD, .exit_signal = SIGCHLD};
    arguments.pidfd = (uintptr_t)id(PIDFD);
    arguments.child_tid = (uintptr_t)id(CHILD);
    arguments.parent_tid = (uintptr_t)id(PARENT);
    *record = arguments;
    CHECK(wrong(words, PAGES) == 0);
    pid_t child = (pid_t)syscall(SYS_clone3, record, sizeof *record);
    CHECK(child >= 0);
    ids_are_well(child);
    if (child > 0)
        CHECK(close(*id(PIDFD)) == 0);
    CHECK(holds(PIDFD, child > 0 ? *id(PIDFD) : -1));
    return child;
}

static const struct {
    const char *name;
    pid_t (*make)(void);
} ways[] = {
    {"clone", by_clone}, {"heap-clone", by_heap_clone}, {"_Fork", by_fork_alone},
    {"raw-fork", fork_by_number}, {"raw-clone", by_raw_clone}, {"raw-clone3", by_raw_clone3},
    {"clone-ids", by_clone_with_ids}, {"raw-clone-ids", by_raw_clone_with_ids},
    {"raw-clone3-ids", by_raw_clone3_with_ids},
};

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        if (strcmp(ways[way].name, arguments[1]) != 0)
            continue;
        words = filled(PAGES);
        for (int round = 0; round < 3; round++) {
            pid_t child = ways[way].make();
            CHECK(child >= 0);
            if (child == 0)
                in_the_child(NULL);
            CHECK(wrong(words, PAGES) == 0);
            child_was_well(child);
        }
        CHECK(wrong(words, PAGES) == 0);
        puts("well");
        return 0;
    }
    return 2;
}
