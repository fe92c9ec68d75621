/* System calls by their numbers whose arguments are on pages that have left. */
#include "missing.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>

#ifdef __x86_64__
/* Those that newer systems have only in another form. */
static void older(void) {
    struct stat own, *got = ROOM(struct stat);
    CHECK(stat("/proc/self/exe", &own) == 0);
    CHECK(syscall(SYS_stat, text("/proc/self/exe"), got) == 0 && got->st_ino == own.st_ino);
    CHECK(syscall(SYS_lstat, text("/dev/fd"), ROOM(struct stat)) == 0);
    long file = syscall(SYS_open, text("/proc/self/task"), O_RDONLY);
    CHECK(file >= 0 && syscall(SYS_access, text("/dev/null"), R_OK) == 0);
    char entries[5000] = {0}, *list = gone(entries, sizeof entries);
    CHECK(syscall(SYS_getdents, file, list, sizeof entries) > 0);
    int *ends = gone(entries, 8);
    CHECK(syscall(SYS_pipe, ends) == 0 && write(ends[1], "x", 1) == 1);
    unsigned long bits = 1ul << ends[0], *set = gone(&bits, sizeof bits);
    CHECK(syscall(SYS_select, ends[0] + 1, set, NULL, NULL, ROOM(struct timeval)) == 1);
    CHECK(*set == bits && syscall(SYS_time, ROOM(time_t)) > 0);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 77}, *seen = gone(entries, 12);
    int all = epoll_create1(0);
    CHECK(syscall(SYS_epoll_ctl, all, EPOLL_CTL_ADD, ends[0], gone(&event, sizeof event)) == 0);
    CHECK(syscall(SYS_epoll_wait, all, seen, 1, 1000) == 1 && seen->data.u64 == 77);
}
#else
static void older(void) {
}
#endif

static void files(void) {
    struct stat own, *got = ROOM(struct stat);
    CHECK(stat("/proc/self/exe", &own) == 0);
    CHECK(syscall(SYS_newfstatat, AT_FDCWD, text("/proc/self/exe"), got, 0) == 0);
    CHECK(got->st_ino == own.st_ino && got->st_size == own.st_size);
    long file = syscall(SYS_openat, AT_FDCWD, text("/proc/self"), O_RDONLY);
    CHECK(syscall(SYS_fstat, file, got = ROOM(struct stat)) == 0 && S_ISDIR(got->st_mode));
    char none[5000] = {0}, *to = gone(none, sizeof none), here[5000];
    CHECK(syscall(SYS_getdents64, file, to, sizeof none) > 0);
    CHECK(strcmp(((struct dirent *)to)->d_name, ".") == 0 && getcwd(here, sizeof here));
    long bytes = syscall(SYS_getcwd, to = gone(none, sizeof none), sizeof none);
    CHECK(bytes == (long)strlen(here) + 1 && strcmp(here, to) == 0);
    long memory = syscall(SYS_memfd_create, text("name"), 0);
    CHECK(memory >= 0 && syscall(SYS_fstatfs, memory, to = gone(none, 200)) == 0);
    CHECK(syscall(SYS_fsetxattr, memory, text("user.a"), text("b"), 1, 0) == 0 || errno != EFAULT);
    int *ends = gone(none, 8);
    CHECK(syscall(SYS_pipe2, ends, O_CLOEXEC) == 0 && ends[0] > 0 && ends[1] > ends[0]);
    bytes = syscall(SYS_readlinkat, -1, text("/proc/self/exe"), to = gone(none, 5000), 5000);
    CHECK(bytes > 0 && bytes == readlink("/proc/self/exe", here, sizeof here));
    CHECK(memcmp(to, here, bytes) == 0 && syscall(SYS_openat, -1, text("/dev/none"), 0) == -1);
    CHECK(errno == ENOENT && syscall(SYS_openat, -1, (char *)8, 0) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_newfstatat, -1, text("/"), (char *)8, 0) == -1 && errno == EFAULT);
}

static void asked(void) {
    struct rusage *used = ROOM(struct rusage);
    CHECK(syscall(SYS_getrusage, RUSAGE_SELF, used) == 0 && used->ru_maxrss > 0);
    struct timeval *now = ROOM(struct timeval);
    CHECK(syscall(SYS_gettimeofday, now, ROOM(struct timezone)) == 0 && now->tv_sec > 0);
    struct timespec *of = ROOM(struct timespec);
    CHECK(syscall(SYS_clock_gettime, CLOCK_REALTIME, of) == 0 && of->tv_sec >= now->tv_sec);
    struct utsname *system = ROOM(struct utsname);
    CHECK(syscall(SYS_uname, system) == 0 && strcmp(system->sysname, "Linux") == 0);
    uid_t *ids[] = {ROOM(uid_t), ROOM(uid_t), ROOM(uid_t)};
    CHECK(syscall(SYS_getresuid, ids[0], ids[1], ids[2]) == 0 && *ids[2] == geteuid());
    cpu_set_t *cpus = ROOM(cpu_set_t);
    CHECK(syscall(SYS_sched_getaffinity, 0, sizeof *cpus, cpus) > 0 && CPU_COUNT(cpus) > 0);
    struct rlimit *most = ROOM(struct rlimit);
    CHECK(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, most) == 0 && most->rlim_cur > 0);
    errno = 0;
    CHECK(syscall(SYS_times, ROOM(struct tms)) > 0 && errno == 0);
    struct timex *clock = ROOM(struct timex);
    CHECK(syscall(SYS_adjtimex, clock) >= 0 && clock->tick > 0);
    CHECK(syscall(SYS_clock_adjtime, CLOCK_REALTIME, clock = ROOM(struct timex)) >= 0);
    CHECK(clock->tick > 0);
}

/* What a second try would not find as it was. */
static void taken(void) {
    struct itimerspec later = {{0, 0}, {1000, 0}}, *old = ROOM(struct itimerspec);
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    CHECK(syscall(SYS_timerfd_settime, timer, 0, &later, old) == 0 && old->it_value.tv_sec == 0);
    old = ROOM(struct itimerspec);
    CHECK(syscall(SYS_timerfd_settime, timer, 0, gone(&later, sizeof later), old) == 0);
    CHECK(old->it_value.tv_sec >= 900);
    struct itimerval soon = {{0, 0}, {1000, 0}}, *before = ROOM(struct itimerval);
    CHECK(syscall(SYS_setitimer, ITIMER_REAL, &soon, before) == 0 && before->it_value.tv_sec == 0);
    struct {
        long kind;
        char bytes[100];
    } sent = {7, "of the heap"}, none = {0, ""}, *got = gone(&none, sizeof none);
    int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    CHECK(syscall(SYS_msgsnd, queue, gone(&sent, sizeof sent), 100, 0) == 0);
    CHECK(syscall(SYS_msgrcv, queue, got, 100, 0, IPC_NOWAIT) == 100);
    CHECK(msgctl(queue, IPC_RMID, NULL) == 0 && memcmp(got, &sent, sizeof sent) == 0);
    char name[40];
    snprintf(name, sizeof name, "sluice-missing-%d", getpid());
    struct mq_attr kind = {.mq_maxmsg = 3, .mq_msgsize = 100}, *was = ROOM(struct mq_attr);
    struct mq_attr *made = gone(&kind, sizeof kind);
    long messages = syscall(SYS_mq_open, text(name), O_CREAT | O_RDWR, 0600, made);
    CHECK(messages >= 0 && syscall(SYS_mq_unlink, text(name)) == 0);
    kind.mq_flags = O_NONBLOCK;
    CHECK(syscall(SYS_mq_getsetattr, messages, &kind, was) == 0 && was->mq_flags == 0);
    unsigned *rank = ROOM(unsigned);
    CHECK(syscall(SYS_mq_timedsend, messages, text("abc"), 4, 3, NULL) == 0);
    char *letters = gone(none.bytes, 100);
    CHECK(syscall(SYS_mq_timedreceive, messages, letters, 100, rank, NULL) == 4);
    CHECK(strcmp(letters, "abc") == 0 && *rank == 3);
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof where, *size = GONE(socklen_t, {sizeof where});
    int door = socket(AF_INET, SOCK_STREAM, 0), caller = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(door, (void *)&where, sizeof where) == 0 && listen(door, 4) == 0);
    CHECK(getsockname(door, (void *)&where, &length) == 0);
    CHECK(syscall(SYS_connect, caller, gone(&where, sizeof where), sizeof where) == 0);
    struct sockaddr_in *from = ROOM(struct sockaddr_in);
    CHECK(syscall(SYS_accept, door, from, size) >= 0 && *size == sizeof where);
    CHECK(from->sin_addr.s_addr == where.sin_addr.s_addr && from->sin_port != 0);
}

struct awaited {
    uint64_t value, at;
    uint32_t flags, unused;
};

static void waits(void) {
    struct timespec *until = GONE(struct timespec, {0, 1000});
    CHECK(syscall(SYS_nanosleep, until, ROOM(struct timespec)) == 0);
    until = GONE(struct timespec, {0, 1000});
    CHECK(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, until, NULL) == 0);
    int counter = eventfd(1, 0), all = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 77}, *seen;
    CHECK(epoll_ctl(all, EPOLL_CTL_ADD, counter, &event) == 0);
    seen = ROOM(struct epoll_event);
    CHECK(syscall(SYS_epoll_pwait, all, seen, 1, 1000, NULL, 8) == 1 && seen->data.u64 == 77);
    seen = ROOM(struct epoll_event);
    until = GONE(struct timespec, {5, 0});
    long ready = syscall(SYS_epoll_pwait2, all, seen, 1, until, NULL, 8);
    CHECK(ready == 1 ? seen->data.u64 == 77 : errno == ENOSYS);
    seen = ROOM(struct epoll_event), until = GONE(struct timespec, {5, 0});
    CHECK(epoll_pwait2(all, seen, 1, until, NULL) == ready && seen->events == (ready == 1));
    struct pollfd *fds = GONE(struct pollfd, {counter, POLLIN, 0});
    CHECK(syscall(SYS_ppoll, fds, 1, GONE(struct timespec, {5, 0}), NULL, 8) == 1);
    CHECK(fds->revents == POLLIN);
    unsigned long bits = 1ul << counter, *set = gone(&bits, sizeof bits);
    until = GONE(struct timespec, {5, 0});
    CHECK(syscall(SYS_pselect6, counter + 1, set, NULL, NULL, until, NULL) == 1 && *set == bits);
    set = gone(&bits, sizeof bits), until = GONE(struct timespec, {0, 1000});
    CHECK(read(counter, &bits, 8) == 8);
    CHECK(syscall(SYS_pselect6, counter + 1, set, NULL, NULL, until, NULL) == 0 && *set == 0);
    /* Private words of 32 bits, which have other values, and then the ones that are awaited. */
    struct awaited both[2];
    for (int n = 0; n < 2; n++)
        both[n] = (struct awaited){5, (uintptr_t)GONE(uint32_t, {4 + n}), 2 | 128, 0};
    long told = syscall(449, gone(both, sizeof both), 2, 0, NULL, CLOCK_MONOTONIC);
    CHECK(told == -1 && (errno == EAGAIN || errno == ENOSYS));
    both[0].at = (uintptr_t)GONE(uint32_t, {5});
    both[1].at = (uintptr_t)GONE(uint32_t, {5});
    until = ROOM(struct timespec);
    told = syscall(449, gone(both, sizeof both), 2, 0, until, CLOCK_MONOTONIC);
    CHECK(told == -1 && (errno == ETIMEDOUT || errno == ENOSYS));
}

static volatile sig_atomic_t handled;

static void handle(int signal) {
    CHECK(madvise(words, PAGE, MADV_PAGEOUT) == 0 && wrong(words, 1) == 0);
    handled = signal;
}

/* A signal that is held back comes when the call opens the mask. Its handler misses. */
static void masks(void) {
    uint64_t held = 1ull << (SIGUSR1 - 1), others = ~held;
    int all = epoll_create1(0);
    struct epoll_event event;
    CHECK(signal(SIGUSR1, handle) != SIG_ERR);
    for (int way = 0; way < 5; way++) {
        struct timespec longest = {20, 0};
        uint64_t *mask = gone(&others, 8);
        struct {
            uint64_t *mask;
            size_t bytes;
        } set = {mask, 8};
        handled = 0;
        CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held, NULL, 8) == 0);
        CHECK(raise(SIGUSR1) == 0 && !handled);
        long told = way == 0   ? syscall(SYS_rt_sigsuspend, mask, 8)
                    : way == 1 ? syscall(SYS_ppoll, NULL, 0, &longest, mask, 8)
                    : way == 2 ? syscall(SYS_pselect6, 0, NULL, NULL, NULL, &longest,
                                         gone(&set, sizeof set))
                    : way == 3 ? syscall(SYS_epoll_pwait, all, &event, 1, 20000, mask, 8)
                               : syscall(SYS_epoll_pwait2, all, &event, 1, &longest, mask, 8);
        CHECK(told == -1 && (errno == EINTR || (way == 4 && errno == ENOSYS)));
        CHECK(handled == SIGUSR1 || errno == ENOSYS);
    }
    CHECK(syscall(SYS_rt_sigsuspend, &others, 9) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_ppoll, NULL, 0, NULL, &others, 9) == -1 && errno == EINVAL);
}

/* Two lists, each longer than most, of which the call reads and writes all or nothing. */
static void lists(void) {
    enum { COUNT = 60000 };
    char **addresses = calloc(COUNT, sizeof *addresses);
    int *told = calloc(COUNT, sizeof *told);
    CHECK(addresses && told);
    for (size_t n = 0; n < COUNT; n++)
        addresses[n] = (char *)(8 + n * PAGE);
    CHECK(wrong(words, 2048) == 0);
    long result = syscall(SYS_move_pages, 0, COUNT, addresses, NULL, told, 0);
    CHECK(result == 0 || errno == ENOSYS);
    for (size_t n = 0; n < COUNT; n++)
        CHECK(told[n] < 0 || result != 0);
    free(addresses);
    free(told);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"older", older}, {"files", files}, {"asked", asked}, {"taken", taken}, {"waits", waits},
        {"masks", masks}, {"lists", lists}
    };
    limit(25);
    CHECK(argc == 2);
    return RUN_PART(parts, argv[1]);
}
