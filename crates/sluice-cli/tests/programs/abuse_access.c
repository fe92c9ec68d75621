/* Buffers that the program may not access: the kernel refuses them, and nobody dies of it. */
#include "abuse.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define PAGES 1024u
#define BYTES (PAGES * PAGE)

static char *protected_as(int protection) {
    char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    fill((uint64_t *)at, PAGES * PER_PAGE, 1);
    CHECK(mprotect(at, BYTES, protection) == 0);
    return at;
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2 && arguments[1] != NULL);
    int zeros = open("/dev/zero", O_RDWR), ends[2];
    CHECK(zeros >= 0 && pipe(ends) == 0);
    char *none = protected_as(PROT_NONE), *fixed = protected_as(PROT_READ);
    for (int at = 0; at < 4; at++) {
        char *buffer = (at & 1 ? none : fixed) + (at & 2 ? 100 : 0) * PAGE;
        struct iovec part = {buffer, 100};
        errno = 0;
        CHECK(read(zeros, buffer, 100) == -1 && errno == EFAULT);
        errno = 0;
        CHECK(readv(zeros, &part, 1) == -1 && errno == EFAULT);
    }
    errno = 0;
    CHECK(write(ends[1], none, 100) == -1 && errno == EFAULT);
    CHECK(write(ends[1], fixed, 100) == 100);
    /* A part may be accessed: so much is moved, and then the kernel refuses. */
    char *half = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(half != MAP_FAILED);
    fill((uint64_t *)half, PAGES * PER_PAGE, 1);
    CHECK(mprotect(half + BYTES / 2, BYTES / 2, PROT_NONE) == 0);
    char *edge = half + BYTES / 2 - 50;
    struct iovec both[2] = {{half, 10}, {edge, 100}};
    CHECK(read(zeros, edge, 100) == 50 && edge[0] == 0 && edge[49] == 0);
    CHECK(readv(zeros, both, 2) == 60);
    errno = 0;
    CHECK(read(zeros, edge + 50, 100) == -1 && errno == EFAULT);
    int file = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
    CHECK(file >= 0 && pwrite(file, edge, 100, 0) == 50 && lseek(file, 0, SEEK_END) == 50);
    CHECK(pread(file, edge - 20, 100, 0) == 50);
    CHECK(mprotect(half + BYTES / 2, BYTES / 2, PROT_READ) == 0);
    CHECK(pwrite(file, edge, 100, 0) == 100 && pread(file, edge, 100, 0) == 50);
    CHECK(mprotect(none, BYTES, PROT_READ | PROT_WRITE) == 0);
    CHECK(read(ends[0], none, 100) == 100 && memcmp(none, fixed, 100) == 0);
    CHECK(mprotect(fixed, BYTES, PROT_READ | PROT_WRITE) == 0);
    CHECK(wrong((uint64_t *)fixed, PAGES) == 0);
    puts("well");
    return 0;
}
