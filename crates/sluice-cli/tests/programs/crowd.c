/* Many processes that share memory, all there at the same time. Says how many of them did not end
   well. Argument: how many. */
#include "abuse.h"
#include <stdatomic.h>
#include <sys/mman.h>

#define BYTES (2u << 20)

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    unsigned all = (unsigned)atoi(arguments[1]), lost = 0;
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    atomic_uint *there = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    CHECK(there != MAP_FAILED);
    for (unsigned n = 0; n < all; n++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            limit(20);
            atomic_fetch_add(there, 1);
            while (atomic_load(there) < all)
                usleep(1000);
            _exit(0);
        }
    }
    for (unsigned n = 0; n < all; n++) {
        int status;
        CHECK(wait(&status) > 0);
        lost += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    printf("%u lost\n", lost);
    return 0;
}
