// Processes share memory and change it in turn; every word says which process wrote it last and
// when.
//
//   commons KIND PAGES PROCESSES ROUNDS [kill|stop|say]
//                                          KIND: anonymous, memfd, posix or sysv
//   commons rest PAGES 1 SECONDS           reads all pages and sleeps
//   commons turns PAGES PROCESSES ROUNDS   one process after the other reads all pages
//
// With `kill` the first process is killed in the midst of it, with `stop` it is stopped until the
// others have ended, and with `say` it is printed that it has begun. Each process has a part of
// every page. It adds to its own words and checks, in each round, that nobody's words have gone
// back. At the end the parent checks all of them.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / 8, MAX = 64 };

static _Atomic uint64_t *memory;
static size_t pages, processes;

static void fail(const char *what)
{
    perror(what);
    exit(3);
}

static void *shared(const char *kind, size_t bytes)
{
    if (!strcmp(kind, "anonymous"))
        return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!strcmp(kind, "sysv")) {
        int id = shmget(IPC_PRIVATE, bytes, 0600);
        void *at = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);
        shmctl(id, IPC_RMID, NULL);
        return at;
    }
    char name[64];
    snprintf(name, sizeof name, "/commons-%d", (int)getpid());
    int fd = strcmp(kind, "posix") ? memfd_create("commons", MFD_CLOEXEC)
                                   : shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    shm_unlink(name);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        fail(kind);
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static _Atomic uint64_t *word(size_t page, size_t process)
{
    return &memory[page * WORDS + process * (WORDS / processes)];
}

// A page further on, in an order of this process's own.
static size_t next(size_t page, size_t process)
{
    return (page * 5 + 2 * process + 1) % pages;
}

static int work(size_t process, uint64_t rounds)
{
    uint64_t *seen = calloc(pages * processes, sizeof *seen);
    for (uint64_t round = 1; round <= rounds; round++) {
        size_t page = process % pages;
        for (size_t n = 0; n < pages; n++) {
            for (size_t other = 0; other < processes; other++) {
                uint64_t now = atomic_load(word(page, other));
                uint64_t *before = &seen[page * processes + other];
                if (now < *before || now > rounds) {
                    fprintf(stderr, "page %zu word %zu: %lu after %lu\n", page, other, now,
                            *before);
                    return 1;
                }
                *before = now;
            }
            if (atomic_fetch_add(word(page, process), 1) != seen[page * processes + process])
                return 1;
            seen[page * processes + process]++;
            page = next(page, process);
        }
    }
    free(seen);
    return 0;
}

// One process after the other goes through all pages, the parent first.
static int take_turns(uint64_t rounds)
{
    uint64_t wrong = 0;
    for (size_t process = 0; process < processes; process++) {
        pid_t child = process == 0 ? 0 : fork();
        if (child > 0) {
            int status;
            waitpid(child, &status, 0);
            wrong += status != 0;
            continue;
        }
        for (uint64_t round = 0; round < rounds; round++)
            for (size_t page = 0; page < pages; page++)
                wrong += atomic_fetch_add(word(page, 0), 1) != process * rounds + round;
        if (process > 0)
            exit(wrong != 0);
    }
    printf("%lu wrong\n", (unsigned long)wrong);
    return wrong != 0;
}

// All pages are read, and then nothing happens.
static int rest(unsigned seconds)
{
    uint64_t sum = 0;
    for (size_t page = 0; page < pages; page++)
        sum += atomic_load(word(page, 0));
    printf("begun\n");
    fflush(stdout);
    sleep(seconds);
    return sum != 0;
}

int main(int count, char **args)
{
    if (count < 5)
        return 2;
    pages = strtoul(args[2], NULL, 10);
    processes = strtoul(args[3], NULL, 10);
    uint64_t rounds = strtoull(args[4], NULL, 10);
    int takes_turns = !strcmp(args[1], "turns"), rests = !strcmp(args[1], "rest");
    memory = shared(takes_turns || rests ? "anonymous" : args[1], pages * PAGE);
    if (memory == MAP_FAILED || processes > MAX)
        fail("memory");
    if (takes_turns)
        return take_turns(rounds);
    if (rests)
        return rest((unsigned)rounds);
    pid_t first = 0;
    // The order is one of all pages only if their number is a power of two.
    for (size_t process = 0; process < processes; process++) {
        pid_t child = fork();
        if (child < 0)
            fail("fork");
        if (child == 0)
            exit(work(process, rounds));
        first = first ? first : child;
    }
    const char *what = count > 5 ? args[5] : "";
    size_t killed = 0, left = processes;
    if (*what) {
        // In the midst of it: its first round is over, its last is not.
        while (atomic_load(word(0, 0)) == 0)
            usleep(100);
        killed = !strcmp(what, "kill");
        if (!strcmp(what, "say")) {
            printf("begun\n");
            fflush(stdout);
        } else {
            kill(first, killed ? SIGKILL : SIGSTOP);
        }
    }
    int status, wrong = 0;
    while (left > 0) {
        if (*what && !killed && left == 1)
            kill(first, SIGCONT);
        pid_t ended = wait(&status);
        wrong += status != 0 && !(killed && ended == first);
        left--;
    }
    for (size_t page = 0; page < pages; page++)
        for (size_t process = killed; process < processes; process++)
            wrong += atomic_load(word(page, process)) != rounds;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
