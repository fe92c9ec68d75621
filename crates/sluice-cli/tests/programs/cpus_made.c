/* Threads, children and programs that are made right after a miss have all CPUs. */
#include "common.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define PAGES 2048
#define ROUNDS 200

static volatile char *pages;
static uint64_t seed = 1;
static int all;

static int cpus(void) {
    cpu_set_t set;
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    return CPU_COUNT(&set);
}

static void miss(void) {
    pages[next_random(&seed) % PAGES * PAGE]++;
}

static void *look(void *unused) {
    (void)unused;
    return (void *)(long)cpus();
}

/* Says how many CPUs a child counted that ends with that. */
static int counted(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void by_thread(void) {
    pthread_t thread;
    void *found;
    miss();
    CHECK(pthread_create(&thread, NULL, look, NULL) == 0);
    CHECK(pthread_join(thread, &found) == 0);
    CHECK((long)found == all);
}

static int look_by_iso(void *unused) {
    (void)unused;
    return cpus();
}

static void by_thread_of_iso(void) {
    thrd_t thread;
    int found;
    miss();
    CHECK(thrd_create(&thread, look_by_iso, NULL) == thrd_success);
    CHECK(thrd_join(thread, &found) == thrd_success);
    CHECK(found == all);
}

/* Threads are made with attributes of others. */
static void by_attributes(void) {
    pthread_attr_t own;
    cpu_set_t set;
    miss();
    CHECK(pthread_getattr_np(pthread_self(), &own) == 0);
    CHECK(pthread_attr_getaffinity_np(&own, sizeof set, &set) == 0);
    CHECK(CPU_COUNT(&set) == all && pthread_attr_destroy(&own) == 0);
}

/* What the kernel writes of the CPUs, read in two ways. */
static void by_status(void) {
    static char text[8192];
    const char *name = "/proc/self/status", *at;
    int file;
    miss();
    FILE *stream = fopen(name, "r");
    CHECK(stream && fread(text, 1, sizeof text - 1, stream) > 0 && fclose(stream) == 0);
    CHECK((at = strstr(text, "Cpus_allowed:")));
    unsigned long first = strtoul(at + sizeof "Cpus_allowed:", NULL, 16);
    miss();
    CHECK((file = open(name, O_RDONLY)) >= 0);
    CHECK(read(file, text, sizeof text - 1) > 0 && close(file) == 0);
    CHECK((at = strstr(text, "Cpus_allowed:")));
    unsigned long second = strtoul(at + sizeof "Cpus_allowed:", NULL, 16);
    CHECK(all > 64 || (__builtin_popcountl(first) == all && first == second));
}

/* `struct sched_attr`, of its first version. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* Only a thread with all CPUs may have a deadline. */
static void by_deadline(void) {
    static int is_refused;
    enum { DEADLINE = 6, MILLISECOND = 1000000 };
    struct attributes attributes = {.size = sizeof attributes, .policy = DEADLINE,
                                    .runtime = MILLISECOND, .deadline = 10 * MILLISECOND,
                                    .period = 10 * MILLISECOND};
    struct attributes usual = {.size = sizeof usual};
    static int rounds;
    if (is_refused)
        return;
    if (rounds++)
        miss();
    int result = (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
    /* It may be refused in any case: then it is so without a miss before. */
    is_refused = rounds == 1 && result != 0;
    CHECK(is_refused || result == 0);
    CHECK(is_refused || syscall(SYS_sched_setattr, 0, &usual, 0) == 0);
}

static void by_fork(void) {
    miss();
    pid_t child = fork();
    if (child == 0)
        _exit(cpus());
    CHECK(counted(child) == all);
}

static void by_program(void) {
    extern char **environ;
    char *args[] = {"sh", "-c", "exit $(nproc)", NULL};
    pid_t child;
    miss();
    CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, args, environ) == 0);
    CHECK(counted(child) == all);
    miss();
    child = vfork();
    if (child == 0) {
        execve("/bin/sh", args, environ);
        _exit(127);
    }
    CHECK(counted(child) == all);
}

int main(void) {
    all = cpus();
    pages = malloc(PAGES * PAGE);
    for (int page = 0; page < PAGES; page++)
        pages[page * PAGE] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        miss();
        CHECK(cpus() == all);
        by_thread();
        by_thread_of_iso();
        by_attributes();
        by_status();
        by_deadline();
        if (round % 4 == 0)
            by_fork();
        if (round % 20 == 0)
            by_program();
    }
    puts("well");
    return 0;
}
