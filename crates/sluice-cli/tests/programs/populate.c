/* Advice about memory of the heap, or of the file of the argument: what the kernel says, line by
   line, and the contents. */
#include "abuse.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#define PAGES 2048u

static void tell(const char *what, void *at, size_t pages, int advice) {
    errno = 0;
    int said = madvise(at, pages * PAGE, advice);
    printf("%s: %d, errno %d\n", what, said, errno);
}

int main(int argc, char **argv) {
    limit(25);
    int file = argc > 1 ? open(argv[1], O_RDWR) : -1;
    int kind = argc > 1 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    CHECK(argc == 1 || file >= 0);
    char *all = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, kind, file, 0);
    CHECK(all != MAP_FAILED);
    uint64_t *words = (uint64_t *)all;
    tell("read", all, PAGES, MADV_POPULATE_READ);
    tell("write", all, PAGES, MADV_POPULATE_WRITE);
    fill(words, PAGES * PER_PAGE, 1);
    CHECK(wrong(words, PAGES) == 0);
    tell("some", all + 3 * PAGE, 100, MADV_POPULATE_WRITE);
    tell("collapse", all, PAGES, MADV_COLLAPSE);
    CHECK(wrong(words, PAGES) == 0);
    CHECK(mprotect(all, PAGES * PAGE, PROT_READ) == 0);
    tell("read of what may be read", all, PAGES, MADV_POPULATE_READ);
    tell("write of what may be read", all, PAGES, MADV_POPULATE_WRITE);
    CHECK(wrong(words, PAGES) == 0);
    CHECK(munmap(all, PAGES * PAGE) == 0);
    puts("well");
    return 0;
}
