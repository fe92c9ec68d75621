/* Stores past the ends of mappings that are not on the device, until nothing is there. */
#include "common.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAR 64u

static sigjmp_buf back;

static void leave(int signal) {
    siglongjmp(back, signal);
}

static void store_behind(size_t bytes, int flags) {
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    volatile size_t page = 0;
    if (sigsetjmp(back, 1) == 0)
        for (; page < FAR; page++)
            memset(memory + bytes + page * PAGE, 0, PAGE);
    CHECK(page < FAR);
}

int main(void) {
    CHECK(signal(SIGSEGV, leave) != SIG_ERR);
    /* The first fits into a hole between mappings, the second into none. */
    store_behind(PAGE, MAP_PRIVATE);
    store_behind(256u << 20, MAP_SHARED);
    char *memory = malloc(64 * PAGE);
    CHECK(memory);
    memset(memory, 1, 64 * PAGE);
    puts("well");
    return 0;
}
