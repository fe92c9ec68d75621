// What a program may do to a shared mapping: growing, moving, cutting, covering, protecting, losing
// and truncating it. Prints what it finds, which is the same with and without a device.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 128, MORE = 192 };

static sigjmp_buf back;

static void on_bus(int signal)
{
    siglongjmp(back, signal);
}

static void fill(uint8_t *at, size_t from, size_t pages, int with)
{
    for (size_t page = from; page < from + pages; page++)
        memset(at + page * PAGE, (int)(with + page), PAGE);
}

static uint64_t sum(const volatile uint8_t *at, size_t from, size_t pages)
{
    uint64_t sum = 7;
    for (size_t n = from * PAGE; n < (from + pages) * PAGE; n += 61)
        sum = sum * 1099511628211u + at[n];
    return sum;
}

static void say(const char *what, uint64_t found)
{
    printf("%s %lx\n", what, (unsigned long)found);
    fflush(stdout);
}

// What a child finds there, and then this process of what the child has written.
static void ask_child(const char *what, uint8_t *at, size_t pages)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        printf("child ");
        say(what, sum(at, 0, pages));
        fill(at, 0, pages / 2, 77);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    say(what, sum(at, 0, pages));
}

static uint8_t *map(int fd, size_t pages, size_t from, void *at)
{
    int flags = MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0) | (at ? MAP_FIXED : 0);
    uint8_t *made = mmap(at, pages * PAGE, PROT_READ | PROT_WRITE, flags, fd, (off_t)(from * PAGE));
    if (made == MAP_FAILED) {
        perror("mmap");
        exit(3);
    }
    return made;
}

int main(void)
{
    signal(SIGBUS, on_bus);
    signal(SIGSEGV, on_bus);
    int fd = memfd_create("remapped", 0);
    if (fd < 0 || ftruncate(fd, MORE * PAGE) != 0)
        return 3;
    uint8_t *at = map(fd, PAGES, 0, NULL);
    fill(at, 0, PAGES, 1);
    say("filled", sum(at, 0, PAGES));
    ask_child("forked", at, PAGES);

    // A second look at a part of it, and the file by calls.
    uint8_t *part = map(fd, 32, 16, NULL);
    fill(part, 0, 8, 9);
    say("part", sum(at, 16, 8));
    uint8_t buffer[PAGE];
    memset(buffer, 5, sizeof buffer);
    say("pwrite", (uint64_t)pwrite(fd, buffer, PAGE, 20 * PAGE));
    say("after", sum(part, 0, 32));
    say("pread", (uint64_t)pread(fd, at + 40 * PAGE, 2 * PAGE, 20 * PAGE));
    say("into", sum(at, 40, 2));

    at = mremap(at, PAGES * PAGE, MORE * PAGE, MREMAP_MAYMOVE);
    say("grown", at == MAP_FAILED ? 0 : sum(at, 0, PAGES));
    fill(at, PAGES, MORE - PAGES, 3);
    ask_child("grown", at, MORE);
    uint8_t *place = mmap(NULL, MORE * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    at = mremap(at, MORE * PAGE, MORE * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    say("moved", at == place ? sum(at, 0, MORE) : 0);

    // Private memory in its midst: nobody may take that away.
    mmap(at + 50 * PAGE, 10 * PAGE, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    fill(at, 50, 10, 200);
    say("covered", sum(at, 0, MORE));
    say("cut", (uint64_t)munmap(at + 70 * PAGE, 5 * PAGE));
    map(fd, 5, 0, at + 70 * PAGE);
    ask_child("patched", at, MORE);

    say("closed", (uint64_t)mprotect(at, 4 * PAGE, PROT_NONE));
    int raised = sigsetjmp(back, 1);
    if (raised == 0)
        at[0] = 1;
    say("signal", (uint64_t)raised);
    mprotect(at, 4 * PAGE, PROT_READ);
    say("read only", sum(at, 0, 4));
    mprotect(at, 4 * PAGE, PROT_READ | PROT_WRITE);
    fill(at, 0, 4, 50);
    say("dropped", (uint64_t)madvise(at, 32 * PAGE, MADV_DONTNEED));
    say("dropped", sum(at, 0, MORE));
    say("removed", (uint64_t)madvise(at + 8 * PAGE, 8 * PAGE, MADV_REMOVE));
    say("removed", sum(at, 0, MORE));
    say("locked", (uint64_t)mlock(at, 8 * PAGE));
    say("locked", sum(at, 0, 50));
    munlock(at, 8 * PAGE);

    say("kept", (uint64_t)madvise(at, 32 * PAGE, MADV_DONTFORK));
    ask_child("kept", at + 32 * PAGE, 16);
    madvise(at, 32 * PAGE, MADV_DOFORK);

    // Vectors over it, and a pipe.
    int pipe_[2];
    if (pipe(pipe_) == 0) {
        struct iovec both[2] = {{at + 33 * PAGE - 8, 16}, {at + 90 * PAGE - 4, 8}};
        say("writev", (uint64_t)writev(pipe_[1], both, 2));
        say("read", (uint64_t)read(pipe_[0], at + 100 * PAGE - 12, 24));
        say("piped", sum(at, 99, 2));
    }

    if (ftruncate(fd, 100 * PAGE) != 0)
        return 3;
    raised = sigsetjmp(back, 1);
    if (raised == 0)
        ((volatile uint8_t *)at)[150 * PAGE] = 1;
    say("behind the end", (uint64_t)raised);
    say("before it", sum(at, 75, 25));
    close(fd);
    for (int number = 3; number < 256; number++)
        close(number);
    ask_child("without descriptors", at, 50);
    say("unmapped", (uint64_t)munmap(at, MORE * PAGE));
    say("the other", sum(part, 0, 32));
    uint8_t *own = map(-1, PAGES, 0, NULL);
    fill(own, 0, PAGES, 11);
    ask_child("anonymous", own, PAGES);
    return 0;
}
