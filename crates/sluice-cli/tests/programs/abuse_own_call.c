/* Copies itself by an instruction of its own, which no function of the C library sees. Prints
 * how the children ended. */
#include "abuse.h"
#include "raw_fork.h"
#include <sys/mman.h>

#define PAGES 2048u

#define WRONG 77

static void reads(const uint64_t *words) {
    if (wrong(words, PAGES) != 0)
        _exit(WRONG);
}

/* Asks for memory, which calls a hook under Sluice, and then reads. */
static void maps(const uint64_t *words) {
    void *more = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED)
        _exit(WRONG);
    memset(more, 1, 1 << 20);
    reads(words);
}

int main(int count, char **arguments) {
    limit(20);
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(count == 2);
    uint64_t *words = filled(PAGES);
    for (int round = 0; round < 3; round++) {
        pid_t child = fork_by_instruction();
        CHECK(child >= 0);
        if (child == 0) {
            (strcmp(arguments[1], "maps") == 0 ? maps : reads)(words);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFSIGNALED(status))
            printf("signal %d\n", WTERMSIG(status));
        else
            printf("status %d\n", WEXITSTATUS(status));
        CHECK(wrong(words, PAGES) == 0);
    }
    puts("well");
    return 0;
}
