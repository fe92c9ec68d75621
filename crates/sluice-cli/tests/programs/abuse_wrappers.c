/* A program may have functions of its own under names of the C library's, which end in the next
   function of that name or in a system call. Built so that libraries find them. */
#include "abuse.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PAGES 1500u

typedef int act(int, const struct sigaction *, struct sigaction *);

int __sigaction(int, const struct sigaction *, struct sigaction *);

static int depth;

/* Erlang wraps both names by way of the next `__sigaction`. */
int __sigaction(int number, const struct sigaction *new, struct sigaction *old) {
    act *next = (act *)dlsym(RTLD_NEXT, "__sigaction");
    next = next ? next : (act *)dlsym(RTLD_NEXT, "sigaction");
    CHECK(next && ++depth == 1);
    int result = next(number, new, old);
    depth--;
    return result;
}

int sigaction(int number, const struct sigaction *new, struct sigaction *old) {
    return __sigaction(number, new, old);
}

int close(int fd) {
    CHECK(++depth == 1);
    int result = syscall(SYS_close, fd);
    depth--;
    return result;
}

/* `fakeroot` has these ask another process, at a descriptor of this one. A thread with a table of
   descriptors of its own does not have it. The program has one thread. */
#define OF_PROGRAM(number, ...)                                                                    \
    CHECK(syscall(SYS_gettid) == getpid());                                                        \
    return (int)syscall(number, __VA_ARGS__)

int fchmod(int fd, mode_t mode) { OF_PROGRAM(SYS_fchmod, fd, mode); }
int fchown(int fd, uid_t user, gid_t group) { OF_PROGRAM(SYS_fchown, fd, user, group); }
int statx(int fd, const char *path, int flags, unsigned mask, struct statx *to) {
    OF_PROGRAM(SYS_statx, fd, path, flags, mask, to);
}
int fstat(int fd, struct stat *to) { OF_PROGRAM(SYS_fstat, fd, to); }
int fstat64(int fd, struct stat64 *to) { OF_PROGRAM(SYS_fstat, fd, to); }
int unlink(const char *path) { OF_PROGRAM(SYS_unlinkat, AT_FDCWD, path, 0); }
int mkdir(const char *path, mode_t mode) { OF_PROGRAM(SYS_mkdirat, AT_FDCWD, path, mode); }
int rename(const char *from, const char *to) {
    OF_PROGRAM(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
uid_t getuid(void) { OF_PROGRAM(SYS_getuid, 0); }
uid_t geteuid(void) { OF_PROGRAM(SYS_geteuid, 0); }

static volatile sig_atomic_t caught;

static void on_signal(int number) {
    caught = number;
}

int main(void) {
    limit(25);
    uint64_t *words = filled(PAGES);
    struct sigaction action = {.sa_handler = on_signal}, before;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGUSR1, NULL, &before) == 0);
    CHECK(before.sa_handler == on_signal);
    CHECK(raise(SIGUSR1) == 0 && caught == SIGUSR1);
    int file = open("/dev/null", O_RDONLY);
    CHECK(file >= 0 && close(file) == 0 && close(file) == -1);
    CHECK(wrong(words, PAGES) == 0);
    pid_t child = fork();
    if (child == 0)
        _exit(wrong(words, PAGES) != 0);
    child_was_well(child);
    puts("well");
    return 0;
}
