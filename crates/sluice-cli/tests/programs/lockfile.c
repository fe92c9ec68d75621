/* Locks all memory where the device is a file: what it has mapped of that, and no more. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);    \
            _exit(1);                                                                            \
        }                                                                                        \
    } while (0)

enum { PAGE = 4096, SOME = 32, MOST = 128 };

/* The kernel would lock all of the emulation's memory too, which is more than there is. */
static void limit_the_kernel(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    CHECK(syscall(SYS_capget, &header, data) == 0);
    data[0].effective &= ~(1u << CAP_IPC_LOCK);
    CHECK(syscall(SYS_capset, &header, data) == 0);
    struct rlimit limit = {1 << 20, 1 << 20};
    CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
}

static char *pages(int fd, int from, int count) {
    char *at = mmap(NULL, (size_t)count * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    (off_t)from * PAGE);
    return at == MAP_FAILED ? NULL : at;
}

/* A locked page does not go cold. */
static int is_locked(char *page) {
    return madvise(page, PAGE, MADV_COLD) == -1 && errno == EINVAL;
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    int fd = open(arguments[1], O_RDWR);
    CHECK(fd >= 0);
    limit_the_kernel();
    char *first = pages(fd, 0, SOME), *second = pages(fd, 1000, SOME);
    CHECK(first != NULL && second != NULL);
    first[0] = 1;
    CHECK(mlockall(MCL_CURRENT) == 0);
    for (int n = 0; n < SOME; n++) {
        CHECK(is_locked(first + n * PAGE) && is_locked(second + n * PAGE));
    }
    CHECK(munlockall() == 0 && !is_locked(first) && !is_locked(second));

    CHECK(mlockall(MCL_FUTURE) == 0);
    char *third = pages(fd, 2000, SOME);
    CHECK(third != NULL && is_locked(third) && !is_locked(first));
    CHECK(pages(fd, 3000, MOST) == NULL && errno == EAGAIN);
    CHECK(munlockall() == 0 && !is_locked(third));
    char *many = pages(fd, 3000, MOST + 1);
    CHECK(many != NULL && !is_locked(many));
    CHECK(mlockall(MCL_CURRENT) == -1 && errno == ENOMEM && !is_locked(first));
    puts("well");
    return 0;
}
