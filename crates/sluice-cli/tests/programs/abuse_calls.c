/* System calls with memory that has left: by their numbers, and ones that hold little of it. */
#include "abuse.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>

#define PAGES 2048u
#define BYTES 100000u

static uint64_t *words;

/* Memory at the end of one page and the start of the next, of which neither is there. */
static void *missing(size_t before, size_t bytes) {
    char *pages = aligned_alloc(PAGE, 2 * PAGE + (bytes + PAGE - 1) / PAGE * PAGE);
    CHECK(pages);
    memset(pages, 0, 2 * PAGE + bytes);
    return pages + PAGE - before;
}

static void leave(void) {
    CHECK(wrong(words, PAGES) == 0);
}

static void numbered(char *bytes, size_t n) {
    for (size_t at = 0; at < n; at++)
        bytes[at] = (char)(at * 7 + at / 251);
}

static int is_numbered(const char *bytes, size_t n) {
    for (size_t at = 0; at < n; at++)
        if (bytes[at] != (char)(at * 7 + at / 251))
            return 0;
    return 1;
}

/* As libuv sends and receives datagrams: one that meets a missing page is lost. */
static void datagrams(void) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    struct mmsghdr *list = missing(20, 2 * sizeof *list);
    struct iovec *parts = missing(8, 2 * sizeof *parts);
    char *sent = missing(500, 20000), *got = missing(500, 20000);
    numbered(sent, 20000);
    for (int way = 0; way < 2; way++) {
        for (int n = 0; n < 2; n++) {
            parts[n] = (struct iovec){(way ? got : sent) + n * 10000, 10000};
            memset(&list[n], 0, sizeof list[n]);
            list[n].msg_hdr.msg_iov = &parts[n], list[n].msg_hdr.msg_iovlen = 1;
        }
        leave();
        long moved = way ? syscall(SYS_recvmmsg, ends[1], list, 2, MSG_DONTWAIT, NULL)
                         : syscall(SYS_sendmmsg, ends[0], list, 2, 0);
        CHECK(moved == 2 && list[0].msg_len == 10000 && list[1].msg_len == 10000);
    }
    CHECK(is_numbered(got, 20000));
    CHECK(syscall(SYS_recvmmsg, ends[1], list, 2, MSG_DONTWAIT, NULL) == -1 && errno == EAGAIN);
}

static void files(void) {
    int file = memfd_create("file", 0);
    char *sent = missing(500, BYTES), *got = missing(500, BYTES);
    struct iovec *part = missing(8, sizeof *part);
    numbered(sent, BYTES);
    leave();
    CHECK(syscall(SYS_pwrite64, file, sent, BYTES, 0) == BYTES);
    leave();
    CHECK(syscall(SYS_pread64, file, got, BYTES, 0) == BYTES && is_numbered(got, BYTES));
    memset(got, 0, BYTES);
    *part = (struct iovec){got, BYTES};
    leave();
    CHECK(syscall(SYS_preadv, file, part, 1, 0, 0) == BYTES && is_numbered(got, BYTES));
    CHECK(syscall(SYS_read, 10000, got, BYTES) == -1 && errno == EBADF);
}

/* Pages may leave while they are in the pipe, and are written afterwards. */
static void pipes(void) {
    int ends[2];
    CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) >= (int)BYTES);
    char *sent = missing(500, BYTES), *got = missing(500, BYTES);
    struct iovec *parts = missing(8, 2 * sizeof *parts);
    numbered(sent, BYTES);
    parts[0] = (struct iovec){sent, 5000}, parts[1] = (struct iovec){sent + 5000, BYTES - 5000};
    leave();
    CHECK(vmsplice(ends[1], parts, 2, 0) == BYTES);
    leave();
    size_t done = 0;
    while (done < BYTES) {
        parts[0] = (struct iovec){got + done, BYTES - done};
        leave();
        ssize_t here = vmsplice(ends[0], parts, 1, 0);
        CHECK(here > 0);
        done += here;
    }
    CHECK(is_numbered(got, BYTES));
    CHECK(vmsplice(ends[0], parts, 1, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
}

/* The call moves the file offsets, which lie on missing pages, behind the bytes. */
static void places(void) {
    int from = memfd_create("from", 0), to = memfd_create("to", 0), ends[2];
    char bytes[3000] = {0};
    CHECK(write(from, bytes, sizeof bytes) == sizeof bytes && pipe(ends) == 0);
    off_t *at = missing(4, sizeof *at), *into = missing(4, sizeof *into);
    leave();
    CHECK(copy_file_range(from, at, to, into, 1000, 0) == 1000 && *at == 1000 && *into == 1000);
    leave();
    CHECK(sendfile(to, from, at, 500) == 500 && *at == 1500);
    leave();
    CHECK(splice(from, at, ends[1], NULL, 1000, 0) == 1000 && *at == 2500);
    leave();
    CHECK(splice(ends[0], NULL, to, into, 1000, 0) == 1000 && *into == 2000);
}

static void small_ones(void) {
    char *name = missing(3, 16), *other = missing(3, 16);
    int file = memfd_create("file", 0), lists = inotify_init();
    struct flock *lock = missing(8, sizeof *lock);
    lock->l_type = F_RDLCK;
    leave();
    CHECK(fcntl(file, F_SETLK, lock) == 0);
    leave();
    CHECK(fcntl(file, F_OFD_GETLK, lock) == 0 && lock->l_type == F_UNLCK);
    strcpy(name, "/dev/shm");
    leave();
    CHECK(inotify_add_watch(lists, name, IN_CREATE) > 0);
    struct statvfs *status = missing(8, sizeof *status);
    leave();
    CHECK(statvfs(name, status) == 0 && euidaccess(name, R_OK) == 0);
    strcpy(name, "user.name");
    leave();
    CHECK(fgetxattr(file, name, other, 16) == -1 && errno != EFAULT);
    strcpy(name, "thread");
    leave();
    CHECK(pthread_setname_np(pthread_self(), name) == 0);
    leave();
    CHECK(prctl(PR_GET_NAME, other) == 0 && strcmp(other, "thread") == 0);
    cpu_set_t *cpus = missing(8, sizeof *cpus);
    leave();
    CHECK(sched_getaffinity(0, sizeof *cpus, cpus) == 0 && CPU_COUNT(cpus) > 0);
    leave();
    CHECK(sched_setaffinity(0, sizeof *cpus, cpus) == 0);
    struct rlimit *most = missing(8, sizeof *most);
    leave();
    CHECK(getrlimit(RLIMIT_NOFILE, most) == 0 && most->rlim_cur > 0);
    struct sysinfo *about = missing(8, sizeof *about);
    leave();
    CHECK(sysinfo(about) == 0 && about->totalram > 0);
    int *ready = missing(2, sizeof *ready), ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], "abc", 3) == 3);
    leave();
    CHECK(ioctl(ends[0], FIONREAD, ready) == 0 && *ready == 3);
}

/* The allocator of the C library, by name: Python's `ctypes` does so. */
static void library(void) {
    void *library = dlopen("libc.so.6", RTLD_NOW);
    CHECK(library);
    void *(*by_handle)(size_t) = (void *(*)(size_t))dlsym(library, "malloc");
    void (*give)(void *) = (void (*)(void *))dlsym(library, "free");
    void *(*resize)(void *, size_t) = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    CHECK(by_handle && give && resize && !dlsym(library, "mallocs") && dlerror());
    for (size_t bytes = 10; bytes < 1000000; bytes *= 10) {
        char *one = malloc(bytes), *other = by_handle(bytes);
        CHECK(one && other);
        memset(one, 1, bytes), memset(other, 2, bytes);
        one = resize(one, 2 * bytes);
        CHECK(one && one[bytes - 1] == 1 && other[bytes - 1] == 2);
        give(one);
        free(other);
        give(strdup("text"));
    }
    leave();
}

#if defined __x86_64__
#define VERSION "GLIBC_2.2.5"
#else
#define VERSION "GLIBC_2.17"
#endif

/* By a version of the name, which no hook has. */
static void versions(void) {
    void *library = dlopen("libc.so.6", RTLD_NOW);
    CHECK(library);
    void *from[] = {RTLD_DEFAULT, RTLD_NEXT, library};
    for (int n = 0; n < 3; n++) {
        void *(*take)(size_t) = (void *(*)(size_t))dlvsym(from[n], "malloc", VERSION);
        void (*give)(void *) = (void (*)(void *))dlvsym(from[n], "free", VERSION);
        CHECK(take && give);
        CHECK(!dlvsym(from[n], "free", "GLIBC_1.9") && dlerror());
        CHECK(!dlvsym(from[n], "frees", VERSION) && dlerror());
        CHECK(dlvsym(from[n], "getpid", VERSION) == dlsym(library, "getpid"));
        for (size_t bytes = 10; bytes < 1000000; bytes *= 10) {
            char *one = malloc(bytes), *other = take(bytes);
            CHECK(one && other);
            memset(one, 1, bytes), memset(other, 2, bytes);
            give(one);
            free(other);
        }
    }
    leave();
}

/* The kernel sends frames from memory of the program's, which it takes beforehand. */
static void frames(void) {
    enum { FRAMES = 64, BYTES_OF_ONE = 1000 };
    uint16_t kind = htons((uint16_t)(0x9000 | (getpid() & 0xfff)));
    int out = socket(AF_XDP, SOCK_RAW, 0), in = socket(AF_PACKET, SOCK_RAW, kind);
    if (out < 0 || in < 0)
        return;
    unsigned char *memory = aligned_alloc(PAGE, FRAMES * PAGE), got[2 * BYTES_OF_ONE];
    memset(memory, 0, FRAMES * PAGE);
    CHECK(wrong(words, PAGES) == 0);
    struct xdp_umem_reg *given = missing(8, sizeof *given);
    *given = (struct xdp_umem_reg){(uintptr_t)memory, FRAMES * PAGE, PAGE, 0, 0};
    CHECK(wrong(words, PAGES) == 0);
    CHECK(setsockopt(out, SOL_XDP, XDP_UMEM_REG, given, sizeof *given) == 0);
    int places = FRAMES;
    for (int ring = XDP_TX_RING; ring <= XDP_UMEM_COMPLETION_RING; ring++)
        if (ring != XDP_UMEM_REG)
            CHECK(setsockopt(out, SOL_XDP, ring, &places, sizeof places) == 0);
    struct xdp_mmap_offsets at;
    socklen_t bytes = sizeof at;
    CHECK(getsockopt(out, SOL_XDP, XDP_MMAP_OFFSETS, &at, &bytes) == 0);
    size_t whole = at.tx.desc + FRAMES * sizeof(struct xdp_desc);
    char *ring = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, out, XDP_PGOFF_TX_RING);
    CHECK(ring != MAP_FAILED);
    unsigned loopback = if_nametoindex("lo");
    struct sockaddr_xdp from = {AF_XDP, XDP_COPY, loopback, 0, 0};
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_protocol = kind,
                             .sll_ifindex = (int)loopback};
    CHECK(bind(in, (void *)&to, sizeof to) == 0);
    CHECK(bind(out, (void *)&from, sizeof from) == 0);
    for (unsigned n = 0; n < FRAMES; n++) {
        unsigned char *frame = memory + n * PAGE;
        memset(frame, (int)n, BYTES_OF_ONE);
        memcpy(frame + 12, &kind, sizeof kind);
        CHECK(wrong(words, PAGES) == 0);
        ((struct xdp_desc *)(ring + at.tx.desc))[n] =
            (struct xdp_desc){n * PAGE, BYTES_OF_ONE, 0};
        __atomic_store_n((unsigned *)(ring + at.tx.producer), n + 1, __ATOMIC_RELEASE);
        CHECK(sendto(out, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0 || errno == EAGAIN);
        CHECK(recv(in, got, sizeof got, 0) == BYTES_OF_ONE);
        CHECK(memcmp(got, frame, BYTES_OF_ONE) == 0);
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*part)(void);
    } parts[] = {{"datagrams", datagrams}, {"files", files}, {"pipes", pipes},
                 {"places", places}, {"small", small_ones}, {"library", library},
                 {"versions", versions}, {"frames", frames}};
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
