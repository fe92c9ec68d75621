/* Calls that take something away, or stop half-way, before they write to a page that has left. */
#include "abuse.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define PAGES 2048u
#define FAR 2000

static uint64_t *words;

/* Memory at the end of one page and the start of the next, of which neither is there. */
static void *missing(size_t before) {
    char *pages = aligned_alloc(PAGE, 2 * PAGE);
    CHECK(pages);
    memset(pages, 0, 2 * PAGE);
    return pages + PAGE - before;
}

static void leave(void) {
    CHECK(wrong(words, PAGES) == 0);
}

/* The kernel forgets a socket's error when it reports it. */
static void error(void) {
    struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(1)};
    nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int caller = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), *told = missing(0);
    CHECK(caller >= 0);
    (void)connect(caller, (void *)&nobody, sizeof nobody);
    struct pollfd watched = {caller, POLLOUT, 0};
    CHECK(poll(&watched, 1, 5000) == 1);
    /* The length is not on the device: the call fails at the end. */
    socklen_t length = sizeof *told;
    leave();
    CHECK(getsockopt(caller, SOL_SOCKET, SO_ERROR, told, &length) == 0);
    CHECK(*told == ECONNREFUSED && length == sizeof *told);
    socklen_t *room = missing(2);
    *room = sizeof *told;
    leave();
    CHECK(getsockopt(caller, SOL_SOCKET, SO_TYPE, told, room) == 0);
    CHECK(*told == SOCK_STREAM && *room == sizeof *told);
}

/* An answer that has no room fails, and says how much it needs. */
static void room(void) {
    const gid_t groups[] = {1, 2, 3};
    (void)setgroups(3, groups);
    int count = getgroups(0, NULL), pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    socklen_t *length = missing(2);
    *length = 0;
    leave();
    int answer = getsockopt(pair[0], SOL_SOCKET, SO_PEERGROUPS, missing(0), length);
    CHECK(count == 0 || (answer == -1 && errno == ERANGE));
    CHECK(*length == count * sizeof *groups);
}

/* Queues of System V. */
static void messages(void) {
    struct message {
        long kind;
        char bytes[100];
    } *sent = missing(50), *got = missing(50);
    *sent = (struct message){7, "of the heap"};
    int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    CHECK(queue >= 0);
    leave();
    CHECK(msgsnd(queue, sent, sizeof sent->bytes, 0) == 0);
    leave();
    ssize_t bytes = msgrcv(queue, got, sizeof got->bytes, 0, IPC_NOWAIT);
    CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
    CHECK(bytes == sizeof got->bytes && got->kind == 7);
    CHECK(strcmp(got->bytes, "of the heap") == 0);
}

/* Semaphores of System V, and what queues and segments say of themselves. */
static void semaphores(void) {
    int set = semget(IPC_PRIVATE, 300, IPC_CREAT | 0600);
    CHECK(set >= 0);
    unsigned short *values = missing(300), *got = missing(300);
    for (int n = 0; n < 300; n++)
        values[n] = n;
    leave();
    CHECK(semctl(set, 0, SETALL, values) == 0);
    leave();
    CHECK(semctl(set, 0, GETALL, got) == 0);
    for (int n = 0; n < 300; n++)
        CHECK(got[n] == n && values[n] == n);
    CHECK(semctl(set, 7, GETVAL) == 7 && semctl(set, 7, SETVAL, 9) == 0);
    struct sembuf *steps = missing(6);
    steps[0] = (struct sembuf){7, -4, 0}, steps[1] = (struct sembuf){8, 2, 0};
    leave();
    CHECK(semop(set, steps, 2) == 0);
    struct timespec *longest = missing(8);
    leave();
    CHECK(semtimedop(set, steps, 2, longest) == 0);
    CHECK(semctl(set, 7, GETVAL) == 1 && semctl(set, 8, GETVAL) == 12);
    leave();
    CHECK(semtimedop(set, steps, 2, longest) == -1 && errno == EAGAIN);
    struct semid_ds *about = missing(40);
    leave();
    CHECK(semctl(set, 0, IPC_STAT, about) == 0 && about->sem_nsems == 300);
    CHECK(semctl(set, 0, IPC_RMID) == 0);
    CHECK(semop(set, steps, 2) == -1 && errno == EINVAL);
    int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    int segment = shmget(IPC_PRIVATE, 5 * PAGE, IPC_CREAT | 0600);
    struct msqid_ds *of_queue = missing(40);
    struct shmid_ds *of_segment = missing(40);
    CHECK(queue >= 0 && segment >= 0);
    leave();
    int asked = msgctl(queue, IPC_STAT, of_queue) | shmctl(segment, IPC_STAT, of_segment);
    CHECK(msgctl(queue, IPC_RMID, NULL) == 0 && shmctl(segment, IPC_RMID, NULL) == 0);
    CHECK(asked == 0 && of_queue->msg_qnum == 0 && of_segment->shm_segsz == 5 * PAGE);
}

/* Pages are there afterwards, with what they had; the program may not access all. */
static void populated(void) {
    char *pages = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    for (int n = 0; n < 32; n++)
        pages[n * PAGE] = (char)n;
    int both[] = {MADV_POPULATE_READ, MADV_POPULATE_WRITE};
    for (int n = 0; n < 2; n++) {
        leave();
        CHECK(madvise(pages, 64 * PAGE, both[n]) == 0);
        CHECK(madvise(words, PAGES * PAGE, both[n]) == 0);
        CHECK(madvise(pages + 1, PAGE, both[n]) == -1 && errno == EINVAL);
    }
    CHECK(mprotect(pages + 40 * PAGE, PAGE, PROT_NONE) == 0);
    CHECK(munmap(pages + 50 * PAGE, PAGE) == 0);
    for (int n = 0; n < 2; n++) {
        leave();
        CHECK(madvise(pages, 40 * PAGE, both[n]) == 0);
        CHECK(madvise(pages, 45 * PAGE, both[n]) == -1 && errno == EINVAL);
        CHECK(madvise(pages + 41 * PAGE, 20 * PAGE, both[n]) == -1 && errno == ENOMEM);
    }
    for (int n = 0; n < 32; n++)
        CHECK(pages[n * PAGE] == (char)n);
    for (int n = 32; n < 40; n++)
        CHECK(pages[n * PAGE] == 0);
}

/* Queues of POSIX. */
static void queues(void) {
    char name[40];
    snprintf(name, sizeof name, "/sluice-abuse-%d", getpid());
    struct mq_attr kind = {.mq_maxmsg = 2, .mq_msgsize = 100};
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &kind);
    CHECK(queue != (mqd_t)-1 && mq_unlink(name) == 0);
    char *sent = missing(50), *got = missing(50);
    unsigned *rank = missing(PAGE);
    struct timespec *until = missing(8);
    for (int timed = 0; timed < 2; timed++) {
        strcpy(sent, "of the heap");
        memset(got, 0, 100), *rank = 0;
        until->tv_sec = time(NULL) + 20;
        leave();
        CHECK((timed ? mq_timedsend(queue, sent, 100, 3, until)
                     : mq_send(queue, sent, 100, 3)) == 0);
        leave();
        CHECK((timed ? mq_timedreceive(queue, got, 100, rank, until)
                     : mq_receive(queue, got, 100, rank)) == 100);
        CHECK(strcmp(got, "of the heap") == 0 && *rank == 3);
    }
}

/* Up to 256 bytes are had at once. Eight of them are zero by chance once in 10^19 runs. */
static void random_bytes(void) {
    for (int way = 0; way < 2; way++) {
        char *bytes = missing(100), none[8] = {0};
        leave();
        CHECK(*(volatile char *)bytes == 0);
        CHECK(way == 0 ? getrandom(bytes, 256, 0) == 256 : getentropy(bytes, 256) == 0);
        for (int at = 0; at < 256; at += 8)
            CHECK(memcmp(bytes + at, none, 8) != 0);
    }
}

/* A set may be longer than its type. */
static void sets(void) {
    struct rlimit numbers;
    CHECK(getrlimit(RLIMIT_NOFILE, &numbers) == 0 && numbers.rlim_max > FAR + 100);
    numbers.rlim_cur = numbers.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &numbers) == 0);
    int zeros = open("/dev/zero", O_RDONLY), far = fcntl(zeros, F_DUPFD, FAR);
    CHECK(far >= FAR);
    unsigned long *set = missing(128), *bits = set + far / 64;
    *bits = 1ul << far % 64;
    leave();
    struct timeval longest = {0, 0};
    CHECK(select(far + 1, (fd_set *)set, NULL, NULL, &longest) == 1);
    CHECK(*bits == 1ul << far % 64);
}

/* The kernel's count is 0 afterwards. */
static void counts(void) {
    int counter = eventfd(7, EFD_NONBLOCK);
    eventfd_t *value = missing(4);
    leave();
    CHECK(eventfd_read(counter, value) == 0 && *value == 7);
    CHECK(eventfd_read(counter, value) == -1 && errno == EAGAIN);
}

static pid_t ended_child(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(3);
    siginfo_t about;
    CHECK(waitid(P_PID, child, &about, WEXITED | WNOWAIT) == 0);
    return child;
}

/* Children and signals, by the numbers of the calls. */
static void numbers(void) {
    int *status = missing(2);
    struct rusage *used = missing(40);
    siginfo_t *about = missing(20);
    pid_t child = ended_child();
    leave();
    CHECK(syscall(SYS_wait4, child, status, 0, used) == child && WEXITSTATUS(*status) == 3);
    child = ended_child();
    leave();
    CHECK(syscall(SYS_waitid, P_PID, child, about, WEXITED, used) == 0);
    CHECK(about->si_pid == child && about->si_status == 3);
    CHECK(syscall(SYS_waitid, P_PID, child, NULL, WEXITED, NULL) == -1 && errno == ECHILD);
    uint64_t *set = missing(4);
    struct timespec *longest = missing(8);
    *set = 1ull << (SIGUSR1 - 1), longest->tv_sec = 5;
    CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, set, NULL, 8) == 0 && raise(SIGUSR1) == 0);
    leave();
    CHECK(syscall(SYS_rt_sigtimedwait, set, about, longest, 8) == SIGUSR1);
    CHECK(about->si_signo == SIGUSR1 && longest->tv_sec == 5);
    longest->tv_sec = 0;
    CHECK(syscall(SYS_rt_sigtimedwait, set, about, longest, 8) == -1 && errno == EAGAIN);
    CHECK(syscall(SYS_rt_sigtimedwait, set, about, longest, 9) == -1 && errno == EINVAL);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*part)(void);
    } parts[] = {{"error", error}, {"room", room}, {"messages", messages}, {"queues", queues},
                 {"random", random_bytes}, {"sets", sets},
                 {"semaphores", semaphores}, {"populated", populated},
                 {"counts", counts}, {"numbers", numbers}};
    limit(25);
    CHECK(argc == 2);
    words = filled(PAGES);
    for (size_t n = 0; n < sizeof parts / sizeof *parts; n++) {
        if (strcmp(parts[n].name, argv[1]) == 0) {
            parts[n].part();
            puts("well");
            return 0;
        }
    }
    return 2;
}
