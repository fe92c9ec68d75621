/* Ranges that cannot be, or of which only a part is the program's: the kernel's answers, and what
 * the program has stays as it is. */
#include "common.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define BOTH (PROT_READ | PROT_WRITE)
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define LEAST (128ul << 10) /* Smaller ones are not the device's. */
#define FAR (1ul << 46)

static char *map(size_t bytes) {
    char *at = mmap(NULL, bytes, BOTH, PLAIN, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

#define SAYS(call, error) (errno = 0, (call) == -1 && errno == (error))
#define MAPS_NOT(call, error) (errno = 0, (call) == MAP_FAILED && errno == (error))

/* What is mapped at `at`, from its first page on. */
static void answers(char *at, size_t bytes) {
    size_t round = -(size_t)at;
    CHECK(SAYS(munmap(at + 1, bytes), EINVAL));
    CHECK(SAYS(munmap(at, 0), EINVAL));
    CHECK(SAYS(munmap(at, -1ul), EINVAL));
    CHECK(SAYS(munmap(at, round), EINVAL));
    CHECK(SAYS(mprotect(at + 1, bytes, PROT_READ), EINVAL));
    CHECK(mprotect(at, 0, PROT_NONE) == 0);
    CHECK(SAYS(mprotect(at, -1ul, PROT_NONE), ENOMEM));
    CHECK(SAYS(mprotect(at, round + PAGE, PROT_NONE), ENOMEM));
    CHECK(SAYS(madvise(at + 1, bytes, MADV_DONTNEED), EINVAL));
    CHECK(madvise(at, 0, MADV_DONTNEED) == 0);
    CHECK(SAYS(madvise(at, -1ul, MADV_DONTNEED), EINVAL));
    CHECK(SAYS(madvise(at, round + PAGE, MADV_DONTNEED), EINVAL));
    CHECK(MAPS_NOT(mremap(at + 1, PAGE, 2 * PAGE, MREMAP_MAYMOVE), EINVAL));
    CHECK(MAPS_NOT(mremap(at, PAGE, 0, MREMAP_MAYMOVE), EINVAL));
    size_t beyond[] = {-1ul, -2ul * PAGE, 1ul << 63, 1ul << 47};
    for (int i = 0; i < 4; i++) {
        CHECK(MAPS_NOT(mremap(at, PAGE, beyond[i], MREMAP_MAYMOVE), EINVAL));
        CHECK(MAPS_NOT(mremap(at, bytes, beyond[i], 0), EINVAL));
        CHECK(MAPS_NOT(mremap(at, beyond[i], PAGE, MREMAP_MAYMOVE), EINVAL));
        CHECK(MAPS_NOT(mremap(at, beyond[i], beyond[i], MREMAP_MAYMOVE), EINVAL));
        int fixed = MREMAP_MAYMOVE | MREMAP_FIXED;
        CHECK(MAPS_NOT(mremap(at, bytes, beyond[i], fixed, at + bytes), EINVAL));
    }
    CHECK(MAPS_NOT(mremap(at, bytes, FAR, MREMAP_MAYMOVE), ENOMEM));
    CHECK(MAPS_NOT(mremap(at, bytes, 2 * FAR - 2 * PAGE, MREMAP_MAYMOVE), ENOMEM));
    CHECK(mremap(at, FAR, 2 * FAR - 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
    CHECK(MAPS_NOT(mmap(at + 1, bytes, BOTH, PLAIN | MAP_FIXED, -1, 0), EINVAL));
    CHECK(MAPS_NOT(mmap(at, 0, BOTH, PLAIN | MAP_FIXED, -1, 0), EINVAL));
    CHECK(MAPS_NOT(mmap(at, -1ul, BOTH, PLAIN | MAP_FIXED, -1, 0), ENOMEM));
    CHECK(MAPS_NOT(mmap(NULL, 0, BOTH, PLAIN, -1, 0), EINVAL));
    CHECK(MAPS_NOT(mmap(NULL, -1ul, BOTH, PLAIN, -1, 0), ENOMEM));
    CHECK(MAPS_NOT(mmap(NULL, -1ul, PROT_NONE, PLAIN | MAP_NORESERVE, -1, 0), ENOMEM));
    unsigned char there[2];
    CHECK(SAYS(mincore(at + 1, PAGE, there), EINVAL));
    CHECK(SAYS(msync(at + 1, PAGE, MS_ASYNC), EINVAL));
    CHECK(SAYS(mlock(at, -2ul * PAGE - (size_t)at), ENOMEM));
}

/* It goes on to the end that is named, over holes. */
static void shortened_over_a_hole(void) {
    char *at = map(4 * LEAST);
    CHECK(at && munmap(at + 2 * LEAST, PAGE) == 0);
    fill((uint64_t *)at, LEAST / 8, 5);
    CHECK(MAPS_NOT(mremap(at, 4 * LEAST, 5 * LEAST, MREMAP_MAYMOVE), EFAULT));
    CHECK(mremap(at, 4 * LEAST, 4 * LEAST, MREMAP_MAYMOVE) == at);
    CHECK(MAPS_NOT(mremap(at + 2 * LEAST, 2 * LEAST, LEAST, 0), EFAULT));
    CHECK(mremap(at, 4 * LEAST, LEAST, 0) == at);
    CHECK(SAYS(mprotect(at + LEAST, PAGE, BOTH), ENOMEM));
    CHECK(SAYS(mprotect(at + 3 * LEAST, PAGE, BOTH), ENOMEM));
    CHECK(wrong_words((uint64_t *)at, LEAST / 8, 5) == 0 && munmap(at, LEAST) == 0);
}

/* All that is left of the device, so that the last piece ends where the device ends. */
static char *last_of_all(size_t *bytes) {
    char *last = NULL;
    for (size_t size = 1ul << 30; size >= LEAST; size /= 2)
        for (char *at; (at = map(size)) != NULL;)
            if (at > last)
                last = at, *bytes = size;
    CHECK(last);
    return last;
}

static void ranges_past_the_end(void) {
    size_t bytes = 0;
    char *last = last_of_all(&bytes), *end = last + bytes;
    uint64_t *words = (uint64_t *)last;
    fill(words, bytes / 8, 3);
    size_t reaches[] = {bytes + PAGE, bytes + (1ul << 30), FAR};
    for (int i = 0; i < 3; i++) {
        size_t reach = reaches[i];
        CHECK(SAYS(mprotect(last, reach, PROT_NONE), ENOMEM));
        CHECK(SAYS(mprotect(last, reach, PROT_READ), ENOMEM));
        CHECK(SAYS(mprotect(last, reach, BOTH), ENOMEM));
        CHECK(SAYS(madvise(last, reach, MADV_WILLNEED), ENOMEM));
        CHECK(MAPS_NOT(mremap(last, reach, reach + PAGE, MREMAP_MAYMOVE), EFAULT));
        CHECK(mmap(last, reach, BOTH, PLAIN | MAP_FIXED, -1, 0) == MAP_FAILED);
        CHECK(SAYS(mlock(last, reach), ENOMEM));
    }
    CHECK(mprotect(last, bytes, BOTH) == 0);
    CHECK(wrong_words(words, bytes / 8, 3) == 0);
    CHECK(munlock(last, bytes) == 0);
    CHECK(SAYS(munmap(last, FAR), EINVAL));
    CHECK(wrong_words(words, bytes / 8, 3) == 0);
    /* What is given back goes, and what is beyond is nobody's to give. */
    CHECK(munmap(end - LEAST, LEAST + (1ul << 20)) == 0);
    CHECK(SAYS(mprotect(last, bytes, PROT_READ), ENOMEM));
    CHECK(SAYS(madvise(end - LEAST, LEAST, MADV_DONTNEED), ENOMEM));
    words = (uint64_t *)map(LEAST);
    CHECK((char *)words == end - LEAST);
    for (size_t n = 0; n < LEAST / 8; n++)
        CHECK(words[n] == 0);
    fill(words, LEAST / 8, 4);
    CHECK(wrong_words((uint64_t *)last, (bytes - LEAST) / 8, 3) == 0);
    CHECK(wrong_words(words, LEAST / 8, 4) == 0);
}

/* Half of a cache of 1 MiB can be locked. What else there is comes and goes. */
static void locked_memory_goes_on(void) {
    size_t bytes = 8 << 20;
    uint64_t *words = (uint64_t *)map(bytes);
    CHECK(SAYS(mlock(words, bytes), ENOMEM));
    CHECK(SAYS(mlockall(MCL_CURRENT | MCL_FUTURE), ENOMEM));
    CHECK(mlock((char *)words + PAGE / 2, bytes / 32) == 0);
    CHECK(SAYS(mlockall(0), EINVAL) && SAYS(mlockall(64 | MCL_CURRENT), EINVAL));
    fill(words, bytes / 8, 7);
    CHECK(wrong_words(words, bytes / 8, 7) == 0);
    CHECK(munlock(words, bytes) == 0 && munlockall() == 0 && munmap(words, bytes) == 0);
}

int main(void) {
    size_t bytes = 1 << 20;
    char *at = map(bytes);
    CHECK(at);
    fill((uint64_t *)at, bytes / 8, 1);
    answers(at, bytes);
    CHECK(wrong_words((uint64_t *)at, bytes / 8, 1) == 0);
    locked_memory_goes_on();
    shortened_over_a_hole();
    ranges_past_the_end();
    puts("well");
    return 0;
}
