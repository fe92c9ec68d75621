/* Every hint for every kind of range: what the call says, and what the memory then holds. Runs with
 * and without a device, and must say the same. What may be locked is 128 pages, by a limit of the
 * system's or by the device's cache.pin_max. */
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCKABLE 128
#define PAGES 64 /* Of the memory that is advised. */
#define BOTH (PROT_READ | PROT_WRITE)
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

static char *base;
static uint64_t generation;

static const char *name_of(int error) {
    switch (error) {
    case 0: return "0";
    case EINVAL: return "EINVAL";
    case ENOMEM: return "ENOMEM";
    case EAGAIN: return "EAGAIN";
    case EBADF: return "EBADF";
    case EPERM: return "EPERM";
    case EFAULT: return "EFAULT";
    case ESRCH: return "ESRCH";
    default: return "another";
    }
}

#define SAY(what, call) (errno = 0, say(what, (long)(call)))

static void say(const char *what, long result) {
    printf("%s: %ld %s\n", what, result, name_of(result == -1 ? errno : 0));
}

/* Rights of root end the limit. */
static void give_up_rights(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    CHECK(syscall(SYS_capget, &header, data) == 0);
    data[0].effective &= ~(1u << CAP_IPC_LOCK);
    data[0].permitted &= ~(1u << CAP_IPC_LOCK);
    CHECK(syscall(SYS_capset, &header, data) == 0);
    struct rlimit limit = {LOCKABLE * PAGE, LOCKABLE * PAGE};
    CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
}

static uint64_t *page(int n) { return (uint64_t *)(base + n * PAGE); }

static void write_all(void) {
    generation++;
    for (int n = 0; n < PAGES; n++)
        fill(page(n), PAGE / 8, generation << 8 | n);
}

/* One letter a page: as written, zeros, or neither. */
static void contents(int from, int to) {
    for (int n = from; n < to; n++) {
        size_t zeros = 0;
        for (size_t i = 0; i < PAGE / 8; i++)
            zeros += page(n)[i] == 0;
        int is_kept = wrong_words(page(n), PAGE / 8, generation << 8 | n) == 0;
        putchar(is_kept ? 'k' : zeros == PAGE / 8 ? '0' : '?');
    }
    putchar('\n');
}

/* Memory of the program's without advice. */
static void begin(void) {
    if (base)
        munmap(base, PAGES * PAGE);
    base = mmap(NULL, PAGES * PAGE, BOTH, PLAIN, -1, 0);
    CHECK(base != MAP_FAILED);
    write_all();
    /* Every other time nothing of it is cached. */
    if (generation % 2)
        CHECK(madvise(base, PAGES * PAGE, MADV_PAGEOUT) == 0);
}

static const struct {
    int advice;
    const char *name;
    int may_lose;
} advices[] = {
    {MADV_NORMAL, "NORMAL", 0},       {MADV_RANDOM, "RANDOM", 0},
    {MADV_SEQUENTIAL, "SEQUENTIAL", 0}, {MADV_WILLNEED, "WILLNEED", 0},
    {MADV_DONTNEED, "DONTNEED", 0},   {MADV_FREE, "FREE", 1},
    {MADV_COLD, "COLD", 0},           {MADV_PAGEOUT, "PAGEOUT", 0},
    {MADV_DONTNEED_LOCKED, "DONTNEED_LOCKED", 0},
    {MADV_HUGEPAGE, "HUGEPAGE", 0},   {MADV_NOHUGEPAGE, "NOHUGEPAGE", 0},
    {MADV_MERGEABLE, "MERGEABLE", 0}, {MADV_UNMERGEABLE, "UNMERGEABLE", 0},
    {999, "999", 0},                  {-1, "-1", 0},
};
#define ADVICES (int)(sizeof advices / sizeof *advices)

static int how; /* By which way `madvise` is called. */

static int advise(void *at, size_t bytes, int advice) {
    if (how == 1)
        return (int)syscall(SYS_madvise, at, bytes, advice);
    return madvise(at, bytes, advice);
}

/* Where contents may be lost or not, they are made known by a store. */
static void after(int which, int from, int to) {
    if (advices[which].may_lose)
        for (int n = from; n < to; n++) {
            size_t i = 0;
            int is_kept = wrong_words(page(n), PAGE / 8, generation << 8 | n) == 0;
            for (; !is_kept && i < PAGE / 8; i++)
                CHECK(page(n)[i] == 0);
            fill(page(n), PAGE / 8, generation << 8 | n);
        }
    contents(from, to);
}

static void say_advice(int which, const char *where, char *at, size_t bytes) {
    char text[80];
    snprintf(text, sizeof text, "%s %s", advices[which].name, where);
    SAY(text, advise(at, bytes, advices[which].advice));
}

static void plain_ranges(int which) {
    begin();
    say_advice(which, "all", base, PAGES * PAGE);
    after(which, 0, PAGES);
    begin();
    say_advice(which, "a page", base + 3 * PAGE, PAGE);
    after(which, 0, 8);
    say_advice(which, "a part of a page", base + 5 * PAGE, 17);
    after(which, 0, 8);
    say_advice(which, "not aligned", base + 7 * PAGE + 8, PAGE);
    say_advice(which, "nothing", base, 0);
    say_advice(which, "nothing, not aligned", base + 1, 0);
    say_advice(which, "too long", base, -1ul);
    say_advice(which, "round the end", base, -(size_t)base + PAGE);
    after(which, 6, PAGES);
}

/* The second quarter is not there. */
static void ranges_with_holes(int which) {
    const int hole = PAGES / 4, end = PAGES / 2;
    struct { const char *name; int from, to; } all[] = {
        {"over a hole", 0, PAGES}, {"into a hole", 2, hole + 2}, {"in a hole", hole, end},
        {"out of a hole", end - 2, end + 2}, {"before a hole", 2, hole},
    };
    for (int n = 0; n < 5; n++) {
        begin();
        CHECK(munmap(page(hole), (end - hole) * PAGE) == 0);
        say_advice(which, all[n].name, (char *)page(all[n].from),
                   (all[n].to - all[n].from) * PAGE);
        after(which, 0, hole);
        after(which, end, PAGES);
        munmap(base, hole * PAGE);
        munmap(page(end), (PAGES - end) * PAGE);
        base = NULL;
    }
}

/* Memory that cannot be written, or not be accessed at all. */
static void protected_ranges(int which) {
    begin();
    CHECK(mprotect(page(8), 8 * PAGE, PROT_NONE) == 0);
    say_advice(which, "closed", base, 24 * PAGE);
    CHECK(mprotect(page(8), 8 * PAGE, BOTH) == 0);
    after(which, 0, 24);
    begin();
    CHECK(mprotect(page(8), 8 * PAGE, PROT_READ) == 0);
    say_advice(which, "to be read", base, 24 * PAGE);
    CHECK(mprotect(page(8), 8 * PAGE, BOTH) == 0);
    after(which, 0, 24);
}

static void locked_ranges(int which) {
    begin();
    CHECK(mlock(page(8), 8 * PAGE) == 0);
    say_advice(which, "locked", (char *)page(8), 8 * PAGE);
    say_advice(which, "locked behind", base, 24 * PAGE);
    say_advice(which, "locked before", (char *)page(12), 24 * PAGE);
    after(which, 0, PAGES);
    CHECK(munlock(page(8), 8 * PAGE) == 0);
    say_advice(which, "locked no longer", base, 24 * PAGE);
    after(which, 0, PAGES);
}

static void locks(void) {
    begin();
    SAY("mlock all", mlock(base, PAGES * PAGE));
    SAY("mlock again", mlock(base, PAGES * PAGE));
    contents(0, PAGES);
    SAY("munlock a part of a page", munlock(base + 100, 1));
    SAY("COLD there", madvise(base, PAGE, MADV_COLD));
    SAY("COLD behind", madvise(page(1), PAGE, MADV_COLD));
    SAY("munlock all", munlock(base, PAGES * PAGE));
    SAY("munlock again", munlock(base, PAGES * PAGE));
    SAY("mlock not aligned", mlock(base + PAGE + 1, PAGE));
    SAY("COLD at its end", madvise(page(2), PAGE, MADV_COLD));
    SAY("COLD behind its end", madvise(page(3), PAGE, MADV_COLD));
    SAY("mlock nothing", mlock(base, 0));
    SAY("mlock too long", mlock(base, -1ul));
    SAY("mlock round the end", mlock(base, -(size_t)base + PAGE));
    SAY("mlock2 on fault", mlock2(page(8), 8 * PAGE, MLOCK_ONFAULT));
    SAY("COLD there", madvise(page(15), PAGE, MADV_COLD));
    SAY("mlock2 as mlock", mlock2(page(8), 8 * PAGE, 0));
    SAY("mlock2 of no kind", mlock2(page(8), 8 * PAGE, 2));
    SAY("mlock by number", syscall(SYS_mlock, page(20), PAGE));
    SAY("COLD there", madvise(page(20), PAGE, MADV_COLD));
    SAY("munlock by number", syscall(SYS_munlock, page(20), PAGE));
    SAY("COLD there", madvise(page(20), PAGE, MADV_COLD));
    contents(0, PAGES);
    munlock(base, PAGES * PAGE);
    CHECK(munmap(page(16), 16 * PAGE) == 0);
    SAY("mlock over a hole", mlock(base, 48 * PAGE));
    SAY("COLD before it", madvise(page(15), PAGE, MADV_COLD));
    SAY("COLD behind it", madvise(page(32), PAGE, MADV_COLD));
    SAY("mlock in a hole", mlock(page(16), PAGE));
    SAY("munlock over a hole", munlock(base, 48 * PAGE));
    SAY("COLD before it", madvise(page(15), PAGE, MADV_COLD));
    contents(0, 16);
    munmap(base, 16 * PAGE);
    munmap(page(32), 32 * PAGE);
    base = NULL;
}

/* A lock ends with its memory, and moves with it. */
static void locks_end(void) {
    begin();
    CHECK(mlock(base, PAGES * PAGE) == 0);
    CHECK(mmap(page(8), 8 * PAGE, BOTH, PLAIN | MAP_FIXED, -1, 0) == (void *)page(8));
    SAY("COLD in new memory", madvise(page(8), 8 * PAGE, MADV_COLD));
    SAY("COLD behind it", madvise(page(16), PAGE, MADV_COLD));
    pid_t child = fork();
    if (child == 0) {
        SAY("COLD in a child", madvise(page(16), PAGE, MADV_COLD));
        SAY("mlock in a child", mlock(base, PAGES * PAGE));
        contents(16, PAGES);
        fflush(stdout);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    SAY("COLD in its parent", madvise(page(16), PAGE, MADV_COLD));
    contents(16, PAGES);
    begin();
    CHECK(mlock(base, PAGES * PAGE) == 0);
    /* Something behind it, so that it must move. */
    char *moved = mremap(base, PAGES * PAGE, 96 * PAGE, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED);
    SAY("COLD after a move", madvise(moved, PAGE, MADV_COLD));
    SAY("COLD in what is new", madvise(moved + 90 * PAGE, PAGE, MADV_COLD));
    SAY("too much to grow", mremap(moved, 96 * PAGE, 200 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
    CHECK(munmap(moved, 96 * PAGE) == 0);
    base = NULL;
}

static void limits(void) {
    size_t most = LOCKABLE * PAGE;
    char *at = mmap(NULL, 3 * most, BOTH, PLAIN, -1, 0);
    CHECK(at != MAP_FAILED);
    memset(at, 1, 3 * most);
    SAY("mlock as much as can be", mlock(at, most));
    SAY("mlock once more", mlock(at, most));
    SAY("a page more", mlock(at + most, PAGE));
    SAY("all and a page more", mlock(at, most + PAGE));
    SAY("COLD there", madvise(at + most, PAGE, MADV_COLD));
    SAY("munlock a page", munlock(at, PAGE));
    SAY("a page more", mlock(at + most, PAGE));
    SAY("and another", mlock(at, PAGE));
    SAY("munmap", munmap(at + PAGE, PAGE));
    SAY("and another", mlock(at, PAGE));
    SAY("munlockall", munlockall());
    SAY("twice as much on fault", mlock2(at + 2 * PAGE, 2 * most, MLOCK_ONFAULT));
    SAY("as much on fault", mlock2(at + 2 * PAGE, most, MLOCK_ONFAULT));
    SAY("a page more", mlock(at + 2 * most, PAGE));
    SAY("munlockall", munlockall());
    SAY("mlockall of nothing", mlockall(0));
    SAY("mlockall on fault of nothing", mlockall(MCL_ONFAULT));
    SAY("mlockall of no kind", mlockall(64 | MCL_CURRENT));
    SAY("mlockall", mlockall(MCL_CURRENT));
    SAY("COLD there", madvise(at + 2 * PAGE, PAGE, MADV_COLD));
    SAY("mlockall to come", mlockall(MCL_FUTURE));
    SAY("COLD in what is there", madvise(at + 2 * PAGE, PAGE, MADV_COLD));
    char *some = mmap(NULL, 40 * PAGE, BOTH, PLAIN, -1, 0);
    SAY("COLD in what comes", madvise(some, PAGE, MADV_COLD));
    SAY("what is too much", mmap(NULL, 2 * most, BOTH, PLAIN, -1, 0) == MAP_FAILED ? -1 : 0);
    SAY("munlockall by number", syscall(SYS_munlockall));
    SAY("COLD in what came", madvise(some, PAGE, MADV_COLD));
    void *more = mmap(NULL, 2 * most, BOTH, PLAIN, -1, 0);
    SAY("no longer too much", more == MAP_FAILED ? -1 : 0);
    size_t wrong = 0;
    for (size_t n = 2 * PAGE; n < 3 * most; n++)
        wrong += at[n] != 1;
    printf("%zu bytes are wrong\n", wrong);
    munmap(more, 2 * most);
    munmap(some, 40 * PAGE);
    munmap(at, 3 * most);
}

#define ON_SELF(vec, n, advice) syscall(SYS_process_madvise, self, vec, n, advice, 0)

static void on_itself(void) {
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    CHECK(self >= 0);
    begin();
    struct iovec two[] = {{page(0), 2 * PAGE}, {page(8), 4 * PAGE}};
    SAY("two ranges", process_madvise(self, two, 2, MADV_COLD, 0));
    SAY("two ranges by number", ON_SELF(two, 2, MADV_PAGEOUT));
    SAY("no range", ON_SELF(two, 0, MADV_COLD));
    SAY("too many ranges", ON_SELF(two, IOV_MAX + 1, MADV_COLD));
    SAY("flags", syscall(SYS_process_madvise, self, two, 2, MADV_COLD, 1));
    SAY("no advice", ON_SELF(two, 2, 999));
    SAY("no process", syscall(SYS_process_madvise, 12345, two, 2, MADV_COLD, 0));
    SAY("a file", syscall(SYS_process_madvise, 0, two, 2, MADV_COLD, 0));
    SAY("no list", ON_SELF((void *)8, 2, MADV_COLD));
    SAY("DONTNEED", ON_SELF(two, 2, MADV_DONTNEED));
    contents(0, PAGES);
    two[1].iov_base = (char *)page(8) + 1;
    SAY("the second not aligned", ON_SELF(two, 2, MADV_WILLNEED));
    two[0].iov_base = (char *)page(0) + 1;
    SAY("the first not aligned", ON_SELF(two, 2, MADV_WILLNEED));
    two[0] = (struct iovec){page(0), -1ul};
    SAY("too long", ON_SELF(two, 1, MADV_WILLNEED));
    two[0] = (struct iovec){page(0), 0}, two[1] = (struct iovec){page(16), PAGE};
    SAY("nothing and a page", ON_SELF(two, 2, MADV_WILLNEED));
    CHECK(munmap(page(32), 8 * PAGE) == 0);
    two[0] = (struct iovec){page(16), PAGE}, two[1] = (struct iovec){page(30), 4 * PAGE};
    SAY("the second with a hole", ON_SELF(two, 2, MADV_WILLNEED));
    /* The list lies in memory that is advised itself. */
    struct iovec *list = (struct iovec *)page(60);
    for (int n = 0; n < 16; n++)
        list[n] = (struct iovec){page(n), PAGE};
    SAY("a list on the device", ON_SELF(list, 16, MADV_PAGEOUT));
    munmap(base, 32 * PAGE);
    munmap(page(40), 24 * PAGE);
    base = NULL;
    close(self);
}

static void by_posix(void) {
    begin();
    int all[] = {POSIX_MADV_NORMAL, POSIX_MADV_RANDOM, POSIX_MADV_SEQUENTIAL, POSIX_MADV_WILLNEED,
                 POSIX_MADV_DONTNEED, 77};
    for (int n = 0; n < 6; n++) {
        errno = 0;
        int said = posix_madvise(base, PAGES * PAGE, all[n]);
        printf("posix_madvise %d: %s, errno %d\n", all[n], name_of(said), errno);
        printf("not aligned: %s\n", name_of(posix_madvise(base + 1, PAGE, all[n])));
    }
    contents(0, PAGES);
}

static volatile int handled;

static void on_alarm(int signal) {
    (void)signal;
    int before = errno;
    static const int given[] = {MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_SEQUENTIAL,
                                MADV_RANDOM};
    int advice = given[handled % 5];
    handled += madvise(base + handled % 8 * PAGE, 32 * PAGE, advice) == 0;
    errno = before;
}

/* A handler gives hints for what the program is accessing. */
static void from_a_handler(void) {
    begin();
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    ualarm(500, 500);
    while (handled < 200)
        for (int n = 0; n < PAGES; n++)
            CHECK(wrong_words(page(n), PAGE / 8, generation << 8 | n) == 0);
    ualarm(0, 0);
    puts("a handler was heard");
}

int main(void) {
    give_up_rights();
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (how = 0; how < 2; how++)
        for (int which = 0; which < ADVICES; which++) {
            plain_ranges(which);
            ranges_with_holes(which);
            protected_ranges(which);
            locked_ranges(which);
        }
    locks();
    locks_end();
    limits();
    on_itself();
    by_posix();
    from_a_handler();
    return 0;
}
