/* Forks of a program whose memory does not fit into the cache. */
#include "common.h"
#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define BYTES (16u << 20)
#define WORDS (BYTES / 8)
#define HALF (WORDS / 2)

static uint64_t *memory(void) {
    uint64_t *words = aligned_alloc(PAGE, BYTES);
    CHECK(words);
    return words;
}

static int status_of(pid_t pid) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static void ended_well(pid_t pid) {
    int status = status_of(pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Pages that come in by a load and are written then: only the kernel knows of those writes. */
static void read_then_fill(uint64_t *words, size_t count, uint64_t generation) {
    const size_t page = PAGE / 8;
    uint64_t sum = 0;
    for (size_t at = 0; at < count; at += page) {
        sum += *(volatile uint64_t *)&words[at];
        for (size_t i = at; i < at + page; i++)
            words[i] = mix(generation << 40 | i);
    }
    CHECK(sum != 0);
}

/* The child sees what was there at the fork, whatever its parent writes meanwhile, and its own
   writes stay its own. */
static void snapshot(int depth) {
    uint64_t *words = memory();
    fill(words, WORDS, 9);
    read_then_fill(words, WORDS, 1);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK(wrong_words(words, HALF, 1) == 0);
        read_then_fill(words, HALF, 2);
        for (size_t i = HALF; i < WORDS; i++)
            CHECK(words[i] == mix(1ull << 40 | i));
        fill(words + HALF, HALF, 3);
        if (depth > 0) {
            pid_t inner = fork();
            if (inner == 0) {
                CHECK(wrong_words(words, HALF, 2) == 0);
                CHECK(wrong_words(words + HALF, HALF, 3) == 0);
                fill(words, HALF, 4);
                CHECK(wrong_words(words, HALF, 4) == 0);
                _exit(0);
            }
            fill(words + HALF, HALF, 5);
            ended_well(inner);
            CHECK(wrong_words(words + HALF, HALF, 5) == 0);
        }
        CHECK(wrong_words(words, HALF, 2) == 0);
        free(words);
        exit(0);
    }
    fill(words, HALF, 6);
    CHECK(wrong_words(words, HALF, 6) == 0);
    ended_well(pid);
    CHECK(wrong_words(words, HALF, 6) == 0);
    uint64_t rest = 0;
    for (size_t i = HALF; i < WORDS; i++)
        rest += words[i] != mix(1ull << 40 | i);
    CHECK(rest == 0);
    free(words);
}

static atomic_int stop;

static void *keep_missing(void *argument) {
    uint64_t *words = argument;
    size_t count = WORDS / 8;
    for (uint64_t generation = 10; !stop; generation++) {
        fill(words, count, generation);
        CHECK(wrong_words(words, count, generation) == 0);
        char *small = malloc(100 + generation % 5000);
        memset(small, 1, 100);
        free(small);
    }
    return NULL;
}

/* Forks while four threads miss; each child checks the half that no thread writes. */
static void threads(void) {
    uint64_t *words = memory();
    fill(words + HALF, HALF, 7);
    pthread_t workers[4];
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&workers[i], NULL, keep_missing, words + i * (WORDS / 8)));
    for (int round = 0; round < 5; round++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            CHECK(wrong_words(words + HALF, HALF, 7) == 0);
            fill(words, HALF, 8);
            CHECK(wrong_words(words, HALF, 8) == 0);
            char *more = malloc(1 << 20);
            memset(more, 3, 1 << 20);
            free(more);
            _exit(0);
        }
        ended_well(pid);
    }
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(workers[i], NULL);
    CHECK(wrong_words(words + HALF, HALF, 7) == 0);
    free(words);
}

/* Streams with unwritten bytes in heap buffers, pushed out of the cache before the fork. */
static void streams(const char *folder) {
    enum { FILES = 40 };
    FILE *files[FILES];
    char path[4096];
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        files[i] = fopen(path, "w+");
        CHECK(files[i] && fprintf(files[i], "before %d\n", i) > 0);
    }
    uint64_t *words = memory();
    fill(words, WORDS, 1);
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        for (int i = 0; i < FILES; i += 2)
            CHECK(fprintf(files[i], "child %d\n", i) > 0 && fclose(files[i]) == 0);
        _exit(wrong_words(words, WORDS, 1) != 0);
    }
    ended_well(pid);
    for (int i = 1; i < FILES; i += 2)
        CHECK(fprintf(files[i], "parent %d\n", i) > 0 && fclose(files[i]) == 0);
    for (int i = 0; i < FILES; i++) {
        char expected[100], found[100] = "";
        const char *who = i % 2 ? "parent" : "child";
        snprintf(expected, sizeof expected, "before %d\n%s %d\n", i, who, i);
        snprintf(path, sizeof path, "%s/%d", folder, i);
        FILE *file = fopen(path, "r");
        CHECK(file && fread(found, 1, sizeof found - 1, file) == strlen(expected));
        CHECK(strcmp(found, expected) == 0);
        fclose(file);
    }
    CHECK(wrong_words(words, WORDS, 1) == 0);
}

/* Every way to start another program. */
static void spawn(const char *self) {
    uint64_t *words = memory();
    fill(words, WORDS, 1);
    char *arguments[] = {(char *)self, "snapshot", NULL};
    pid_t pid = fork();
    if (pid == 0) {
        execv(self, arguments);
        _exit(99);
    }
    ended_well(pid);
    pid = vfork();
    if (pid == 0) {
        execv(self, arguments);
        _exit(99);
    }
    ended_well(pid);
    CHECK(posix_spawn(&pid, self, NULL, NULL, arguments, environ) == 0);
    ended_well(pid);
    char command[4096], line[100] = "";
    snprintf(command, sizeof command, "%s snapshot && exit 7", self);
    int status = system(command);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    FILE *pipe = popen("echo through a pipe", "r");
    CHECK(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "through a pipe\n") == 0);
    CHECK(pclose(pipe) == 0);
    CHECK(wrong_words(words, WORDS, 1) == 0);
}

/* Locale and libraries that a new thread looks at before anything else: the runtime's own threads
   in the child as well, whom nobody serves yet. Other allocations keep theirs on pages that have
   left the cache by the time of the fork. */
static void system_data(void) {
    CHECK(memset(malloc(2 * PAGE), 1, 2 * PAGE));
    CHECK(setlocale(LC_ALL, "C.UTF-8"));
    CHECK(dlopen("libstdc++.so.6", RTLD_NOW));
    CHECK(memset(malloc(2 * PAGE), 1, 2 * PAGE));
    uint64_t *words = memory();
    fill(words, WORDS, 1);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK(wrong_words(words, WORDS, 1) == 0);
        CHECK(setlocale(LC_ALL, "C"));
        CHECK(setlocale(LC_ALL, "C.UTF-8"));
        _exit(0);
    }
    ended_well(pid);
    /* Freed as often as made. */
    for (int i = 0; i < 100000; i++) {
        locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
        CHECK(locale);
        freelocale(locale);
    }
}

/* kB of this process by a name of its status. */
static long kilobytes(const char *name) {
    char line[200];
    long found = -1;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status);
    while (fgets(line, sizeof line, status))
        if (strncmp(line, name, strlen(name)) == 0)
            found = atol(line + strlen(name) + 1);
    fclose(status);
    return found;
}

/* A large device that is hardly used costs little memory and few page tables, in children too,
 * wherever what is used lies. */
static void small(void) {
    volatile char *used = malloc(PAGE);
    used[0] = 1;
    size_t far = 40ul << 30;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *reserved = mmap(NULL, far + PAGE, PROT_NONE, flags, -1, 0);
    CHECK(reserved != MAP_FAILED);
    CHECK(mprotect(reserved + far, PAGE, PROT_READ | PROT_WRITE) == 0);
    reserved[far] = 1;
    for (int generation = 0; generation < 2; generation++) {
        CHECK(kilobytes("VmRSS") < 64 << 10);
        CHECK(kilobytes("VmPTE") < 4 << 10);
        if (generation == 0) {
            pid_t pid = fork();
            CHECK(pid >= 0);
            if (pid != 0) {
                ended_well(pid);
                return;
            }
        }
    }
    _exit(0);
}

/* Memory that leaves the device, because it can only be read, and is moved by the kernel. A child
 * has it, unless the program keeps it from its children. */
static void moved(void) {
    const size_t bytes = 4u << 20;
    for (int withholds = 0; withholds < 2; withholds++) {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
        uint64_t *words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        CHECK(words != MAP_FAILED);
        fill(words, bytes / 8, 5);
        CHECK(mprotect(words, bytes, PROT_READ) == 0);
        CHECK(!withholds || madvise(words, bytes, MADV_DONTFORK) == 0);
        words = mremap(words, bytes, 2 * bytes, MREMAP_MAYMOVE);
        CHECK(words != MAP_FAILED);
        CHECK(wrong_words(words, bytes / 8, 5) == 0);
        int ends[2];
        CHECK(pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            CHECK(write(ends[1], words, 1) == (withholds ? -1 : 1));
            CHECK(withholds || wrong_words(words, bytes / 8, 5) == 0);
            _exit(0);
        }
        ended_well(child);
        CHECK(munmap(words, 2 * bytes) == 0);
        CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    }
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "snapshot") == 0)
        snapshot(0);
    else if (strcmp(what, "nested") == 0)
        snapshot(1);
    else if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "small") == 0)
        small();
    else if (strcmp(what, "system") == 0)
        system_data();
    else if (strcmp(what, "streams") == 0 && count > 2)
        streams(arguments[2]);
    else if (strcmp(what, "moved") == 0)
        moved();
    else if (strcmp(what, "spawn") == 0)
        spawn(arguments[0]);
    else
        return 2;
    puts("well");
    return 0;
}
