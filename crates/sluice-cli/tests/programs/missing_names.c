/* Functions of the C library whose arguments are on pages that have left, by all their names. */
#include "missing.h"
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <grp.h>
#include <limits.h>
#include <mntent.h>
#include <mqueue.h>
#include <net/if.h>
#include <netdb.h>
#include <nl_types.h>
#include <pthread.h>
#include <pty.h>
#include <resolv.h>
#include <sched.h>
#include <wordexp.h>
#include <sys/epoll.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <threads.h>
#include <utmpx.h>

static char folder[] = "/tmp/sluice-missing-XXXXXX";

/* A path in the folder, off the device. */
static const char *in_folder(const char *name) {
    static char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* What programs call that are built with `_FORTIFY_SOURCE`. */
int __open_2(const char *, int), __open64_2(const char *, int);
int __openat_2(int, const char *, int), __openat64_2(int, const char *, int);
ssize_t __readlink_chk(const char *, char *, size_t, size_t);
ssize_t __readlinkat_chk(int, const char *, char *, size_t, size_t);
char *__getcwd_chk(char *, size_t, size_t), *__getwd_chk(char *, size_t);

static void checked(void) {
    CHECK(__open_2(text("/dev/null"), O_RDONLY) >= 0);
    CHECK(__open64_2(text("/dev/null"), O_RDONLY) >= 0);
    CHECK(__openat_2(AT_FDCWD, text("/dev/null"), O_RDONLY) >= 0);
    CHECK(__openat64_2(AT_FDCWD, text("/dev/null"), O_RDONLY) >= 0);
    CHECK(__open_2(text("/dev/none"), O_RDONLY) == -1 && errno == ENOENT);
    char own[PATH_MAX], none[PATH_MAX] = {0}, *to = gone(none, sizeof none);
    ssize_t bytes = readlink("/proc/self/exe", own, sizeof own);
    CHECK(__readlink_chk(text("/proc/self/exe"), to, 100, PATH_MAX) == (bytes > 100 ? 100 : bytes));
    to = gone(none, sizeof none);
    CHECK(__readlinkat_chk(-1, text("/proc/self/exe"), to, PATH_MAX, PATH_MAX) == bytes);
    CHECK(bytes > 0 && memcmp(to, own, bytes) == 0);
    CHECK(getcwd(own, sizeof own));
    to = gone(none, sizeof none);
    CHECK(__getcwd_chk(to, PATH_MAX, PATH_MAX) == to && strcmp(to, own) == 0);
    to = gone(none, sizeof none);
    CHECK(__getwd_chk(to, PATH_MAX) == to && strcmp(to, own) == 0);
}

#ifdef __x86_64__
/* What programs were linked with that are older than version 2.33 of the C library. */
__asm__(".symver old_stat, __xstat@GLIBC_2.2.5\n.symver old_stat64, __xstat64@GLIBC_2.2.5\n"
        ".symver old_lstat, __lxstat@GLIBC_2.2.5\n.symver old_lstat64, __lxstat64@GLIBC_2.2.5\n"
        ".symver old_fstat, __fxstat@GLIBC_2.2.5\n.symver old_fstat64, __fxstat64@GLIBC_2.2.5\n"
        ".symver old_at, __fxstatat@GLIBC_2.4\n.symver old_at64, __fxstatat64@GLIBC_2.4\n"
        ".symver old_mknod, __xmknod@GLIBC_2.2.5\n.symver old_mknodat, __xmknodat@GLIBC_2.4\n");
typedef int of_path(int, const char *, struct stat *);
typedef int of_file(int, int, struct stat *);
typedef int of_both(int, int, const char *, struct stat *, int);
of_path old_stat, old_stat64, old_lstat, old_lstat64;
of_file old_fstat, old_fstat64;
of_both old_at, old_at64;
int old_mknod(int, const char *, mode_t, dev_t *);
int old_mknodat(int, int, const char *, mode_t, dev_t *);

static int is_same(int result, const struct stat *own, const struct stat *got) {
    return result == 0 && own->st_ino == got->st_ino && own->st_mode == got->st_mode &&
           own->st_nlink == got->st_nlink && own->st_size == got->st_size;
}

static void old(void) {
    of_path *following[] = {old_stat, old_stat64}, *of_links[] = {old_lstat, old_lstat64};
    of_file *of_files[] = {old_fstat, old_fstat64};
    of_both *of_any[] = {old_at, old_at64};
    const char *link = "/proc/self/exe", *task = "/proc/self/task";
    struct stat target, own, threads, *got;
    CHECK(stat(link, &target) == 0 && lstat(link, &own) == 0 && stat(task, &threads) == 0);
    int fd = open("/proc/self/task", O_RDONLY);
    for (int n = 0; n < 2; n++) {
        got = ROOM(struct stat);
        CHECK(is_same(following[n](1, text(link), got), &target, got));
        got = ROOM(struct stat);
        CHECK(is_same(of_links[n](1, text(link), got), &own, got));
        got = ROOM(struct stat);
        CHECK(is_same(of_files[n](1, fd, got), &threads, got));
        got = ROOM(struct stat);
        CHECK(is_same(of_any[n](1, -1, text(task), got, 0), &threads, got));
        CHECK(following[n](5, text(link), got) == -1 && errno == EINVAL);
        CHECK(of_files[n](1, -100, got) == -1 && errno == EBADF);
    }
    dev_t none = 0;
    CHECK(old_mknod(0, text(in_folder("one")), S_IFIFO | 0600, &none) == 0);
    CHECK(old_mknodat(0, -1, text(in_folder("two")), S_IFIFO | 0600, &none) == 0);
    CHECK(unlink(in_folder("one")) == 0 && unlink(in_folder("two")) == 0);
    CHECK(old_mknod(9, in_folder("one"), S_IFIFO | 0600, &none) == -1 && errno == EINVAL);
}
#else
static void old(void) {
}
#endif

static void paths(void) {
    CHECK(mkfifoat(-1, text(in_folder("one")), 0600) == 0);
    CHECK(mknodat(-1, text(in_folder("two")), S_IFIFO | 0600, 0) == 0);
    CHECK(unlink(in_folder("one")) == 0 && unlink(in_folder("two")) == 0);
    CHECK(close(creat(in_folder("file"), 0600)) == 0);
    CHECK(lchmod(text(in_folder("file")), 0640) == 0);
    struct timeval then[2] = {{1000, 0}, {2000, 0}};
    CHECK(futimesat(-1, text(in_folder("file")), then) == 0);
    struct stat status;
    CHECK(stat(in_folder("file"), &status) == 0);
    CHECK((status.st_mode & 07777) == 0640 && status.st_mtime == 2000);
    CHECK(pathconf(text(folder), _PC_NAME_MAX) == 255);
    CHECK(ftok(text(folder), 7) == ftok(folder, 7) && ftok(folder, 7) != -1);
    int watch = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY);
    if (watch >= 0)
        CHECK(fanotify_mark(watch, FAN_MARK_ADD, FAN_MODIFY, -1, text(in_folder("file"))) == 0);
    union {
        struct file_handle head;
        char bytes[140];
    } own = {.head.handle_bytes = 128}, *got = gone(&own, sizeof own);
    int mount, *at = ROOM(int);
    int named = name_to_handle_at(AT_FDCWD, folder, &own.head, &mount, 0);
    CHECK(name_to_handle_at(AT_FDCWD, text(folder), &got->head, at, 0) == named);
    CHECK(named == -1 || (*at == mount && memcmp(got, &own, sizeof own) == 0));
    int opened = open_by_handle_at(AT_FDCWD, &own.head, O_RDONLY), error = errno;
    int again = open_by_handle_at(AT_FDCWD, gone(&own, sizeof own), O_RDONLY);
    CHECK(opened >= 0 ? again >= 0 : errno == error);
    CHECK(unsetenv("TMPDIR") == 0);
    char *chosen = tempnam(text(folder), "begin");
    CHECK(chosen && strncmp(chosen, folder, strlen(folder)) == 0);
    struct dirent **found;
    CHECK(scandir(text(folder), &found, NULL, alphasort) == 3);
    CHECK(scandirat(-1, text(folder), &found, NULL, alphasort) == 3);
    CHECK(strcmp(found[2]->d_name, "file") == 0);
    CHECK(setmntent(text("/proc/self/mounts"), "r") != NULL);
    CHECK(catopen(text(in_folder("none")), 0) == (nl_catd)-1 && errno == ENOENT);
    FILE *stream = fopen("/dev/zero", "r");
    CHECK(stream && (stream = freopen(text("/dev/null"), "r", stream)) && fgetc(stream) == EOF);
    CHECK((stream = freopen64(text("/dev/zero"), "r", stream)) && fgetc(stream) == 0);
    CHECK(!freopen(text("/dev/none"), "r", stream) && errno == ENOENT);
}

int __mq_open_2(const char *, int);

static void queues(void) {
    char name[40];
    snprintf(name, sizeof name, "/sluice-missing-%d", getpid());
    struct mq_attr kind = {.mq_maxmsg = 3, .mq_msgsize = 100}, *got = ROOM(struct mq_attr);
    mqd_t queue = mq_open(text(name), O_CREAT | O_RDWR, 0600, gone(&kind, sizeof kind));
    CHECK(queue != -1 && __mq_open_2(text(name), O_RDONLY) != -1 && mq_unlink(text(name)) == 0);
    CHECK(mq_getattr(queue, got) == 0 && got->mq_maxmsg == 3 && got->mq_msgsize == 100);
    kind.mq_flags = O_NONBLOCK;
    got = ROOM(struct mq_attr);
    CHECK(mq_setattr(queue, gone(&kind, sizeof kind), got) == 0);
    CHECK(got->mq_flags == 0 && got->mq_maxmsg == 3);
    CHECK(mq_getattr(queue, got) == 0 && got->mq_flags == O_NONBLOCK);
}

int __sched_getparam(pid_t, struct sched_param *);
int __sched_setscheduler(pid_t, int, const struct sched_param *);
int __adjtimex(struct timex *), capget(void *, void *), capset(void *, const void *);
int __getgroups_chk(int, gid_t *, size_t);

/* Of which only some may say what they are. */
static void groups(void) {
    gid_t all[300], none[300] = {0}, *got = gone(none, sizeof none);
    for (int n = 0; n < 300; n++)
        all[n] = 1000 + n;
    CHECK(setgroups(300, gone(all, sizeof all)) == 0 || errno == EPERM);
    int n = getgroups(300, all);
    CHECK(__getgroups_chk(300, got, sizeof all) == n && memcmp(all, got, n * sizeof *got) == 0);
}

static void asked(void) {
    uid_t *ids[] = {ROOM(uid_t), ROOM(uid_t), ROOM(uid_t)};
    CHECK(getresuid(ids[0], ids[1], ids[2]) == 0 && *ids[0] == getuid() && *ids[1] == geteuid());
    gid_t *groups[] = {ROOM(gid_t), ROOM(gid_t), ROOM(gid_t)};
    CHECK(getresgid(groups[0], groups[1], groups[2]) == 0 && *groups[2] == getgid());
    uint32_t head[2] = {0x20080522, 0}, sets[6], none[6] = {0}, *got = gone(none, sizeof none);
    CHECK(capget(head, sets) == 0 && capget(gone(head, 8), got) == 0);
    CHECK(memcmp(sets, got, sizeof sets) == 0);
    CHECK(capset(gone(head, 8), gone(sets, sizeof sets)) == 0);
    sigset_t held, *pending = ROOM(sigset_t);
    CHECK(sigemptyset(&held) == 0 && sigaddset(&held, SIGUSR1) == 0);
    CHECK(sigprocmask(SIG_BLOCK, &held, NULL) == 0 && raise(SIGUSR1) == 0);
    CHECK(sigpending(pending) == 0 && sigismember(pending, SIGUSR1) == 1);
    struct sched_param *rank = GONE(struct sched_param, {7});
    CHECK(sched_getparam(0, rank) == 0 && rank->sched_priority == 0);
    CHECK(__sched_getparam(0, rank = GONE(struct sched_param, {7})) == 0);
    CHECK(rank->sched_priority == 0 && sched_setparam(0, ROOM(struct sched_param)) == 0);
    CHECK(sched_setscheduler(0, SCHED_OTHER, ROOM(struct sched_param)) == 0);
    CHECK(__sched_setscheduler(0, SCHED_OTHER, ROOM(struct sched_param)) == 0);
    pthread_t self = pthread_self();
    CHECK(pthread_setschedparam(self, SCHED_OTHER, ROOM(struct sched_param)) == 0);
    CHECK(sched_setparam(0, GONE(struct sched_param, {7})) == -1 && errno == EINVAL);
    struct statfs *system = ROOM(struct statfs), own;
    int shm = open("/dev/shm", O_RDONLY);
    CHECK(fstatfs(shm, &own) == 0 && fstatfs(shm, system) == 0 && system->f_type == own.f_type);
    CHECK(fstatfs64(shm, (void *)(system = ROOM(struct statfs))) == 0);
    CHECK(system->f_type == own.f_type);
    char room[5000] = {0}, *entries = gone(room, sizeof room);
    off_t at = 0;
    int here = open("/proc/self", O_RDONLY);
    CHECK(getdirentries64(here, entries, sizeof room, &at) > 0);
    struct dirent *first = (void *)entries;
    CHECK(strcmp(first->d_name, ".") == 0);
    int logged = klogctl(3, room, sizeof room);
    CHECK((klogctl(3, gone(room, sizeof room), sizeof room) < 0) == (logged < 0));
#ifdef __x86_64__
    int arch_prctl(int, unsigned long *);
    unsigned long *base = ROOM(unsigned long);
    CHECK(arch_prctl(0x1003, base) == 0 && *base != 0);
#endif
}

static void clocks(void) {
    clockid_t process;
    CHECK(clock_getcpuclockid(getpid(), &process) == 0);
    clockid_t all[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, process, CLOCK_REALTIME};
    struct timespec *now;
    for (int n = 0; n < 4; n++) {
        CHECK(clock_gettime(all[n], now = ROOM(struct timespec)) == 0);
        CHECK(now->tv_sec > 0 || now->tv_nsec > 0);
        CHECK(clock_getres(all[n], now = ROOM(struct timespec)) == 0 && now->tv_nsec > 0);
    }
    CHECK(clock_gettime(12345, now) == -1 && errno == EINVAL);
    CHECK(sched_rr_get_interval(0, now = ROOM(struct timespec)) == 0);
    struct timex *of = ROOM(struct timex);
    CHECK(adjtimex(of) >= 0 && of->tick > 0);
    CHECK(__adjtimex(of = ROOM(struct timex)) >= 0 && of->tick > 0);
    CHECK(ntp_adjtime(of = ROOM(struct timex)) >= 0 && of->tick > 0);
    CHECK(clock_adjtime(CLOCK_REALTIME, of = ROOM(struct timex)) >= 0 && of->tick > 0);
    struct tms *used = ROOM(struct tms);
    errno = 0;
    CHECK(times(used) > 0 && errno == 0 && used->tms_utime >= 0);
    CHECK(thrd_sleep(GONE(struct timespec, {0, 1000}), ROOM(struct timespec)) == 0);
    CHECK(thrd_sleep(GONE(struct timespec, {0, -1}), NULL) == -2);
    struct sigevent silent = {.sigev_notify = SIGEV_NONE};
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &silent, &timer) == 0);
    struct itimerspec later = {{0, 0}, {1000, 0}}, *old = ROOM(struct itimerspec);
    CHECK(timer_settime(timer, 0, &later, old) == 0 && old->it_value.tv_sec == 0);
    old = ROOM(struct itimerspec);
    CHECK(timer_settime(timer, 0, gone(&later, sizeof later), old) == 0);
    CHECK(old->it_value.tv_sec >= 900);
}

static void *short_life(void *unused) {
    usleep(20000);
    return unused;
}

static pthread_t thread(void) {
    pthread_t made;
    CHECK(pthread_create(&made, NULL, short_life, NULL) == 0);
    return made;
}

/* The C library ends the program where the kernel cannot read the time. */
static void joins(void) {
    struct timespec until = {time(NULL) + 20, 0};
    CHECK(pthread_timedjoin_np(thread(), NULL, gone(&until, sizeof until)) == 0);
    CHECK(pthread_clockjoin_np(thread(), NULL, CLOCK_REALTIME, gone(&until, sizeof until)) == 0);
}

static void records(void) {
    struct winsize size = {17, 23, 0, 0}, got;
    int owner, other;
    CHECK(openpty(&owner, &other, NULL, NULL, gone(&size, sizeof size)) == 0);
    CHECK(ioctl(owner, TIOCGWINSZ, &got) == 0 && got.ws_row == 17 && got.ws_col == 23);
    pid_t child = forkpty(&owner, NULL, NULL, gone(&size, sizeof size));
    if (child == 0)
        _exit(ioctl(0, TIOCGWINSZ, &got) != 0 || got.ws_row != 17 || got.ws_col != 23);
    child_was_well(child);
    struct utmpx entry = {.ut_type = USER_PROCESS, .ut_id = "abc", .ut_user = "somebody"};
    CHECK(close(creat(in_folder("users"), 0600)) == 0 && utmpxname(in_folder("users")) == 0);
    setutxent();
    CHECK(pututxline(gone(&entry, sizeof entry)) != NULL);
    CHECK(close(creat(in_folder("file"), 0600)) == 0);
    updwtmpx(in_folder("file"), gone(&entry, sizeof entry));
    struct stat status;
    CHECK(stat(in_folder("users"), &status) == 0 && status.st_size == sizeof entry);
    CHECK(stat(in_folder("file"), &status) == 0 && status.st_size == sizeof entry);
    int caller = socket(AF_INET, SOCK_DGRAM, 0);
    char own[2000] = {0}, *at = gone(own, sizeof own);
    struct ifconf all = {.ifc_len = sizeof own, .ifc_buf = own};
    struct ifconf some = {.ifc_len = sizeof own, .ifc_buf = at};
    CHECK(ioctl(caller, SIOCGIFCONF, &all) == 0 && ioctl(caller, SIOCGIFCONF, &some) == 0);
    CHECK(all.ifc_len > 0 && some.ifc_len == all.ifc_len && memcmp(own, at, all.ifc_len) == 0);
    some = (struct ifconf){.ifc_len = sizeof own, .ifc_buf = at = gone(own, sizeof own)};
    struct ifconf *where = gone(&some, sizeof some);
    CHECK(ioctl(caller, SIOCGIFCONF, where) == 0 && where->ifc_len == all.ifc_len);
}

#define ADDRESSES 800

/* A server of names: each has many addresses. */
static void *serve(void *socket) {
    unsigned char packet[16 * ADDRESSES + 600];
    struct sockaddr_in from;
    for (;;) {
        socklen_t length = sizeof from;
        ssize_t bytes = recvfrom(*(int *)socket, packet, 600, 0, (void *)&from, &length);
        CHECK(bytes > 12);
        const unsigned char head[] = {0x85, 0x80, 0, 1, ADDRESSES >> 8, ADDRESSES & 255, 0, 0, 0};
        memcpy(packet + 2, head, sizeof head), packet[11] = 0;
        for (int n = 0; n < ADDRESSES; n++, bytes += 16) {
            const unsigned char one[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 10, 9, n >> 8, n};
            memcpy(packet + bytes, one, sizeof one);
        }
        CHECK(sendto(*(int *)socket, packet, bytes, 0, (void *)&from, length) == bytes);
    }
    return NULL;
}

static void names(void) {
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof where;
    int server = socket(AF_INET, SOCK_DGRAM, 0);
    pthread_t thread;
    CHECK(bind(server, (void *)&where, sizeof where) == 0 && res_init() == 0);
    CHECK(getsockname(server, (void *)&where, &length) == 0);
    CHECK(pthread_create(&thread, NULL, serve, &server) == 0);
    _res.nscount = 1, _res.nsaddr_list[0] = where, _res.retry = 1, _res.retrans = 2;
    unsigned char none[20000] = {0}, *got = gone(none, sizeof none), asked[600];
    int most = sizeof none, bytes = res_query("many.test", C_IN, T_A, got, most);
    CHECK(bytes > 16 * ADDRESSES && got[bytes - 1] == (ADDRESSES - 1) % 256);
    got = gone(none, sizeof none);
    CHECK(res_nquery(&_res, "many.test", C_IN, T_A, got, most) == bytes);
    CHECK(res_search("many.test.", C_IN, T_A, got = gone(none, sizeof none), most) == bytes);
    CHECK(res_querydomain("many", "test", C_IN, T_A, got = gone(none, sizeof none), most) == bytes);
    int question = res_mkquery(QUERY, "many.test", C_IN, T_A, NULL, 0, NULL, asked, sizeof asked);
    unsigned char *sent = gone(asked, sizeof asked);
    CHECK(res_send(sent, question, got = gone(none, sizeof none), most) == bytes);
    CHECK(got[bytes - 1] == (ADDRESSES - 1) % 256);
    struct addrinfo kind = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *all;
    CHECK(getaddrinfo("many.test", NULL, &kind, &all) == 0);
    size_t count = 0;
    for (struct addrinfo *one = all; one; one = one->ai_next)
        count++;
    freeaddrinfo(all);
    struct hostent *host = gethostbyname("many.test");
    CHECK(count == ADDRESSES && host && host->h_addr_list[ADDRESSES - 1]);
}

static volatile sig_atomic_t handled;

static void handle(int signal) {
    CHECK(madvise(words, PAGE, MADV_PAGEOUT) == 0 && wrong(words, 1) == 0);
    handled = signal;
}

int __sigpause(int, int), old_pause(int) __asm__("sigpause");

/* A signal that is held back comes when the call opens the mask. Its handler misses. */
static void pauses(void) {
    int held = 1 << (SIGUSR1 - 1);
    sigset_t set;
    CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
    CHECK(signal(SIGUSR1, handle) != SIG_ERR);
    for (int way = 0; way < 3; way++) {
        handled = 0;
        CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && raise(SIGUSR1) == 0 && !handled);
        CHECK((way == 0   ? old_pause(~held)
               : way == 1 ? __sigpause(~held, 0)
                          : __sigpause(SIGUSR1, 1)) == -1);
        CHECK(errno == EINTR && handled == SIGUSR1);
    }
}

/* The C library keeps the status of each file in memory of its own, and asks for it again there. */
static void walks(void) {
    enum { FILES = 1000 };
    char name[64], *where[] = {folder, NULL};
    for (int n = 0; n < FILES; n++) {
        snprintf(name, sizeof name, "%s/%d", folder, n);
        CHECK(close(creat(name, 0600)) == 0);
    }
    FTS *walk = fts_open(where, FTS_PHYSICAL, NULL);
    CHECK(walk);
    int seen = 0;
    for (FTSENT *at; (at = fts_read(walk));) {
        CHECK(at->fts_info == FTS_F || at->fts_info == FTS_D || at->fts_info == FTS_DP);
        if (at->fts_info != FTS_F)
            continue;
        CHECK(madvise((char *)at - (uintptr_t)at % PAGE, 2 * PAGE, MADV_PAGEOUT) == 0);
        CHECK(fts_set(walk, at, FTS_AGAIN) == 0);
        CHECK(fts_read(walk) == at && at->fts_info == FTS_F);
        seen++;
        CHECK((at->fts_statp->st_mode & 07777) == 0600 && unlink(at->fts_accpath) == 0);
    }
    CHECK(seen == FILES && fts_close(walk) == 0);
}

/* A shell is started with words of the C library's own, past every hook. */
static void expanded(void) {
    wordexp_t found;
    CHECK(wordexp("a `echo /`", &found, 0) == 0 && found.we_wordc == 2);
    char *word = found.we_wordv[1];
    CHECK(madvise(word - (uintptr_t)word % PAGE, PAGE, MADV_PAGEOUT) == 0);
#ifdef __x86_64__
    long answer;
    asm volatile("syscall"
                 : "=a"(answer)
                 : "a"(SYS_access), "D"(word), "S"(F_OK)
                 : "rcx", "r11", "memory");
    CHECK(answer == 0);
#endif
    CHECK(strcmp(word, "/") == 0);
    wordfree(&found);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"checked", checked}, {"old", old}, {"paths", paths}, {"queues", queues},
        {"groups", groups}, {"asked", asked}, {"clocks", clocks}, {"joins", joins},
        {"records", records}, {"pauses", pauses}, {"names", names},
        {"walks", walks}, {"words", expanded}
    };
    limit(25);
    CHECK(argc == 2 && mkdtemp(folder));
    int status = RUN_PART(parts, argv[1]);
    unlink(in_folder("file"));
    unlink(in_folder("users"));
    CHECK(rmdir(folder) == 0);
    return status;
}
