/* Forks that the kernel refuses, as it does where there are too many processes. */
#include "abuse.h"
#include "raw_fork.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PAGES 2048u
#define NUMBER offsetof(struct seccomp_data, nr)
#define FLAGS offsetof(struct seccomp_data, args)
#define STEP(code, value) {code, 0, 0, value}
#define IS(value, yes, no) {BPF_JMP | BPF_JEQ | BPF_K, yes, no, value}
#define HAS(bits, yes, no) {BPF_JMP | BPF_JSET | BPF_K, yes, no, bits}

/* No process with a memory of its own from now on. */
static void refuse(void) {
    struct sock_filter steps[] = {
        STEP(BPF_LD | BPF_W | BPF_ABS, NUMBER),
#ifdef SYS_fork
        IS(SYS_fork, 3, 0),
#endif
        IS(SYS_clone, 0, 3),
        STEP(BPF_LD | BPF_W | BPF_ABS, FLAGS),
        HAS(CLONE_VM, 1, 0),
        STEP(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        STEP(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

int main(void) {
    pid_t (*ways[])(void) = {fork, _Fork, fork_by_number};
    limit(25);
    uint64_t *words = filled(PAGES);
    for (int way = 0; way < 3; way++) {
        errno = E2BIG;
        pid_t child = ways[way]();
        CHECK(errno == E2BIG);
        if (child == 0)
            _exit(wrong(words, PAGES) != 0);
        child_was_well(child);
    }
    refuse();
    for (int round = 0; round < 10; round++) {
        for (int way = 0; way < 3; way++) {
            errno = 0;
            CHECK(ways[way]() == -1 && errno == EAGAIN);
        }
        CHECK(wrong(words, PAGES) == 0);
        fill(words, PAGES * PER_PAGE, 1);
    }
    puts("well");
    return 0;
}
