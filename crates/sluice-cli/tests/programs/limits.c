/* What a program may have under the limits of memory that it sets itself, as without a device. */
#include "abuse.h"
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define MIB (1ul << 20)

extern char **environ;
static const char *self;

/* Bytes of address space that the program has itself: what a device takes is not among them. */
static void lower(int which, rlim_t soft, rlim_t hard) {
    struct rlimit limit = {soft, hard};
    if (setrlimit(which, &limit) != 0) {
        perror("setrlimit");
        _exit(3);
    }
}

static void is(int which, rlim_t soft, rlim_t hard) {
    struct rlimit limit = {1, 1};
    CHECK(getrlimit(which, &limit) == 0);
    if (limit.rlim_cur != soft || limit.rlim_max != hard)
        fprintf(stderr, "%d: %lu %lu\n", which, (long)limit.rlim_cur, (long)limit.rlim_max);
    CHECK(limit.rlim_cur == soft && limit.rlim_max == hard);
    limit = (struct rlimit){1, 1};
    CHECK(prlimit(getpid(), which, NULL, &limit) == 0);
    CHECK(limit.rlim_cur == soft && limit.rlim_max == hard);
    limit = (struct rlimit){1, 1};
    CHECK(syscall(SYS_prlimit64, 0, which, NULL, &limit) == 0);
    CHECK(limit.rlim_cur == soft && limit.rlim_max == hard);
    limit = (struct rlimit){1, 1};
    CHECK(syscall(SYS_getrlimit, which, &limit) == 0);
    CHECK(limit.rlim_cur == soft && limit.rlim_max == hard);
}

static void *in_a_thread(void *words) {
    CHECK(wrong(words, 2000) == 0);
    return words;
}

/* The memory of the program, threads, children and their children, threads in them. */
static void works(uint64_t *words, int depth) {
    pthread_t threads[3];
    for (int n = 0; n < 3; n++)
        CHECK(pthread_create(&threads[n], NULL, in_a_thread, words) == 0);
    for (int n = 0; n < 3; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    if (depth == 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        works(words, depth - 1);
        _exit(0);
    }
    child_was_well(child);
}

/* Takes memory until there is none. Says how many MiB that was. */
static size_t most(int by_mmap, size_t piece) {
    static void *pieces[100000];
    size_t count = 0;
    errno = 0;
    while (count < sizeof pieces / sizeof *pieces) {
        void *at = by_mmap ? mmap(NULL, piece, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                           : malloc(piece);
        if (at == MAP_FAILED || !at)
            break;
        pieces[count++] = at;
    }
    CHECK(errno == ENOMEM);
    for (size_t n = 0; n < count; n++)
        by_mmap ? (void)munmap(pieces[n], piece) : free(pieces[n]);
    return count * piece / MIB;
}

static void is_about(size_t mib, size_t least, size_t highest) {
    if (mib < least || mib > highest)
        fprintf(stderr, "%zu MiB, and not %zu to %zu\n", mib, least, highest);
    CHECK(mib >= least && mib <= highest);
}

/* A program that allows itself 100 MiB. */
static void bounded(int which) {
    lower(which, 100 * MIB, 100 * MIB);
    void *large = malloc(200 * MIB);
    CHECK(!large && errno == ENOMEM);
    errno = 0;
    large = mmap(NULL, 200 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(large == MAP_FAILED && errno == ENOMEM);
    is_about(most(0, 50000), 60, 100);
    is_about(most(0, 3 * MIB), 60, 100);
    is_about(most(1, 3 * MIB), 60, 100);
    large = mmap(NULL, 20 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(large != MAP_FAILED);
    CHECK(mremap(large, 20 * MIB, 150 * MIB, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM);
    large = mremap(large, 20 * MIB, 50 * MIB, MREMAP_MAYMOVE);
    CHECK(large != MAP_FAILED);
    ((char *)large)[50 * MIB - 1] = 1;
}

/* What is refused, and what is not. */
static void answers(int which) {
    struct rlimit limit = {2 * MIB, MIB};
    CHECK(setrlimit(which, &limit) == -1 && errno == EINVAL);
    CHECK(setrlimit(which, (struct rlimit *)8) == -1 && errno == EFAULT);
    CHECK(getrlimit(which, (struct rlimit *)8) == -1 && errno == EFAULT);
    struct rlimit before = {1, 1};
    limit = (struct rlimit){900 * MIB, 1000 * MIB};
    CHECK(prlimit(0, which, &limit, &before) == 0);
    CHECK(before.rlim_cur == RLIM_INFINITY && before.rlim_max == RLIM_INFINITY);
    is(which, 900 * MIB, 1000 * MIB);
    limit = (struct rlimit){700 * MIB, 800 * MIB};
    CHECK(prlimit(getpid(), which, &limit, &limit) == 0);
    CHECK(limit.rlim_cur == 900 * MIB && limit.rlim_max == 1000 * MIB);
    is(which, 700 * MIB, 800 * MIB);
    lower(which, 800 * MIB, 800 * MIB);
    /* Only the privileged may raise it. */
    limit = (struct rlimit){800 * MIB, 801 * MIB};
    if (geteuid() == 0) {
        if (setrlimit(which, &limit) == 0)
            is(which, 800 * MIB, 801 * MIB);
        else
            CHECK(errno == EPERM);
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
        limit.rlim_max += 1;
    }
    CHECK(setrlimit(which, &limit) == -1 && errno == EPERM);
    lower(which, 3 * MIB, 4 * MIB);
    is(which, 3 * MIB, 4 * MIB);
    limit = (struct rlimit){3 * MIB, 5 * MIB};
    CHECK(setrlimit(which, &limit) == -1 && errno == EPERM);
}

static void starts(char *const *args) {
    pid_t child;
    CHECK(posix_spawn(&child, self, NULL, NULL, args, environ) == 0);
    child_was_well(child);
    child = vfork();
    if (child == 0) {
        execve(self, args, environ);
        _exit(4);
    }
    child_was_well(child);
    child = fork();
    if (child == 0) {
        /* As what looks for a program in one folder after the other. */
        CHECK(execve("/no/such/program", args, environ) == -1 && errno == ENOENT);
        CHECK(execvp("no-such-program", args) == -1 && errno == ENOENT);
        CHECK(execv("/", args) == -1 && errno == EACCES);
        free(malloc(20 * MIB));
        works(filled(2000), 1);
        execv(self, args);
        _exit(4);
    }
    child_was_well(child);
    char command[500];
    snprintf(command, sizeof command, "%s seen %s %s %s", args[0], args[2], args[3], args[4]);
    int status = system(command);
    CHECK(status == 0);
    FILE *stream = popen(command, "r");
    CHECK(stream);
    while (fgetc(stream) != EOF)
        ;
    CHECK(pclose(stream) == 0);
}

/* Other programs get the limits that this one has set, however they are started. */
static void others(int which) {
    char number[20], soft[30], hard[30];
    snprintf(number, sizeof number, "%d", which);
    snprintf(soft, sizeof soft, "%lu", 600 * MIB);
    snprintf(hard, sizeof hard, "%lu", 700 * MIB);
    char *args[] = {(char *)self, "seen", number, soft, hard, NULL};
    lower(which, 600 * MIB, 700 * MIB);
    starts(args);
    is(which, 600 * MIB, 700 * MIB);
    /* A child of vfork has limits of its own. */
    args[3] = args[4] = "524288000";
    pid_t child = vfork();
    if (child == 0) {
        lower(which, 500 * MIB, 500 * MIB);
        struct rlimit limit;
        if (getrlimit(which, &limit) != 0 || limit.rlim_max != 500 * MIB)
            _exit(5);
        execv(self, args);
        _exit(4);
    }
    child_was_well(child);
    is(which, 600 * MIB, 700 * MIB);
    works(filled(2000), 1);
}

/* As vsftpd: a low hard limit, then another user, then children. */
static void unprivileged(int which) {
    uint64_t *words = filled(2000);
    lower(which, 120 * MIB, 120 * MIB);
    if (geteuid() == 0)
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    works(words, 2);
    is(which, 120 * MIB, 120 * MIB);
    /* What has no interpreter is no program, but looks like one. */
    char *args[] = {(char *)self, "seen", which == RLIMIT_AS ? "9" : "2", "125829120", "125829120",
                    NULL};
    char script[] = "/tmp/no-interpreter-XXXXXX";
    int fd = mkstemp(script);
    CHECK(fd >= 0 && write(fd, "#!/no/such\n", 11) == 11 && fchmod(fd, 0700) == 0);
    CHECK(close(fd) == 0);
    CHECK(execve(script, args, environ) == -1 && errno == ENOENT);
    CHECK(execv(script, args) == -1 && errno == ENOENT);
    CHECK(unlink(script) == 0);
    works(words, 2);
    pid_t child = fork();
    if (child == 0) {
        execv(self, args);
        _exit(4);
    }
    child_was_well(child);
}

/* Two threads set it at once, and another forks. */
static void *set_often(void *own) {
    for (int n = 0; n < 3000; n++) {
        struct rlimit limit = {(size_t)own, 1000 * MIB};
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    }
    return NULL;
}

static void races(void) {
    pthread_t threads[2];
    for (size_t n = 0; n < 2; n++)
        CHECK(pthread_create(&threads[n], NULL, set_often, (void *)((300 + n) * MIB)) == 0);
    for (int n = 0; n < 30; n++) {
        pid_t child = fork();
        if (child == 0) {
            lower(RLIMIT_AS, 200 * MIB, 500 * MIB);
            is(RLIMIT_AS, 200 * MIB, 500 * MIB);
            free(malloc(MIB));
            _exit(0);
        }
        child_was_well(child);
    }
    for (int n = 0; n < 2; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    works(filled(2000), 1);
}

int main(int argc, char **argv) {
    limit(28);
    CHECK(argc > 1);
    self = argv[0];
    const char *part = argv[1];
    if (!strcmp(part, "seen")) {
        CHECK(argc == 5);
        is(atoi(argv[2]), strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
        return 0;
    }
    int which = argc > 2 && !strcmp(argv[2], "data") ? RLIMIT_DATA : RLIMIT_AS;
    /* Beyond the cache, in any case. */
    free(filled(4000));
    if (!strcmp(part, "bounded"))
        bounded(which);
    else if (!strcmp(part, "answers"))
        answers(which);
    else if (!strcmp(part, "others"))
        others(which);
    else if (!strcmp(part, "unprivileged"))
        unprivileged(which);
    else if (!strcmp(part, "races"))
        races();
    else
        return 2;
    puts("well");
    return 0;
}
