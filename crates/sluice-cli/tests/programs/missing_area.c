/* A thread's area for restartable sequences (`rseq`), which the kernel writes when it has taken the
 * CPU from the thread, on a page that leaves again and again. */
#include "missing.h"
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define MARK 0x53053053u
#else
#define MARK 0xd428bc00u
#endif
#define BYTES 32

static long area(void *at, int flags) {
    return syscall(SYS_rseq, at, BYTES, flags, MARK);
}

int main(int argc, char **argv) {
    static const char *const name = "GLIBC_TUNABLES", *const value = "glibc.pthread.rseq=0";
    limit(25);
    if (!getenv(name)) {
        CHECK(argc == 1 && setenv(name, value, 1) == 0);
        execv("/proc/self/exe", argv);
    }
    uint64_t *words = filled(2048);
    int32_t none[BYTES / 4] = {0, -1}, *volatile at = aligned_alloc(PAGE, PAGE);
    CHECK(at);
    memcpy(at, none, sizeof none);
    if (area(at, 0) != 0) {
        CHECK(errno == ENOSYS);
        puts("no such call, well");
        return 0;
    }
    for (int round = 0; round < 200; round++) {
        CHECK(madvise(at, PAGE, MADV_PAGEOUT) == 0);
        usleep(100);
        CHECK(round % 50 || wrong(words, 2048) == 0);
    }
    CHECK(((volatile int32_t *)at)[1] >= 0 && area(at, 1) == 0);
    puts("well");
    return 0;
}
