/* What the kernel and the C library's own system calls do with memory that is not cached: streams,
 * files, pipes, directories, names and lists. Between any two steps the cache is filled with
 * something else. */
#include "common.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (2u << 20)

extern char **environ;
static volatile unsigned char *others;

static void cool(void) {
    for (size_t at = 0; at < SIZE; at += PAGE)
        others[at]++;
}

static void streams(const char *path, const unsigned char *data, unsigned char *copy) {
    FILE *file = fopen(path, "w");
    CHECK(file);
    cool();
    CHECK(fwrite(data, 1, SIZE, file) == SIZE && !ferror(file));
    CHECK(fclose(file) == 0);
    CHECK((file = tmpfile()));
    cool();
    CHECK(fwrite(data, 1, SIZE, file) == SIZE && !ferror(file));
    rewind(file);
    memset(copy, 0, SIZE);
    cool();
    CHECK(fread(copy, 1, SIZE, file) == SIZE && !ferror(file) && memcmp(data, copy, SIZE) == 0);
    CHECK(fclose(file) == 0);
    file = fopen(path, "r");
    cool();
    /* The last item is not whole. */
    CHECK(fread(copy, 3000, SIZE / 3000 + 1, file) == SIZE / 3000);
    CHECK(feof(file) && !ferror(file) && memcmp(data, copy, SIZE) == 0);
    CHECK(fclose(file) == 0);

    size_t length = 100000;
    char *text = malloc(length + 1), *buffer = malloc(65536);
    memset(text, 'x', length);
    text[length] = 0;
    file = fopen(path, "w+");
    CHECK(setvbuf(file, buffer, _IOFBF, 65536) == 0);
    CHECK(fputs("begin\n", file) >= 0);
    cool();
    CHECK(fputs(text, file) >= 0);
    CHECK(fprintf(file, "%s\n", "end") == 4);
    cool();
    rewind(file);
    char *line = NULL;
    size_t room = 0;
    CHECK(getline(&line, &room, file) == 6);
    cool();
    CHECK(getline(&line, &room, file) == (long)length + 4);
    CHECK(fclose(file) == 0);
    free(buffer), free(line), free(text);
}

static void files(const char *path, const unsigned char *data, unsigned char *copy) {
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    cool();
    CHECK(write(fd, data, SIZE) == SIZE);
    memset(copy, 0, SIZE);
    cool();
    /* All that is there, as without the device, although the buffer is larger than the cache. */
    CHECK(pread(fd, copy, SIZE, 0) == SIZE && memcmp(data, copy, SIZE) == 0);
    memset(copy, 0, SIZE);
    CHECK(lseek(fd, 100, SEEK_SET) == 100);
    cool();
    CHECK(read(fd, copy, SIZE) == SIZE - 100 && memcmp(data + 100, copy, SIZE - 100) == 0);
    CHECK(read(fd, copy, SIZE) == 0);
    struct stat *status = malloc(sizeof *status);
    cool();
    CHECK(fstat(fd, status) == 0 && status->st_size == SIZE);
    CHECK(close(fd) == 0);
    errno = 0;
    CHECK(read(-1, copy, SIZE) == -1 && errno == EBADF);
    free(status);
}

static void pipes(const unsigned char *data) {
    int ends[2], status;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        unsigned char *copy = malloc(SIZE);
        size_t got = 0;
        ssize_t more;
        while ((more = read(ends[0], copy + got, SIZE - got)) > 0)
            got += (size_t)more;
        _exit(got == SIZE && memcmp(copy, data, SIZE) == 0 ? 0 : 1);
    }
    close(ends[0]);
    cool();
    /* A write that blocks is whole. */
    CHECK(write(ends[1], data, SIZE) == SIZE);
    close(ends[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);

    CHECK(pipe(ends) == 0);
    struct pollfd *watched = malloc(64 * sizeof *watched);
    watched[0] = (struct pollfd){.fd = ends[0], .events = POLLIN};
    cool();
    CHECK(poll(watched, 1, 0) == 0);
    CHECK(write(ends[1], "x", 1) == 1);
    cool();
    CHECK(poll(watched, 1, -1) == 1 && watched[0].revents == POLLIN);
    close(ends[0]), close(ends[1]);
    free(watched);
}

static void names(const char *path) {
    char *name = strdup(path);
    cool();
    CHECK(access(name, R_OK) == 0);
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder);
    int entries = 0;
    for (;;) {
        cool();
        errno = 0;
        if (!readdir(folder))
            break;
        entries++;
    }
    CHECK(errno == 0 && entries >= 5 && closedir(folder) == 0);

    char *here = malloc(4096), *made = malloc(4096), *other = malloc(4096);
    cool();
    CHECK(getcwd(here, 4096) == here);
    cool();
    char *same = getcwd(NULL, 0);
    CHECK(same && strcmp(same, here) == 0);
    snprintf(made, 4096, "%s-XXXXXX", path);
    cool();
    CHECK(mkdtemp(made));
    snprintf(made, 4096, "%s-XXXXXX", path);
    cool();
    int fd = mkstemp(made);
    CHECK(fd >= 0 && close(fd) == 0);
    snprintf(other, 4096, "%s.other", made);
    cool();
    CHECK(symlink(made, other) == 0);
    cool();
    CHECK(chmod(other, 0600) == 0);
    cool();
    CHECK(truncate(made, 3) == 0);
    struct statfs *volume = malloc(sizeof *volume);
    cool();
    CHECK(statfs(made, volume) == 0 && volume->f_bsize > 0);
    unsigned char *random = malloc(2 * PAGE);
    cool();
    CHECK(getrandom(random, 256, 0) == 256);
    free(here), free(same), free(made), free(other), free(volume), free(random);

    /* From here on the environment is the program's own memory. */
    char *command = strdup("exit 3");
    CHECK(setenv("OF_THE_HEAP", "yes", 1) == 0);
    cool();
    FILE *shell = popen(command, "r");
    CHECK(shell && WEXITSTATUS(pclose(shell)) == 3);
    cool();
    CHECK(WEXITSTATUS(system(command)) == 3);

    char **arguments = malloc(4 * sizeof *arguments);
    arguments[0] = strdup("/bin/sh");
    arguments[1] = strdup("-c");
    arguments[2] = strdup("exit 7");
    arguments[3] = NULL;
    int status;
    pid_t child;
    posix_spawn_file_actions_t *actions = malloc(sizeof *actions);
    CHECK(posix_spawn_file_actions_init(actions) == 0);
    CHECK(posix_spawn_file_actions_addclose(actions, 0) == 0);
    cool();
    CHECK(posix_spawn(&child, arguments[0], actions, NULL, arguments, environ) == 0);
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    child = fork();
    if (child == 0) {
        cool();
        execv(arguments[0], arguments);
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    free(name);
}

/* Names and options that only the kernel reads. */
static void links_and_sockets(const char *path) {
    char *from = malloc(4096), *to = malloc(4096);
    snprintf(from, 4096, "%s.from", path);
    snprintf(to, 4096, "%s.to", path);
    int fd = open(from, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    cool();
    CHECK(link(from, to) == 0);
    cool();
    CHECK(unlink(to) == 0);
    cool();
    CHECK(renameat(AT_FDCWD, from, AT_FDCWD, to) == 0);
    cool();
    CHECK(rename(to, from) == 0);
    cool();
    CHECK(unlinkat(AT_FDCWD, from, 0) == 0);
    cool();
    CHECK(mkdirat(AT_FDCWD, to, 0700) == 0);
    cool();
    CHECK(rmdir(to) == 0);

    int there = socket(AF_UNIX, SOCK_STREAM, 0), here = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(there >= 0 && here >= 0);
    struct sockaddr_un *name = calloc(1, sizeof *name);
    name->sun_family = AF_UNIX;
    snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "sluice-test-%d", getpid());
    cool();
    CHECK(bind(there, (struct sockaddr *)name, sizeof *name) == 0 && listen(there, 1) == 0);
    cool();
    CHECK(connect(here, (struct sockaddr *)name, sizeof *name) == 0);
    int *value = malloc(sizeof *value);
    *value = 1;
    cool();
    CHECK(setsockopt(here, SOL_SOCKET, SO_PASSCRED, value, sizeof *value) == 0);
    int got = 0;
    socklen_t size = sizeof got;
    CHECK(getsockopt(here, SOL_SOCKET, SO_PASSCRED, &got, &size) == 0 && got == 1);
    CHECK(close(here) == 0 && close(there) == 0);
    free(from), free(to), free(name), free(value);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    unsigned char *data = malloc(SIZE), *copy = malloc(SIZE);
    others = calloc(1, SIZE);
    for (size_t at = 0; at < SIZE; at++)
        data[at] = (unsigned char)(mix(at) >> 7);
    streams(arguments[1], data, copy);
    files(arguments[1], data, copy);
    pipes(data);
    links_and_sockets(arguments[1]);
    names(arguments[1]);
    puts("well");
    return 0;
}
