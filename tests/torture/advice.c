/* madvise, mlock and msync. */
#include "torture.h"
#include <sys/syscall.h>
#include <sys/uio.h>

static const struct {
    int advice;
    const char *name;
    /* Whether the kernel keeps it for the range, which makes it a mapping of its own. */
    int is_kept;
} harmless[] = {
    {MADV_WILLNEED, "WILLNEED", 0},  {MADV_COLD, "COLD", 0},
    {MADV_PAGEOUT, "PAGEOUT", 0},    {MADV_SEQUENTIAL, "SEQUENTIAL", 1},
    {MADV_RANDOM, "RANDOM", 1},      {MADV_NORMAL, "NORMAL", 1},
    {MADV_DONTDUMP, "DONTDUMP", 1},  {MADV_DODUMP, "DODUMP", 1},
    {MADV_HUGEPAGE, "HUGEPAGE", 1},  {MADV_NOHUGEPAGE, "NOHUGEPAGE", 1},
    {MADV_REMOVE, "REMOVE", 0},
};

static struct region *part(unsigned *from, unsigned *to) {
    struct region *region = any_region();
    *from = below(region->pages);
    *to = *from + 1 + below(region->pages - *from);
    return region;
}

static char *at(const struct region *region, unsigned page) { return region->base + page * PAGE; }

static void step_harmless(void) {
    unsigned from, to, which = below(sizeof harmless / sizeof *harmless);
    struct region *region = part(&from, &to);
    tell_call(harmless[which].name,
              madvise(at(region, from), (to - from) * PAGE, harmless[which].advice));
    region->pieced |= harmless[which].is_kept;
    check_region(region, from, to);
}

static void step_dontneed(void) {
    unsigned from, to;
    struct region *region = part(&from, &to);
    int failed = madvise(at(region, from), (to - from) * PAGE, MADV_DONTNEED);
    tell_call("DONTNEED", failed);
    for (unsigned n = from; n < to; n++)
        region->page[n].version = 0;
    check_region(region, from, to);
    write_pages(region, from, from + below(to - from + 1));
}

/* What is in such pages is either what was there or zeros, until the next store. */
static void step_free(void) {
    unsigned from, to;
    struct region *region = part(&from, &to);
    tell_call("FREE", madvise(at(region, from), (to - from) * PAGE, MADV_FREE));
    for (unsigned n = from; n < to; n++) {
        struct page *page = &region->page[n];
        if (page->access == NONE || *(volatile uint64_t *)at(region, n) == 0)
            page->version = page->access == NONE ? page->version : 0;
        if (page->access == WRITE) {
            page->version = next_version();
            fill_page(at(region, n), page->version);
        }
    }
    /* Pages that cannot be written now are mapped anew: what is in them is not known. */
    for (unsigned n = from; n < to; n++) {
        if (region->page[n].access == WRITE)
            continue;
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        int both = PROT_READ | PROT_WRITE;
        MUST(mmap(at(region, n), PAGE, both, flags, -1, 0) == at(region, n));
        region->page[n] = (struct page){0, WRITE};
        region->pieced = 1;
    }
    check_region(region, from, to);
}

/* All pages there at once, by the kernel's hand. */
static void step_populate(void) {
    struct region *region = whole_region(16);
    int advice = below(2) ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;
    tell_call("POPULATE", madvise(region->base, region->pages * PAGE, advice));
    check_region(region, 0, region->pages);
}

/* Over a hole the rest is advised all the same, and the answer says that there was one. */
static void step_over_hole(void) {
    struct region *region = whole_region(48);
    unsigned third = region->pages / 3, all = region->pages;
    char *base = region->base;
    uint64_t last = region->page[all - 1].version;
    MUST(munmap(base + third * PAGE, third * PAGE) == 0);
    tell_call("DONTNEED over a hole", madvise(base, all * PAGE, MADV_DONTNEED));
    for (unsigned n = 0; n < all; n++)
        if (n < third || n >= 2 * third)
            check_page(base + n * PAGE, 0, "beside a hole", n);
    tell_call("mprotect over a hole", mprotect(base, all * PAGE, PROT_READ));
    tell("before it a store faults: %d", faults(base, 1, SIGSEGV));
    MUST(munmap(base, all * PAGE) == 0);
    region->pages = 0;
    tell("there was a last version: %d", last != 0);
}

static void child_checks(struct region *region, unsigned from, unsigned to, int advice) {
    for (unsigned n = 0; n < region->pages; n++) {
        if (n < from || n >= to)
            check_region(region, n, n + 1);
        else if (advice == MADV_WIPEONFORK)
            check_page(at(region, n), 0, "wiped page", n);
    }
    if (advice == MADV_DONTFORK && !faults(at(region, from), 0, SIGSEGV))
        fail("a child has a page that it was not to have");
    _exit(0);
}

static void fork_with_advice(int advice, int undo) {
    struct region *region = whole_region(32);
    unsigned from = below(region->pages / 2), to = from + 1 + below(region->pages / 2);
    tell_call("advice for forks", madvise(at(region, from), (to - from) * PAGE, advice));
    pid_t child = fork();
    if (child == 0) {
        after_fork_in_child();
        child_checks(region, from, to, advice);
    }
    wait_for(child, "a child with less memory");
    tell_call("undone", madvise(at(region, from), (to - from) * PAGE, undo));
    region->pieced = 1;
    check_region(region, 0, region->pages);
}

/* What a child has empty, and what it does not have. */
static void step_wipe(void) { fork_with_advice(MADV_WIPEONFORK, MADV_KEEPONFORK); }

static void step_dontfork(void) { fork_with_advice(MADV_DONTFORK, MADV_DOFORK); }

/* Locks what a device may have no room for; then nothing is locked. */
static int lock_some(void *base, size_t bytes, int how) {
    int failed = how ? mlock2(base, bytes, MLOCK_ONFAULT) : mlock(base, bytes);
    MUST(failed == 0 || errno == ENOMEM || errno == EPERM);
    return failed;
}

static void step_lock(void) {
    struct region *region = whole_region(16);
    unsigned char there[REGION_PAGES];
    size_t bytes = region->pages * PAGE;
    lock_some(region->base, bytes, below(2));
    check_region(region, 0, region->pages);
    tell_call("mincore", mincore(region->base, bytes, there));
    tell_call("munlock", munlock(region->base, bytes));
    tell_call("msync", msync(region->base, bytes, MS_SYNC));
    tell_call("mincore between pages", mincore(region->base + 1, PAGE, there));
    region->pieced = 1;
    check_region(region, 0, region->pages);
}

/* A few locked pages: what the kernel refuses for them, and what it does. They need not begin or
 * end with a page. */
static void step_lock_few(void) {
    struct region *region = whole_region(16);
    unsigned from = below(region->pages - 4), count = 1 + below(4);
    char *first = at(region, from);
    int is_locked = lock_some(first + below(100), count * PAGE - 200, below(2)) == 0;
    write_pages(region, from, from + count);
    static const int refused[] = {MADV_COLD, MADV_PAGEOUT, MADV_DONTNEED, MADV_FREE};
    int advice = refused[below(4)];
    /* Without room for the lock all goes on, so that the steps to come are the same. */
    MUST(!is_locked || (madvise(first, PAGE, advice) == -1 && errno == EINVAL));
    check_region(region, from, from + count);
    MUST(madvise(first, count * PAGE, 24 /* DONTNEED_LOCKED */) == 0);
    for (unsigned n = from; n < from + count; n++)
        region->page[n].version = 0;
    check_region(region, from, from + count);
    write_pages(region, from, from + count);
    switch (below(3)) {
    case 0: MUST(munlock(first, count * PAGE) == 0); break;
    case 1: MUST(munlockall() == 0); break;
    default: MUST(syscall(SYS_munlock, first + 7, count * PAGE - 8) == 0);
    }
    MUST(madvise(first, count * PAGE, MADV_COLD) == 0);
    region->pieced = 1;
    check_region(region, 0, region->pages);
}

/* Several ranges of several regions at once. */
static void step_on_itself(void) {
    static const int advices[] = {MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT};
    struct iovec ranges[8];
    struct region *of[8];
    unsigned count = 1 + below(8);
    for (unsigned n = 0; n < count; n++) {
        unsigned from, to;
        of[n] = part(&from, &to);
        ranges[n] = (struct iovec){at(of[n], from), (to - from) * PAGE};
    }
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    MUST(self >= 0);
    int advice = advices[below(3)];
    long done = syscall(SYS_process_madvise, self, ranges, count, advice, 0);
    tell("process_madvise: %ld", done);
    MUST(close(self) == 0);
    for (unsigned n = 0; n < count; n++)
        check_region(of[n], 0, of[n]->pages);
}

/* A pass that says what it will need and what it has done with. */
static void step_told_pass(void) {
    struct region *region = any_region();
    unsigned ahead = 1 + below(32);
    for (unsigned n = 0; n < region->pages; n++) {
        if (n % ahead == 0) {
            unsigned to = n + 2 * ahead < region->pages ? n + 2 * ahead : region->pages;
            MUST(madvise(at(region, n), (to - n) * PAGE, MADV_WILLNEED) == 0);
        }
        check_region(region, n, n + 1);
        if (n % ahead == ahead - 1)
            MUST(madvise(at(region, n + 1 - ahead), ahead * PAGE, MADV_COLD) == 0);
    }
}

const struct step advice_steps[] = {
    {"advise", step_harmless, 6, 0},      {"dontneed", step_dontneed, 6, 0},
    {"free-pages", step_free, 4, 0},      {"populate", step_populate, 2, 0},
    {"over-hole", step_over_hole, 2, 1},  {"wipe-on-fork", step_wipe, 1, 1},
    {"dont-fork", step_dontfork, 1, 1},
    {"lock", step_lock, 2, 0},            {"lock-few", step_lock_few, 4, 0},
    {"on-itself", step_on_itself, 4, 0},  {"told-pass", step_told_pass, 3, 0},
    {0},
};
