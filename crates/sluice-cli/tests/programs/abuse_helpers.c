/* The C library has threads of its own for what goes on beside the program: requests, timers,
   notices and names. They read and write what the program has allocated, and make further threads,
   with small stacks and with all CPUs. */
#include "abuse.h"
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <threads.h>

#define PAGES 2048u
#define REQUESTS 8
#define BYTES (60 * PAGE)
#define SMALL_STACK (32u << 10)

static uint64_t *words;
static int calls, all;

static int cpus(void) {
    cpu_set_t set;
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    return CPU_COUNT(&set);
}

/* Everything else leaves the cache. */
static void evict(void) {
    CHECK(wrong(words, PAGES) == 0);
}

static void await_calls(int least) {
    while (__atomic_load_n(&calls, __ATOMIC_ACQUIRE) < least)
        evict();
}

static __attribute__((noinline)) size_t look(void) {
    size_t sum = 0;
    for (size_t page = 0; page < PAGES; page++)
        sum += words[page * PER_PAGE] == mix(1ull << 40 | page * PER_PAGE);
    return sum;
}

/* Misses where no signal's record has room on the stack any more. */
static void look_from_the_end_of_the_stack(void) {
    const size_t rest = 1024;
    pthread_attr_t own;
    void *start;
    size_t bytes;
    CHECK(pthread_getattr_np(pthread_self(), &own) == 0);
    CHECK(pthread_attr_getstack(&own, &start, &bytes) == 0);
    CHECK(pthread_attr_destroy(&own) == 0);
    size_t left = (size_t)((char *)__builtin_frame_address(0) - (char *)start);
    CHECK(left < SMALL_STACK);
    volatile char *room = __builtin_alloca(left - rest);
    room[0] = 1;
    CHECK(look() == PAGES && room[0] == 1);
}

/* Runs in a thread that the program did not make. */
static void called(union sigval value) {
    CHECK(cpus() == all);
    look_from_the_end_of_the_stack();
    CHECK(wrong_words(value.sival_ptr, PAGES * PER_PAGE, 1) == 0);
    uint64_t *own = malloc(64 * PAGE);
    CHECK(own);
    fill(own, 64 * PER_PAGE, 3);
    CHECK(wrong_words(own, 64 * PER_PAGE, 3) == 0);
    free(own);
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELEASE);
}

static struct sigevent call(void) {
    pthread_attr_t *attributes = malloc(sizeof *attributes);
    CHECK(attributes && pthread_attr_init(attributes) == 0);
    CHECK(pthread_attr_setstacksize(attributes, SMALL_STACK) == 0);
    return (struct sigevent){.sigev_notify = SIGEV_THREAD,
                             .sigev_value.sival_ptr = words,
                             .sigev_notify_function = called,
                             .sigev_notify_attributes = attributes};
}

static void timers(void) {
    struct sigevent event = call();
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    for (int round = 1; round <= 3; round++) {
        CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
        await_calls(round);
    }
    CHECK(timer_delete(timer) == 0);
}

#define TEN(WITH, n)                                                                               \
    WITH(n##0) WITH(n##1) WITH(n##2) WITH(n##3) WITH(n##4)                                         \
    WITH(n##5) WITH(n##6) WITH(n##7) WITH(n##8) WITH(n##9)
#define NINETY(WITH)                                                                               \
    TEN(WITH, 1) TEN(WITH, 2) TEN(WITH, 3) TEN(WITH, 4) TEN(WITH, 5)                               \
    TEN(WITH, 6) TEN(WITH, 7) TEN(WITH, 8) TEN(WITH, 9)
#define FUNCTION(n)                                                                                \
    static void function##n(union sigval value) {                                                  \
        called(value);                                                                             \
    }
#define NAME(n) function##n,

NINETY(FUNCTION)

/* Each timer has a function of its own, and some of them end. */
static void many(void) {
    static void (*const functions[])(union sigval) = {NINETY(NAME)};
    for (int n = 0, ended = 0; n < 90; n++) {
        struct sigevent event = call();
        event.sigev_notify_function = functions[n];
        timer_t timer;
        CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
        if (n % 8 == 0) {
            struct itimerspec soon = {{0, 0}, {0, 1000000}};
            CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
            await_calls(++ended);
        }
        CHECK(timer_delete(timer) == 0);
    }
}

static void queues(void) {
    char name[32];
    struct mq_attr how = {.mq_maxmsg = 4, .mq_msgsize = 64};
    sprintf(name, "/sluice-abuse-%d", getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &how);
    CHECK(queue != (mqd_t)-1 && mq_unlink(name) == 0);
    for (int round = 1; round <= 3; round++) {
        struct sigevent event = call();
        char got[64];
        CHECK(mq_notify(queue, &event) == 0);
        evict();
        CHECK(mq_send(queue, "text", 5, 0) == 0);
        await_calls(round);
        CHECK(mq_receive(queue, got, sizeof got, NULL) == 5);
    }
}

static void names(void) {
    struct gaicb *wanted = calloc(1, sizeof *wanted);
    struct addrinfo *hints = calloc(1, sizeof *hints);
    CHECK(wanted && hints);
    hints->ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    wanted->ar_request = hints;
    wanted->ar_name = strdup("127.0.0.1");
    wanted->ar_service = strdup("80");
    struct gaicb *list[] = {wanted};
    evict();
    CHECK(getaddrinfo_a(GAI_NOWAIT, list, 1, NULL) == 0);
    while (gai_error(wanted) == EAI_INPROGRESS)
        evict();
    CHECK(gai_error(wanted) == 0 && wanted->ar_result);
    CHECK(wanted->ar_result->ai_family == AF_INET);
    freeaddrinfo(wanted->ar_result);
}

static struct aiocb *requests[REQUESTS];

static void prepare(int file, char *bytes, int kind) {
    for (int n = 0; n < REQUESTS; n++) {
        struct aiocb *request = requests[n] = calloc(1, sizeof *request);
        CHECK(request);
        request->aio_fildes = file;
        request->aio_buf = bytes + (size_t)n * BYTES;
        request->aio_nbytes = BYTES;
        request->aio_offset = (off_t)n * BYTES;
        request->aio_lio_opcode = kind;
    }
}

static void await_requests(void) {
    for (int n = 0; n < REQUESTS; n++) {
        while (aio_error(requests[n]) == EINPROGRESS)
            evict();
        CHECK(aio_error(requests[n]) == 0 && aio_return(requests[n]) == BYTES);
        free(requests[n]);
    }
}

/* Writes, evicts what was read to, and reads again. */
static void files(int by_list) {
    size_t all = REQUESTS * BYTES;
    char path[] = "/tmp/sluice-abuse-XXXXXX", *bytes = aligned_alloc(PAGE, all);
    int file = mkstemp(path);
    CHECK(file >= 0 && unlink(path) == 0 && bytes);
    for (uint64_t round = 1; round <= 3; round++) {
        fill((uint64_t *)bytes, all / 8, round);
        evict();
        prepare(file, bytes, LIO_WRITE);
        if (by_list)
            CHECK(lio_listio(LIO_WAIT, requests, REQUESTS, NULL) == 0);
        else
            for (int n = 0; n < REQUESTS; n++)
                CHECK(aio_write(requests[n]) == 0);
        await_requests();
        memset(bytes, 0, all);
        evict();
        prepare(file, bytes, LIO_READ);
        struct sigevent event = call();
        for (int n = 0; n < REQUESTS && !by_list; n++)
            requests[n]->aio_sigevent = event;
        if (by_list)
            CHECK(lio_listio(LIO_NOWAIT, requests, REQUESTS, &event) == 0);
        else
            for (int n = 0; n < REQUESTS; n++)
                CHECK(aio_read(requests[n]) == 0);
        await_requests();
        await_calls((int)round * (by_list ? 1 : REQUESTS));
        CHECK(wrong_words((uint64_t *)bytes, all / 8, round) == 0);
    }
    CHECK(close(file) == 0);
}

static int started(void *unused) {
    (void)unused;
    called((union sigval){.sival_ptr = words});
    return 7;
}

/* A thread that the program makes by the other of the C library's ways. */
static void other_threads(void) {
    thrd_t thread;
    int result;
    pthread_attr_t small;
    CHECK(pthread_attr_init(&small) == 0);
    CHECK(pthread_attr_setstacksize(&small, SMALL_STACK) == 0);
    CHECK(pthread_setattr_default_np(&small) == 0);
    CHECK(thrd_create(&thread, started, NULL) == thrd_success);
    CHECK(thrd_join(thread, &result) == thrd_success && result == 7);
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    all = cpus();
    words = filled(PAGES);
    switch (arguments[1][0]) {
    case 't':
        timers();
        break;
    case 'm':
        many();
        break;
    case 'q':
        queues();
        break;
    case 'n':
        names();
        break;
    case 'f':
        files(0);
        break;
    case 'l':
        files(1);
        break;
    default:
        other_threads();
    }
    evict();
    puts("well");
    return 0;
}
