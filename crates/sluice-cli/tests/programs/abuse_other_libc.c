/* A second C library in the process, whose children have what the program's others have. */
#include "abuse.h"
#include <dlfcn.h>

#define PAGES 2048u

typedef pid_t Fork(void);

int main(void) {
    limit(25);
    uint64_t *words = filled(PAGES);
    for (int round = 0; round < 3; round++) {
        void *other = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
        CHECK(other);
        Fork *fork_by_other = (Fork *)dlsym(other, "fork");
        CHECK(fork_by_other && fork_by_other != fork);
        for (int child = 0; child < 3; child++) {
            pid_t pid = fork_by_other();
            if (pid == 0) {
                limit(10);
                CHECK(wrong(words, PAGES) == 0);
                words[child] = 0;
                pid_t inner = fork();
                if (inner == 0)
                    _exit(words[child] != 0);
                child_was_well(inner);
                _exit(0);
            }
            child_was_well(pid);
            CHECK(wrong(words, PAGES) == 0);
        }
        pid_t own = fork();
        if (own == 0)
            _exit(wrong(words, PAGES) != 0);
        child_was_well(own);
        CHECK(dlclose(other) == 0);
    }
    puts("well");
    return 0;
}
