/* Asynchronous input and output of the kernel's, with requests, events and bytes on the heap. By
   the numbers of the calls, or by the functions of libaio where there is one. */
#include "abuse.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define REQUESTS 12
#define PIECE (48u * PAGE)
#define OTHERS 3000u

typedef int submit_type(aio_context_t, long, struct iocb **);
typedef int events_type(aio_context_t, long, long, struct io_event *, struct timespec *);

static int by_number(aio_context_t context, long count, struct iocb **list) {
    long done = syscall(SYS_io_submit, context, count, list);
    return done < 0 ? -errno : (int)done;
}

static int events_by_number(aio_context_t context, long least, long most, struct io_event *to,
                            struct timespec *until) {
    long done = syscall(SYS_io_getevents, context, least, most, to, until);
    return done < 0 ? -errno : (int)done;
}

static submit_type *submit = by_number;
static events_type *events = events_by_number;
static uint64_t *others;

/* Has all else leave the cache. */
static void touch_others(void) {
    CHECK(wrong(others, OTHERS) == 0);
}

static void *pages(size_t bytes) {
    void *at = aligned_alloc(PAGE, bytes);
    CHECK(at);
    return at;
}

/* All requests of a kind at once, and what became of each. */
static void all(aio_context_t context, int file, int kind, char **buffers) {
    struct iocb **list = pages(PAGE), *requests = pages(PAGE);
    struct io_event *told = pages(PAGE);
    struct iovec *parts = pages(PAGE);
    for (int n = 0; n < REQUESTS; n++) {
        requests[n] = (struct iocb){0};
        requests[n].aio_lio_opcode = (uint16_t)kind;
        requests[n].aio_fildes = (uint32_t)file;
        requests[n].aio_data = 100 + (uint64_t)n;
        requests[n].aio_offset = (int64_t)n * PIECE;
        requests[n].aio_buf = (uint64_t)buffers[n];
        requests[n].aio_nbytes = PIECE;
        if (kind == IOCB_CMD_PREADV || kind == IOCB_CMD_PWRITEV) {
            parts[2 * n] = (struct iovec){buffers[n], PIECE / 3};
            parts[2 * n + 1] = (struct iovec){buffers[n] + PIECE / 3, PIECE - PIECE / 3};
            requests[n].aio_buf = (uint64_t)(parts + 2 * n);
            requests[n].aio_nbytes = 2;
        }
        list[n] = &requests[n];
    }
    touch_others();
    for (int done = 0; done < REQUESTS;) {
        int here = submit(context, REQUESTS - done, list + done);
        if (here <= 0)
            fprintf(stderr, "io_submit said %d\n", here);
        CHECK(here > 0);
        done += here;
    }
    touch_others();
    char seen[REQUESTS] = {0};
    for (int done = 0; done < REQUESTS;) {
        int here = events(context, 1, REQUESTS, told, NULL);
        CHECK(here > 0);
        for (int n = 0; n < here; n++) {
            size_t which = told[n].data - 100;
            if (told[n].res != (int64_t)PIECE)
                fprintf(stderr, "request %zu: %ld\n", which, (long)told[n].res);
            CHECK(which < REQUESTS && !seen[which]++ && told[n].res == (int64_t)PIECE);
            CHECK(told[n].obj == (uint64_t)&requests[which]);
        }
        done += here;
    }
    free(list);
    free(requests);
    free(told);
    free(parts);
}

static void round_of(aio_context_t context, int file, int is_vector, size_t generation) {
    char *from[REQUESTS], *to[REQUESTS];
    for (size_t n = 0; n < REQUESTS; n++) {
        from[n] = pages(PIECE);
        to[n] = pages(PIECE);
        fill((uint64_t *)from[n], PIECE / 8, generation + n);
        memset(to[n], 1, PIECE);
    }
    all(context, file, is_vector ? IOCB_CMD_PWRITEV : IOCB_CMD_PWRITE, from);
    all(context, file, is_vector ? IOCB_CMD_PREADV : IOCB_CMD_PREAD, to);
    for (size_t n = 0; n < REQUESTS; n++) {
        CHECK(wrong_words((uint64_t *)to[n], PIECE / 8, generation + n) == 0);
        free(from[n]);
        free(to[n]);
    }
}

#define LARGE (2000u * PAGE)

/* A request of more pages than can stay at once, or than the cache has. */
static void large(aio_context_t context, int file, int is_vector) {
    enum { PARTS = 8 };
    struct iocb *request = pages(PAGE), **list = pages(PAGE);
    struct iovec *parts = pages(PAGE);
    struct io_event *told = pages(PAGE);
    char *bytes = pages(LARGE);
    fill((uint64_t *)bytes, LARGE / 8, 77);
    for (int way = 0; way < 2; way++) {
        for (unsigned n = 0; n < PARTS; n++)
            parts[n] = (struct iovec){bytes + n * (LARGE / PARTS), LARGE / PARTS};
        memset(request, 0, sizeof *request);
        request->aio_lio_opcode = is_vector ? way ? IOCB_CMD_PREADV : IOCB_CMD_PWRITEV
                                            : way ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
        request->aio_fildes = (uint32_t)file;
        request->aio_buf = (uint64_t)(is_vector ? (void *)parts : bytes);
        request->aio_nbytes = is_vector ? PARTS : LARGE;
        list[0] = request;
        CHECK(submit(context, 1, list) == 1 && events(context, 1, 1, told, NULL) == 1);
        if (told->res != (int64_t)LARGE)
            fprintf(stderr, "of %u bytes: %ld\n", LARGE, (long)told->res);
        CHECK(told->res == (int64_t)LARGE);
        CHECK(wrong_words((uint64_t *)bytes, LARGE / 8, 77) == 0);
        if (way == 0)
            memset(bytes, 1, LARGE);
    }
    free(request), free(list), free(parts), free(told), free(bytes);
}

/* What cannot be is refused in the same way. */
static void refusals(aio_context_t context, int file) {
    struct iocb *wrong_one = pages(PAGE), **list = pages(PAGE);
    memset(wrong_one, 0, PAGE);
    wrong_one->aio_fildes = (uint32_t)file;
    wrong_one->aio_lio_opcode = 99;
    list[0] = wrong_one;
    list[1] = (struct iocb *)8;
    CHECK(submit(context, 1, list) == -EINVAL);
    CHECK(submit(context, 1, list + 1) == -EFAULT);
    CHECK(submit(context, -1, list) == -EINVAL && submit(context, 0, list) == 0);
    CHECK(submit(context, 1, (struct iocb **)8) == -EFAULT);
    CHECK(submit(77, 1, list) == -EINVAL);
    struct io_event *told = pages(PAGE);
    struct timespec *at_once = (struct timespec *)(told + 10);
    *at_once = (struct timespec){0, 0};
    touch_others();
    CHECK(events(context, 1, 1, told, at_once) == 0);
    free(wrong_one);
    free(list);
    free(told);
}

int main(int argc, char **argv) {
    limit(25);
    CHECK(argc == 3);
    int is_direct = strcmp(argv[1], "direct") == 0;
    if (strcmp(argv[2], "names") == 0 && dlopen("libaio.so.1", RTLD_NOW | RTLD_GLOBAL)) {
        submit = (submit_type *)dlsym(RTLD_DEFAULT, "io_submit");
        events = (events_type *)dlsym(RTLD_DEFAULT, "io_getevents");
        CHECK(submit && events);
    }
    char path[] = "/var/tmp/aio.XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0);
    if (is_direct) {
        int direct = open(path, O_RDWR | O_DIRECT);
        CHECK(direct >= 0 || errno == EINVAL);
        file = direct >= 0 ? direct : file;
    }
    CHECK(unlink(path) == 0);
    others = filled(OTHERS);
    aio_context_t *context = pages(PAGE);
    *context = 0;
    touch_others();
    CHECK(syscall(SYS_io_setup, 2 * REQUESTS, context) == 0);
    for (size_t n = 0; n < 6; n++)
        round_of(*context, file, n % 2 && !is_direct, 10 * n);
    large(*context, file, 0);
    large(*context, file, 1);
    refusals(*context, file);
    CHECK(syscall(SYS_io_destroy, *context) == 0);
    puts("well");
    return 0;
}
