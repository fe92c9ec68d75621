/* Calls that the kernel grants only to a process with one thread, other roots, and filters. */
#include "abuse.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PAGES 2048u

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static uint64_t *words;

/* Changes all words to another generation, and checks them; so does a child. */
static void work(uint64_t generation) {
    fill(words, PAGES * PER_PAGE, generation);
    pid_t child = fork();
    if (child == 0) {
        limit(20);
        CHECK(wrong_words(words, PAGES * PER_PAGE, generation) == 0);
        fill(words, PAGES * PER_PAGE, generation + 1);
        CHECK(wrong_words(words, PAGES * PER_PAGE, generation + 1) == 0);
        _exit(0);
    }
    child_was_well(child);
    CHECK(wrong_words(words, PAGES * PER_PAGE, generation) == 0);
}

/* Between each two such calls the heap is changed and evicted. */
static void part_again_and_again(void) {
    for (uint64_t round = 1; round <= 3; round++) {
        CHECK(unshare(CLONE_SIGHAND | CLONE_VM) == 0);
        CHECK(wrong_words(words, PAGES * PER_PAGE, round) == 0);
        work(round + 1);
    }
}

static void user_namespace(void) {
    CHECK(unshare(CLONE_NEWUSER) == 0);
    CHECK(wrong(words, PAGES) == 0);
    work(5);
}

static void user_and_process_namespace(void) {
    CHECK(syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWPID) == 0);
    CHECK(wrong(words, PAGES) == 0);
    pid_t child = fork();
    if (child == 0) {
        limit(20);
        CHECK(getpid() == 1);
        work(7);
        _exit(0);
    }
    child_was_well(child);
    CHECK(wrong(words, PAGES) == 0);
}

static void *sleeper(void *unused) {
    (void)unused;
    pause();
    return NULL;
}

/* With another thread the kernel refuses, as it would without us. */
static void refused_to_threads(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sleeper, NULL) == 0);
    CHECK(unshare(CLONE_NEWUSER) == -1 && errno == EINVAL);
    work(5);
}

static void other_root(void) {
    char folder[] = "/tmp/sluice-root-XXXXXX";
    int above = open("/tmp", O_PATH);
    CHECK(mkdtemp(folder) && chroot(folder) == 0 && chdir("/") == 0);
    work(5);
    CHECK(access("/proc/self", F_OK) == -1 && chdir("..") == 0 && access("tmp", F_OK) == -1);
    work(9);
    CHECK(unlinkat(above, folder + sizeof "/tmp", AT_REMOVEDIR) == 0);
}

/* A filter for all threads forbids what only the runtime asks for. */
static void filter(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    long set = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    CHECK(set == 0);
    fill(words, PAGES * PER_PAGE, 3);
    CHECK(wrong_words(words, PAGES * PER_PAGE, 3) == 0);
}

/* What Python reads before it warns of a fork. */
static void count_of_threads(void) {
    FILE *file = fopen("/proc/self/stat", "r");
    int threads = 0;
    CHECK(file && fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u "
                               "%*d %*d %*d %*d %d", &threads) == 1);
    CHECK(threads == 1 && fclose(file) == 0);
}

/* What Chromium counts before it forks: links, of which two are the folder's own. */
static void links_of_threads(void) {
    struct stat status;
    struct statx more;
    int proc = open("/proc", O_RDONLY), tasks = open("/proc/self/task", O_RDONLY);
    CHECK(proc >= 0 && tasks >= 0);
    CHECK(fstatat(proc, "self/task/", &status, 0) == 0 && status.st_nlink == 3);
    CHECK(stat("/proc/self/task", &status) == 0 && status.st_nlink == 3);
    CHECK(lstat("/proc/thread-self/..", &status) == 0 && status.st_nlink == 3);
    CHECK(fstat(tasks, &status) == 0 && status.st_nlink == 3);
    CHECK(statx(proc, "self/task", 0, STATX_BASIC_STATS, &more) == 0 && more.stx_nlink == 3);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sleeper, NULL) == 0);
    CHECK(stat("/proc/self/task", &status) == 0 && status.st_nlink == 4);
    /* Other folders keep theirs. */
    CHECK(stat("/proc/1/task", &status) == 0 && status.st_nlink >= 3);
    CHECK(stat("/proc", &status) == 0 && status.st_nlink > 4);
    pid_t child = fork();
    if (child == 0) {
        limit(20);
        CHECK(stat("/proc/self/task", &status) == 0 && status.st_nlink == 3);
        _exit(0);
    }
    child_was_well(child);
}

/* To be at an earlier time: this process itself, or its children alone. */
static void at_another_time(int itself) {
    const char offset[] = "monotonic -100 0\n";
    CHECK(unshare(CLONE_NEWTIME) == 0);
    int file = open("/proc/self/timens_offsets", O_WRONLY);
    CHECK(file >= 0 && write(file, offset, strlen(offset)) == (ssize_t)strlen(offset));
    CHECK(close(file) == 0);
    struct timespec before, after;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &before) == 0);
    if (itself) {
        int other = open("/proc/self/ns/time_for_children", O_RDONLY);
        CHECK(other >= 0 && setns(other, CLONE_NEWTIME) == 0 && close(other) == 0);
        CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
        CHECK(after.tv_sec < before.tv_sec);
    }
    work(5);
    CHECK(wrong_words(words, PAGES * PER_PAGE, 5) == 0);
}

static void earlier_child(void) {
    at_another_time(0);
}

static void earlier_itself(void) {
    at_another_time(1);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"parts", part_again_and_again}, {"user", user_namespace},
    {"user-and-pid", user_and_process_namespace}, {"threads", refused_to_threads},
    {"chroot", other_root}, {"filter", filter}, {"count", count_of_threads},
    {"links", links_of_threads}, {"earlier-child", earlier_child}, {"earlier", earlier_itself},
};

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    words = filled(PAGES);
    for (size_t part = 0; part < sizeof parts / sizeof *parts; part++)
        if (strcmp(parts[part].name, arguments[1]) == 0) {
            parts[part].run();
            puts("well");
            return 0;
        }
    return 2;
}
