// One device by two doors, in a guest: $DEVICE is its memory window, $DISK the same bytes as a
// disk. What either writes the other reads, compared with a copy that nobody else has.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4096, MOST = 64, ROUNDS = 400 };
// The window begins behind its labels.
static const off_t LABELS = 2 << 20;

static unsigned char copy[PAGES * PAGE];
static uint64_t state = 88172645463325252u;

static uint64_t next(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static void fail(const char *what) {
    printf("failed %s: %s\n", what, strerror(errno));
    exit(1);
}

static void fill(unsigned char *to, size_t len) {
    for (size_t at = 0; at < len; at += 8) {
        uint64_t word = next(UINT64_MAX);
        memcpy(to + at, &word, 8);
    }
}

static void same(const unsigned char *a, const unsigned char *b, size_t len, const char *what) {
    if (memcmp(a, b, len)) {
        errno = 0;
        fail(what);
    }
}

int main(void) {
    int window = open(getenv("DEVICE"), O_RDWR);
    int disk = open(getenv("DISK"), O_RDWR | O_DIRECT);
    if (window < 0 || disk < 0) fail("open");
    size_t size = (size_t)PAGES * PAGE;
    unsigned char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, window, 0);
    if (memory == MAP_FAILED) fail("mmap");
    unsigned char *buffer = aligned_alloc(PAGE, (size_t)MOST * PAGE);
    fill(copy, size);
    memcpy(memory, copy, size);
    long read_pages = 0, written_pages = 0, trimmed_pages = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t pages = 1 + next(MOST), first = next(PAGES - pages);
        size_t at = first * PAGE, len = pages * PAGE;
        uint64_t range[2] = {LABELS + at, len};
        switch (next(5)) {
        case 0:
            if (pread(disk, buffer, len, LABELS + at) != (ssize_t)len) fail("read");
            same(buffer, copy + at, len, "what the disk reads");
            read_pages += pages;
            break;
        case 1:
            fill(buffer, len);
            if (pwrite(disk, buffer, len, LABELS + at) != (ssize_t)len) fail("write");
            memcpy(copy + at, buffer, len);
            written_pages += pages;
            break;
        case 2:
            if (ioctl(disk, BLKDISCARD, range)) fail("discard");
            memset(copy + at, 0, len);
            trimmed_pages += pages;
            break;
        case 3:
            fill(copy + at, len);
            memcpy(memory + at, copy + at, len);
            break;
        default:
            same(memory + at, copy + at, len, "what the memory holds");
        }
    }
    if (fsync(disk)) fail("fsync");
    same(memory, copy, size, "all of the memory");
    printf("disk %ld %ld %ld\n", read_pages, written_pages, trimmed_pages);
    return 0;
}
