/* Forks of a program with several threads. Its child resets the locks of all streams before
   anything else, so their pages must be there, however small the cache. */
#include "common.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends a fork that hangs, long before the test does. */
#define LIMIT_S 100
#define BYTES (16u << 20)
#define MOST_STREAMS 4000
/* Their list is 800 pages long. */
#define HANDLERS 100000
#define STACK (512u << 10)
/* How far the thread that forks is below the upper end of its stack. */
#define DEEP (128u << 10)

static volatile char *area;
static FILE *streams[MOST_STREAMS];
static int stream_count, fork_count, handler_count, in_child, is_crowd;
static volatile int is_begun;

static void *miss(void *argument) {
    unsigned draw = 7919 + (unsigned)(uintptr_t)argument;
    long sum = 0;
    while (!is_begun)
        usleep(10000);
    for (;;) {
        draw = draw * 1103515245 + 12345;
        sum += area[(draw >> 8) % (BYTES / PAGE) * PAGE];
    }
    return (void *)sum;
}

static void *idle(void *argument) {
    for (;;)
        pause();
    return argument;
}

/* Has everything else leave the cache, as far as its policy lets it. */
static void sweep(void) {
    long sum = 0;
    for (size_t at = 0; at < BYTES; at += PAGE)
        sum += area[at];
    CHECK(sum != -1);
}

static void in_the_child(void) { in_child++; }

static void forks(void) {
    for (int round = 0; round < fork_count; round++) {
        if (!is_crowd)
            sweep();
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            alarm(LIMIT_S);
            CHECK(in_child == handler_count);
            for (int i = 0; i < stream_count; i++)
                CHECK(fputc('c', streams[i]) == 'c' && ftell(streams[i]) == 2);
            _exit(0);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (int i = 0; i < stream_count; i++)
        CHECK(fputc('p', streams[i]) == 'p' && ftell(streams[i]) == 2);
}

/* Forks far below the upper end of a stack, where the C library has what is a thread's own. */
static void *forks_deep_down(void *argument) {
    volatile char room[DEEP];
    for (size_t at = 0; at < DEEP; at += PAGE)
        room[at] = 1;
    forks();
    CHECK(room[0] == 1 && room[DEEP - PAGE] == 1);
    return argument;
}

/* forks THREADS STREAMS FORKS [stack|handlers|crowd]: threads that miss, or none and one that does
   nothing. A crowd leaves the thread that forks no time to sweep, and has everything leave. */
int main(int count, char **arguments) {
    CHECK(count >= 4);
    alarm(LIMIT_S);
    int threads = atoi(arguments[1]);
    stream_count = atoi(arguments[2]);
    fork_count = atoi(arguments[3]);
    CHECK(stream_count <= MOST_STREAMS);
    area = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK((char *)area != MAP_FAILED);
    for (size_t at = 0; at < BYTES; at += PAGE)
        area[at] = 1;
    for (int i = 0; i < stream_count; i++) {
        streams[i] = fmemopen(NULL, 16, "w+");
        CHECK(streams[i] && fputc('b', streams[i]) == 'b');
        CHECK(memset(malloc(PAGE), 1, PAGE));
    }
    const char *part = count > 4 ? arguments[4] : "";
    is_crowd = strcmp(part, "crowd") == 0;
    if (is_crowd)
        sweep();
    pthread_t thread;
    for (int i = 0; i < threads; i++)
        CHECK(!pthread_create(&thread, NULL, miss, (void *)(uintptr_t)i));
    is_begun = 1;
    usleep(is_crowd ? 300000 : 0);
    if (threads == 0)
        CHECK(!pthread_create(&thread, NULL, idle, NULL));
    if (strcmp(part, "handlers") == 0)
        for (; handler_count < HANDLERS; handler_count++)
            CHECK(!pthread_atfork(NULL, NULL, in_the_child));
    if (strcmp(part, "stack") != 0) {
        forks();
    } else {
        pthread_attr_t attributes;
        void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(stack != MAP_FAILED && !pthread_attr_init(&attributes));
        CHECK(!pthread_attr_setstack(&attributes, stack, STACK));
        CHECK(!pthread_create(&thread, &attributes, forks_deep_down, NULL));
        CHECK(!pthread_join(thread, NULL));
    }
    puts("well");
    fflush(stdout);
    _exit(0);
}
