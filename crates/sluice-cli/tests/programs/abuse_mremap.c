/* Corners of mremap: to where one says, into one's own hole, without giving the old place up. */
#include "abuse.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define PAGES 2048u
#define BYTES (PAGES * PAGE)

static void *space(size_t bytes, int protection) {
    void *at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static uint64_t *written(void) {
    uint64_t *words = space(BYTES, PROT_READ | PROT_WRITE);
    fill(words, PAGES * PER_PAGE, 1);
    return words;
}

static void are_zeros(const uint64_t *words, size_t pages) {
    for (size_t at = 0; at < pages * PER_PAGE; at++)
        CHECK(words[at] == 0);
}

/* Half of it goes away; what is left then grows into the hole. */
static void hole(void) {
    uint64_t *words = written();
    char *end = (char *)words + BYTES / 2;
    CHECK(munmap(end, BYTES / 2) == 0);
    void *same = mremap(words, BYTES / 2, BYTES, 0);
    if (same == MAP_FAILED)
        perror("mremap into one's own hole");
    CHECK(same == words);
    CHECK(wrong(words, PAGES / 2) == 0);
    are_zeros(words + PAGES / 2 * PER_PAGE, PAGES / 2);
    fill(words, PAGES * PER_PAGE, 1);
    CHECK(wrong(words, PAGES) == 0);
    CHECK(munmap(words, BYTES) == 0);
}

/* A hole behind memory that was given another protection, and so is the kernel's. */
static void hole_behind(int protection) {
    uint64_t *words = written();
    char *end = (char *)words + BYTES / 2;
    CHECK(mprotect(words, BYTES, PROT_READ) == 0);
    CHECK(mprotect(words, BYTES, protection) == 0);
    CHECK(munmap(end, BYTES / 2) == 0);
    void *same = mremap(words, BYTES / 2, BYTES, 0);
    if (same == MAP_FAILED)
        perror("mremap into one's own hole, behind what was protected");
    CHECK(same == words);
    CHECK(wrong(words, PAGES / 2) == 0);
    are_zeros(words + PAGES / 2 * PER_PAGE, PAGES / 2);
    int zeros = open("/dev/zero", O_RDONLY);
    /* What may not be written before may not be written behind either. */
    CHECK(read(zeros, end, 1) == ((protection & PROT_WRITE) ? 1 : -1));
    CHECK(close(zeros) == 0);
    CHECK(mprotect(words, BYTES, PROT_READ | PROT_WRITE) == 0);
    fill(words, PAGES * PER_PAGE, 1);
    CHECK(wrong(words, PAGES) == 0);
    CHECK(munmap(words, BYTES) == 0);
}

static void fixed(size_t pages_after) {
    uint64_t *words = written();
    uint64_t *target = space(2 * BYTES, PROT_READ | PROT_WRITE);
    fill(target, 2 * PAGES * PER_PAGE, 7);
    int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    void *at = mremap(words, BYTES, pages_after * PAGE, flags, target + PAGES / 2 * PER_PAGE);
    if (at == MAP_FAILED)
        perror("mremap to a given place");
    CHECK(at == target + PAGES / 2 * PER_PAGE);
    words = at;
    size_t kept = pages_after < PAGES ? pages_after : PAGES;
    CHECK(wrong(words, kept) == 0);
    if (pages_after > PAGES)
        are_zeros(words + PAGES * PER_PAGE, pages_after - PAGES);
    CHECK(wrong_words(target, PAGES / 2 * PER_PAGE, 7) == 0);
    fill(words, kept * PER_PAGE, 3);
    CHECK(wrong_words(words, kept * PER_PAGE, 3) == 0);
    CHECK(munmap(target, 2 * BYTES) == 0);
}

/* Both places are there afterwards, the old one empty. */
static void dontunmap(void) {
    uint64_t *words = written();
    uint64_t *moved = mremap(words, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
    if (moved == MAP_FAILED)
        perror("mremap that keeps the old place");
    CHECK(moved != MAP_FAILED && moved != words);
    CHECK(wrong(moved, PAGES) == 0);
    are_zeros(words, PAGES);
    fill(words, PAGES * PER_PAGE, 4);
    CHECK(wrong(moved, PAGES) == 0 && wrong_words(words, PAGES * PER_PAGE, 4) == 0);
    CHECK(munmap(words, BYTES) == 0 && munmap(moved, BYTES) == 0);
}

/* Another thread counts in every page meanwhile. Each count is in one of the places. */
enum { COUNTED = 64, MOVES = 30 };

static atomic_ulong *counters, done[COUNTED];
static atomic_int is_over;

static void *count_on(void *unused) {
    for (size_t page = 0; !atomic_load(&is_over); page = (page + 1) % COUNTED) {
        atomic_fetch_add(&counters[page * PER_PAGE], 1);
        atomic_fetch_add(&done[page], 1);
    }
    return unused;
}

static void counted(int is_fixed) {
    size_t bytes = COUNTED * PAGE;
    int flags = MREMAP_MAYMOVE | MREMAP_DONTUNMAP | (is_fixed ? MREMAP_FIXED : 0);
    unsigned long found[COUNTED] = {0};
    counters = space(bytes, PROT_READ | PROT_WRITE);
    pthread_t thread;
    atomic_store(&is_over, 0);
    CHECK(pthread_create(&thread, NULL, count_on, NULL) == 0);
    for (int move = 0; move < MOVES; move++) {
        usleep(2000);
        void *target = is_fixed ? space(bytes, PROT_READ | PROT_WRITE) : NULL;
        atomic_ulong *moved = mremap(counters, bytes, bytes, flags, target);
        CHECK(moved != MAP_FAILED);
        for (size_t page = 0; page < COUNTED; page++)
            found[page] += atomic_load(&moved[page * PER_PAGE]);
        CHECK(munmap(moved, bytes) == 0);
    }
    atomic_store(&is_over, 1);
    CHECK(pthread_join(thread, NULL) == 0);
    for (size_t page = 0; page < COUNTED; page++) {
        found[page] += atomic_load(&counters[page * PER_PAGE]);
        CHECK(found[page] == atomic_exchange(&done[page], 0));
    }
    CHECK(munmap(counters, bytes) == 0);
}

static void dontunmap_while_others_store(void) {
    uint64_t *words = written();
    CHECK(wrong(words, PAGES) == 0);
    counted(0);
    counted(1);
    CHECK(munmap(words, BYTES) == 0);
}

/* Pages that the kernel has pinned, as registered buffers are, move with what is stored to them. */
static void pinned(void) {
    size_t bytes = COUNTED * PAGE;
    struct io_uring_params params = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 2, &params);
    CHECK(ring >= 0);
    for (int move = 0; move < MOVES; move++) {
        counters = space(bytes, PROT_READ | PROT_WRITE);
        for (size_t page = 0; page < COUNTED; page++)
            atomic_store(&counters[page * PER_PAGE], 0);
        struct iovec all = {counters, bytes};
        CHECK(syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &all, 1) == 0);
        pthread_t thread;
        atomic_store(&is_over, 0);
        CHECK(pthread_create(&thread, NULL, count_on, NULL) == 0);
        usleep(2000);
        int how = MREMAP_MAYMOVE | MREMAP_DONTUNMAP;
        atomic_ulong *moved = mremap(counters, bytes, bytes, how, NULL);
        CHECK(moved != MAP_FAILED);
        usleep(2000);
        atomic_store(&is_over, 1);
        CHECK(pthread_join(thread, NULL) == 0);
        for (size_t page = 0; page < COUNTED; page++) {
            unsigned long found = atomic_load(&counters[page * PER_PAGE]);
            found += atomic_load(&moved[page * PER_PAGE]);
            CHECK(found == atomic_exchange(&done[page], 0));
        }
        CHECK(syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0) == 0);
        CHECK(munmap(moved, bytes) == 0 && munmap(counters, bytes) == 0);
    }
}

/* What the kernel refuses is refused in the same way. */
static void refusals(void) {
    char *words = (char *)written();
    int fixed_too = MREMAP_MAYMOVE | MREMAP_FIXED;
    CHECK(mremap(words + 1, BYTES, BYTES, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
    CHECK(mremap(words, BYTES, 0, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
    CHECK(mremap(words, BYTES, BYTES, MREMAP_FIXED, words + 2 * BYTES) == MAP_FAILED);
    CHECK(errno == EINVAL);
    CHECK(mremap(words, BYTES, BYTES, fixed_too, words + PAGE) == MAP_FAILED && errno == EINVAL);
    CHECK(wrong((uint64_t *)words, PAGES) == 0);
    CHECK(munmap(words, BYTES) == 0);
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    if (strcmp(arguments[1], "hole") == 0) {
        hole();
        hole_behind(PROT_READ | PROT_WRITE);
        hole_behind(PROT_READ);
    } else if (strcmp(arguments[1], "fixed") == 0) {
        fixed(PAGES);
        fixed(PAGES / 2);
        fixed(PAGES + PAGES / 2);
    } else if (strcmp(arguments[1], "dontunmap") == 0) {
        dontunmap();
    } else if (strcmp(arguments[1], "counted") == 0) {
        dontunmap_while_others_store();
    } else if (strcmp(arguments[1], "pinned") == 0) {
        uint64_t *words = written();
        pinned();
        CHECK(wrong(words, PAGES) == 0);
    } else if (strcmp(arguments[1], "refusals") == 0) {
        refusals();
    } else {
        return 2;
    }
    puts("well");
    return 0;
}
