/* A program that is started under a filter, which sends a system call back to it, or that sets one
 * when it has run for a while, or whose children do. */
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

static int late(void) {
    uint64_t *words = filled(PAGES);
    send_back(SYS_ioctl);
    CHECK(wrong(words, PAGES) == 0);
    puts("well");
    return 0;
}

/* Each end is learned by another call; the last but one is only looked at. */
static int children(void) {
    siginfo_t about;
    for (int n = 0; n < 6; n++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            send_back(SYS_getppid);
            syscall(SYS_getppid);
            _exit(1);
        }
        int status = SIGSYS;
        switch (n) {
        case 0: CHECK(wait(NULL) == child); break;
        case 1: CHECK(waitpid(child, &status, 0) == child); break;
        case 2: CHECK(wait4(child, &status, 0, NULL) == child); break;
        case 3: CHECK(waitid(P_PID, child, NULL, WEXITED) == 0); break;
        case 4:
            CHECK(waitid(P_PID, child, &about, WEXITED | WNOWAIT) == 0);
            CHECK(wait3(&status, 0, NULL) == child);
            break;
        case 5:
            CHECK(waitid(P_PID, child, &about, WEXITED) == 0 && about.si_status == SIGSYS);
        }
        CHECK(WTERMSIG(status) == SIGSYS);
    }
    CHECK(WTERMSIG(system("kill -s SYS $$")) == SIGSYS);
    FILE *shell = popen("kill -s SYS $$", "r");
    CHECK(shell && WTERMSIG(pclose(shell)) == SIGSYS);
    pid_t child = fork();
    if (child == 0)
        raise(SIGSYS);
    /* Nobody waits for it. */
    CHECK(waitid(P_PID, child, &about, WEXITED | WNOWAIT) == 0);
    child = fork();
    if (child == 0)
        raise(SIGTERM);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WTERMSIG(status) == SIGTERM);
    puts("well");
    return 0;
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "late") == 0)
        return late();
    if (count > 1 && strcmp(arguments[1], "children") == 0)
        return children();
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
