/* Arguments on pages that have left with addresses of others inside of them. */
#include "missing.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

/* A program of the kernel's that lets all through, and lies on a page that has left. */
static struct sock_fprog filter(unsigned short length) {
    struct sock_filter all[2000];
    for (int n = 0; n < length; n++)
        all[n] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    return (struct sock_fprog){length, gone(all, length * sizeof *all)};
}

static void filters(void) {
    struct sock_fprog own;
    for (int way = 0; way < 4; way++) {
        int socket_of = socket(AF_INET, SOCK_DGRAM, 0);
        own = filter(way < 2 ? 3 : 2000);
        const void *at = way % 2 ? gone(&own, sizeof own) : &own;
        CHECK(setsockopt(socket_of, SOL_SOCKET, SO_ATTACH_FILTER, at, sizeof own) == 0);
        own = filter(3);
        at = gone(&own, sizeof own);
        CHECK(syscall(SYS_setsockopt, socket_of, 1, SO_ATTACH_FILTER, at, sizeof own) == 0);
        CHECK(close(socket_of) == 0);
    }
    for (int way = 0; way < 2; way++) {
        pid_t child = fork();
        if (child == 0) {
            limit(20);
            CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
            own = filter(2000);
            void *at = gone(&own, sizeof own);
            CHECK((way == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, at)
                            : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, at)) == 0);
            _exit(0);
        }
        child_was_well(child);
    }
}

/* For a process that may have such a table. */
static void tables(void) {
    union bpf_attr kind = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4,
                           .max_entries = 4};
    long table = syscall(SYS_bpf, BPF_MAP_CREATE, gone(&kind, sizeof kind), sizeof kind);
    CHECK(table >= 0 || errno == EPERM || errno == ENOSYS);
    if (table < 0)
        return;
    uint32_t *got = ROOM(uint32_t);
    union bpf_attr step = {.map_fd = table, .key = (uintptr_t)GONE(uint32_t, {3}),
                           .value = (uintptr_t)GONE(uint32_t, {77})};
    CHECK(syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, gone(&step, sizeof step), sizeof step) == 0);
    step.key = (uintptr_t)GONE(uint32_t, {3}), step.value = (uintptr_t)got;
    CHECK(syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, gone(&step, sizeof step), sizeof step) == 0);
    CHECK(*got == 77 && close(table) == 0);
}

/* A child that waits to be looked at. */
static pid_t traced(void) {
    pid_t child = fork();
    if (child == 0) {
        CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 && raise(SIGSTOP) == 0);
        _exit(0);
    }
    for (int status = 0;;) {
        CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
        if (WSTOPSIG(status) == SIGSTOP)
            return child;
        CHECK(ptrace(PTRACE_CONT, child, NULL, WSTOPSIG(status)) == 0);
    }
}

static void traces(void) {
    pid_t child = traced();
    struct user_regs_struct own, none = {0}, *got = gone(&none, sizeof none);
    struct iovec part = {&own, sizeof own};
    CHECK(ptrace(PTRACE_GETREGSET, child, 1, &part) == 0 && part.iov_len == sizeof own);
    part.iov_base = got;
    CHECK(ptrace(PTRACE_GETREGSET, child, 1, &part) == 0 && memcmp(got, &own, sizeof own) == 0);
    part.iov_base = got = gone(&none, sizeof none);
    struct iovec *where = gone(&part, sizeof part);
    CHECK(ptrace(PTRACE_GETREGSET, child, 1, where) == 0 && memcmp(got, &own, sizeof own) == 0);
    CHECK(ptrace(PTRACE_SETREGSET, child, 1, gone(&part, sizeof part)) == 0);
    siginfo_t *about = ROOM(siginfo_t);
    CHECK(ptrace(PTRACE_GETSIGINFO, child, NULL, about) == 0 && about->si_signo == SIGSTOP);
    CHECK(ptrace(PTRACE_PEEKDATA, child, traces, NULL) == *(long *)traces);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

static void programs(void) {
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (child == 0) {
            limit(20);
            char *list[] = {text("sh"), text("-c"), text("test $name = value"), NULL};
            char *all[] = {text("name=value"), NULL}, *path = text("/bin/sh");
            void *args = gone(list, sizeof list), *env = gone(all, sizeof all);
            if (way == 0)
                syscall(SYS_execve, path, args, env);
            else if (way == 1)
                syscall(SYS_execveat, -1, path, args, env, 0);
            else
                CHECK(syscall(SYS_execve, path, (void *)8, NULL) == -1 && errno == EFAULT);
            _exit(way != 2);
        }
        child_was_well(child);
    }
    CHECK(chroot(text("/")) == 0 || errno == EPERM);
    CHECK(prctl(PR_SET_NAME, text("other")) == 0);
}

/* The kernel has another error than `EFAULT` for what it cannot read here. */
static void rings(void) {
    struct tpacket_req ring = {4 * PAGE, 2, 2048, 4 * PAGE / 2048 * 2};
    int by_name = socket(AF_PACKET, SOCK_RAW, 0), by_number = socket(AF_PACKET, SOCK_RAW, 0);
    CHECK((by_name >= 0 && by_number >= 0) || errno == EPERM || errno == EAFNOSUPPORT);
    if (by_name < 0)
        return;
    void *at = gone(&ring, sizeof ring);
    CHECK(setsockopt(by_name, SOL_PACKET, PACKET_RX_RING, at, sizeof ring) == 0);
    at = gone(&ring, sizeof ring);
    CHECK(syscall(SYS_setsockopt, by_number, SOL_PACKET, PACKET_RX_RING, at, sizeof ring) == 0);
    CHECK(close(by_name) == 0 && close(by_number) == 0);
}

/* The kernel took the beginning of the options for all of them. */
static void options(void) {
    char place[] = "/tmp/sluice-options-XXXXXX";
    CHECK(mkdtemp(place));
    pid_t child = fork();
    if (child == 0) {
        limit(20);
        if (unshare(CLONE_NEWNS) != 0)
            _exit(0);
        CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
        for (int way = 0; way < 2; way++) {
            char *given = text("size=16m,mode=0711");
            struct stat made;
            /* As where the first of two pages has come back, and the second has not. */
            CHECK(*(volatile char *)given == 's');
            CHECK((way == 0 ? mount("none", place, "tmpfs", 0, given)
                            : syscall(SYS_mount, "none", place, "tmpfs", 0, given)) == 0);
            CHECK(stat(place, &made) == 0 && (made.st_mode & 07777) == 0711);
            CHECK(umount(place) == 0);
        }
        _exit(0);
    }
    child_was_well(child);
    CHECK(rmdir(place) == 0);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"filters", filters}, {"tables", tables}, {"traces", traces}, {"programs", programs},
        {"rings", rings}, {"options", options}
    };
    limit(25);
    CHECK(argc == 2);
    return RUN_PART(parts, argv[1]);
}
