/* The mmap family on memory that does not fit into the cache. */
#include "common.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGES 1024u
#define BYTES (PAGES * PAGE)
#define PER_PAGE (PAGE / 8)

static uint64_t *map(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    uint64_t *words = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    CHECK(words != MAP_FAILED);
    return words;
}

static uint64_t *page(uint64_t *words, size_t n) { return words + n * PER_PAGE; }

/* Each page is its own pattern, so that pages can go and stay one by one. */
static void fill_pages(uint64_t *words, size_t from, size_t to) {
    for (size_t n = from; n < to; n++)
        fill(page(words, n), PER_PAGE, n + 1);
}

static void check_pages(uint64_t *words, size_t from, size_t to) {
    for (size_t n = from; n < to; n++)
        CHECK(wrong_words(page(words, n), PER_PAGE, n + 1) == 0);
}

static void check_zeros(uint64_t *words, size_t from, size_t to) {
    for (uint64_t *word = page(words, from); word < page(words, to); word++)
        CHECK(*word == 0);
}

static sigjmp_buf back;

static void on_fault(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

static int faults(volatile uint64_t *at, int write) {
    if (sigsetjmp(back, 1))
        return 1;
    if (write)
        *at = 1;
    else
        (void)*at;
    return 0;
}

static void dropped_pages_are_zeros(void) {
    uint64_t *words = map();
    check_zeros(words, 0, PAGES);
    fill_pages(words, 0, PAGES);
    CHECK(madvise(page(words, 100), 300 * PAGE, MADV_DONTNEED) == 0);
    check_pages(words, 0, 100);
    check_zeros(words, 100, 400);
    check_pages(words, 400, PAGES);
    fill_pages(words, 150, 200);
    check_zeros(words, 100, 150);
    check_pages(words, 150, 200);
    CHECK(munmap(words, BYTES) == 0);
}

static void parts_can_go(void) {
    uint64_t *words = map();
    fill_pages(words, 0, PAGES);
    CHECK(munmap(page(words, 200), 100 * PAGE) == 0);
    check_pages(words, 0, 200);
    check_pages(words, 300, PAGES);
    CHECK(munmap(page(words, 300), (PAGES - 300) * PAGE) == 0);
    /* Fresh memory is zeros wherever it comes from. */
    uint64_t *fresh = map();
    check_zeros(fresh, 0, PAGES);
    check_pages(words, 0, 200);
    CHECK(munmap(fresh, BYTES) == 0 && munmap(words, 200 * PAGE) == 0);
}

static void sizes_change(void) {
    uint64_t *words = map();
    fill_pages(words, 0, PAGES);
    words = mremap(words, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
    CHECK(words != MAP_FAILED);
    check_pages(words, 0, PAGES);
    check_zeros(words, PAGES, 2 * PAGES);
    words = mremap(words, 2 * BYTES, BYTES / 2, 0);
    CHECK(words != MAP_FAILED);
    check_pages(words, 0, PAGES / 2);
    CHECK(munmap(words, BYTES / 2) == 0);
}

static void protection_holds(void) {
    signal(SIGSEGV, on_fault);
    uint64_t *words = map();
    fill_pages(words, 0, PAGES);
    CHECK(mprotect(page(words, 10), 20 * PAGE, PROT_NONE) == 0);
    CHECK(faults(page(words, 10), 0) && faults(page(words, 29), 1));
    CHECK(!faults(page(words, 9), 0) && !faults(page(words, 30), 0));
    CHECK(mprotect(page(words, 500), 20 * PAGE, PROT_READ) == 0);
    check_pages(words, 500, 520);
    CHECK(faults(page(words, 510), 1));
    CHECK(mprotect(words, BYTES, PROT_READ | PROT_WRITE) == 0);
    check_pages(words, 0, PAGES);
    fill_pages(words, 0, PAGES);
    check_pages(words, 0, PAGES);
    CHECK(munmap(words, BYTES) == 0);
    uint64_t *fresh = map();
    check_zeros(fresh, 0, PAGES);
    CHECK(munmap(fresh, BYTES) == 0);
    signal(SIGSEGV, SIG_DFL);
}

static void fixed_maps_replace(void) {
    uint64_t *words = map();
    fill_pages(words, 0, PAGES);
    int plain = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    int both = PROT_READ | PROT_WRITE;
    CHECK(mmap(page(words, 50), 50 * PAGE, both, plain, -1, 0) == page(words, 50));
    check_zeros(words, 50, 100);
    FILE *file = tmpfile();
    CHECK(file && ftruncate(fileno(file), 10 * PAGE) == 0);
    void *over = mmap(page(words, 200), 10 * PAGE, both, MAP_SHARED | MAP_FIXED, fileno(file), 0);
    CHECK(over == page(words, 200));
    check_zeros(words, 200, 210);
    fill_pages(words, 200, 210);
    uint64_t found[PER_PAGE];
    CHECK(pread(fileno(file), found, PAGE, 3 * PAGE) == PAGE);
    CHECK(wrong_words(found, PER_PAGE, 204) == 0);
    /* Memory takes the file's place again. */
    CHECK(mmap(page(words, 200), 10 * PAGE, both, plain, -1, 0) == page(words, 200));
    check_zeros(words, 200, 210);
    fill_pages(words, 50, 210);
    check_pages(words, 0, PAGES);
    CHECK(munmap(words, BYTES) == 0);
}

static uint64_t *reserve(size_t bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint64_t *words = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
    CHECK(words != MAP_FAILED);
    return words;
}

/* Address space without access, opened piece by piece as the heaps of virtual machines are. */
static void reserved_space_opens_and_closes(void) {
    signal(SIGSEGV, on_fault);
    int fixed = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    int both = PROT_READ | PROT_WRITE;
    uint64_t *words = reserve(2 * BYTES);
    /* Its ends go, as for alignment. */
    CHECK(munmap(words, 8 * PAGE) == 0);
    words = page(words, 8);
    CHECK(munmap(page(words, PAGES + 8), BYTES - 16 * PAGE) == 0);
    CHECK(faults(words, 0) && faults(page(words, 77), 1));
    CHECK(mprotect(words, 300 * PAGE, both) == 0);
    CHECK(mmap(page(words, 300), (PAGES - 300) * PAGE, both, fixed, -1, 0) == page(words, 300));
    CHECK(faults(page(words, PAGES), 0));
    fill_pages(words, 0, PAGES);
    check_pages(words, 0, PAGES);
    /* Closed, it keeps what it has, in the cache and out of it. */
    check_pages(words, 390, 400);
    CHECK(mprotect(page(words, 200), 200 * PAGE, PROT_NONE) == 0);
    CHECK(faults(page(words, 200), 0) && faults(page(words, 399), 1));
    check_pages(words, 0, 200);
    CHECK(mprotect(page(words, 100), 400 * PAGE, both) == 0);
    check_pages(words, 0, PAGES);
    /* Mapped over without access, it keeps nothing. */
    CHECK(mmap(page(words, 500), 100 * PAGE, PROT_NONE, fixed, -1, 0) == page(words, 500));
    CHECK(faults(page(words, 555), 0));
    CHECK(mprotect(page(words, 500), 50 * PAGE, both) == 0);
    CHECK(mprotect(page(words, 550), 50 * PAGE, PROT_READ) == 0);
    check_zeros(words, 500, 600);
    CHECK(faults(page(words, 555), 1));
    check_pages(words, 0, 500);
    check_pages(words, 600, PAGES);
    /* All of it is memory again for the next mapping. */
    CHECK(munmap(words, (PAGES + 8) * PAGE) == 0);
    uint64_t *fresh = map();
    check_zeros(fresh, 0, PAGES);
    fill_pages(fresh, 0, PAGES);
    check_pages(fresh, 0, PAGES);
    CHECK(munmap(fresh, BYTES) == 0);
    signal(SIGSEGV, SIG_DFL);
}

/* A program gives back a range that is not where it wants it, and gets it there. */
static void reserved_space_is_where_it_must_be(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *wanted = (void *)(5ul << 40), *got = MAP_FAILED;
    for (int i = 0; i < 3 && got != wanted; i++) {
        got = mmap(wanted, BYTES, PROT_NONE, flags, -1, 0);
        CHECK(got != MAP_FAILED && munmap(got, BYTES) == 0);
    }
    CHECK(got == wanted);
}

static ucontext_t outer, inner;
static uint64_t *on_the_stack;

static void run_on_the_stack(void) {
    uint64_t here[PER_PAGE];
    fill(here, PER_PAGE, 5);
    fill_pages(on_the_stack, 0, PAGES);
    check_pages(on_the_stack, 0, PAGES);
    CHECK(wrong_words(here, PER_PAGE, 5) == 0);
}

/* A stack that the program makes for itself, with a page below it that ends it. */
static void traps_on_a_stack_of_its_own(void) {
    size_t bytes = 64 * PAGE;
    char *stack = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    CHECK(mprotect(stack + PAGE, bytes - PAGE, PROT_READ | PROT_WRITE) == 0);
    on_the_stack = map();
    CHECK(getcontext(&inner) == 0);
    inner.uc_stack.ss_sp = stack + PAGE;
    inner.uc_stack.ss_size = bytes - PAGE;
    inner.uc_link = &outer;
    makecontext(&inner, run_on_the_stack, 0);
    CHECK(swapcontext(&outer, &inner) == 0);
    CHECK(munmap(on_the_stack, BYTES) == 0 && munmap(stack, bytes) == 0);
}

/* A child has all of it: what is open, what is closed, and a file in between. */
static void forks_copy_reserved_space(void) {
    int both = PROT_READ | PROT_WRITE;
    uint64_t *words = reserve(BYTES);
    CHECK(mprotect(words, 500 * PAGE, both) == 0);
    fill_pages(words, 0, 500);
    CHECK(mprotect(page(words, 100), 100 * PAGE, PROT_NONE) == 0);
    FILE *file = tmpfile();
    CHECK(file && ftruncate(fileno(file), 10 * PAGE) == 0);
    for (size_t n = 600; n <= 700; n += 100) {
        void *at = page(words, n);
        CHECK(mmap(at, 10 * PAGE, both, MAP_PRIVATE | MAP_FIXED, fileno(file), 0) == at);
        fill_pages(words, n, n + 10);
    }
    /* What a child is not to have must not be missing when it takes the rest over. */
    CHECK(madvise(page(words, 400), 100 * PAGE, MADV_DONTFORK) == 0);
    CHECK(madvise(page(words, 610), 90 * PAGE, MADV_DONTFORK) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    check_pages(words, 0, 100);
    check_pages(words, 200, 400);
    CHECK(mprotect(page(words, 100), 100 * PAGE, both) == 0);
    check_pages(words, 100, 200);
    check_pages(words, 600, 610);
    check_pages(words, 700, 710);
    CHECK(mprotect(page(words, 710), 100 * PAGE, both) == 0);
    check_zeros(words, 710, 810);
    fill_pages(words, 0, 400);
    if (child == 0)
        _Exit(0);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    fclose(file);
    CHECK(munmap(words, BYTES) == 0);
}

/* The kernel reads and writes pages that are not there. */
static void system_calls_reach_it(void) {
    uint64_t *words = map();
    fill_pages(words, 0, PAGES);
    FILE *file = tmpfile();
    CHECK(file);
    for (size_t at = 0; at < BYTES; at += 16 * PAGE)
        CHECK(write(fileno(file), (char *)words + at, 16 * PAGE) == 16 * PAGE);
    memset(words, 0, BYTES);
    for (size_t at = 0; at < BYTES; at += 16 * PAGE)
        CHECK(pread(fileno(file), (char *)words + at, 16 * PAGE, at) == 16 * PAGE);
    check_pages(words, 0, PAGES);
    fclose(file);
    CHECK(munmap(words, BYTES) == 0);
}

/* Loads, stores and copies that need two pages or more at once. */
static void straddles_get_on(void) {
    uint64_t *words = map();
    char *bytes = (char *)words;
    for (size_t n = 1; n < 64; n++) {
        uint64_t value = mix(n), found;
        memcpy(bytes + n * PAGE - 3, &value, sizeof value);
        memcpy(&found, bytes + n * PAGE - 3, sizeof found);
        CHECK(found == value);
    }
    for (size_t n = 1; n < 64; n++)
        memcpy(bytes + (64 + n) * PAGE - 5, bytes + n * PAGE - 3, 8);
    for (size_t n = 1; n < 64; n++)
        CHECK(memcmp(bytes + (64 + n) * PAGE - 5, bytes + n * PAGE - 3, 8) == 0);
    CHECK(munmap(words, BYTES) == 0);
}

/* Of no type that is private, or from within a page: not memory that goes to the device. */
static void what_the_kernel_refuses_is_refused(void) {
    int both = PROT_READ | PROT_WRITE, memory = MAP_PRIVATE | MAP_ANONYMOUS;
    CHECK(mmap(NULL, BYTES, both, memory, -1, 123) == MAP_FAILED && errno == EINVAL);
    int validated = MAP_SHARED_VALIDATE | MAP_ANONYMOUS;
    CHECK(mmap(NULL, BYTES, both, validated, -1, 0) == MAP_FAILED && errno == EINVAL);
}

int main(int count, char **arguments) {
    straddles_get_on();
    if (count > 1 && strcmp(arguments[1], "straddle") == 0) {
        puts("well");
        return 0;
    }
    dropped_pages_are_zeros();
    parts_can_go();
    sizes_change();
    protection_holds();
    fixed_maps_replace();
    reserved_space_opens_and_closes();
    reserved_space_is_where_it_must_be();
    traps_on_a_stack_of_its_own();
    forks_copy_reserved_space();
    system_calls_reach_it();
    what_the_kernel_refuses_is_refused();
    puts("well");
    return 0;
}
