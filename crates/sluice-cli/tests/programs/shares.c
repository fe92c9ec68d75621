/* Maps memory to share with other processes, of each kind: 8 MiB in all, and some that does not
 * count. */
#include "common.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#define SIZE (2ul << 20)
#define BOTH (PROT_READ | PROT_WRITE)

static void *map(size_t bytes, int prot, int flags, int fd) {
    void *at = mmap(NULL, bytes, prot, flags, fd, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

int main(void) {
    memset(map(SIZE, BOTH, MAP_SHARED | MAP_ANONYMOUS, -1), 1, SIZE);
    int memory = memfd_create("shares", 0);
    CHECK(memory >= 0 && ftruncate(memory, SIZE) == 0);
    memset(map(SIZE, BOTH, MAP_SHARED, memory), 2, SIZE);
    char name[64];
    snprintf(name, sizeof name, "/sluice-shares-%d", getpid());
    int named = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(named >= 0 && ftruncate(named, SIZE) == 0 && shm_unlink(name) == 0);
    memset(map(SIZE, BOTH, MAP_SHARED, named), 3, SIZE);
    int old = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);
    void *at = shmat(old, NULL, 0);
    CHECK(old >= 0 && at != (void *)-1 && shmctl(old, IPC_RMID, NULL) == 0);
    memset(at, 4, SIZE);
    /* Read alone, private, small, or a file of a disk. */
    map(SIZE, PROT_READ, MAP_SHARED, memory);
    map(SIZE, BOTH, MAP_PRIVATE, memory);
    map(PAGE, BOTH, MAP_SHARED | MAP_ANONYMOUS, -1);
    /* Memory of its own, so that there is something on the device. */
    memset(map(4 * SIZE, BOTH, MAP_PRIVATE | MAP_ANONYMOUS, -1), 5, 4 * SIZE);
    puts("well");
    return 0;
}
