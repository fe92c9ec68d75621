/* Threads that are cancelled while a call of theirs waits, with buffers on the heap. */
#include "abuse.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { READ, READV, RECV, RECVFROM, RECVMSG, POLL, SELECT, SLEEP, CONDITION, SEMAPHORE, NONE,
       ASYNCHRONOUS, NUMBER, CALLS };

static int pipe_ends[2], socket_ends[2];
static char *buffer;
static pthread_mutex_t *mutex;
static pthread_cond_t *condition;
static sem_t *semaphore;
static atomic_int waits, cleaned;

static void clean(void *held) {
    atomic_fetch_add(&cleaned, 1);
    if (held)
        CHECK(pthread_mutex_unlock(held) == 0);
}

/* Cancelled at any instruction, most often while a miss is served. */
static void miss(void) {
    CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL) == 0);
    for (size_t at = 0;; at = (at + PAGE) % (2048 * PAGE))
        ((volatile char *)buffer)[at]++;
}

/* A call by its number is no point where a thread may be cancelled, unless any instruction is. */
static void call_by_number(int type) {
    CHECK(pthread_setcanceltype(type, NULL) == 0);
    CHECK(syscall(SYS_read, pipe_ends[0], buffer, 100) == 1 && type == PTHREAD_CANCEL_DEFERRED);
    pthread_testcancel();
}

static void call(int which) {
    struct iovec part = {buffer, 100};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct pollfd watched = {pipe_ends[0], POLLIN, 0};
    struct timespec long_time = {100, 0};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipe_ends[0], &set);
    switch (which) {
    case READ: (void)!read(pipe_ends[0], buffer, 100); break;
    case READV: (void)!readv(pipe_ends[0], &part, 1); break;
    case RECV: recv(socket_ends[0], buffer, 100, 0); break;
    case RECVFROM: recvfrom(socket_ends[0], buffer, 100, 0, NULL, NULL); break;
    case RECVMSG: recvmsg(socket_ends[0], &message, 0); break;
    case POLL: poll(&watched, 1, -1); break;
    case SELECT: select(pipe_ends[0] + 1, &set, NULL, NULL, NULL); break;
    case SLEEP: nanosleep(&long_time, NULL); break;
    case CONDITION: pthread_cond_wait(condition, mutex); break;
    case SEMAPHORE: sem_wait(semaphore); break;
    case ASYNCHRONOUS: call_by_number(PTHREAD_CANCEL_ASYNCHRONOUS); break;
    case NUMBER: call_by_number(PTHREAD_CANCEL_DEFERRED); break;
    default: miss(); break;
    }
    CHECK(!"still there");
}

static void *wait_in_call(void *argument) {
    int which = (int)(long)argument;
    void *held = which == CONDITION ? mutex : NULL;
    pthread_cleanup_push(clean, held);
    if (held)
        CHECK(pthread_mutex_lock(held) == 0);
    atomic_store(&waits, 1);
    call(which);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void) {
    limit(25);
    buffer = (char *)filled(2048);
    char *pages = (char *)filled(3);
    mutex = (pthread_mutex_t *)pages;
    condition = (pthread_cond_t *)(pages + PAGE);
    semaphore = (sem_t *)(pages + 2 * PAGE);
    CHECK(pthread_mutex_init(mutex, NULL) == 0 && pthread_cond_init(condition, NULL) == 0);
    CHECK(sem_init(semaphore, 0, 0) == 0);
    CHECK(pipe(pipe_ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends) == 0);
    for (long which = 0; which < CALLS; which++) {
        pthread_t thread;
        void *result;
        atomic_store(&waits, 0);
        atomic_store(&cleaned, 0);
        CHECK(pthread_create(&thread, NULL, wait_in_call, (void *)which) == 0);
        while (!atomic_load(&waits))
            usleep(1000);
        usleep(20000);
        CHECK(pthread_cancel(thread) == 0);
        CHECK(which != NUMBER || write(pipe_ends[1], "x", 1) == 1);
        CHECK(pthread_join(thread, &result) == 0);
        CHECK(result == PTHREAD_CANCELED && atomic_load(&cleaned) == 1);
    }
    puts("well");
    return 0;
}
