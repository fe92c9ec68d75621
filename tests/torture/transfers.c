/* The kernel reads and writes pages of the program: files, pipes, sockets, other ways. */
#include "torture.h"
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Pages for the kernel's side, which are never on a device. */
#define MOST 256u
static _Alignas(4096) char plain[MOST * PAGE];

static int empty_file(void) {
    char path[4200];
    snprintf(path, sizeof path, "%s.data", now.log_path);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    MUST(file >= 0 && unlink(path) == 0);
    return file;
}

/* New versions for the first pages of a region, and their contents in plain memory. */
static void prepare(struct region *region, unsigned pages) {
    for (unsigned n = 0; n < pages; n++) {
        region->page[n].version = next_version();
        fill_page(plain + n * PAGE, region->page[n].version);
    }
}

/* Cuts memory into uneven pieces. */
static int cut(struct iovec *pieces, char *at, size_t bytes) {
    int count = 0;
    for (size_t done = 0; done < bytes; count++) {
        size_t length = 1 + below(90000);
        if (length > bytes - done || count == 30)
            length = bytes - done;
        pieces[count] = (struct iovec){at + done, length};
        done += length;
    }
    return count;
}

static void step_read_file(void) {
    struct region *region = whole_region(8);
    unsigned pages = region->pages < MOST ? region->pages : MOST;
    size_t bytes = pages * PAGE;
    struct iovec pieces[31];
    int file = empty_file(), way = (int)below(4), count;
    prepare(region, pages);
    MUST(write(file, plain, bytes) == (ssize_t)bytes && lseek(file, 0, SEEK_SET) == 0);
    count = cut(pieces, region->base, bytes);
    ssize_t got = way == 0   ? read(file, region->base, bytes)
                  : way == 1 ? pread(file, region->base, bytes, 0)
                  : way == 2 ? readv(file, pieces, count)
                             : preadv(file, pieces, count, 0);
    tell("read %d: %zd of %zu", way, got, bytes);
    MUST(close(file) == 0);
    if (got != (ssize_t)bytes)
        fail("read %d of a regular file: %zd of %zu bytes, errno %d", way, got, bytes, errno);
    check_region(region, 0, region->pages);
}

static void step_write_file(void) {
    struct region *region = whole_region(8);
    unsigned pages = region->pages < MOST ? region->pages : MOST;
    size_t bytes = pages * PAGE;
    struct iovec pieces[31];
    int file = empty_file(), way = (int)below(4), count;
    count = cut(pieces, region->base, bytes);
    ssize_t put = way == 0   ? write(file, region->base, bytes)
                  : way == 1 ? pwrite(file, region->base, bytes, 0)
                  : way == 2 ? writev(file, pieces, count)
                             : pwritev(file, pieces, count, 0);
    tell("write %d: %zd of %zu", way, put, bytes);
    if (put != (ssize_t)bytes)
        fail("write %d of a regular file: %zd of %zu bytes, errno %d", way, put, bytes, errno);
    MUST(pread(file, plain, bytes, 0) == (ssize_t)bytes && close(file) == 0);
    for (unsigned n = 0; n < pages; n++)
        check_page(plain + n * PAGE, region->page[n].version, "written page", n);
}

/* As many pages as fit into a pipe, from one place of the device to another. */
static void move_through(int out, int in, int way) {
    struct region *from = whole_region(16), *to = whole_region(16);
    size_t bytes = (1 + below(14)) * PAGE;
    char *target = malloc(bytes);
    MUST(target && to);
    struct iovec source = {from->base, bytes}, sink = {target, bytes};
    struct msghdr sent = {.msg_iov = &source, .msg_iovlen = 1};
    struct msghdr got = {.msg_iov = &sink, .msg_iovlen = 1};
    ssize_t put = way == 0   ? write(out, from->base, bytes)
                  : way == 1 ? send(out, from->base, bytes, 0)
                             : sendmsg(out, &sent, 0);
    tell("sent: %zd", put);
    MUST(put == (ssize_t)bytes);
    for (size_t at = 0; at < bytes;) {
        sink = (struct iovec){target + at, bytes - at};
        ssize_t some = way == 0   ? read(in, target + at, bytes - at)
                       : way == 1 ? recv(in, target + at, bytes - at, 0)
                                  : recvmsg(in, &got, 0);
        MUST(some > 0);
        at += (size_t)some;
    }
    for (unsigned n = 0; n < bytes / PAGE; n++)
        check_page(target + n * PAGE, from->page[n].version, "received page", n);
    free(target);
}

static void step_pipe(void) {
    int ends[2];
    MUST(pipe(ends) == 0);
    for (int n = 0; n < 4; n++)
        move_through(ends[1], ends[0], 0);
    close(ends[0]);
    close(ends[1]);
}

static void step_socket(void) {
    int ends[2], way = 1 + (int)below(2);
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    for (int n = 0; n < 4; n++)
        move_through(ends[n % 2], ends[1 - n % 2], way);
    close(ends[0]);
    close(ends[1]);
}

/* Streams with a text of many pages. */
static void step_stream(void) {
    struct region *region = whole_region(8);
    size_t bytes = region->pages * PAGE;
    FILE *file = fdopen(empty_file(), "w+");
    char *copy = malloc(bytes);
    MUST(file && copy && fwrite(region->base, 1, bytes, file) == bytes);
    rewind(file);
    MUST(fread(copy, 1, bytes, file) == bytes && fclose(file) == 0);
    for (unsigned n = 0; n < region->pages; n++)
        check_page(copy + n * PAGE, region->page[n].version, "page of a stream", n);
    free(copy);
}

/* This process reads and writes itself as a debugger would. */
static void step_process_vm(void) {
    struct region *region = whole_region(8);
    unsigned pages = region->pages < MOST ? region->pages : MOST;
    size_t bytes = pages * PAGE;
    struct iovec here = {plain, bytes}, there = {region->base, bytes};
    ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    tell("process_vm_readv: %zd of %zu", got, bytes);
    if (got != (ssize_t)bytes)
        fail("process_vm_readv: %zd of %zu, errno %d", got, bytes, errno);
    for (unsigned n = 0; n < pages; n++)
        check_page(plain + n * PAGE, region->page[n].version, "page read from outside", n);
    prepare(region, pages);
    ssize_t put = process_vm_writev(getpid(), &here, 1, &there, 1, 0);
    tell("process_vm_writev: %zd of %zu", put, bytes);
    MUST(put == (ssize_t)bytes);
    check_region(region, 0, region->pages);
}

/* Calls that fill memory or read it, of which no function of the C library knows. */
static void step_other_calls(void) {
    struct region *region = whole_region(8);
    size_t bytes = region->pages * PAGE;
    ssize_t got = 0;
    while ((size_t)got < bytes) {
        ssize_t some = getrandom(region->base + got, bytes - (size_t)got, 0);
        MUST(some > 0 || errno == EINTR);
        got += some > 0 ? some : 0;
    }
    tell("getrandom: %zd", got);
    write_pages(region, 0, region->pages);
    thrash();
    struct sockaddr *name = (struct sockaddr *)(region->base + PAGE - 4);
    socklen_t length = 64;
    int ends[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    tell_call("getsockname", getsockname(ends[0], name, &length));
    close(ends[0]);
    close(ends[1]);
    write_pages(region, 0, 4);
    check_region(region, 0, region->pages);
}

const struct step transfer_steps[] = {
    {"read-file", step_read_file, 4, 0},
    {"write-file", step_write_file, 4, 0},
    {"pipe", step_pipe, 2, 0},
    {"socket", step_socket, 2, 0},
    {"stream", step_stream, 1, 0},
    {"process-vm", step_process_vm, 1, 0},
    {"other-calls", step_other_calls, 1, 0},
    {0},
};
