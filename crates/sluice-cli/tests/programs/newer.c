/* Calls of newer kernels on memory whose pages have left: what the runtime does with it is not to
 * be undone by them.
 *
 *   newer guards KIND [FILE]   KIND: shared, or file
 *   newer seals
 *   newer scans */
#include "abuse.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define PAGES 512u
#define BYTES (PAGES * PAGE)
#define BOTH (PROT_READ | PROT_WRITE)
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define GUARD_INSTALL 102
#define GUARD_REMOVE 103

static char *map(size_t bytes, int flags, int file) {
    char *at = mmap(NULL, bytes, BOTH, flags, file, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void use_others(void) {
    static char *others;
    if (!others)
        others = map(4 * BYTES, PLAIN, -1);
    for (size_t n = 0; n < 4 * BYTES; n += PAGE)
        others[n]++;
}

/* Clean pages that have left are what the kernel never ended with. */
static void guards(const char *kind, const char *path) {
    int file = -1, flags = MAP_SHARED | MAP_ANONYMOUS;
    if (strcmp(kind, "file") == 0) {
        CHECK((file = open(path, O_RDWR)) >= 0);
        flags = MAP_SHARED;
    }
    uint64_t *words = (uint64_t *)map(BYTES, flags, file);
    fill(words, PAGES * PER_PAGE, 1);
    CHECK(wrong(words, PAGES) == 0 && wrong(words, PAGES) == 0);
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    CHECK(self >= 0);
    struct iovec all = {words, BYTES};
    for (int advice = GUARD_INSTALL; advice <= GUARD_REMOVE; advice++) {
        CHECK(madvise(words, BYTES, advice) == -1 && errno == EINVAL);
        CHECK(madvise((char *)words + 8 * PAGE, PAGE, advice) == -1 && errno == EINVAL);
        CHECK(syscall(SYS_madvise, words, BYTES, advice) == -1 && errno == EINVAL);
        CHECK(syscall(SYS_process_madvise, self, &all, 1, advice, 0) == -1 && errno == EINVAL);
    }
    CHECK(wrong(words, PAGES) == 0);
    CHECK(madvise(words, BYTES, MADV_WILLNEED) == 0);
}

#define MSEAL 462

static int is_sealed(void *at) {
    errno = 0;
    int result = (int)syscall(MSEAL, at, BYTES, 0);
    CHECK(result == 0 || errno == ENOSYS);
    return result == 0;
}

/* Sealed or refused, but not both. */
static void seals(void) {
    char *at = map(BYTES, PLAIN, -1);
    fill((uint64_t *)at, PAGES * PER_PAGE, 1);
    use_others();
    int holds = is_sealed(at);
    CHECK(wrong((uint64_t *)at, PAGES) == 0);
    CHECK((munmap(at, BYTES) == -1) == holds);
}

#define SCAN _IOWR('f', 16, struct scan)
enum { PROTECTS = 1, MUST_PROTECT = 2, IS_WRITTEN = 2 };

struct region {
    uint64_t start, end, categories;
};

struct scan {
    uint64_t size, flags, start, end, walk_end;
    struct region *regions;
    uint64_t room, max_pages, inverted, mask, any_of, told;
};

static struct region found[PAGES];

static int scan(int by_number, uint64_t flags, char *at, size_t bytes) {
    int file = open("/proc/self/pagemap", O_RDONLY);
    CHECK(file >= 0);
    struct scan of = {sizeof of, flags, (uintptr_t)at, (uintptr_t)at + bytes, 0, found, PAGES, 0,
                      0, IS_WRITTEN, 0, IS_WRITTEN};
    errno = 0;
    int regions = by_number ? (int)syscall(SYS_ioctl, file, SCAN, &of) : ioctl(file, SCAN, &of);
    CHECK(regions < 0 || of.walk_end == of.end);
    CHECK(close(file) == 0);
    return regions;
}

static void scans(void) {
    char *all = map(3 * BYTES, PLAIN, -1), *at = all + BYTES, *behind = at + BYTES;
    /* What may be executed has left the device. */
    memset(all, 1, 3 * BYTES);
    CHECK(mprotect(behind, BYTES, BOTH | PROT_EXEC) == 0);
    for (unsigned round = 1; round < 9; round++) {
        fill((uint64_t *)at, PAGES * PER_PAGE, round);
        /* Memory without a userfaultfd is passed over. */
        CHECK(scan(round % 2, PROTECTS, at, BYTES) == 0);
        CHECK(scan(round % 2, PROTECTS | MUST_PROTECT, at, PAGE) == -1 && errno == EPERM);
        CHECK(scan(round % 2, PROTECTS | 1 << 20, at, PAGE) == -1 && errno == EINVAL);
        CHECK(scan(round % 2, PROTECTS, all, 3 * BYTES) == 0);
        CHECK(scan(round % 2, PROTECTS, NULL, (1ull << 47) - PAGE) == 0);
        use_others();
        CHECK(wrong_words((uint64_t *)at, PAGES * PER_PAGE, round) == 0);
    }
    /* Without a wish to protect the kernel answers. */
    CHECK(scan(0, 0, at, BYTES) >= 0);
}

int main(int argc, char **argv) {
    limit(20);
    CHECK(argc >= 2);
    if (strcmp(argv[1], "guards") == 0 && argc > 2)
        guards(argv[2], argv[3]);
    else if (strcmp(argv[1], "seals") == 0)
        seals();
    else if (strcmp(argv[1], "scans") == 0)
        scans();
    else
        return 2;
    puts("well");
    return 0;
}
