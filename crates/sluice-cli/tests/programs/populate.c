/* Advice about memory of the heap, or of the file of the argument: what the kernel says, line by
   line, and the contents. With "behind" the file ends early. */
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

static int behind(const char *path) {
    enum { ALL = 64, THERE = 16 };
    int file = open(path, O_RDWR), ends[2];
    CHECK(file >= 0 && pipe(ends) == 0);
    char *at = mmap(NULL, ALL * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    CHECK(at != MAP_FAILED && ftruncate(file, THERE * PAGE) == 0);
    tell("read behind", at, ALL, MADV_POPULATE_READ);
    tell("write behind", at, ALL, MADV_POPULATE_WRITE);
    tell("read", at, THERE, MADV_POPULATE_READ);
    for (int n = THERE - 1; n <= THERE; n++) {
        errno = 0;
        ssize_t put = write(ends[1], at + n * PAGE, PAGE);
        printf("page %d: %zd, errno %d\n", n, put, errno);
    }
    for (int n = 0; n < THERE; n++)
        CHECK(at[n * PAGE] == 7);
    puts("well");
    return 0;
}

int main(int argc, char **argv) {
    limit(25);
    if (argc > 2)
        return behind(argv[1]);
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
