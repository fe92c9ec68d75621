/* Every way to copy this process, and to start another image. */
#include "torture.h"
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>

extern char **environ;

void wait_for(pid_t child, const char *what) {
    int status = 0;
    MUST(child > 0);
    pid_t ended;
    while ((ended = waitpid(child, &status, __WALL)) < 0 && errno == EINTR)
        continue;
    MUST(ended == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail("%s ended with status %d, signal %d", what, WEXITSTATUS(status),
             WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

void after_fork_in_child(void) {
    now.depth++;
    now.clock += 1ull << 32;
    now.random = mix(now.random + now.depth);
    now.ticking = 0;
    check_workers_snapshot();
    forget_workers();
}

static void wait_for_flag(atomic_int *flag, const char *what) {
    for (int n = 0; !*flag; n++) {
        if (n > 60000)
            fail("%s: nothing in a minute", what);
        usleep(1000);
    }
}

/* The child checks its snapshot, before and after its parent writes, and goes on by itself. */
static void life(void) {
    after_fork_in_child();
    check_all_regions();
    wait_for_flag(&board->go, "the parent's stores");
    thrash();
    check_everything();
    run_steps(2 + below(8));
    check_everything();
}

static int live_and_end(void *unused) {
    (void)unused;
    life();
    _exit(0);
}

/* Parent: writes to what it shares with the child by copy on write. */
static void parent_writes(void) {
    for (int n = 0; n < 4; n++) {
        struct region *region = any_region();
        unsigned from = below(region->pages);
        write_pages(region, from, from + 1 + below(region->pages - from));
    }
    board->go = 1;
}

static void parent_of(pid_t child, const char *what) {
    if (child == 0)
        live_and_end(NULL);
    if (child < 0)
        fail("%s: errno %d", what, errno);
    parent_writes();
    wait_for(child, what);
    tell("%s: its child was well", what);
}

/* Grandchildren of grandchildren take long and find nothing more. */
static int is_deep(void) {
    board->go = 0;
    if (now.depth >= 2)
        tell("deep enough");
    return now.depth >= 2;
}

static void step_fork(void) {
    if (is_deep())
        return;
    note_workers();
    parent_of(fork(), "fork");
}

static void step_fork_alone(void) {
    if (!is_deep())
        parent_of(_Fork(), "_Fork");
}

static void step_clone(void) {
    static _Alignas(4096) char stack[2][256 << 10];
    if (!is_deep())
        parent_of(clone(live_and_end, stack[now.depth] + sizeof *stack, SIGCHLD, NULL), "clone");
}

static void step_raw_fork(void) {
    if (!is_deep())
        parent_of((pid_t)syscall(SYS_fork), "raw fork");
}

static void step_raw_clone(void) {
    if (!is_deep())
        parent_of((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), "raw clone");
}

static void step_raw_clone3(void) {
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    if (!is_deep())
        parent_of((pid_t)syscall(SYS_clone3, &arguments, sizeof arguments), "raw clone3");
}

/* A child that has become another user, and its own, which can open nothing that a device needs. */
static void step_as_nobody(void) {
    static const char nobodys[] =
        "unmap,read,protect,fault,fixed,remap,remap-fixed,remap-hole,remap-dontunmap,refused,"
        "advise,dontneed,free-pages,populate,over-hole,wipe-on-fork,dont-fork,calloc,aligned,"
        "realloc,free,odd-sizes,brk,workers-start,churn,detach,tick,tick-mapping,"
        "alternate-stack,context,pipe,socket,fork";
    const gid_t nobody = 65534;
    if (geteuid() != 0 || is_deep())
        return;
    note_workers();
    pid_t child = fork();
    if (child == 0) {
        after_fork_in_child();
        MUST(setgroups(0, NULL) == 0 && setresgid(nobody, nobody, nobody) == 0);
        MUST(setresuid(nobody, nobody, nobody) == 0);
        now.only = nobodys;
        board->go = 0;
        parent_of(fork(), "fork as nobody");
        check_everything();
        _exit(0);
    }
    parent_writes();
    wait_for(child, "a child that became nobody");
    tell("nobody was well");
}

/* As daemon() does it: a session of its own, no descriptor that it had, nobody who waits for it. */
static void step_daemon(void) {
    if (is_deep())
        return;
    note_workers();
    /* What lives in the daemon may make another one. */
    atomic_int *done = &board->done[now.depth];
    *done = 0;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        for (int number = 0; number < 1024; number++)
            close(number);
        MUST(open("/dev/null", O_RDWR) == 0 && dup(0) == 1 && dup(0) == 2);
        life();
        *done = 1;
        _exit(0);
    }
    wait_for(child, "the first of two forks");
    parent_writes();
    wait_for_flag(done, "the daemon's end");
    tell("the daemon was well");
}

static void *forks_itself(void *unused) {
    (void)unused;
    parent_of(fork(), "fork in a thread");
    return NULL;
}

static void step_fork_in_thread(void) {
    if (is_deep())
        return;
    sigset_t alarm, before;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    MUST(pthread_sigmask(SIG_BLOCK, &alarm, &before) == 0);
    pthread_t thread;
    note_workers();
    MUST(pthread_create(&thread, NULL, forks_itself, NULL) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    MUST(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

/* Ten children at once, each of which looks at a part. */
static void step_fork_many(void) {
    pid_t children[10];
    if (is_deep())
        return;
    note_workers();
    for (int n = 0; n < 10; n++) {
        struct region *region = any_region();
        children[n] = fork();
        MUST(children[n] >= 0);
        if (children[n] == 0) {
            check_region(region, 0, region->pages);
            write_pages(region, 0, region->pages / 2);
            check_region(region, 0, region->pages);
            _exit(0);
        }
        write_pages(region, 0, region->pages);
    }
    for (int n = 0; n < 10; n++)
        wait_for(children[n], "one of ten");
}

static void image_ended(pid_t child, int expected) {
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        continue;
    MUST(ended == child);
    tell("image: %d %d", WIFEXITED(status), WEXITSTATUS(status));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
        fail("an image ended with %x instead of status %d", status, expected);
}

static void step_spawn(void) {
    char number[16];
    int status = 1 + (int)below(100), way = (int)below(3);
    snprintf(number, sizeof number, "%d", status);
    char *arguments[] = {(char *)now.self, "--image", number, NULL};
    pid_t child = 0;
    posix_spawn_file_actions_t quiet;
    MUST(posix_spawn_file_actions_init(&quiet) == 0);
    MUST(posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0) == 0);
    if (way == 0)
        MUST(posix_spawn(&child, now.self, &quiet, NULL, arguments, environ) == 0);
    else
        child = way == 1 ? vfork() : fork();
    if (child == 0) {
        close(1);
        open("/dev/null", O_WRONLY);
        execv(now.self, arguments);
        _exit(99);
    }
    image_ended(child, status);
    posix_spawn_file_actions_destroy(&quiet);
}

static void step_shell(void) {
    char command[4200], line[100] = "";
    int status = system("exit 7");
    tell("system: %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    snprintf(command, sizeof command, "%s --image 5", now.self);
    FILE *pipe = popen(command, "r");
    MUST(pipe);
    while (!fgets(line, sizeof line, pipe) && ferror(pipe) && errno == EINTR)
        clearerr(pipe);
    status = pclose(pipe);
    tell("popen: %s", line);
    tell("pclose: %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

const struct step fork_steps[] = {
    {"fork", step_fork, 4, 0},
    {"_Fork", step_fork_alone, 1, 1},
    {"clone", step_clone, 1, 1},
    {"raw-fork", step_raw_fork, 1, 1},
    {"raw-clone", step_raw_clone, 1, 1},
    {"raw-clone3", step_raw_clone3, 1, 1},
    {"daemon", step_daemon, 1, 0},
    {"as-nobody", step_as_nobody, 1, 0},
    {"fork-in-thread", step_fork_in_thread, 1, 0},
    {"fork-many", step_fork_many, 1, 0},
    {"spawn", step_spawn, 2, 0},
    {"shell", step_shell, 1, 0},
    {0},
};
