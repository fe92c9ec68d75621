// Maps a file and does with it what programs do. Says "well" if all is as the kernel has it without
// a device; the same program without Sluice says so too.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 1024ul
#define BYTES (PAGES * PAGE)
#define WORDS (PAGE / 8)

static const char *path;

static void check(int is_so, const char *what, int line) {
    if (!is_so) {
        fprintf(stderr, "line %d: %s (errno %d)\n", line, what, errno);
        exit(1);
    }
}
#define CHECK(is_so) check(is_so, #is_so, __LINE__)

static uint64_t first(uint64_t page, uint64_t word) { return page * 0x9e3779b97f4a7c15ull + word; }

static int file(int flags) {
    int fd = open(path, flags, 0600);
    CHECK(fd >= 0);
    return fd;
}

static void make(uint64_t bytes) {
    int fd = file(O_RDWR | O_CREAT | O_TRUNC);
    for (uint64_t page = 0; page * PAGE < bytes; page++) {
        uint64_t words[WORDS];
        for (uint64_t word = 0; word < WORDS; word++)
            words[word] = first(page, word);
        uint64_t left = bytes - page * PAGE;
        CHECK(write(fd, words, left < PAGE ? left : PAGE) > 0);
    }
    close(fd);
}

static uint64_t *map(int prot, int flags, int fd) {
    uint64_t *at = mmap(NULL, BYTES, prot, flags, fd, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void is_file(const uint64_t *at, uint64_t from, uint64_t to) {
    for (uint64_t page = from; page < to; page++)
        for (uint64_t word = 0; word < WORDS; word += 61)
            CHECK(at[page * WORDS + word] == first(page, word));
}

// Both kinds that can only be read, over and over, and what the kernel reads of them.
static void reads(void) {
    int kinds[] = {MAP_PRIVATE, MAP_SHARED};
    for (int n = 0; n < 2; n++) {
        int fd = file(O_RDONLY);
        uint64_t *at = map(PROT_READ, kinds[n], fd);
        close(fd);
        for (int round = 0; round < 2; round++)
            is_file(at, 0, PAGES);
        uint64_t seed = 1;
        for (int step = 0; step < 20000; step++) {
            seed = seed * 6364136223846793005ull + 1;
            uint64_t page = (seed >> 33) % PAGES, word = (seed >> 20) % WORDS;
            CHECK(at[page * WORDS + word] == first(page, word));
        }
        int copy = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
        CHECK(copy >= 0 && write(copy, at, BYTES) == (ssize_t)BYTES);
        static uint64_t back[BYTES / 8];
        CHECK(pread(copy, back, BYTES, 0) == (ssize_t)BYTES);
        is_file(back, 0, PAGES);
        close(copy);
        CHECK(msync(at, BYTES, MS_SYNC) == 0);
        CHECK(mprotect(at, BYTES, PROT_NONE) == 0 && mprotect(at, BYTES, PROT_READ) == 0);
        is_file(at, 0, PAGES);
        CHECK(munmap(at, BYTES) == 0);
    }
}

// What is written is the program's own, and the file stays as it is.
static void writes(void) {
    int fd = file(O_RDONLY);
    uint64_t *at = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
    for (int round = 1; round <= 3; round++) {
        for (uint64_t page = 0; page < PAGES; page += 3)
            at[page * WORDS + 5] = page + round;
        for (uint64_t page = 0; page < PAGES; page++) {
            CHECK(at[page * WORDS + 5] == (page % 3 ? first(page, 5) : page + round));
            CHECK(at[page * WORDS + 6] == first(page, 6));
        }
    }
    uint64_t word;
    CHECK(pread(fd, &word, 8, 40) == 8 && word == first(0, 5));
    // Read-only and back, with what was written.
    CHECK(mprotect(at, BYTES, PROT_READ) == 0);
    for (uint64_t page = 0; page < PAGES; page++)
        CHECK(at[page * WORDS + 5] == (page % 3 ? first(page, 5) : page + 3));
    CHECK(mprotect(at, BYTES / 2, PROT_READ | PROT_WRITE) == 0);
    for (uint64_t page = 0; page < PAGES / 2; page += 3)
        at[page * WORDS + 5] += 1;
    for (uint64_t page = 0; page < PAGES; page++)
        CHECK(at[page * WORDS + 5] == (page % 3 ? first(page, 5) : page + 3 + (page < PAGES / 2)));
    // A child has a copy.
    pid_t child = fork();
    if (child == 0) {
        for (uint64_t page = 0; page < PAGES; page++)
            CHECK(at[page * WORDS + 5] ==
                  (page % 3 ? first(page, 5) : page + 3 + (page < PAGES / 2)));
        at[5] = 77;
        CHECK(at[5] == 77);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0 && at[5] == 4);
    // What is dropped begins anew.
    CHECK(madvise(at, 8 * PAGE, MADV_DONTNEED) == 0);
    is_file(at, 0, 8);
    CHECK(madvise(at, PAGE, MADV_FREE) == -1 && errno == EINVAL);
    CHECK(mlock(at, 4 * PAGE) == 0 && munlock(at, 4 * PAGE) == 0);
    // Code may be made of it, and it keeps what was written.
    CHECK(mprotect(at + 9 * WORDS, PAGE, PROT_READ | PROT_EXEC) == 0);
    CHECK(at[9 * WORDS + 5] == 9 + 4 && at[9 * WORDS + 6] == first(9, 6));
    // Holes and other things in the middle.
    CHECK(munmap(at + 20 * WORDS, 10 * PAGE) == 0);
    uint64_t *in = mmap(at + 22 * WORDS, PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(in == at + 22 * WORDS && in[0] == 0);
    in = mmap(at + 24 * WORDS, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 100 * PAGE);
    CHECK(in == at + 24 * WORDS && in[0] == first(100, 0) && in[WORDS] == first(101, 0));
    CHECK(at[19 * WORDS + 6] == first(19, 6) && at[30 * WORDS + 5] == 30 + 4);
    CHECK(munmap(at, BYTES) == 0);
    close(fd);
}

// Longer, shorter, elsewhere.
static void moves(void) {
    int fd = file(O_RDONLY);
    uint64_t *at = mmap(NULL, BYTES / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    CHECK(at != MAP_FAILED);
    for (uint64_t page = 0; page < PAGES / 2; page += 2)
        at[page * WORDS] = page;
    at = mremap(at, BYTES / 2, BYTES, MREMAP_MAYMOVE);
    CHECK(at != MAP_FAILED);
    for (uint64_t page = 0; page < PAGES; page++)
        CHECK(at[page * WORDS] == (page % 2 || page >= PAGES / 2 ? first(page, 0) : page));
    at[3 * WORDS] = 3;
    void *room = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED);
    at = mremap(at, BYTES, BYTES / 4, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    CHECK(at == room && at[3 * WORDS] == 3 && at[5 * WORDS] == first(5, 0));
    at = mremap(at, BYTES / 4, PAGE, 0);
    CHECK(at == room && at[1] == first(0, 1));
    CHECK(munmap(at, BYTES) == 0);
    int shared = file(O_RDONLY);
    at = mmap(NULL, BYTES / 2, PROT_READ, MAP_SHARED, shared, 0);
    CHECK(at != MAP_FAILED);
    is_file(at, 0, 4);
    CHECK(mprotect(at, PAGE, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
    at = mremap(at, BYTES / 2, BYTES, MREMAP_MAYMOVE);
    CHECK(at != MAP_FAILED);
    is_file(at, 0, PAGES);
    CHECK(munmap(at, BYTES) == 0);
    close(shared);
    close(fd);
}

static sigjmp_buf out;
static volatile sig_atomic_t code;

static void on_bus(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    code = info->si_code;
    siglongjmp(out, 1);
}

static int faults(volatile uint64_t *at) {
    code = 0;
    if (sigsetjmp(out, 1) == 0) {
        *at;
        return 0;
    }
    return code == BUS_ADRERR;
}

// Behind the file's end there is nothing, and what is cut off is gone.
static void ends(void) {
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGBUS, &action, NULL) == 0);
    make(10 * PAGE + 8);
    int kinds[] = {MAP_PRIVATE, MAP_SHARED};
    for (int n = 0; n < 2; n++) {
        int fd = file(O_RDONLY);
        uint64_t *at = map(PROT_READ, kinds[n], fd);
        CHECK(at[10 * WORDS] == first(10, 0) && at[10 * WORDS + 1] == 0);
        CHECK(faults(at + 11 * WORDS) && faults(at + 11 * WORDS) && faults(at + 900 * WORDS));
        is_file(at, 0, 10);
        CHECK(munmap(at, BYTES) == 0);
        close(fd);
    }
    int fd = file(O_RDONLY);
    uint64_t *at = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
    CHECK(faults(at + 12 * WORDS));
    at[3 * WORDS] = 3;
    CHECK(truncate(path, 40 * PAGE) == 0);
    CHECK(at[12 * WORDS] == 0 && at[3 * WORDS] == 3 && at[39 * WORDS] == 0);
    CHECK(truncate(path, 0) == 0 && faults(at + 50 * WORDS));
    CHECK(munmap(at, BYTES) == 0);
    close(fd);
    make(BYTES);
}

// A process that has a file mapped sees what others write to it, at once.
static void others(void) {
    for (uint64_t round = 1; round <= 20; round++) {
        int fd = file(O_RDONLY);
        uint64_t *at = map(PROT_READ, MAP_SHARED, fd);
        is_file(at, 1, PAGES);
        pid_t child = fork();
        if (child == 0) {
            is_file(at, 1, 50);
            int own = file(O_RDWR);
            CHECK(pwrite(own, &round, 8, 0) == 8);
            CHECK(at[0] == round);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0 && at[0] == round);
        int own = file(O_RDWR);
        uint64_t more = round + 100;
        CHECK(pwrite(own, &more, 8, 8) == 8 && at[1] == more);
        close(own);
        is_file(at, 1, PAGES);
        CHECK(munmap(at, BYTES) == 0);
        close(fd);
    }
    make(BYTES);
}

// Mappings that the kernel keeps: written by others, executable, open for writing.
static void stays(void) {
    int fd = file(O_RDWR);
    uint64_t *at = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    at[7] = 8;
    uint64_t word;
    CHECK(pread(fd, &word, 8, 56) == 8 && word == 8);
    at[7] = first(0, 7);
    uint64_t *beside = map(PROT_READ, MAP_SHARED, fd);
    is_file(beside, 0, PAGES);
    uint64_t *code = map(PROT_READ | PROT_EXEC, MAP_PRIVATE, fd);
    is_file(code, 0, PAGES);
    CHECK(munmap(at, BYTES) == 0 && munmap(beside, BYTES) == 0 && munmap(code, BYTES) == 0);
    close(fd);
}

// Until somebody ends it.
static void hold(void) {
    int fd = file(O_RDONLY);
    uint64_t *at = map(PROT_READ, MAP_SHARED, fd);
    is_file(at, 0, PAGES);
    CHECK(write(1, "held\n", 5) == 5);
    for (int n = 0; n < 300; n++) {
        is_file(at, 0, 50);
        usleep(100000);
    }
}

int main(int count, char **words) {
    if (count < 3)
        return 2;
    path = words[1];
    make(BYTES);
    for (int n = 2; n < count; n++) {
        struct { const char *name; void (*run)(void); } all[] = {
            {"reads", reads}, {"writes", writes}, {"moves", moves},
            {"ends", ends},   {"others", others}, {"stays", stays}, {"hold", hold},
        };
        for (unsigned at = 0; at < sizeof all / sizeof *all; at++)
            if (strcmp(words[n], all[at].name) == 0)
                all[at].run();
    }
    puts("well");
}
