/* Segments of System V over memory of the device, and where some was unmapped. */
#include "abuse.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#define PAGES 2048u
#define SOME 128u
#define AT 64u

static int segment(void) {
    int id = shmget(IPC_PRIVATE, SOME * PAGE, 0600 | IPC_CREAT);
    CHECK(id >= 0);
    return id;
}

/* Writes by one address of a segment, in a child, and reads by another. */
static void is_shared(int id, uint64_t *at) {
    pid_t child = fork();
    if (child == 0) {
        fill(at, SOME * PER_PAGE, 2);
        _exit(0);
    }
    child_was_well(child);
    uint64_t *other = shmat(id, NULL, SHM_RDONLY);
    CHECK(other != MAP_FAILED);
    CHECK(wrong_words(other, SOME * PER_PAGE, 2) == 0);
    CHECK(wrong_words(at, SOME * PER_PAGE, 2) == 0);
    CHECK(shmdt(other) == 0 && shmdt(other) == -1 && errno == EINVAL);
}

/* After its end nothing is there, and memory can be mapped there again. */
static void ends(uint64_t *at) {
    CHECK(syscall(SYS_shmdt, at) == 0 && shmdt(at) == -1 && errno == EINVAL);
    int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    CHECK(mmap(at, SOME * PAGE, PROT_READ | PROT_WRITE, how, -1, 0) == at);
    for (size_t n = 0; n < SOME * PER_PAGE; n++)
        CHECK(at[n] == 0);
    fill(at, SOME * PER_PAGE, 3);
}

static void over(int is_there) {
    uint64_t *all = filled(PAGES), *others = filled(PAGES);
    uint64_t *words = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(words != MAP_FAILED);
    fill(words, PAGES * PER_PAGE, 1);
    uint64_t *at = words + AT * PER_PAGE;
    int id = segment(), gone = segment();
    CHECK(shmctl(gone, IPC_RMID, NULL) == 0);
    CHECK(shmat(id, at, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(shmat(gone, at, SHM_REMAP) == MAP_FAILED && errno == EINVAL);
    CHECK(wrong(words, PAGES) == 0);
    if (!is_there)
        CHECK(munmap(at, SOME * PAGE) == 0);
    int how = is_there ? SHM_REMAP | SHM_RND : SHM_RND;
    CHECK(syscall(SYS_shmat, id, (char *)at + PAGE / 2, how) == (long)at);
    is_shared(id, at);
    CHECK(wrong(others, PAGES) == 0);
    ends(at);
    CHECK(wrong(all, PAGES) == 0);
    CHECK(wrong_words(at, SOME * PER_PAGE, 3) == 0);
    CHECK(wrong(words, AT) == 0);
    for (size_t n = (AT + SOME) * PER_PAGE; n < PAGES * PER_PAGE; n++)
        CHECK(words[n] == mix(1ull << 40 | n));
    CHECK(shmctl(id, IPC_RMID, NULL) == 0);
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    if (strcmp(arguments[1], "over") == 0)
        over(1);
    else if (strcmp(arguments[1], "beside") == 0)
        over(0);
    else
        return 2;
    puts("well");
    return 0;
}
