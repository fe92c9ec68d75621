/* Threads of real-time priority, one of which spins until another has had its pages. */
#include "abuse.h"
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define ROUNDS 45000
#define PAGES 4096

static atomic_int done, is_bound;
static cpu_set_t spinners, missers;
static struct sched_param param;

static void *spins(void *unused) {
    (void)unused;
    CHECK(sched_setaffinity(0, sizeof spinners, &spinners) == 0);
    is_bound = 1;
    while (!done)
        ;
    return NULL;
}

static void *misses(void *memory) {
    CHECK(sched_setaffinity(0, sizeof missers, &missers) == 0);
    /* It does not wait for what else the machine has to do. */
    CHECK(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == 0);
    volatile uint64_t *words = memory;
    uint64_t random = 1;
    for (int round = 0; round < ROUNDS; round++)
        words[next_random(&random) % PAGES * PER_PAGE]++;
    done = 1;
    return NULL;
}

/* Without another CPU the one that spins would have to let the other thread run. */
static int choose_cpus(void) {
    cpu_set_t all;
    int own = sched_getcpu();
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && cpu == own)
            CPU_SET(cpu, &spinners);
        else if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &missers);
    }
    return CPU_COUNT(&missers) > 0;
}

/* On the CPU where the program began. */
static void spin(int priority) {
    param.sched_priority = priority;
    pthread_t threads[2];
    uint64_t *words = filled(PAGES);
    if (!choose_cpus())
        return;
    CHECK(pthread_create(&threads[0], NULL, spins, NULL) == 0);
    while (!is_bound)
        usleep(100);
    CHECK(pthread_setschedparam(threads[0], SCHED_FIFO, &param) == 0);
    CHECK(pthread_create(&threads[1], NULL, misses, words) == 0);
    for (int n = 0; n < 2; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
}

/* Under Sluice the threads that are none of the program's are above it. */
static void all_are_above(int priority) {
    static const char *const known = "sluice-";
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    CHECK(tasks);
    while ((task = readdir(tasks))) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!file)
            continue;
        CHECK(fgets(name, sizeof name, file));
        name[strcspn(name, "\n")] = 0;
        fclose(file);
        if (strncmp(name, known, strlen(known)) != 0)
            continue;
        struct sched_param has;
        CHECK(sched_getparam(atoi(task->d_name), &has) == 0);
        if (has.sched_priority != priority) {
            fprintf(stderr, "%s: %d, not %d\n", name, has.sched_priority, priority);
            exit(1);
        }
    }
    closedir(tasks);
}

static void *nothing(void *unused) {
    return unused;
}

static void made(int priority) {
    struct sched_param own = {priority};
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED) == 0);
    CHECK(pthread_attr_setschedpolicy(&attributes, SCHED_RR) == 0);
    CHECK(pthread_attr_setschedparam(&attributes, &own) == 0);
    CHECK(pthread_create(&thread, &attributes, nothing, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* By each call in turn, the next one higher. */
static void by_all_calls(void) {
    param.sched_priority = 10;
    CHECK(sched_setscheduler(0, SCHED_FIFO, &param) == 0);
    all_are_above(11);
    param.sched_priority = 12;
    CHECK(sched_setparam(0, &param) == 0);
    all_are_above(13);
    param.sched_priority = 14;
    CHECK(pthread_setschedparam(pthread_self(), SCHED_RR, &param) == 0);
    all_are_above(15);
    CHECK(pthread_setschedprio(pthread_self(), 16) == 0);
    all_are_above(17);
    param.sched_priority = 18;
    CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param) == 0);
    all_are_above(19);
    param.sched_priority = 20;
    CHECK(syscall(SYS_sched_setparam, 0, &param) == 0);
    all_are_above(21);
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t times[3];
    } record = {48, SCHED_FIFO, 0, 0, 22, {0}};
    CHECK(syscall(SYS_sched_setattr, 0, &record, 0) == 0);
    all_are_above(23);
    made(24);
    all_are_above(25);
    pid_t child = fork();
    if (child == 0) {
        limit(25);
        all_are_above(25);
        _exit(0);
    }
    child_was_well(child);
    param.sched_priority = 99;
    CHECK(sched_setscheduler(0, SCHED_FIFO, &param) == 0);
    all_are_above(99);
}

int main(int count, char **args) {
    limit(25);
    param.sched_priority = 1;
    if (count > 2) {
        all_are_above(atoi(args[2]) + 1);
        puts("well");
        return 0;
    }
    if (sched_setscheduler(0, SCHED_FIFO, &param) != 0) {
        CHECK(wrong(filled(PAGES), PAGES) == 0);
        puts("no permission, well");
        return 0;
    }
    param.sched_priority = 0;
    CHECK(sched_setscheduler(0, SCHED_OTHER, &param) == 0);
    if (count < 2 || strcmp(args[1], "calls") == 0)
        by_all_calls();
    else
        spin(atoi(args[1]));
    puts("well");
    return 0;
}
