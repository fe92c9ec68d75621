/* Stands for QEMU: maps the memory of each device as QEMU does, and uses all of them at once. Each
   device has a thread, which writes every page in its first pass and checks it in the others. A
   forked child reads all of it again, and changes nothing of its parent's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 8 };

struct device {
    volatile unsigned long *at;
    size_t bytes, pages;
    int passes, number;
    long wrong;
};

static struct device devices[MOST];
static int count;

static unsigned long value(const struct device *device, size_t page)
{
    return page * 31 + (unsigned long)device->number + 1;
}

static long wrong_pages(const struct device *device)
{
    long wrong = 0;
    for (size_t page = 0; page < device->pages; page++)
        wrong += device->at[page * (PAGE / 8)] != value(device, page);
    return wrong;
}

static void *use(void *of)
{
    struct device *device = of;
    for (size_t page = 0; page < device->pages; page++)
        device->at[page * (PAGE / 8)] = value(device, page);
    for (int pass = 1; pass < device->passes; pass++)
        device->wrong += wrong_pages(device);
    return NULL;
}

static void map(const char *object)
{
    int number, end;
    char path[256];
    size_t bytes;
    const char *form = "memory-backend-file,id=sluice%d,mem-path=%255[^,],size=%zu,share=on%n";
    if (sscanf(object, form, &number, path, &bytes, &end) != 3)
        return;
    int fd = open(path, O_RDWR);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || at == MAP_FAILED || number != count || count == MOST)
        exit(10);
    close(fd);
    /* Numbers of pages and passes that no other device has. */
    size_t pages = 2000 + 500 * (size_t)number;
    devices[count++] = (struct device){at, bytes, pages, 2 + number, number, 0};
}

/* What QEMU does to its memory at its start, and what may be refused. */
static void change(struct device *device)
{
    void *at = (void *)device->at;
    if (madvise(at, device->bytes, MADV_DONTDUMP) || madvise(at, device->bytes, MADV_DONTFORK))
        exit(11);
    if (madvise(at, device->bytes, MADV_DOFORK))
        exit(12);
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST];
    if (argc > 1 && !strcmp(argv[1], "--version"))
        return puts("QEMU emulator version 9.0.0") < 0;
    for (int at = 2; at < argc; at++)
        if (!strcmp(argv[at - 1], "-object"))
            map(argv[at]);
    for (int at = 0; at < count; at++)
        change(&devices[at]);
    for (int at = 0; at < count; at++)
        if (pthread_create(&threads[at], NULL, use, &devices[at]))
            return 13;
    long wrong = 0;
    for (int at = 0; at < count; at++) {
        pthread_join(threads[at], NULL);
        wrong += devices[at].wrong;
    }
    printf("devices %d wrong %ld\n", count, wrong);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (int at = 0; at < count; at++)
            wrong += wrong_pages(&devices[at]);
        _exit(wrong != 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    /* Half of each is given back; what is left stays as it was. */
    for (int at = 0; at < count; at++) {
        struct device *device = &devices[at];
        char *half = (char *)device->at + device->bytes / 2;
        void *moved = mremap(half, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
        if (argc > 2 && getenv("SLUICE_SESSION") && (moved != MAP_FAILED || errno != ENOMEM))
            return 14;
        if (munmap(half, device->bytes / 2) || device->at[0] != value(device, 0))
            return 15;
    }
    printf("child %d\n", status);
    fflush(stdout);
    /* With this word it waits for its end. */
    for (int at = 1; at < argc; at++)
        if (!strcmp(argv[at], "wait"))
            pause();
    return wrong != 0 || status != 0;
}
