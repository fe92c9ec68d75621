/* Buffers that the program may not access: the kernel refuses them, and nobody dies of it. */
#include "abuse.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#define PAGES 1024u
#define BYTES (PAGES * PAGE)

static char *protected_as(int protection) {
    char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    fill((uint64_t *)at, PAGES * PER_PAGE, 1);
    CHECK(mprotect(at, BYTES, protection) == 0);
    return at;
}

/* Memory that is no allocation's, with no access from its second page on. */
static char *elsewhere(void) {
    char *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    memset(at, 7, PAGE);
    CHECK(mprotect(at + PAGE, PAGE, PROT_NONE) == 0);
    return at;
}

/* A vector of which a part is not the device's, and may not be accessed. */
static void vectors(char *placed) {
    char *other = elsewhere(), *bad[] = {other + PAGE, (char *)8, NULL, (char *)-4096L};
    int file = open("/dev/shm", O_TMPFILE | O_RDWR, 0600), ends[2];
    CHECK(file >= 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
        char *far = placed + (n + 1) * 100 * PAGE;
        struct iovec parts[3] = {{far, 10}, {bad[n], 100}, {far + 50 * PAGE, 10}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
        int is_wild = bad[n] == (char *)-4096L;
        ssize_t moved = is_wild ? -1 : 10;
        CHECK(pwritev(file, parts, 3, 0) == moved && preadv(file, parts, 3, 0) == moved);
        CHECK(ftruncate(file, PAGE) == 0 && preadv(file, parts, 3, 0) == moved);
        /* A datagram goes whole or not at all. */
        errno = 0;
        CHECK(sendmsg(ends[0], &message, MSG_DONTWAIT) == -1 && errno == EFAULT);
        errno = 0;
        CHECK(writev(ends[0], parts, 3) == -1 && errno == EFAULT);
        CHECK(recv(ends[1], far, 10, MSG_DONTWAIT) == -1 && errno == EAGAIN);
        CHECK(send(ends[0], placed, 100, 0) == 100);
        errno = 0;
        CHECK(recvmsg(ends[1], &message, MSG_DONTWAIT) == -1 && errno == EFAULT);
        while (recv(ends[1], placed, 100, MSG_DONTWAIT) > 0)
            ;
        parts[0] = (struct iovec){bad[n], 100};
        errno = 0;
        CHECK(preadv(file, parts, 3, 0) == -1 && errno == EFAULT);
        parts[0] = (struct iovec){far, 10}, parts[1] = (struct iovec){other + PAGE - 5, 5};
        memset(other + PAGE - 5, (int)n + 1, 5);
        CHECK(pwritev(file, parts, 3, 0) == 25 && preadv(file, parts, 3, 0) == 25);
        CHECK(other[PAGE - 5] == (char)(n + 1));
        CHECK(pread(file, other, 25, 0) == 25 && memcmp(other, far, 10) == 0);
        CHECK(other[10] == (char)(n + 1) && memcmp(other + 15, far + 50 * PAGE, 10) == 0);
    }
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0 && close(file) == 0);
}

/* A datagram whose buffer may not be accessed to its end, and one whose sender's name lies in
   memory that is not in the cache. */
static void datagrams(char *half, char *edge, char *far) {
    int ends[2], other = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0 && other >= 0);
    errno = 0;
    CHECK(send(ends[0], edge, 100, 0) == -1 && errno == EFAULT);
    errno = 0;
    CHECK(sendto(ends[0], edge, 100, 0, NULL, 0) == -1 && errno == EFAULT);
    CHECK(recv(ends[1], half, 10, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    socklen_t length = sizeof own;
    CHECK(bind(other, (struct sockaddr *)&own, sizeof own.sun_family) == 0);
    CHECK(getsockname(other, (struct sockaddr *)&own, &length) == 0);
    CHECK(bind(ends[0], (struct sockaddr *)&own, sizeof own.sun_family) == 0);
    for (int by_message = 0; by_message < 2; by_message++) {
        CHECK(sendto(ends[0], half, 10, 0, (struct sockaddr *)&own, length) == 10);
        char *name = far + (2 + by_message) * 100 * PAGE;
        socklen_t room = sizeof own;
        struct iovec part = {far, 10};
        struct msghdr message = {name, room, &part, 1, name + PAGE, 100, 0};
        if (by_message)
            CHECK(recvmsg(other, &message, MSG_DONTWAIT) == 10);
        else
            CHECK(recvfrom(other, far, 10, MSG_DONTWAIT, (struct sockaddr *)name, &room) == 10);
        CHECK((by_message ? message.msg_namelen : room) > sizeof own.sun_family);
        CHECK(((struct sockaddr_un *)name)->sun_family == AF_UNIX);
    }
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0 && close(other) == 0);
}

/* Lists of buffers, and messages, that themselves may not be accessed. */
static void lists(char *none) {
    void *bad[] = {none, (void *)16, (void *)-16};
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], "text", 4) == 4);
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
        struct msghdr message = {.msg_iov = bad[n], .msg_iovlen = 2};
        errno = 0;
        CHECK(readv(ends[0], bad[n], 2) == -1 && errno == EFAULT);
        errno = 0;
        CHECK(writev(ends[0], bad[n], 2) == -1 && errno == EFAULT);
        errno = 0;
        CHECK(sendmsg(ends[0], &message, 0) == -1 && errno == EFAULT);
        errno = 0;
        CHECK(recvmsg(ends[0], &message, 0) == -1 && errno == EFAULT);
        errno = 0;
        CHECK(sendmsg(ends[0], bad[n], 0) == -1 && errno == EFAULT);
        errno = 0;
        CHECK(sendmmsg(ends[0], bad[n], 2, 0) == -1 && errno == EFAULT);
        errno = 0;
        CHECK(recvmmsg(ends[0], bad[n], 2, 0, NULL) == -1 && errno == EFAULT);
    }
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
}

/* Lengths that the kernel refuses. */
static void lengths(char *placed, int zeros) {
    int ends[2];
    CHECK(read(zeros, placed, 1ul << 62) == -1 && errno == EFAULT);
    CHECK(pread(zeros, placed, 1ul << 62, 0) == -1 && errno == EFAULT);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0 && send(ends[0], "a", 1, 0) == 1);
    struct sockaddr *from = (struct sockaddr *)(placed + PAGE);
    socklen_t *length = (socklen_t *)(placed + 2 * PAGE);
    *length = -1;
    CHECK(recvfrom(ends[1], placed, 1, 0, from, length) == -1 && errno == EINVAL);
    CHECK(*length == (socklen_t)-1 && close(ends[0]) == 0 && close(ends[1]) == 0);
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
    char *whole = protected_as(PROT_READ | PROT_WRITE);
    lists(none);
    vectors(whole);
    datagrams(half, edge, whole);
    lengths(whole, zeros);
    CHECK(mprotect(half + BYTES / 2, BYTES / 2, PROT_READ) == 0);
    CHECK(pwrite(file, edge, 100, 0) == 100 && pread(file, edge, 100, 0) == 50);
    CHECK(mprotect(none, BYTES, PROT_READ | PROT_WRITE) == 0);
    CHECK(read(ends[0], none, 100) == 100 && memcmp(none, fixed, 100) == 0);
    CHECK(mprotect(fixed, BYTES, PROT_READ | PROT_WRITE) == 0);
    CHECK(wrong((uint64_t *)fixed, PAGES) == 0);
    puts("well");
    return 0;
}
