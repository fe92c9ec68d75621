/* The kernel clears a word on the device as a thread ends, and wakes who waits there. */
#include "abuse.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#define PAGES 2048u
#define STACK (16 * PAGE)
#define ROUNDS 8

static uint64_t *others;

/* More than the cache holds: what was there before has left. */
static void pass_by(void) {
    CHECK(wrong(others, PAGES) == 0);
}

static void await_clear(int *word) {
    struct timespec longest = {5, 0};
    for (int value; (value = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != 0;) {
        long woken = syscall(SYS_futex, word, FUTEX_WAIT, value, &longest, NULL, 0);
        CHECK(woken == 0 || errno == EAGAIN || errno == EINTR);
    }
}

static int *word_on_a_page_of_its_own(void) {
    int *word = aligned_alloc(PAGE, PAGE);
    CHECK(word);
    *word = 77;
    return word;
}

/* It has no thread-local memory of its own: it calls nothing. */
static int spin(void *go) {
    while (__atomic_load_n((int *)go, __ATOMIC_ACQUIRE) == 0)
        ;
    return 0;
}

/* A thread of `clone`; its number is written to words that have left, too. */
static void cloned(void) {
    static char stack[STACK] __attribute__((aligned(16)));
    static int go;
    int how = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
              CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    for (int round = 0; round < ROUNDS; round++) {
        int *number = word_on_a_page_of_its_own(), *ends = word_on_a_page_of_its_own();
        pass_by();
        go = 0;
        int thread = clone(spin, stack + STACK, how, &go, number, NULL, ends);
        CHECK(thread > 0);
        pass_by();
        CHECK(*number == thread && *ends == 77);
        pass_by();
        __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
        await_clear(ends);
    }
}

static void *name_a_word(void *word) {
    CHECK(syscall(SYS_set_tid_address, word) > 0);
    pass_by();
    syscall(SYS_exit, 0);
    return NULL;
}

/* A thread that names another word. The C library cannot wait for it any more. */
static void named(void) {
    for (int round = 0; round < ROUNDS; round++) {
        int *word = word_on_a_page_of_its_own();
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, name_a_word, word));
        await_clear(word);
    }
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    others = filled(PAGES);
    if (strcmp(arguments[1], "cloned") == 0)
        cloned();
    else if (strcmp(arguments[1], "named") == 0)
        named();
    else
        return 2;
    puts("well");
    return 0;
}
