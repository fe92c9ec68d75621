/* What the kernel answers a program, where the runtime beside it could change the answer. */
#include "abuse.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PAGES 2048u
#define MIB ((size_t)1 << 20)
#define ENDS 900

static uint64_t *words;

/* Everything else leaves the cache. */
static void evict(void) {
    CHECK(wrong(words, PAGES) == 0);
}

static char *mapped(size_t bytes, int prot) {
    char *memory = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* Without Sluice it may be another process than the first that adopts. */
static void adopted(int end) {
    pid_t now = getppid();
    int well = now == syscall(SYS_getppid) && (now == 1 || !getenv("SLUICE_SESSION"));
    CHECK(write(end, &well, sizeof well) == sizeof well);
    _exit(0);
}

static void becomes(const char *part, long number) {
    char text[24];
    sprintf(text, "%ld", number);
    execl("/proc/self/exe", "answers", part, text, (char *)NULL);
}

static void loses_parent(int execs) {
    int ends[2], well = 0;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        pid_t own = getpid();
        if (fork() == 0) {
            limit(20);
            while (getppid() == own)
                sched_yield();
            if (execs)
                becomes("adopted", ends[1]);
            adopted(ends[1]);
        }
        _exit(0);
    }
    child_was_well(child);
    CHECK(read(ends[0], &well, sizeof well) == sizeof well && well);
    pid_t own = getpid();
    child = fork();
    if (child == 0)
        _exit(getppid() != own);
    child_was_well(child);
}

static void orphan(void) {
    loses_parent(0);
}

/* Programs that processes become: of one that was adopted, and of the first. */
static void execs(void) {
    loses_parent(1);
    becomes("first", getppid());
}

/* Neither process has anything to undo of semaphores. */
static void undo(void) {
    pid_t own = getpid(), child = fork();
    if (child == 0)
        _exit(syscall(SYS_kcmp, own, getpid(), KCMP_SYSVSEM, 0, 0) != 0);
    child_was_well(child);
}

static void events(void) {
    int set = epoll_create1(0), ends[2];
    for (int n = 0; n < ENDS; n++) {
        struct epoll_event event = {.events = EPOLLOUT, .data.u64 = n};
        CHECK(pipe(ends) == 0 && epoll_ctl(set, EPOLL_CTL_ADD, ends[1], &event) == 0);
    }
    struct epoll_event *found = aligned_alloc(PAGE, 8 * PAGE);
    for (int way = 0; way < 4; way++) {
        memset(found, 0xff, 8 * PAGE);
        evict();
        /* The first page is there, and those behind it are not. */
        *(volatile char *)found = 0;
        switch (way) {
        case 0: CHECK(epoll_wait(set, found, 2 * ENDS, 0) == ENDS); break;
        case 1: CHECK(epoll_pwait(set, found, 2 * ENDS, 0, NULL) == ENDS); break;
        case 2: CHECK(syscall(SYS_epoll_pwait, set, found, 2 * ENDS, 0, NULL, 8) == ENDS); break;
        case 3: CHECK(epoll_wait(set, found, 7, 0) == 7);
        }
        size_t sum = 0, count = way == 3 ? 7 : ENDS;
        for (size_t n = 0; n < count; n++)
            sum += found[n].events == EPOLLOUT && found[n].data.u64 < ENDS;
        CHECK(sum == count && found[count].data.u64 == UINT64_MAX);
    }
    CHECK(epoll_wait(set, found, 0, 0) == -1 && errno == EINVAL);
    /* An event begins in a page that has left the device, as one does that was read-only. */
    char *pages = (char *)found;
    CHECK(mprotect(pages, PAGE, PROT_READ) == 0);
    CHECK(mprotect(pages, PAGE, PROT_READ | PROT_WRITE) == 0);
    found = (struct epoll_event *)(pages + PAGE - 8);
    evict();
    CHECK(epoll_wait(set, found, 5, 0) == 5 && found[0].events == EPOLLOUT);
    CHECK(found[0].data.u64 < ENDS && found[4].data.u64 < ENDS);
}

static sigjmp_buf back;

static void leave(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

static int may_store(volatile char *at) {
    if (sigsetjmp(back, 1))
        return 0;
    *at = 9;
    return 1;
}

/* Key -1 stands for none. Other keys need a processor that has them. */
static void keys(void) {
    char *memory = mapped(8 * MIB, PROT_READ | PROT_WRITE);
    CHECK(signal(SIGSEGV, leave) != SIG_ERR);
    for (size_t at = 0; at < 8 * MIB; at += PAGE)
        memory[at] = 1 + at / PAGE % 100;
    CHECK(pkey_mprotect(memory, 8 * MIB, PROT_READ | PROT_WRITE, 99) == -1 && errno == EINVAL);
    CHECK(pkey_mprotect(memory, 4 * MIB, PROT_READ, -1) == 0);
    CHECK(!may_store(memory + 1) && may_store(memory + 4 * MIB + 1));
    int zeros = open("/dev/zero", O_RDONLY);
    CHECK(read(zeros, memory + PAGE, 8) == -1 && errno == EFAULT && close(zeros) == 0);
    CHECK(syscall(SYS_pkey_mprotect, memory, 4 * MIB, PROT_READ | PROT_WRITE, -1) == 0);
    CHECK(may_store(memory + 1));
    int key = pkey_alloc(0, 0);
    if (key >= 0) {
        CHECK(pkey_mprotect(memory, MIB, PROT_READ | PROT_WRITE, key) == 0);
        CHECK(pkey_set(key, PKEY_DISABLE_WRITE) == 0 && !may_store(memory + 1));
        evict();
        CHECK(pkey_set(key, 0) == 0 && may_store(memory + 1));
    }
    evict();
    for (size_t at = 0; at < 8 * MIB; at += PAGE)
        CHECK(memory[at] == (char)(1 + at / PAGE % 100));
}

/* A stack in what was unmapped of a reservation. */
static void grows(void) {
    char *memory = mapped(64 * MIB, PROT_NONE), *top = memory + 32 * MIB;
    CHECK(munmap(memory + 16 * MIB, 16 * MIB) == 0);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN;
    char *stack = mmap(top - 16 * PAGE, 16 * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    CHECK(stack == top - 16 * PAGE);
    for (size_t at = PAGE; at <= 2 * MIB; at += PAGE)
        top[-(long)at] = (char)(at / PAGE);
    evict();
    for (size_t at = PAGE; at <= 2 * MIB; at += PAGE)
        CHECK(top[-(long)at] == (char)(at / PAGE));
    CHECK(munmap(top - 2 * MIB, 2 * MIB) == 0);
}

/* Memory that is mapped again where it was unmapped, with small allocations in between. */
static void hole(void) {
    enum { BLOCKS = 3000, BYTES = 700 };
    char *own = mapped(8 * MIB, PROT_READ | PROT_WRITE);
    CHECK(munmap(own + 2 * MIB, 4 * MIB) == 0);
    static unsigned char *blocks[BLOCKS];
    for (size_t n = 0; n < BLOCKS; n++) {
        CHECK((blocks[n] = malloc(BYTES)));
        memset(blocks[n], (int)n, BYTES);
    }
    char *again = mmap(own + 2 * MIB, 4 * MIB, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(again == own + 2 * MIB);
    memset(again, 0xee, 4 * MIB);
    for (size_t n = 0; n < BLOCKS; n++) {
        for (size_t at = 0; at < BYTES; at++) {
            CHECK(blocks[n][at] == (unsigned char)n);
        }
    }
}

/* A filter that forbids all calls but the one that ends the process. */
static void filter(void) {
    pid_t child = fork();
    if (child == 0) {
        struct sock_filter steps[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
        _exit(0);
    }
    child_was_well(child);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*part)(void);
    } parts[] = {{"orphan", orphan}, {"undo", undo},   {"events", events},
                 {"keys", keys},     {"grows", grows}, {"filter", filter},
                 {"hole", hole},     {"execs", execs}};
    limit(25);
    CHECK(count == 2 || count == 3);
    if (strcmp(arguments[1], "adopted") == 0)
        adopted(atoi(arguments[2]));
    words = filled(PAGES);
    if (strcmp(arguments[1], "first") == 0) {
        CHECK(getppid() == atoi(arguments[2]));
        evict();
        puts("well");
        return 0;
    }
    for (size_t n = 0; n < sizeof parts / sizeof *parts; n++) {
        if (strcmp(parts[n].name, arguments[1]) == 0) {
            parts[n].part();
            evict();
            puts("well");
            return 0;
        }
    }
    return 2;
}
