/* Copies of a process's memory into itself by the kernel, longer than the device's cache. */
#include "abuse.h"
#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define PAGES 1280
#define BYTES ((size_t)PAGES * PAGE)
#define PIECES 1000

static uint64_t *source, *target;

static ssize_t read_own(const struct iovec *to, size_t n, const struct iovec *from, size_t m) {
    return process_vm_readv(getpid(), to, n, from, m, 0);
}

static ssize_t write_own(const struct iovec *to, size_t n, const struct iovec *from, size_t m) {
    return process_vm_writev(getpid(), from, m, to, n, 0);
}

static ssize_t read_by_number(const struct iovec *to, size_t n, const struct iovec *from,
                              size_t m) {
    return syscall(SYS_process_vm_readv, getpid(), to, n, from, m, 0);
}

typedef ssize_t copies(const struct iovec *, size_t, const struct iovec *, size_t);

static void clear(void) {
    memset(target, 0, BYTES);
}

static void whole(copies *copy) {
    struct iovec from = {source, BYTES}, to = {target, BYTES};
    clear();
    CHECK(copy(&to, 1, &from, 1) == (ssize_t)BYTES);
    CHECK(wrong(target, PAGES) == 0 && wrong(source, PAGES) == 0);
}

/* Pieces whose ends do not meet, of which one side has more. */
static void pieces(copies *copy) {
    static struct iovec from[PIECES], to[PIECES];
    size_t each = BYTES / PIECES, first = 1234, used = 0;
    for (int n = 0; n < PIECES; n++)
        from[n] = (struct iovec){(char *)source + n * each, each};
    for (int n = 0; n < PIECES; n++) {
        size_t bytes = n == 0 ? first : n == PIECES - 1 ? BYTES - used : each;
        to[n] = (struct iovec){(char *)target + used, bytes};
        used += bytes;
    }
    clear();
    CHECK(copy(to, PIECES, from, PIECES) == (ssize_t)(each * PIECES));
    CHECK(memcmp(source, target, each * PIECES) == 0);
    CHECK(((char *)target)[each * PIECES] == 0);
    to[0].iov_len = 5;
    clear();
    CHECK(copy(to, 1, from, PIECES) == 5 && copy(to, 1, from, 0) == 0);
    CHECK(memcmp(source, target, 5) == 0 && ((char *)target)[5] == 0);
}

/* Up to what nobody may access. */
static void stopped(copies *copy) {
    size_t good = 3 * BYTES / 4;
    struct iovec from[2] = {{source, good}, {(void *)PAGE, PAGE}}, to = {target, BYTES};
    clear();
    CHECK(copy(&to, 1, from, 2) == (ssize_t)good);
    CHECK(memcmp(source, target, good) == 0);
    CHECK(copy(&to, 1, from + 1, 1) == -1 && errno == EFAULT);
    CHECK(copy(from + 1, 1, &to, 1) == -1 && errno == EFAULT);
    CHECK(copy(&to, 1, (void *)PAGE, 1) == -1 && errno == EFAULT);
    CHECK(copy(&to, 1, from, IOV_MAX + 1) == -1 && errno == EINVAL);
}

/* A child's memory, which is all there, into memory that is not. */
static void of_child(void) {
    int told[2];
    CHECK(pipe(told) == 0);
    struct iovec to = {target, BYTES};
    uint64_t *shared = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct iovec from = {shared, BYTES};
    CHECK(shared != MAP_FAILED);
    pid_t child = fork();
    if (child == 0) {
        limit(25);
        fill(shared, PAGES * PER_PAGE, 1);
        CHECK(write(told[1], "", 1) == 1);
        pause();
    }
    char byte;
    CHECK(read(told[0], &byte, 1) == 1);
    clear();
    CHECK(process_vm_readv(child, &to, 1, &from, 1, 0) == (ssize_t)BYTES);
    CHECK(wrong(target, PAGES) == 0);
    memset(shared, 0, BYTES);
    CHECK(process_vm_writev(child, &to, 1, &from, 1, 0) == (ssize_t)BYTES);
    CHECK(wrong(shared, PAGES) == 0);
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
}

int main(void) {
    limit(25);
    source = filled(PAGES);
    target = filled(PAGES);
    copies *const all[] = {read_own, write_own, read_by_number};
    for (int n = 0; n < 3; n++) {
        whole(all[n]);
        pieces(all[n]);
        stopped(all[n]);
    }
    of_child();
    puts("well");
    return 0;
}
