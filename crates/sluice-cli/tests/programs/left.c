/* A child that cannot have the device, for its parent has changed its user: it goes on with all of
 * its memory, as without a device. The argument is a file of FILE_PAGES pages. */
#include "abuse.h"
#include "raw_fork.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BOTH (PROT_READ | PROT_WRITE)
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define CHUNKS 3000u
#define LARGE 1000u
#define FILE_PAGES 64u
#define WORDS (PAGE / 8)

static uint64_t *chunks[CHUNKS];
/* A large piece with a hole, one of which parts were protected, one that is closed, one of each
 * file, and shared memory. */
static uint64_t *large, *parts, *closed, *written, *sealed, *shared;
/* What no child is to have. */
static char *kept;

static size_t size_of(size_t chunk) {
    return 1 + chunk % 300;
}

static uint64_t *map(size_t pages, int protection, int flags, int file) {
    void *at = mmap(NULL, pages * PAGE, protection, flags, file, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static uint64_t *page_of(uint64_t *piece, size_t page) {
    return piece + page * WORDS;
}

static void make(const char *path) {
    for (size_t i = 0; i < CHUNKS; i++) {
        chunks[i] = malloc(size_of(i) * 8);
        fill(chunks[i], size_of(i), i);
    }
    large = map(LARGE, BOTH, PLAIN, -1);
    fill(large, LARGE * WORDS, 1);
    CHECK(munmap(page_of(large, 500), 10 * PAGE) == 0);
    parts = map(LARGE, BOTH, PLAIN, -1);
    fill(parts, LARGE * WORDS, 11);
    for (size_t page = 100; page < LARGE; page += 100) {
        CHECK(mprotect(page_of(parts, page), 30 * PAGE, PROT_READ) == 0);
        CHECK(mprotect(page_of(parts, page), 30 * PAGE, BOTH) == 0);
    }
    closed = map(LARGE, PROT_NONE, PLAIN | MAP_NORESERVE, -1);
    CHECK(mprotect(closed, 300 * PAGE, BOTH) == 0);
    fill(closed, 300 * WORDS, 2);
    CHECK(mprotect(closed, 200 * PAGE, PROT_NONE) == 0);
    int file = open(path, O_RDWR);
    CHECK(file >= 0);
    written = map(FILE_PAGES, BOTH, MAP_PRIVATE, file);
    for (size_t page = 0; page < FILE_PAGES; page += 2)
        fill(page_of(written, page), WORDS, 3 + page);
    sealed = map(FILE_PAGES, PROT_READ, MAP_PRIVATE, file);
    CHECK(close(file) == 0);
    shared = map(FILE_PAGES, BOTH, MAP_SHARED | MAP_ANONYMOUS, -1);
    fill(shared, FILE_PAGES * WORDS, 4);
    kept = (char *)map(16, BOTH, PLAIN, -1);
    memset(kept, 5, 16 * PAGE);
    CHECK(madvise(kept, 16 * PAGE, MADV_DONTFORK) == 0);
    /* All of it has left the cache. */
    uint64_t *others = map(2 * LARGE, BOTH, PLAIN, -1);
    fill(others, 2 * LARGE * WORDS, 6);
    CHECK(munmap(others, 2 * LARGE * PAGE) == 0);
}

/* Each page of the file begins with its number, and has zeros behind it. */
static void is_files(const uint64_t *page, uint64_t number) {
    CHECK(page[0] == number);
    for (size_t word = 1; word < WORDS; word++)
        CHECK(page[word] == 0);
}

static void all_there(void) {
    for (size_t i = 0; i < CHUNKS; i++)
        CHECK(wrong_words(chunks[i], size_of(i), i) == 0);
    CHECK(wrong_words(large, 500 * WORDS, 1) == 0);
    for (size_t i = 510 * WORDS; i < LARGE * WORDS; i++)
        CHECK(large[i] == mix((uint64_t)1 << 40 | i));
    CHECK(mprotect(closed, LARGE * PAGE, BOTH) == 0);
    CHECK(wrong_words(closed, 300 * WORDS, 2) == 0);
    for (size_t i = 300 * WORDS; i < LARGE * WORDS; i++)
        CHECK(closed[i] == 0);
    CHECK(mprotect(closed, 200 * PAGE, PROT_NONE) == 0);
    for (size_t page = 0; page < FILE_PAGES; page++) {
        is_files(page_of(sealed, page), page);
        if (page % 2 == 0)
            CHECK(wrong_words(page_of(written, page), WORDS, 3 + page) == 0);
        else
            is_files(page_of(written, page), page);
    }
}

static void *in_a_thread(void *nothing) {
    all_there();
    return nothing;
}

static void ends_well(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

#define NUMBERS 20000
static char is_open[NUMBERS];

static void note_descriptors(void) {
    for (int number = 0; number < NUMBERS; number++)
        is_open[number] = fcntl(number, F_GETFD) >= 0;
}

/* But for high numbers, which may have been the runtime's. */
static void descriptors_are_as_noted(void) {
    for (int number = 0; number < NUMBERS; number++) {
        int is = fcntl(number, F_GETFD) >= 0;
        CHECK(is == is_open[number] || (!is && number > 500));
    }
}

/* Memory of which parts had another protection for a while moves, and grows, as a whole. */
static void remap_parts(void) {
    CHECK(wrong_words(parts, LARGE * WORDS, 11) == 0);
    uint64_t *at = mremap(parts, LARGE * PAGE, 2 * LARGE * PAGE, MREMAP_MAYMOVE);
    CHECK(at != MAP_FAILED && wrong_words(at, LARGE * WORDS, 11) == 0);
    for (size_t i = LARGE * WORDS; i < 2 * LARGE * WORDS; i++)
        CHECK(at[i] == 0);
    fill(at, 2 * LARGE * WORDS, 12);
    CHECK(munmap(page_of(at, LARGE), LARGE * PAGE) == 0);
    CHECK(mremap(at, LARGE * PAGE, LARGE * PAGE + 9 * PAGE, 0) == at);
    CHECK(wrong_words(at, LARGE * WORDS, 12) == 0 && at[(LARGE + 8) * WORDS] == 0);
    int keep = MREMAP_MAYMOVE | MREMAP_DONTUNMAP;
    uint64_t *kept = mremap(at, LARGE * PAGE, LARGE * PAGE, keep);
    CHECK(kept != MAP_FAILED && wrong_words(kept, LARGE * WORDS, 12) == 0);
    CHECK(at[0] == 0 && at[(LARGE - 1) * WORDS] == 0);
    uint64_t *place = map(LARGE + 2, BOTH, PLAIN, -1);
    fill(place, (LARGE + 2) * WORDS, 13);
    int fixed = MREMAP_MAYMOVE | MREMAP_FIXED;
    void *middle = page_of(place, 1);
    CHECK(mremap(kept, LARGE * PAGE, LARGE * PAGE, fixed, middle) == middle);
    CHECK(wrong_words(middle, LARGE * WORDS, 12) == 0 && place[0] == mix((uint64_t)13 << 40));
    CHECK(place[(LARGE + 1) * WORDS] == mix((uint64_t)13 << 40 | (LARGE + 1) * WORDS));
    /* What is not one mapping to the program either is refused. */
    CHECK(mprotect(page_of(place, 30), 10 * PAGE, PROT_READ) == 0);
    CHECK(mremap(place, LARGE * PAGE, 2 * LARGE * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
    CHECK(errno == EFAULT && mprotect(page_of(place, 30), 10 * PAGE, BOTH) == 0);
    CHECK(munmap(place, (LARGE + 2) * PAGE) == 0);
}

/* Nothing of the memory is the device's any more, and everything can be done with it. */
static void use(void) {
    for (size_t i = 0; i < CHUNKS; i += 3) {
        chunks[i] = realloc(chunks[i], 8 * size_of(i) + 200000 * (i % 60 == 0));
        CHECK(wrong_words(chunks[i], size_of(i), i) == 0);
        free(chunks[i]);
        chunks[i] = malloc(size_of(i) * 8);
        fill(chunks[i], size_of(i), i);
    }
    uint64_t *moved = mremap(large, 400 * PAGE, 900 * PAGE, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED && wrong_words(moved, 400 * WORDS, 1) == 0);
    for (size_t i = 400 * WORDS; i < 900 * WORDS; i++)
        CHECK(moved[i] == 0);
    CHECK(munmap(moved, 900 * PAGE) == 0);
    remap_parts();
    uint64_t *hole = page_of(large, 500);
    int fixed = PLAIN | MAP_FIXED_NOREPLACE;
    CHECK(mmap(hole, 10 * PAGE, BOTH, fixed, -1, 0) == hole && hole[7] == 0);
    errno = 0;
    CHECK(mmap(hole, PAGE, BOTH, fixed, -1, 0) == MAP_FAILED && errno == EEXIST);
    fill(hole, 10 * WORDS, 9);
    CHECK(madvise(hole, 5 * PAGE, MADV_DONTNEED) == 0 && hole[0] == 0);
    CHECK(hole[5 * WORDS] == mix((uint64_t)9 << 40 | 5 * WORDS));
    CHECK(mlock(hole, PAGE) == 0 && munlock(hole, PAGE) == 0);
    uint64_t *fresh = map(50, BOTH, PLAIN, -1);
    for (size_t i = 0; i < 50 * WORDS; i++)
        CHECK(fresh[i] == 0);
    fill(fresh, 50 * WORDS, 10);
    CHECK(madvise(fresh, PAGE, MADV_DONTFORK) == 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(hole[5 * WORDS] == mix((uint64_t)9 << 40 | 5 * WORDS));
        CHECK(fresh[WORDS] == mix((uint64_t)10 << 40 | WORDS));
        _exit(0);
    }
    ends_well(child);
    CHECK(fresh[0] == mix((uint64_t)10 << 40));
    /* By an instruction of its own. */
    child = fork_by_instruction();
    if (child == 0) {
        free(malloc(100000));
        CHECK(fresh[WORDS] == mix((uint64_t)10 << 40 | WORDS));
        _exit(0);
    }
    ends_well(child);
}

static void child(int end) {
    /* Where the parent has what it keeps, the child has nothing, until it maps something. */
    CHECK(write(end, kept, 1) == -1 && errno == EFAULT);
    all_there();
    descriptors_are_as_noted();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, in_a_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(wrong_words(shared, FILE_PAGES * WORDS, 4) == 0);
    fill(shared, FILE_PAGES * WORDS, 7);
    use();
    _exit(0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    make(argv[1]);
    CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    int ends[2];
    CHECK(pipe(ends) == 0);
    note_descriptors();
    for (int round = 0; round < 3; round++) {
        pid_t number = fork();
        if (number == 0)
            child(ends[1]);
        ends_well(number);
        all_there();
        CHECK(wrong_words(shared, FILE_PAGES * WORDS, 7) == 0);
        CHECK(kept[15 * PAGE] == 5);
        fill(shared, FILE_PAGES * WORDS, 4);
    }
    puts("well");
    return 0;
}
