/* Functions of the C library by its own names for them, and calls by their numbers. */
#include "abuse.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PAGES 2048u

static uint64_t *others;

/* Has pages of others come, so that all that may leave does. */
static void push_out(void) {
    for (size_t at = 0; at < PAGES * PER_PAGE; at += PER_PAGE)
        (void)*(volatile uint64_t *)&others[at];
}

static void *named(const char *name) {
    void *function = dlsym(RTLD_DEFAULT, name);
    CHECK(function);
    return function;
}

#ifdef __x86_64__
/* What programs were linked with that are older than version 2.26 of the C library. */
__asm__(".symver old_free, cfree@GLIBC_2.2.5");
void old_free(void *);
#else
#define old_free free
#endif

static void allocate(void) {
    void *(*again)(void *, size_t, size_t) = named("__libc_reallocarray");
    char *text = malloc(100);
    strcpy(text, "kept");
    text = again(text, 1000, 1000);
    CHECK(text && !strcmp(text, "kept"));
    old_free(text);
    CHECK(again(NULL, SIZE_MAX, 2) == NULL && errno == ENOMEM);
}

static void map(void) {
    void *(*map)(void *, size_t, int, int, int, off_t) = named("__mmap");
    int (*unmap)(void *, size_t) = named("__munmap");
    int (*protect)(void *, size_t, int) = named("__mprotect");
    int (*advise)(void *, size_t, int) = named("__madvise");
    int access = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    size_t bytes = 64 * PAGE;
    uint64_t *memory = map(NULL, bytes, access, flags, -1, 0);
    CHECK(memory != MAP_FAILED);
    fill(memory, 64 * PER_PAGE, 2);
    push_out();
    CHECK(advise(memory, PAGE, MADV_DONTNEED) == 0);
    push_out();
    CHECK(memory[0] == 0 && memory[PER_PAGE] == mix(2ull << 40 | PER_PAGE));
    CHECK(map(&memory[PER_PAGE], PAGE, access, flags | MAP_FIXED, -1, 0) == &memory[PER_PAGE]);
    push_out();
    CHECK(memory[PER_PAGE] == 0);
    memory[PER_PAGE] = 7;
    CHECK(protect(&memory[2 * PER_PAGE], PAGE, PROT_READ) == 0);
    push_out();
    CHECK(memory[PER_PAGE] == 7 && memory[2 * PER_PAGE] == mix(2ull << 40 | 2 * PER_PAGE));
    CHECK(unmap(memory, bytes) == 0);
}

static int child_of_clone(void *unused) {
    limit(25);
    push_out();
    CHECK(wrong(others, PAGES) == 0 && unused == NULL);
    return 0;
}

static void clones(void) {
    int (*make)(int (*)(void *), void *, int, void *, ...) = named("__clone");
    static char stack[64 * 1024] __attribute__((aligned(16)));
    child_was_well(make(child_of_clone, stack + sizeof stack, SIGCHLD, NULL));
}

static void reads(void) {
    ssize_t (*get)(int, void *, size_t) = named("__read");
    ssize_t (*get_at)(int, void *, size_t, off_t) = named("__pread64");
    int (*open_it)(const char *, int, ...) = named("__open");
    char *path = malloc(PAGE), *to = aligned_alloc(PAGE, 4 * PAGE);
    strcpy(path, "/dev/zero");
    memset(to, 1, 4 * PAGE);
    push_out();
    int fd = open_it(path, O_RDONLY);
    CHECK(fd >= 0);
    push_out();
    CHECK(get(fd, to, 4 * PAGE) == 4 * PAGE && to[0] == 0 && to[4 * PAGE - 1] == 0);
    memset(to, 1, 4 * PAGE);
    push_out();
    CHECK(get_at(fd, to, 4 * PAGE, 0) == 4 * PAGE && to[0] == 0 && to[4 * PAGE - 1] == 0);
    CHECK(close(fd) == 0);
}

/* New in version 2.39 of the C library: a hook finds none before. */
static void spawns(void) {
    static const char *const names[] = {"pidfd_spawn", "pidfd_spawnp"};
    for (int n = 0; n < 2; n++) {
        int (*start)(int *, const char *, void *, void *, char **, char **);
        start = (int (*)(int *, const char *, void *, void *, char **, char **))
            dlsym(RTLD_DEFAULT, names[n]);
        char *list[] = {strdup("/bin/true"), NULL};
        int child = -1;
        push_out();
        int error = start ? start(&child, list[0], NULL, NULL, list, environ) : ENOSYS;
        siginfo_t about = {0};
        CHECK(error == ENOSYS || error == 0);
        CHECK(error || (waitid(P_PIDFD, child, &about, WEXITED) == 0 && about.si_status == 0));
    }
}

static volatile sig_atomic_t handled;

static void handle(int signal) {
    handled = signal;
}

/* A mask by its number, on the heap, that holds all signals back while pages come. */
static void masks(void) {
    uint64_t *set = aligned_alloc(PAGE, 2 * PAGE), *before = &set[PER_PAGE];
    CHECK(signal(SIGUSR1, handle) != SIG_ERR);
    *set = ~0ull;
    push_out();
    CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, before, 8) == 0 && *before == 0);
    raise(SIGUSR1);
    push_out();
    CHECK(!handled && wrong(others, PAGES) == 0);
    *set = 1ull << (SIGUSR1 - 1);
    push_out();
    CHECK(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, set, before, 8) == 0);
    CHECK(handled == SIGUSR1 && *before >> (SIGUSR1 - 1) & 1);
    *set = 0;
    CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, NULL, 8) == 0);
    CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, before, 8) == 0 && *before == 0);
    CHECK(syscall(SYS_rt_sigprocmask, 77, set, NULL, 8) == -1 && errno == EINVAL);
}

/* What a child asks for by number stays its own when it becomes another program. */
static int asks(void *self) {
    CHECK(syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0);
    execl(self, self, "asked", NULL);
    return 1;
}

static void parents_death(char *self) {
    static char stack[64 * 1024] __attribute__((aligned(16)));
    int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
    child_was_well(clone(asks, stack + sizeof stack, flags, self));
}

int main(int count, char **words) {
    CHECK(count == 2);
    limit(25);
    if (!strcmp(words[1], "asked")) {
        int signal = 0;
        CHECK(prctl(PR_GET_PDEATHSIG, &signal) == 0 && signal == SIGKILL);
        return 0;
    }
    others = filled(PAGES);
    if (!strcmp(words[1], "numbers")) {
        masks();
        parents_death(words[0]);
    } else {
        allocate();
        map();
        clones();
        reads();
        spawns();
    }
    CHECK(wrong(others, PAGES) == 0);
    puts("well");
    return 0;
}
