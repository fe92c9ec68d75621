/* A process that shares its parent's memory outlives it. How the parent ends: "leaves" or "killed".
   What the child does: it "reads" what the parent wrote, and says how many pages are wrong; or it
   "becomes" another program, also by a "list" or of a folder ("at"). Who makes the child: the
   first thread by "clone" or "vfork", or another "thread" by clone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 2048, PAGE = 4096 };

static unsigned char *memory;
static char stack[65536] __attribute__((aligned(16)));
static int out;

static int child(void *parent) {
    while (getppid() == (int)(long)parent)
        usleep(1000);
    int wrong = 0;
    for (int page = 0; page < PAGES; page++)
        wrong += memory[page * PAGE] != (unsigned char)(page | 1);
    char text[64];
    int length = snprintf(text, sizeof text, "outlived, %d wrong\n", wrong);
    return write(out, text, length) != length;
}

/* Becomes another program, which has memory of its own and lives on. */
static int becomes(void *parent) {
    (void)parent;
    dup2(out, 1);
    execl("/bin/sh", "sh", "-c", "sleep 0.3; echo lives on $*", "sh", "a", "b", "c", "d", "e",
          "f", (char *)0);
    return 1;
}

static char *list[] = {"sh", "-c", "sleep 0.3; echo lives on $*", "sh", "a", "b", 0};

/* Becomes another program by a list in memory. */
static int becomes_by_list(void *parent) {
    (void)parent;
    dup2(out, 1);
    execv("/bin/sh", list);
    return 1;
}

/* Becomes a program of a folder that is open. */
static int becomes_at(void *parent) {
    (void)parent;
    dup2(out, 1);
    execveat(open("/bin", O_PATH), "sh", list, environ, 0);
    return 1;
}

static const char *how;

/* Ends the parent while it waits. */
static void *end(void *unused) {
    usleep(100000);
    if (!strcmp(how, "leaves"))
        _exit(0);
    raise(SIGKILL);
    return unused;
}

static void *clone_it(void *function) {
    void *self = (void *)(long)getpid();
    if (clone((int (*)(void *))function, stack + sizeof stack, CLONE_VM | SIGCHLD, self) < 0)
        _exit(2);
    pause();
    return NULL;
}

static void make(const char *who, int (*function)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end, NULL))
        _exit(2);
    if (!strcmp(who, "vfork")) {
        void *self = (void *)(long)getpid();
        if (vfork() == 0)
            _exit(function(self));
    } else if (!strcmp(who, "thread")) {
        if (pthread_create(&thread, NULL, clone_it, (void *)function))
            _exit(2);
    } else {
        clone_it((void *)function);
    }
    for (;;)
        pause();
}

int main(int argc, char **argv) {
    int ends[2];
    if (argc < 4 || pipe(ends))
        return 1;
    how = argv[1];
    int (*function)(void *) = !strcmp(argv[2], "becomes") ? becomes
                              : !strcmp(argv[2], "list")  ? becomes_by_list
                              : !strcmp(argv[2], "at")    ? becomes_at
                                                          : child;
    pid_t parent = fork();
    if (!parent) {
        close(ends[0]);
        out = ends[1];
        memory = malloc(PAGES * PAGE);
        for (int page = 0; page < PAGES; page++)
            memory[page * PAGE] = page | 1;
        make(argv[3], function);
    }
    close(ends[1]);
    char text[128];
    ssize_t got;
    while ((got = read(ends[0], text, sizeof text)) > 0)
        fwrite(text, 1, got, stdout);
    while (wait(0) > 0)
        ;
    puts("end");
    return 0;
}
