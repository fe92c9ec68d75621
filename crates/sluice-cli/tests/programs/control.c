/* Obeys its input, one line at a time, on 16 MiB of device memory, and touches nothing else of the
   device: no heap, no streams. Ends by _exit, so that its last figures are those of its last
   answer.

   read FIRST COUNT     loads from pages and checks them      write FIRST COUNT   stores to them
   hammer               threads store and check from now on   settle              they end
   alone                one thread does until a line comes    fork   goes on as a child
   quit */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 4096
#define THREADS 4

static volatile unsigned char *memory;
static uint64_t versions[PAGES];
static volatile int stop;

static volatile uint64_t *word(unsigned page) {
    return (volatile uint64_t *)(memory + (size_t)page * PAGE + page % 500 * 8);
}

static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0)
        _exit(3);
}

static int read_line(char *line, int room) {
    int len = 0;
    while (len < room - 1 && read(0, line + len, 1) == 1)
        if (line[len++] == '\n')
            break;
    line[len] = 0;
    return len;
}

static void store(unsigned page) {
    versions[page] += 1 + page;
    *word(page) = versions[page];
}

static int load(unsigned page) { return *word(page) == versions[page]; }

/* Each thread has every fourth page to itself. */
static void *hammer(void *argument) {
    unsigned first = (unsigned)(uintptr_t)argument, state = first + 1;
    uintptr_t wrong = 0;
    while (!stop) {
        state = state * 1664525 + 1013904223;
        unsigned page = (state >> 8) % (PAGES / THREADS) * THREADS + first;
        wrong += !load(page);
        if (state >> 31)
            store(page);
    }
    return (void *)wrong;
}

static pthread_t threads[THREADS];

static int begin(void) {
    stop = 0;
    for (uintptr_t n = 0; n < THREADS; n++)
        if (pthread_create(&threads[n], NULL, hammer, (void *)n) != 0)
            return 0;
    return 1;
}

static int end(void) {
    stop = 1;
    int wrong = 0;
    for (int n = 0; n < THREADS; n++) {
        void *result;
        pthread_join(threads[n], &result);
        wrong += result != NULL;
    }
    for (unsigned page = 0; page < PAGES; page++)
        wrong += !load(page);
    return wrong == 0;
}

/* The one thread that there is stores and checks, until the next line comes. */
static int alone(void) {
    struct pollfd input = {0, POLLIN, 0};
    unsigned state = 1;
    int well = 1;
    while (poll(&input, 1, 0) == 0)
        for (int n = 0; n < 1000; n++) {
            state = state * 1664525 + 1013904223;
            unsigned page = (state >> 8) % 512;
            well &= load(page);
            store(page);
        }
    return well;
}

static void go_on_as_a_child(void) {
    pid_t child = fork();
    if (child != 0) {
        int status;
        waitpid(child, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
    }
}

int main(void) {
    void *mapped = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return 5;
    memory = mapped;
    char line[128];
    snprintf(line, sizeof line, "%d %p\n", getpid(), mapped);
    say(line);
    while (read_line(line, sizeof line) > 0) {
        char what[16] = "";
        unsigned first = 0, count = 0;
        sscanf(line, "%15s %u %u", what, &first, &count);
        int well = 1;
        if (!strcmp(what, "quit"))
            break;
        if (!strcmp(what, "fork"))
            go_on_as_a_child();
        else if (!strcmp(what, "hammer"))
            well = begin();
        else if (!strcmp(what, "alone"))
            well = alone();
        else if (!strcmp(what, "settle"))
            well = end();
        else
            for (unsigned page = first; page < first + count; page++) {
                if (!strcmp(what, "write"))
                    store(page);
                else
                    well &= load(page);
            }
        snprintf(line, sizeof line, "%s %d\n", well ? "ok" : "wrong", getpid());
        say(line);
    }
    _exit(0);
}
