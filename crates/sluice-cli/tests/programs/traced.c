/* A child of vfork asks to be traced and becomes another program, as debuggers start one. What it
   touches before that must not stop it while its parent, which borrows it the memory, waits. */
#include "common.h"
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 1024

int main(void) {
    volatile char *pages = malloc(PAGES * PAGE);
    for (size_t at = 0; at < PAGES; at++)
        pages[at * PAGE] = (char)at;
    pid_t child = vfork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        for (size_t at = 0; at < PAGES; at++)
            if (pages[at * PAGE] != (char)at)
                _exit(3);
        execl("/bin/true", "true", (char *)NULL);
        _exit(4);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    CHECK(ptrace(PTRACE_CONT, child, NULL, NULL) == 0);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    puts("well");
    return WEXITSTATUS(status);
}
