/* madvise, mlock and msync. */
#include "torture.h"

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

static void step_lock(void) {
    struct region *region = whole_region(16);
    unsigned char there[REGION_PAGES];
    size_t bytes = region->pages * PAGE;
    tell_call("mlock", mlock(region->base, bytes));
    check_region(region, 0, region->pages);
    tell_call("mincore", mincore(region->base, bytes, there));
    tell_call("munlock", munlock(region->base, bytes));
    tell_call("msync", msync(region->base, bytes, MS_SYNC));
    tell_call("mincore between pages", mincore(region->base + 1, PAGE, there));
    region->pieced = 1;
    check_region(region, 0, region->pages);
}

const struct step advice_steps[] = {
    {"advise", step_harmless, 6, 0},      {"dontneed", step_dontneed, 6, 0},
    {"free-pages", step_free, 4, 0},      {"populate", step_populate, 2, 0},
    {"over-hole", step_over_hole, 2, 1},  {"wipe-on-fork", step_wipe, 1, 1},
    {"dont-fork", step_dontfork, 1, 1},
    {"lock", step_lock, 2, 0},            {0},
};
