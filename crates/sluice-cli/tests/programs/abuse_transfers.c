/* Long transfers between files and memory that is not in the cache are whole. */
#include "abuse.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define PAGES 2048u
#define PIECES 16u
#define PIECE (PAGES * PAGE / PIECES)
#define ROUNDS 10

static int file_of_a_pattern(void) {
    char path[] = "/tmp/sluice-abuse-XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0 && unlink(path) == 0);
    uint64_t page[PER_PAGE];
    for (size_t n = 0; n < PAGES; n++) {
        for (size_t i = 0; i < PER_PAGE; i++)
            page[i] = mix(1ull << 40 | (n * PER_PAGE + i));
        CHECK(write(file, page, PAGE) == PAGE);
    }
    return file;
}

static void cut(struct iovec *pieces, uint64_t *words) {
    for (size_t n = 0; n < PIECES; n++) {
        pieces[n].iov_base = (char *)words + n * PIECE;
        pieces[n].iov_len = PIECE;
    }
}

static void vectors(void) {
    int file = file_of_a_pattern();
    uint64_t *words = aligned_alloc(PAGE, PAGES * PAGE);
    CHECK(words);
    struct iovec pieces[PIECES];
    cut(pieces, words);
    for (int round = 0; round < ROUNDS; round++) {
        memset(words, 0, PAGES * PAGE);
        CHECK(lseek(file, 0, SEEK_SET) == 0);
        ssize_t got = round % 2 ? preadv(file, pieces, PIECES, 0) : readv(file, pieces, PIECES);
        if (got != PAGES * PAGE)
            fprintf(stderr, "round %d: %zd of %u bytes\n", round, got, PAGES * PAGE);
        CHECK(got == PAGES * PAGE);
        CHECK(wrong(words, PAGES) == 0);
        CHECK(lseek(file, 0, SEEK_SET) == 0);
        got = round % 2 ? pwritev(file, pieces, PIECES, 0) : writev(file, pieces, PIECES);
        CHECK(got == PAGES * PAGE);
    }
}

static void *send_all(void *argument) {
    int socket = *(int *)argument;
    static uint64_t page[PER_PAGE];
    for (size_t n = 0; n < PAGES; n++) {
        for (size_t i = 0; i < PER_PAGE; i++)
            page[i] = mix(1ull << 40 | (n * PER_PAGE + i));
        for (size_t at = 0; at < PAGE;) {
            ssize_t sent = send(socket, (char *)page + at, PAGE - at, 0);
            CHECK(sent > 0);
            at += (size_t)sent;
        }
    }
    shutdown(socket, SHUT_WR);
    return NULL;
}

/* A stream of bytes, received into memory that is not in the cache. */
static void sockets(int by_message) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    char *bytes = aligned_alloc(PAGE, PAGES * PAGE);
    CHECK(bytes);
    memset(bytes, 0, PAGES * PAGE);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, send_all, &ends[0]));
    size_t at = 0;
    for (ssize_t got = 1; got > 0 && at < PAGES * PAGE; at += (size_t)got) {
        struct iovec all = {bytes + at, PAGES * PAGE - at};
        struct msghdr message = {.msg_iov = &all, .msg_iovlen = 1};
        got = by_message ? recvmsg(ends[1], &message, 0) : recv(ends[1], all.iov_base,
                                                                 all.iov_len, 0);
        CHECK(got > 0);
    }
    CHECK(!pthread_join(thread, NULL));
    CHECK(wrong((uint64_t *)bytes, PAGES) == 0);
}

/* A program that waits for all bytes gets them by one call, and one call sends them. */
static void in_one_call(int by_message) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    uint64_t *words = aligned_alloc(PAGE, PAGES * PAGE);
    CHECK(words);
    struct iovec all = {words, PAGES * PAGE};
    struct msghdr message = {.msg_iov = &all, .msg_iovlen = 1};
    memset(words, 0, PAGES * PAGE);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, send_all, &ends[0]));
    ssize_t moved = by_message ? recvmsg(ends[1], &message, MSG_WAITALL)
                               : recv(ends[1], words, PAGES * PAGE, MSG_WAITALL);
    CHECK(moved == PAGES * PAGE && wrong(words, PAGES) == 0);
    CHECK(!pthread_join(thread, NULL));
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        CHECK(recv(ends[0], words, PAGES * PAGE, MSG_WAITALL) == PAGES * PAGE);
        CHECK(wrong(words, PAGES) == 0);
        _exit(0);
    }
    close(ends[0]);
    moved = by_message ? sendmsg(ends[1], &message, 0) : send(ends[1], words, PAGES * PAGE, 0);
    CHECK(moved == PAGES * PAGE);
    child_was_well(child);
}

/* Some files give and take all at once, whatever they are and however they were opened. */
static void files(void) {
    uint64_t *words = filled(PAGES);
    char path[] = "/tmp/sluice-abuse-XXXXXX";
    int file = mkstemp(path), zeros = open("/dev/zero", O_RDONLY);
    CHECK(file >= 0 && unlink(path) == 0 && zeros >= 0);
    CHECK(fcntl(file, F_SETFL, O_NONBLOCK) == 0);
    CHECK(write(file, words, PAGES * PAGE) == PAGES * PAGE);
    CHECK(read(zeros, words, PAGES * PAGE) == PAGES * PAGE);
    for (size_t i = 0; i < PAGES * PER_PAGE; i++)
        CHECK(words[i] == 0);
    CHECK(pread(file, words, PAGES * PAGE, 0) == PAGES * PAGE && wrong(words, PAGES) == 0);
}

/* Datagrams, eight by each call, from and to memory that is not in the cache. */
static void messages(void) {
    enum { TOGETHER = 8, BYTES = 2 * PAGE };
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    char *from = (char *)filled(PAGES), *to = aligned_alloc(PAGE, PAGES * PAGE);
    CHECK(to);
    memset(to, 0, PAGES * PAGE);
    for (size_t at = 0; at < PAGES * PAGE; at += TOGETHER * BYTES) {
        struct iovec parts[2 * TOGETHER];
        struct mmsghdr sent[TOGETHER] = {0}, *received = calloc(TOGETHER, PAGE);
        for (size_t n = 0; n < TOGETHER; n++) {
            parts[n] = (struct iovec){from + at + n * BYTES, BYTES};
            parts[TOGETHER + n] = (struct iovec){to + at + n * BYTES, BYTES};
            sent[n].msg_hdr.msg_iov = &parts[n];
            received[n].msg_hdr.msg_iov = &parts[TOGETHER + n];
            sent[n].msg_hdr.msg_iovlen = received[n].msg_hdr.msg_iovlen = 1;
        }
        struct timespec longest = {10, 0};
        for (int done = 0, got = 0; got < TOGETHER;) {
            int more = sendmmsg(ends[0], sent + done, TOGETHER - (unsigned)done, MSG_DONTWAIT);
            done += more > 0 ? more : 0;
            more = recvmmsg(ends[1], received + got, TOGETHER, MSG_WAITFORONE, &longest);
            CHECK(more > 0 && got + more <= done);
            got += more;
        }
        for (size_t n = 0; n < TOGETHER; n++)
            CHECK(sent[n].msg_len == BYTES && received[n].msg_len == BYTES);
        CHECK(longest.tv_sec < 10 && longest.tv_sec > 0);
        free(received);
    }
    CHECK(recvmmsg(ends[1], NULL, 0, 0, NULL) == 0);
    CHECK(wrong((uint64_t *)to, PAGES) == 0);
}

/* The C library ends the program when the kernel cannot write to a page. Of so many words one is
   zero by chance less often than once in 10^13 runs. */
static void random_bytes(void) {
    uint64_t *words = filled(PAGES);
    memset(words, 0, PAGES * PAGE);
#if __GLIBC_PREREQ(2, 36)
    arc4random_buf(words, PAGES * PAGE);
    for (size_t i = 0; i < PAGES * PER_PAGE; i++)
        CHECK(words[i] != 0);
#endif
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    if (strcmp(arguments[1], "vectors") == 0)
        vectors();
    else if (strcmp(arguments[1], "recv") == 0)
        sockets(0);
    else if (strcmp(arguments[1], "recvmsg") == 0)
        sockets(1);
    else if (strcmp(arguments[1], "all") == 0)
        in_one_call(0);
    else if (strcmp(arguments[1], "all-by-message") == 0)
        in_one_call(1);
    else if (strcmp(arguments[1], "files") == 0)
        files();
    else if (strcmp(arguments[1], "messages") == 0)
        messages();
    else if (strcmp(arguments[1], "random") == 0)
        random_bytes();
    else
        return 2;
    puts("well");
    return 0;
}
