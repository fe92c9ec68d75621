/* A file becomes shorter while it is mapped: what lies behind its end is a SIGBUS. With a second
 * argument it is mapped over memory of the heap. */
#include "abuse.h"
#include <fcntl.h>
#include <setjmp.h>
#include <sys/mman.h>

#define PAGES 1024u

static sigjmp_buf back;

static void on_bus(int signal) { siglongjmp(back, signal); }

static int faults(const volatile uint64_t *at) {
    if (sigsetjmp(back, 1))
        return 1;
    (void)*at;
    return 0;
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2 || count == 3);
    int file = open(arguments[1], O_RDWR);
    CHECK(file >= 0 && ftruncate(file, PAGES * PAGE) == 0);
    int both = PROT_READ | PROT_WRITE, flags = MAP_SHARED;
    void *place = NULL;
    if (count == 3) {
        place = mmap(NULL, PAGES * PAGE, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(place != MAP_FAILED && memset(place, 1, PAGES * PAGE));
        flags |= MAP_FIXED;
    }
    uint64_t *words = mmap(place, PAGES * PAGE, both, flags, file, 0);
    CHECK(words != MAP_FAILED && (count == 2 || words == place));
    fill(words, PAGES * PER_PAGE, 1);
    CHECK(wrong(words, PAGES) == 0);
    CHECK(signal(SIGBUS, on_bus) == SIG_DFL);
    CHECK(ftruncate(file, PAGES / 2 * PAGE) == 0);
    CHECK(wrong(words, PAGES / 2) == 0);
    CHECK(faults(words + PAGES / 2 * PER_PAGE) && faults(words + (PAGES - 1) * PER_PAGE));
    CHECK(!faults(words) && wrong(words, PAGES / 2) == 0);
    puts("well");
    return 0;
}
