/* The file of the device lies on a file system that becomes full: a store there is a SIGBUS. */
#include "abuse.h"
#include <fcntl.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGES 4096u

static sigjmp_buf back;

static void on_bus(int signal) { siglongjmp(back, signal); }

static int fills(uint64_t *words, size_t page) {
    if (sigsetjmp(back, 1))
        return 0;
    fill(words + page * PER_PAGE, PER_PAGE, page);
    return 1;
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 3);
    int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0 && ftruncate(file, PAGES * PAGE) == 0);
    uint64_t *words = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(words != MAP_FAILED && signal(SIGBUS, on_bus) == SIG_DFL);
    size_t full = 0;
    while (full < PAGES && fills(words, full))
        full++;
    CHECK(full > 256 && full < PAGES && !fills(words, full));
    /* What was there before stays, and there is room again. */
    for (size_t page = 0; page < full; page++)
        CHECK(wrong_words(words + page * PER_PAGE, PER_PAGE, page) == 0);
    CHECK(unlink(arguments[2]) == 0 && fills(words, full) && fills(words, full + 1));
    for (size_t page = 0; page < full + 2; page++)
        CHECK(wrong_words(words + page * PER_PAGE, PER_PAGE, page) == 0);
    puts("well");
    return 0;
}
