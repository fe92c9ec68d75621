/* A program may have functions of its own under names of the C library's, which end in the next
   function of that name or in a system call. Built so that libraries find them. */
#include "abuse.h"
#include <dlfcn.h>
#include <fcntl.h>
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
    puts("well");
    return 0;
}
