/* Programs that have the kernel send their system calls back to them. */
#include "abuse.h"
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define OFF 0ul
#define ON 1ul
#define PAGES 2048u

static uint64_t *others;
static volatile char *selector;
static volatile int sent_back;
static volatile long sent_back_number;

static void push_out(void) {
    for (size_t at = 0; at < PAGES * PER_PAGE; at += PER_PAGE)
        (void)*(volatile uint64_t *)&others[at];
}

static void on_call(int signal, siginfo_t *info, void *context) {
    (void)signal;
    if (selector)
        *selector = 0;
    sent_back++;
    sent_back_number = info->si_syscall;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 42;
}

/* A call by an instruction of the program's own. */
static long own_call(long number) {
    long answer;
    __asm__ volatile("syscall" : "=a"(answer) : "a"(number) : "rcx", "r11", "memory");
    return answer;
}

/* The code of the C library. */
static void find_libc(unsigned long *from, unsigned long *bytes) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], access[8];
    unsigned long start, end;
    CHECK(maps);
    *bytes = 0;
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &start, &end, access) == 3 && access[2] == 'x' &&
            strstr(line, "libc.so")) {
            *from = start;
            *bytes = end - start;
        }
    CHECK(*bytes && fclose(maps) == 0);
}

static int dispatch(unsigned long how, unsigned long from, unsigned long bytes, int by_number) {
    void *at = how == ON ? (void *)selector : NULL;
    if (by_number)
        return syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, how, from, bytes, at);
    return prctl(PR_SET_SYSCALL_USER_DISPATCH, how, from, bytes, at);
}

/* All that the C library may do is done while nothing else may call the kernel. */
static void work(void) {
    char *memory = malloc(1 << 20);
    CHECK(memory);
    memset(memory, 5, 1 << 20);
    push_out();
    CHECK(memory[(1 << 20) - 1] == 5 && syscall(SYS_getpid) == getpid());
    CHECK(syscall(SYS_madvise, (uintptr_t)(memory + PAGE) & ~(PAGE - 1ul), PAGE, MADV_NORMAL) == 0);
    CHECK(syscall(100000) == -1 && errno == ENOSYS);
    void *other = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(other != MAP_FAILED);
    memset(other, 6, 1 << 20);
    CHECK(munmap(other, 1 << 20) == 0);
    free(memory);
    FILE *file = fopen("/proc/self/stat", "r");
    CHECK(file && fgetc(file) != EOF && fclose(file) == 0);
    pid_t child = fork();
    if (child == 0) {
        limit(25);
        push_out();
        CHECK(own_call(SYS_getpid) == getpid());
        _exit(0);
    }
    child_was_well(child);
}

/* Calls of the C library's are let through, others come back. */
static void all_but_libc(int by_number) {
    unsigned long from, bytes;
    find_libc(&from, &bytes);
    sent_back = 0;
    CHECK(dispatch(ON, from, bytes, by_number) == 0);
    for (int round = 0; round < 3; round++) {
        if (selector)
            *selector = 1;
        work();
        CHECK(sent_back == round);
        CHECK(own_call(SYS_getppid) == 42 && sent_back == round + 1);
        CHECK(sent_back_number == SYS_getppid);
    }
    CHECK(dispatch(OFF, 0, 0, by_number) == 0);
    CHECK(own_call(SYS_getpid) == getpid() && sent_back == 3);
}

/* All calls come back until the program's handler lets them through. */
static void all(int may_miss) {
    sent_back = 0;
    CHECK(dispatch(ON, 0, 0, 0) == 0);
    for (int round = 0; round < 3; round++) {
        *selector = 1;
        if (may_miss)
            push_out();
        CHECK(syscall(SYS_getppid) == 42 && sent_back == round + 1);
        CHECK(sent_back_number == SYS_getppid && *selector == 0);
        work();
    }
    CHECK(dispatch(OFF, 0, 0, 0) == 0);
}

static void *in_thread(void *unused) {
    all_but_libc(0);
    unsigned long from, bytes;
    find_libc(&from, &bytes);
    CHECK(dispatch(ON, from, bytes, 0) == 0);
    return unused;
}

static void *not_dispatched(void *unused) {
    push_out();
    CHECK(own_call(SYS_getpid) == getpid());
    return unused;
}

int main(int count, char **words) {
    CHECK(count == 2);
    limit(25);
    others = filled(PAGES);
    volatile char *byte = aligned_alloc(PAGE, PAGE);
    *byte = 0;
    struct sigaction action = {0};
    action.sa_sigaction = on_call;
    action.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGSYS, &action, NULL) == 0);
    if (!strcmp(words[1], "libc")) {
        all_but_libc(0);
        selector = byte;
        all_but_libc(0);
        all_but_libc(1);
        for (int round = 0; round < 70; round++) {
            pthread_t thread;
            void *(*main)(void *) = round % 10 == 3 ? in_thread : not_dispatched;
            CHECK(pthread_create(&thread, NULL, main, NULL) == 0);
            CHECK(pthread_join(thread, NULL) == 0);
        }
    } else {
        selector = byte;
        all(!strcmp(words[1], "all"));
    }
    CHECK(wrong(others, PAGES) == 0);
    puts("well");
    return 0;
}
