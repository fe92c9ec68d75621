/* Calls that wait write their answers to memory that has left the cache, and handlers that come
   during a wait need such memory, whatever the call lets through. */
#include "abuse.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>

#define PAGES 2048u
#define ROUNDS 10

/* A page of the heap for what a call reads and writes. */
static struct page {
    struct pollfd fds[2];
    fd_set set;
    struct timeval longest;
    struct timespec time, left;
    struct epoll_event events[4];
    struct sockaddr_in address;
    socklen_t length;
    siginfo_t about;
    struct rusage used;
    sigset_t mask;
    int status, signal, pair[2];
} *page;

static uint64_t *words;
static int ends[2];

/* Everything else is used, so that the page leaves. */
static void use_all(void) {
    CHECK(wrong(words, PAGES) == 0);
}

/* Does that during the wait, and ends the wait. */
static void *end_wait(void *unused) {
    (void)unused;
    usleep(5000);
    use_all();
    CHECK(write(ends[1], "x", 1) == 1);
    return NULL;
}

static void *send_signal(void *thread) {
    usleep(5000);
    use_all();
    CHECK(pthread_kill(*(pthread_t *)thread, SIGUSR1) == 0);
    return NULL;
}

static pthread_t start(void *(*function)(void *), void *argument) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, function, argument) == 0);
    return thread;
}

static void descriptors(int way) {
    memset(page, 0, sizeof *page);
    page->fds[0] = (struct pollfd){.fd = ends[0], .events = POLLIN};
    page->fds[1] = (struct pollfd){.fd = -1};
    FD_SET(ends[0], &page->set);
    page->longest.tv_sec = page->time.tv_sec = 20;
    use_all();
    pthread_t thread = start(end_wait, NULL);
    int n = way == 0   ? poll(page->fds, 2, 20000)
            : way == 1 ? ppoll(page->fds, 2, &page->time, &page->mask)
            : way == 2 ? select(ends[0] + 1, &page->set, NULL, NULL, &page->longest)
                       : pselect(ends[0] + 1, &page->set, NULL, NULL, &page->time, &page->mask);
    CHECK(n == 1);
    CHECK(way > 1 ? FD_ISSET(ends[0], &page->set) : page->fds[0].revents == POLLIN);
    CHECK(pthread_join(thread, NULL) == 0);
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
}

static void events(void) {
    int all = epoll_create1(0);
    page->events[0] = (struct epoll_event){.events = EPOLLIN, .data.u64 = 77};
    CHECK(all >= 0 && epoll_ctl(all, EPOLL_CTL_ADD, ends[0], page->events) == 0);
    sigemptyset(&page->mask);
    use_all();
    pthread_t thread = start(end_wait, NULL);
    CHECK(epoll_pwait(all, page->events, 4, 20000, &page->mask) == 1);
    CHECK(page->events[0].data.u64 == 77 && pthread_join(thread, NULL) == 0);
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1 && close(all) == 0);
}

static void children(int way) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        usleep(2000);
        _exit(7);
    }
    use_all();
    if (way == 0)
        CHECK(waitpid(child, &page->status, 0) == child);
    else if (way == 1)
        CHECK(wait4(child, &page->status, 0, &page->used) == child);
    else
        CHECK(waitid(P_PID, child, &page->about, WEXITED) == 0 && page->about.si_status == 7);
    CHECK(way == 2 || (WIFEXITED(page->status) && WEXITSTATUS(page->status) == 7));
}

static void connections(int door) {
    int caller = socket(AF_INET, SOCK_STREAM, 0);
    page->length = sizeof page->address;
    use_all();
    CHECK(getsockname(door, (void *)&page->address, &page->length) == 0);
    CHECK(page->address.sin_port != 0);
    use_all();
    CHECK(connect(caller, (void *)&page->address, sizeof page->address) == 0);
    page->address.sin_port = 0;
    page->length = sizeof page->address + 8;
    use_all();
    int other = accept(door, (void *)&page->address, &page->length);
    CHECK(other >= 0 && page->length == sizeof page->address && page->address.sin_port != 0);
    use_all();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, page->pair) == 0);
    CHECK(close(page->pair[0]) == 0 && close(page->pair[1]) == 0);
    use_all();
    CHECK(pipe(page->pair) == 0 && close(page->pair[0]) == 0 && close(page->pair[1]) == 0);
    CHECK(close(caller) == 0 && close(other) == 0);
}

static volatile sig_atomic_t caught;

static void on_signal(int number) {
    (void)number;
    use_all();
    caught++;
}

static void signals(int way) {
    pthread_t self = pthread_self();
    sigset_t held, before;
    CHECK(sigemptyset(&held) == 0 && sigaddset(&held, SIGUSR1) == 0);
    CHECK(pthread_sigmask(SIG_BLOCK, &held, &before) == 0);
    page->time = (struct timespec){20, 0};
    /* Lets nothing through but the one. */
    CHECK(sigfillset(&page->mask) == 0);
    if (way < 4)
        CHECK(sigdelset(&page->mask, SIGUSR1) == 0);
    else
        page->mask = held;
    int had = caught, all = epoll_create1(0);
    use_all();
    pthread_t thread = start(send_signal, &self);
    if (way == 0)
        CHECK(sigsuspend(&page->mask) == -1 && errno == EINTR);
    else if (way == 1)
        CHECK(ppoll(NULL, 0, &page->time, &page->mask) == -1 && errno == EINTR);
    else if (way == 2)
        CHECK(pselect(0, NULL, NULL, NULL, &page->time, &page->mask) == -1 && errno == EINTR);
    else if (way == 3)
        CHECK(epoll_pwait(all, page->events, 4, 20000, &page->mask) == -1 && errno == EINTR);
    else if (way == 4)
        CHECK(sigwait(&page->mask, &page->signal) == 0 && page->signal == SIGUSR1);
    else
        CHECK(sigtimedwait(&page->mask, &page->about, &page->time) == SIGUSR1 &&
              page->about.si_signo == SIGUSR1);
    CHECK(caught == had + (way < 4) && close(all) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

static void times(void) {
    page->time = (struct timespec){0, 1000};
    use_all();
    CHECK(nanosleep(&page->time, &page->left) == 0);
    use_all();
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &page->time, NULL) == 0);
}

int main(int count, char **given) {
    limit(25);
    CHECK(count == 2);
    words = filled(PAGES);
    page = (struct page *)filled(1);
    CHECK(pipe(ends) == 0 && signal(SIGUSR1, on_signal) != SIG_ERR);
    int door = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(door >= 0 && listen(door, 8) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        if (strcmp(given[1], "descriptors") == 0)
            descriptors(round % 4);
        else if (strcmp(given[1], "events") == 0)
            events();
        else if (strcmp(given[1], "children") == 0)
            children(round % 3);
        else if (strcmp(given[1], "connections") == 0)
            connections(door);
        else if (strcmp(given[1], "signals") == 0)
            signals(round % 6);
        else
            times();
    }
    puts("well");
    return 0;
}
