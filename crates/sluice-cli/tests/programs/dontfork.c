/* Maps a device file (PATH whole|middle), keeps all or the middle of it from children, as QEMU does
 * with a guest's memory, and forks: one child uses what it has, the other becomes a program. */
#include "common.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (8ul << 20)
#define BOTH (PROT_READ | PROT_WRITE)

static int file;

static unsigned char *map(void) {
    unsigned char *at = mmap(NULL, SIZE, BOTH, MAP_SHARED, file, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void check(const unsigned char *at, size_t from, size_t to) {
    for (size_t page = from / PAGE; page < to / PAGE; page++)
        CHECK(at[page * PAGE] == (unsigned char)(page * 7 + 1));
}

/* In the child: what lies where the parent's memory is must be left alone. The kernel puts it there
 * unless something else is. */
static void use(unsigned char *at, size_t hole, size_t len) {
    unsigned char *own = mmap(at + hole, len, BOTH, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(own != MAP_FAILED);
    memset(own, 0xee, len);
    check(at, 0, hole);
    check(at, hole + len, SIZE);
    unsigned char *all = map();
    for (int pass = 0; pass < 2; pass++)
        check(all, 0, SIZE);
    for (size_t byte = 0; byte < len; byte++)
        CHECK(own[byte] == 0xee);
}

static void await(pid_t child) {
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    file = open(arguments[1], O_RDWR);
    CHECK(file >= 0);
    unsigned char *at = map();
    for (size_t page = 0; page < SIZE / PAGE; page++)
        at[page * PAGE] = (unsigned char)(page * 7 + 1);
    int is_whole = strcmp(arguments[2], "whole") == 0;
    size_t hole = is_whole ? 0 : SIZE / 4, len = is_whole ? SIZE : SIZE / 2;
    CHECK(madvise(at + hole, len, MADV_DONTFORK) == 0);
    pid_t child = fork();
    if (child == 0) {
        use(at, hole, len);
        _exit(0);
    }
    await(child);
    child = fork();
    if (child == 0) {
        execlp("true", "true", NULL);
        _exit(1);
    }
    await(child);
    check(at, 0, SIZE);
    puts("well");
    return 0;
}
