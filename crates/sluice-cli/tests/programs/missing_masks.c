/* Masks of signals on pages that have left: given, asked for, and kept for a jump. */
#include "missing.h"
#include <setjmp.h>

#define WORD(set) (*(const uint64_t *)(set))

static sigset_t with(int signal) {
    sigset_t set;
    CHECK(sigemptyset(&set) == 0 && sigaddset(&set, signal) == 0);
    return set;
}

static uint64_t now(void) {
    sigset_t set;
    CHECK(sigprocmask(SIG_BLOCK, NULL, &set) == 0);
    return WORD(&set);
}

typedef int changes(int, const sigset_t *, sigset_t *);

static void changed(changes *change) {
    sigset_t one = with(SIGUSR1), two = with(SIGUSR2);
    sigset_t *old = ROOM(sigset_t);
    CHECK(change(SIG_SETMASK, gone(&one, sizeof one), old) == 0 && WORD(old) == 0);
    old = ROOM(sigset_t);
    CHECK(change(SIG_BLOCK, gone(&two, sizeof two), old) == 0 && WORD(old) == WORD(&one));
    CHECK(now() == (WORD(&one) | WORD(&two)));
    old = ROOM(sigset_t);
    CHECK(change(SIG_UNBLOCK, gone(&one, sizeof one), old) == 0 && now() == WORD(&two));
    old = ROOM(sigset_t);
    CHECK(change(SIG_BLOCK, NULL, old) == 0 && WORD(old) == WORD(&two));
    CHECK(change(SIG_UNBLOCK, gone(&two, sizeof two), NULL) == 0 && now() == 0);
    CHECK(change(99, &one, NULL) != 0 && now() == 0);
}

static void sets(void) {
    changed(sigprocmask);
    changed(pthread_sigmask);
}

/* Of which the mask is on the second of two pages. */
static struct __jmp_buf_tag *room(void) {
    char *pages = aligned_alloc(PAGE, 2 * PAGE);
    CHECK(pages);
    memset(pages, 0x5a, 2 * PAGE);
    CHECK(madvise(pages, 2 * PAGE, MADV_PAGEOUT) == 0);
    return (void *)(pages + PAGE - offsetof(struct __jmp_buf_tag, __saved_mask));
}

static void jumps(void) {
    sigset_t one = with(SIGUSR1), two = with(SIGUSR2);
    for (volatile int way = 0; way < 3; way++) {
        struct __jmp_buf_tag *volatile kept = room();
        CHECK(sigprocmask(SIG_SETMASK, &one, NULL) == 0);
        if (sigsetjmp(kept, way < 2) == 0) {
            CHECK(sigprocmask(SIG_SETMASK, &two, NULL) == 0);
            CHECK(madvise((char *)kept - (uintptr_t)kept % PAGE, 2 * PAGE, MADV_PAGEOUT) == 0);
            if (way == 0)
                siglongjmp(kept, 1);
            longjmp(kept, 1);
        }
        CHECK(now() == (way < 2 ? WORD(&one) : WORD(&two)));
    }
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"sets", sets}, {"jumps", jumps}};
    limit(25);
    CHECK(argc == 2);
    return RUN_PART(parts, argv[1]);
}
