/* The ways to copy a process that go past fork(). */
#include "abuse.h"
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGES 2048u

static uint64_t *words;

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

static pid_t by_raw_fork(void) { return (pid_t)syscall(SYS_fork); }

static pid_t by_raw_clone(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

static pid_t by_raw_clone3(void) {
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

static const struct {
    const char *name;
    pid_t (*make)(void);
} ways[] = {
    {"clone", by_clone}, {"heap-clone", by_heap_clone}, {"_Fork", by_fork_alone},
    {"raw-fork", by_raw_fork}, {"raw-clone", by_raw_clone}, {"raw-clone3", by_raw_clone3},
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
