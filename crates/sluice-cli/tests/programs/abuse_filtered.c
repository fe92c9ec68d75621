/* A program that is started under a filter, which sends a system call back to it, or that sets one
 * when it has run for a while. */
#include "abuse.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PAGES 2048u

static volatile sig_atomic_t answered;

static void answer(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    answered = info->si_syscall == SYS_madvise;
}

static void send_back(int number) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "late") == 0) {
        uint64_t *words = filled(PAGES);
        send_back(SYS_ioctl);
        CHECK(wrong(words, PAGES) == 0);
        puts("well");
        return 0;
    }
    if (count == 1) {
        send_back(SYS_madvise);
        execl(arguments[0], arguments[0], "inside", NULL);
        CHECK(!"became itself");
    }
    limit(25);
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGSYS, &action, NULL) == 0);
    uint64_t *words = filled(PAGES);
    for (int round = 0; round < 100; round++) {
        free(filled(64));
        CHECK(wrong(words, PAGES) == 0);
    }
    madvise(words, PAGE, MADV_WILLNEED);
    CHECK(answered);
    puts("well");
    return 0;
}
