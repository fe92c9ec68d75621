// Memory that a program binds, moves and asks for by node. Prints what it finds, which is the same
// with and without a device.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64 };

static void say(const char *what, long found)
{
    printf("%s %ld %s\n", what, found, found < 0 ? strerror(errno) : "");
    fflush(stdout);
}

static void ask(const char *whose, unsigned char *at)
{
    unsigned long node = 1, none = 1ul << 62, bits = 64;
    int mode = -1, status[PAGES], nodes[PAGES];
    void *pages[PAGES];
    say(whose, syscall(SYS_mbind, at, PAGES * PAGE, MPOL_BIND, &node, bits, 0));
    for (int page = 0; page < PAGES; page++)
        at[page * PAGE] = (unsigned char)page;
    say("bound again", syscall(SYS_mbind, at, PAGES * PAGE, MPOL_PREFERRED, &node, bits,
                               MPOL_MF_MOVE | MPOL_MF_STRICT));
    say("no such node", syscall(SYS_mbind, at, PAGES * PAGE, MPOL_BIND, &none, bits, 0));
    say("policy", syscall(SYS_get_mempolicy, &mode, NULL, 0, at, MPOL_F_ADDR));
    say("is", mode);
    for (int page = 0; page < PAGES; page++) {
        pages[page] = at + page * PAGE;
        nodes[page] = 0;
        status[page] = 99;
    }
    say("where", syscall(SYS_move_pages, 0, PAGES, pages, NULL, status, 0));
    long there = 0;
    for (int page = 0; page < PAGES; page++)
        there += status[page] == 0;
    say("there", there);
    say("moved", syscall(SYS_move_pages, 0, PAGES, pages, nodes, status, MPOL_MF_MOVE));
    long sum = 0;
    for (int page = 0; page < PAGES; page++)
        sum += at[page * PAGE];
    say("sum", sum);
    say("default", syscall(SYS_mbind, at, PAGES * PAGE, MPOL_DEFAULT, NULL, 0, 0));
}

// Memory of the device leaves while the program goes on, so that where each page is differs: what
// the calls answer, and what the memory has, does not.
static void bind_heap(unsigned char *at)
{
    unsigned long node = 1;
    say("heap", syscall(SYS_mbind, at, PAGES * PAGE, MPOL_BIND, &node, 64ul, 0));
    for (int round = 0; round < 4; round++)
        for (int page = 0; page < PAGES; page++)
            at[page * PAGE] = (unsigned char)(at[page * PAGE] + page);
    say("heap again", syscall(SYS_mbind, at, PAGES * PAGE, MPOL_BIND, &node, 64ul, MPOL_MF_MOVE));
    long sum = 0;
    for (int page = 0; page < PAGES; page++)
        sum += at[page * PAGE];
    say("heap's sum", sum);
}

int main(void)
{
    unsigned long node = 1;
    int shared = MAP_SHARED | MAP_ANONYMOUS;
    unsigned char *other = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, shared, -1, 0);
    unsigned char *heap = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (other == MAP_FAILED || heap == MAP_FAILED)
        return 3;
    say("process", syscall(SYS_set_mempolicy, MPOL_BIND, &node, 64ul));
    ask("other", other);
    bind_heap(heap);
    fflush(stdout);
    if (fork() == 0) {
        ask("child's", other);
        bind_heap(heap);
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    say("pages", syscall(SYS_migrate_pages, 0, 64ul, &node, &node));
    bind_heap(heap);
    say("process", syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0));
    return 0;
}
