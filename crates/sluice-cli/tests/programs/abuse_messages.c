/* Messages that are longer than what is moved at once, also as added to a file, and bytes that the
   kernel has not sent yet when the call is over. */
#include "abuse.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define PAGES 2048u
#define LONG_PAGES 768u
#define LONG (LONG_PAGES * PAGE)

/* Whether the kernel takes a message so long; it is asked for by who may. */
static int takes_long(int ends[2]) {
    int bytes = 4 * LONG;
    return setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) == 0 &&
           setsockopt(ends[1], SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0;
}

/* Sends and receives by each pair of calls. */
static void both_ways(int ends[2], char *from, char *to) {
    struct iovec parts[2] = {{from, LONG / 2}, {from + LONG / 2, LONG / 2}};
    struct iovec room[2] = {{to, PAGE + 1}, {to + PAGE + 1, LONG - PAGE - 1}};
    struct mmsghdr sent = {.msg_hdr = {.msg_iov = parts, .msg_iovlen = 2}};
    struct mmsghdr got = {.msg_hdr = {.msg_iov = room, .msg_iovlen = 2}};
    for (int way = 0; way < 4; way++) {
        memset(to, 0, LONG);
        switch (way) {
        case 0:
            CHECK(send(ends[0], from, LONG, 0) == LONG && recv(ends[1], to, LONG, 0) == LONG);
            break;
        case 1:
            CHECK(write(ends[0], from, LONG) == LONG && read(ends[1], to, LONG) == LONG);
            break;
        case 2:
            CHECK(writev(ends[0], parts, 2) == LONG && readv(ends[1], room, 2) == LONG);
            break;
        default:
            CHECK(sendmmsg(ends[0], &sent, 1, 0) == 1 && sent.msg_len == LONG);
            CHECK(recvmmsg(ends[1], &got, 1, 0, NULL) == 1 && got.msg_len == LONG);
        }
        CHECK(wrong((uint64_t *)to, LONG_PAGES) == 0);
    }
}

static void whole(void) {
    char *from = (char *)filled(PAGES), *to = (char *)filled(PAGES);
    int kinds[] = {SOCK_DGRAM, SOCK_SEQPACKET}, ends[2];
    for (int n = 0; n < 2; n++) {
        CHECK(socketpair(AF_UNIX, kinds[n], 0, ends) == 0);
        if (takes_long(ends))
            both_ways(ends, from, to);
        close(ends[0]);
        close(ends[1]);
    }
}

/* Two ends of a connection, of which the second takes little before it reads. */
static void connect_narrow(int ends[2]) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), little = PAGE, one = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    CHECK(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &little, sizeof little) == 0);
    CHECK(bind(listener, (struct sockaddr *)&at, bytes) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&at, &bytes) == 0);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(ends[0], (struct sockaddr *)&at, bytes) == 0);
    CHECK((ends[1] = accept(listener, NULL, NULL)) >= 0);
    CHECK(setsockopt(ends[0], SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one) == 0);
    close(listener);
}

/* What is sent without a copy waits in the kernel while further calls send. */
static void lent(int by_message) {
    enum { BYTES = 4 * PAGE };
    int ends[2], how = MSG_ZEROCOPY | MSG_DONTWAIT;
    connect_narrow(ends);
    char *from = (char *)filled(PAGES), *to = (char *)filled(PAGES);
    size_t sent = 0, got = 0;
    while (sent < PAGES * PAGE) {
        struct iovec part = {from + sent, BYTES};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t here = by_message ? sendmsg(ends[0], &message, how)
                                  : send(ends[0], part.iov_base, part.iov_len, how);
        if (here <= 0)
            break;
        sent += (size_t)here;
    }
    CHECK(sent > 4 * BYTES && shutdown(ends[0], SHUT_WR) == 0);
    memset(to, 0, PAGES * PAGE);
    for (ssize_t here = 1; here > 0; got += (size_t)here) {
        here = read(ends[1], to + got, PAGES * PAGE - got);
        CHECK(here >= 0);
    }
    CHECK(got == sent && memcmp(to, from, sent) == 0);
}

/* TCP throws away what is received so, and leaves the buffer. */
static void away(void) {
    enum { BYTES = 4 * PAGE };
    int ends[2];
    connect_narrow(ends);
    char *from = (char *)filled(PAGES), *to = (char *)filled(PAGES);
    for (int way = 0; way < 3; way++) {
        struct iovec parts[2] = {{to, PAGE + 1}, {to + PAGE + 1, BYTES - PAGE - 1}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        struct sockaddr_in peer;
        socklen_t bytes = sizeof peer;
        memset(to, 'x', BYTES);
        CHECK(send(ends[0], from, 100, 0) == 100 && send(ends[0], from + PAGE, 8, 0) == 8);
        ssize_t here = way == 0   ? recv(ends[1], to, 100, MSG_TRUNC | MSG_WAITALL)
                       : way == 1 ? recvfrom(ends[1], to, 100, MSG_TRUNC | MSG_WAITALL,
                                             (struct sockaddr *)&peer, &bytes)
                                  : (parts[0].iov_len = 60, parts[1].iov_len = 40,
                                     recvmsg(ends[1], &message, MSG_TRUNC | MSG_WAITALL));
        CHECK(here == 100);
        for (int n = 0; n < BYTES; n++)
            CHECK(to[n] == 'x');
        CHECK(recv(ends[1], to, 8, MSG_WAITALL) == 8 && memcmp(to, from + PAGE, 8) == 0);
    }
}

/* What several processes add to a file stays together. */
static void added(void) {
    enum { WRITERS = 3, TIMES = 8 };
    char path[] = "/tmp/sluice-abuse-XXXXXX", *bytes = (char *)filled(PAGES);
    int file = mkstemp(path), start[2];
    CHECK(file >= 0 && unlink(path) == 0 && pipe(start) == 0);
    CHECK(fcntl(file, F_SETFL, O_APPEND) == 0);
    pid_t writers[WRITERS];
    for (int n = 0; n < WRITERS; n++) {
        writers[n] = fork();
        if (writers[n] != 0)
            continue;
        close(start[1]);
        memset(bytes, 'a' + n, LONG);
        CHECK(read(start[0], bytes, 1) == 0);
        bytes[0] = (char)('a' + n);
        for (int time = 0; time < TIMES; time++)
            CHECK(write(file, bytes, LONG) == LONG);
        _exit(0);
    }
    close(start[1]);
    for (int n = 0; n < WRITERS; n++)
        child_was_well(writers[n]);
    for (off_t n = 0; n < WRITERS * TIMES; n++) {
        CHECK(pread(file, bytes, LONG, n * LONG) == LONG);
        CHECK(bytes[0] >= 'a' && memcmp(bytes, bytes + 1, LONG - 1) == 0);
    }
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    if (strcmp(arguments[1], "whole") == 0)
        whole();
    else if (strcmp(arguments[1], "added") == 0)
        added();
    else if (strcmp(arguments[1], "away") == 0)
        away();
    else if (strcmp(arguments[1], "lent") == 0)
        lent(0);
    else if (strcmp(arguments[1], "lent-by-message") == 0)
        lent(1);
    else
        return 2;
    puts("well");
    return 0;
}
