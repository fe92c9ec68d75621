/* A file that is shared memory: with --place dax:FILE it is what is on the device, and with --place
 * shared it is on the session's device. Versions of its pages are on the board, for all processes
 * write to it. */
#include "torture.h"
#include <fcntl.h>

#define PAGES 2048u
#define BYTES (PAGES * PAGE)

static char *file_memory;

static int is_there(void) { return file_memory != NULL; }

static int open_it(void) {
    int file = open(now.dax_path, O_RDWR);
    MUST(file >= 0);
    return file;
}

static char *map_it(int protection, int flags) {
    int file = open_it();
    char *at = mmap(NULL, BYTES, protection, flags, file, 0);
    MUST(at != MAP_FAILED && close(file) == 0);
    return at;
}

static char *page_of(char *memory, unsigned n) { return memory + n * PAGE; }

static void put(char *memory, unsigned n) {
    board->dax_version[n] = next_version() | (uint64_t)(now.depth + 1) << 44;
    fill_page(page_of(memory, n), board->dax_version[n]);
}

static void check(char *memory, unsigned from, unsigned to, const char *what) {
    for (unsigned n = from; n < to; n++)
        check_page(page_of(memory, n), board->dax_version[n], what, n);
}

static void any_range(unsigned *from, unsigned *to) {
    *from = below(PAGES);
    *to = *from + 1 + below(PAGES - *from);
}

void open_dax(void) {
    if (!*now.dax_path)
        return;
    if (now.generation == 0) {
        int file = open_it();
        MUST(ftruncate(file, 0) == 0 && ftruncate(file, BYTES) == 0 && close(file) == 0);
    }
    file_memory = map_it(PROT_READ | PROT_WRITE, MAP_SHARED);
    check(file_memory, 0, PAGES, "file page at the start");
}

uint64_t check_dax(void) {
    if (is_there())
        check(file_memory, 0, PAGES, "file page");
    return is_there() ? hash_bytes(file_memory, BYTES, 11) : 0;
}

static void step_write(void) {
    unsigned from, to;
    if (!is_there())
        return;
    any_range(&from, &to);
    for (unsigned n = from; n < to; n++)
        put(file_memory, n);
    any_range(&from, &to);
    check(file_memory, from, to, "file page");
}

/* A second mapping shows what the first one wrote, and the other way round. */
static void step_alias(void) {
    if (!is_there())
        return;
    char *alias = map_it(PROT_READ | PROT_WRITE, MAP_SHARED);
    for (int n = 0; n < 200; n++) {
        unsigned page = below(PAGES);
        put(n % 2 ? alias : file_memory, page);
        check(n % 2 ? file_memory : alias, page, page + 1, "page of the other mapping");
    }
    check(alias, 0, PAGES, "page of the other mapping");
    MUST(munmap(alias, BYTES) == 0);
    check(file_memory, 0, PAGES, "file page");
}

static void step_advice(void) {
    static const int advices[] = {MADV_DONTNEED, MADV_PAGEOUT, MADV_COLD, MADV_WILLNEED,
                                  MADV_SEQUENTIAL, MADV_NORMAL, MADV_FREE};
    unsigned from, to;
    if (!is_there())
        return;
    any_range(&from, &to);
    int advice = advices[below(7)];
    tell("advice %d", advice);
    tell_call("madvise", madvise(page_of(file_memory, from), (to - from) * PAGE, advice));
    tell_call("msync", msync(file_memory, BYTES, MS_SYNC));
    check(file_memory, from, to, "advised file page");
}

static void step_again(void) {
    if (!is_there())
        return;
    MUST(munmap(file_memory, BYTES) == 0);
    file_memory = map_it(PROT_READ | PROT_WRITE, MAP_SHARED);
    check(file_memory, 0, PAGES, "file page mapped again");
}

static void step_calls(void) {
    static char plain[16 * PAGE];
    if (!is_there())
        return;
    int file = open_it();
    for (int round = 0; round < 10; round++) {
        unsigned from = below(PAGES - 16);
        MUST(pread(file, plain, sizeof plain, from * PAGE) == sizeof plain);
        check(plain - from * PAGE, from, from + 16, "file page by pread");
        for (unsigned n = from; n < from + 16; n++) {
            board->dax_version[n] = next_version() | (uint64_t)(now.depth + 1) << 44;
            fill_page(plain + (n - from) * PAGE, board->dax_version[n]);
        }
        MUST(pwrite(file, plain, sizeof plain, from * PAGE) == sizeof plain);
        check(file_memory, from, from + 16, "file page after pwrite");
    }
    MUST(close(file) == 0);
}

/* A child writes to what its parent sees. */
static void step_child(void) {
    if (!is_there() || now.depth >= 2)
        return;
    pid_t child = fork();
    if (child == 0) {
        after_fork_in_child();
        check(file_memory, 0, PAGES, "file page in a child");
        for (int n = 0; n < 300; n++)
            put(file_memory, below(PAGES));
        check(file_memory, 0, PAGES, "file page in a child");
        _exit(0);
    }
    wait_for(child, "a child with the file");
    check(file_memory, 0, PAGES, "file page after a child");
}

static void step_private(void) {
    if (!is_there())
        return;
    char *own = map_it(PROT_READ | PROT_WRITE, MAP_PRIVATE);
    check(own, 0, PAGES / 4, "page of a private mapping");
    for (unsigned n = 0; n < PAGES / 4; n++)
        fill_page(page_of(own, n), 4);
    check(file_memory, 0, PAGES / 4, "file page");
    for (unsigned n = 0; n < PAGES / 4; n++)
        check_page(page_of(own, n), 4, "private page", n);
    MUST(munmap(own, BYTES) == 0);
}

static void step_protect(void) {
    unsigned from, to;
    if (!is_there())
        return;
    any_range(&from, &to);
    MUST(mprotect(page_of(file_memory, from), (to - from) * PAGE, PROT_READ) == 0);
    tell("store faults: %d", faults(page_of(file_memory, from), 1, SIGSEGV));
    check(file_memory, from, to, "read-only file page");
    MUST(mprotect(page_of(file_memory, from), (to - from) * PAGE, PROT_NONE) == 0);
    tell("load faults: %d", faults(page_of(file_memory, to - 1), 0, SIGSEGV));
    MUST(mprotect(file_memory, BYTES, PROT_READ | PROT_WRITE) == 0);
    check(file_memory, from, to, "file page again");
}

/* The file becomes shorter, and longer again: what was behind its end is zeros. */
static void step_truncate(void) {
    if (!is_there())
        return;
    unsigned kept = 1 + below(PAGES - 1);
    int file = open_it();
    MUST(ftruncate(file, kept * PAGE) == 0);
    tell("behind the end: %d", faults(page_of(file_memory, kept), 0, SIGBUS));
    check(file_memory, 0, kept, "file page before the end");
    MUST(ftruncate(file, BYTES) == 0 && close(file) == 0);
    for (unsigned n = kept; n < PAGES; n++)
        board->dax_version[n] = 0;
    check(file_memory, 0, PAGES, "file page after the end moved");
}

const struct step dax_steps[] = {
    {"dax-write", step_write, 6, 0},      {"dax-alias", step_alias, 2, 0},
    {"dax-advice", step_advice, 2, 0},    {"dax-again", step_again, 2, 0},
    {"dax-calls", step_calls, 2, 0},      {"dax-child", step_child, 2, 0},
    {"dax-private", step_private, 1, 0},  {"dax-protect", step_protect, 2, 0},
    {"dax-truncate", step_truncate, 1, 0}, {0},
};
