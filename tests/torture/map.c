/* mmap, munmap, mprotect and mremap. */
#include "torture.h"

struct region regions[REGIONS];

#define BOTH (PROT_READ | PROT_WRITE)
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)

unsigned pages_in_use(void) {
    unsigned all = 0;
    for (size_t n = 0; n < REGIONS; n++)
        all += regions[n].pages;
    return all;
}

struct region *free_region(void) {
    for (size_t n = 0; n < REGIONS; n++)
        if (regions[n].pages == 0)
            return &regions[n];
    return NULL;
}

static void set_pages(struct region *region, unsigned from, unsigned to, uint64_t version,
                      enum access access) {
    for (unsigned n = from; n < to; n++)
        region->page[n] = (struct page){version, access};
}

static enum access access_of(int protection) {
    if (protection & PROT_WRITE)
        return WRITE;
    return protection & PROT_READ ? READ : NONE;
}

void drop_region(struct region *region) {
    MUST(munmap(region->base, region->pages * PAGE) == 0);
    region->pages = 0;
}

/* Makes room for so many pages by giving regions up. */
static void make_room(unsigned pages) {
    while (pages_in_use() + pages > ALL_PAGES || !free_region())
        drop_region(any_region());
}

struct region *new_region(unsigned pages, int protection, int flags) {
    make_room(pages);
    char *base = mmap(NULL, pages * PAGE, protection, ANONYMOUS | flags, -1, 0);
    MUST(base != MAP_FAILED);
    struct region *region = free_region();
    *region = (struct region){.base = base, .pages = pages};
    set_pages(region, 0, pages, 0, access_of(protection));
    return region;
}

struct region *any_region(void) {
    unsigned count = 0;
    for (size_t n = 0; n < REGIONS; n++)
        count += regions[n].pages != 0;
    if (count == 0)
        return new_region(64, BOTH, 0);
    unsigned chosen = below(count);
    for (size_t n = 0;; n++)
        if (regions[n].pages != 0 && chosen-- == 0)
            return &regions[n];
}

static int is_whole(const struct region *region) {
    for (unsigned n = 0; n < region->pages; n++)
        if (region->page[n].access != WRITE)
            return 0;
    return !region->pieced;
}

struct region *whole_region(unsigned pages_at_least) {
    unsigned start = below(REGIONS);
    for (unsigned n = 0; n < REGIONS; n++) {
        struct region *region = &regions[(start + n) % REGIONS];
        if (region->pages >= pages_at_least && is_whole(region))
            return region;
    }
    struct region *region = new_region(pages_at_least + below(64), BOTH, 0);
    write_pages(region, 0, region->pages / 2);
    return region;
}

void write_pages(struct region *region, unsigned from, unsigned to) {
    for (unsigned n = from; n < to; n++) {
        struct page *page = &region->page[n];
        if (page->access != WRITE)
            continue;
        page->version = next_version();
        fill_page(region->base + n * PAGE, page->version);
    }
}

void check_region(struct region *region, unsigned from, unsigned to) {
    for (unsigned n = from; n < to; n++)
        if (region->page[n].access != NONE)
            check_page(region->base + n * PAGE, region->page[n].version, "region page", n);
}

uint64_t check_all_regions(void) {
    uint64_t hash = 7;
    for (size_t n = 0; n < REGIONS; n++) {
        check_region(&regions[n], 0, regions[n].pages);
        for (unsigned page = 0; page < regions[n].pages; page++)
            hash = (hash ^ regions[n].page[page].version) * 0x100000001b3ull;
    }
    return hash;
}

/* A part of a region: mostly small, sometimes all of it. */
static void any_part(const struct region *region, unsigned *from, unsigned *to) {
    *from = below(4) == 0 ? 0 : below(region->pages);
    *to = below(4) == 0 ? region->pages : *from + 1 + below(region->pages - *from);
}

static void step_map(void) {
    static const int protections[] = {BOTH, BOTH, BOTH, PROT_READ, PROT_NONE};
    static const int flags[] = {0, MAP_NORESERVE, MAP_POPULATE, MAP_STACK};
    unsigned pages = below(5) == 0 ? 1 + below(31) : 32 + below(REGION_PAGES - 32);
    int protection = protections[below(5)];
    struct region *region = new_region(pages, protection, flags[below(4)]);
    tell("mmap of %u pages, protection %d", pages, protection);
    write_pages(region, 0, below(pages + 1));
}

/* The pages behind a place become a region of their own. */
static void split(struct region *region, unsigned at) {
    struct region *rest = free_region();
    MUST(rest);
    rest->base = region->base + at * PAGE;
    rest->pages = region->pages - at;
    rest->pieced = region->pieced;
    memcpy(rest->page, region->page + at, rest->pages * sizeof *rest->page);
    region->pages = at;
}

static void step_unmap(void) {
    struct region *region = any_region();
    unsigned from, to;
    any_part(region, &from, &to);
    make_room(0);
    if (region->pages == 0)
        return;
    tell_call("munmap", munmap(region->base + from * PAGE, (to - from) * PAGE));
    if (to < region->pages)
        split(region, to);
    region->pages = from;
}

static void step_write(void) {
    struct region *region = any_region();
    unsigned from, to;
    any_part(region, &from, &to);
    write_pages(region, from, to);
    check_region(region, from, to);
}

static void step_read(void) {
    struct region *region = any_region();
    unsigned from, to;
    any_part(region, &from, &to);
    check_region(region, from, to);
}

static void step_protect(void) {
    static const int protections[] = {BOTH, BOTH, PROT_READ, PROT_NONE,
                                      BOTH | PROT_EXEC, PROT_READ | PROT_EXEC};
    struct region *region = any_region();
    unsigned from, to;
    any_part(region, &from, &to);
    int protection = protections[below(6)];
    int failed = mprotect(region->base + from * PAGE, (to - from) * PAGE, protection);
    tell_call("mprotect", failed);
    for (unsigned n = from; n < to; n++)
        region->page[n].access = access_of(protection);
    region->pieced = 1;
}

static void step_fault(void) {
    struct region *region = any_region();
    for (int n = 0; n < 8; n++) {
        unsigned page = below(region->pages);
        enum access access = region->page[page].access;
        char *at = region->base + page * PAGE + below(PAGE);
        int read = faults(at, 0, SIGSEGV), written = faults(at, 1, SIGSEGV);
        if (read != (access == NONE) || written != (access != WRITE))
            fail("page %u with access %d: read faults %d, store faults %d", page, access, read,
                 written);
        tell("fault: %d %d", read, written);
    }
}

static void step_fixed(void) {
    static const int protections[] = {BOTH, BOTH, PROT_READ, PROT_NONE};
    struct region *region = any_region();
    unsigned from, to;
    any_part(region, &from, &to);
    int protection = protections[below(4)];
    char *at = region->base + from * PAGE;
    int flags = ANONYMOUS | MAP_FIXED | (below(2) ? MAP_NORESERVE : 0);
    void *got = mmap(at, (to - from) * PAGE, protection, flags, -1, 0);
    tell_call("mmap over", got != at);
    set_pages(region, from, to, 0, access_of(protection));
    region->pieced = 1;
    check_region(region, from, to);
}

static void resize(struct region *region, char *base, unsigned pages) {
    if (pages > region->pages)
        set_pages(region, region->pages, pages, 0, WRITE);
    region->base = base;
    region->pages = pages;
}

static void step_remap(void) {
    struct region *region = whole_region(8);
    unsigned pages = 1 + below(REGION_PAGES);
    if (pages_in_use() + pages > ALL_PAGES + region->pages)
        pages = 1 + below(region->pages);
    void *at = mremap(region->base, region->pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);
    tell_call("mremap", at == MAP_FAILED);
    if (at != MAP_FAILED)
        resize(region, at, pages);
    check_region(region, 0, region->pages);
}

/* To a place inside of another mapping, which it replaces. */
static void step_remap_fixed(void) {
    struct region *region = whole_region(8);
    unsigned pages = 1 + below(region->pages);
    size_t room = (pages + 16) * PAGE;
    char *place = mmap(NULL, room, BOTH, ANONYMOUS, -1, 0);
    MUST(place != MAP_FAILED);
    fill_page(place + 7 * PAGE, 5);
    fill_page(place + (pages + 8) * PAGE, 6);
    int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    void *at = mremap(region->base, region->pages * PAGE, pages * PAGE, flags, place + 8 * PAGE);
    tell_call("mremap to a place", at == MAP_FAILED);
    check_page(place + 7 * PAGE, 5, "before the place", 0);
    check_page(place + (pages + 8) * PAGE, 6, "behind the place", 0);
    if (at == MAP_FAILED) {
        MUST(munmap(place, room) == 0);
        return;
    }
    MUST(munmap(place, 8 * PAGE) == 0 && munmap(place + (pages + 8) * PAGE, 8 * PAGE) == 0);
    resize(region, at, pages);
    check_region(region, 0, region->pages);
}

/* Its second half goes, and it grows into the hole. */
static void step_remap_hole(void) {
    struct region *region = whole_region(16);
    unsigned all = region->pages, kept = all / 2;
    MUST(munmap(region->base + kept * PAGE, (all - kept) * PAGE) == 0);
    region->pages = kept;
    void *at = mremap(region->base, kept * PAGE, all * PAGE, 0);
    tell_call("mremap into a hole", at != region->base);
    if (at == region->base)
        resize(region, at, all);
    check_region(region, 0, region->pages);
}

/* What was there moves; the old place stays, and is empty. */
static void step_dontunmap(void) {
    struct region *region = whole_region(8);
    size_t bytes = region->pages * PAGE;
    make_room(region->pages);
    if (region->pages == 0)
        return;
    void *at = mremap(region->base, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
    tell_call("mremap that leaves the old place", at == MAP_FAILED);
    if (at == MAP_FAILED)
        return;
    struct region *moved = free_region();
    *moved = *region;
    moved->base = at;
    set_pages(region, 0, region->pages, 0, WRITE);
    check_region(region, 0, region->pages);
    check_region(moved, 0, moved->pages);
}

/* What the kernel refuses, and how. */
static void step_refused(void) {
    struct region *region = whole_region(64);
    char *base = region->base;
    size_t bytes = region->pages * PAGE;
    errno = 0;
    tell_call("munmap between pages", munmap(base + 1, PAGE));
    tell_call("munmap of nothing", munmap(base, 0));
    tell_call("mprotect between pages", mprotect(base + 8, PAGE, PROT_READ));
    tell_call("mprotect with no such access", mprotect(base, PAGE, 1 << 20));
    tell_call("mmap of nothing", mmap(NULL, 0, BOTH, ANONYMOUS, -1, 0) == MAP_FAILED);
    tell_call("mmap of neither", mmap(NULL, 1 << 20, BOTH, MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    tell_call("mmap of no file", mmap(NULL, 1 << 20, BOTH, MAP_PRIVATE, -1, 0) == MAP_FAILED);
    int careful = ANONYMOUS | MAP_FIXED_NOREPLACE;
    tell_call("mmap not over", mmap(base, bytes, BOTH, careful, -1, 0) == MAP_FAILED);
    tell_call("mmap of all there is", mmap(NULL, 1ul << 62, BOTH, ANONYMOUS, -1, 0) == MAP_FAILED);
    tell_call("mremap to nothing", mremap(base, bytes, 0, MREMAP_MAYMOVE) == MAP_FAILED);
    tell_call("mremap between pages", mremap(base + 8, PAGE, PAGE, 0) == MAP_FAILED);
    tell_call("mremap onto itself", mremap(base, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                                           base + PAGE) == MAP_FAILED);
    tell_call("madvise of no such kind", madvise(base, PAGE, 99));
    tell_call("madvise between pages", madvise(base + 8, PAGE, MADV_DONTNEED));
    check_region(region, 0, region->pages);
}

const struct step map_steps[] = {
    {"map", step_map, 12, 0},           {"unmap", step_unmap, 8, 0},
    {"write", step_write, 12, 0},       {"read", step_read, 12, 0},
    {"protect", step_protect, 8, 0},    {"fault", step_fault, 3, 0},
    {"fixed", step_fixed, 6, 0},        {"remap", step_remap, 6, 0},
    {"remap-fixed", step_remap_fixed, 3, 0},
    {"remap-hole", step_remap_hole, 2, 1},
    {"remap-dontunmap", step_dontunmap, 2, 0},
    {"refused", step_refused, 2, 0},    {0},
};
