/* The first thread ends before the others do; the last of them ends the program. */
#include "abuse.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PAGES 2048u

static void *outlive(void *unused) {
    (void)unused;
    usleep(200000);
    uint64_t *words = filled(PAGES);
    CHECK(wrong(words, PAGES) == 0);
    puts("well");
    fflush(stdout);
    return NULL;
}

/* As OpenSSH's child before a login: at a root without anything, as another user, under a filter
   that ends the thread which makes a call that is not in it. */
static void enter_cage(const char *folder) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    CHECK(chroot(folder) == 0 && chdir("/") == 0);
    CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* A child in a cage ends as it does without a device, and its parent sees how. */
static void end_in_cage(const char *how) {
    char folder[] = "/tmp/sluice-cage-XXXXXX";
    CHECK(mkdtemp(folder));
    uint64_t *words = filled(PAGES);
    pid_t child = fork();
    if (child == 0) {
        limit(20);
        enter_cage(folder);
        CHECK(wrong(words, PAGES) == 0);
        if (strcmp(how, "exit") == 0)
            exit(5);
        if (strcmp(how, "thread") == 0)
            syscall(SYS_exit, 7);
        char room[512];
        syscall(SYS_uname, room);
        _exit(9);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && rmdir(folder) == 0);
    if (strcmp(how, "filter") == 0)
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    else
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (strcmp(how, "exit") == 0 ? 5 : 7));
    puts("well");
}

int main(int count, char **arguments) {
    limit(25);
    if (count == 3) {
        end_in_cage(arguments[2]);
        return 0;
    }
    CHECK(count == 2);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, outlive, NULL));
    if (strcmp(arguments[1], "pthread_exit") == 0) {
        pthread_exit(NULL);
    } else if (strcmp(arguments[1], "alone") == 0) {
        CHECK(!pthread_join(thread, NULL));
        pthread_exit(NULL);
    } else if (strcmp(arguments[1], "raw") == 0) {
        syscall(SYS_exit, 0);
    }
    return 2;
}
