/* A program that does what programs do to memory, step by step from a seed, and knows at every
 * moment what each of its pages must hold.
 *
 * Contents are a function of a version: word i of a page of version v is mix(v << 16 | i), and
 * version 0 is zeros. Versions live in static memory, which is never on a device. */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define WORDS (PAGE / 8)
#define REGIONS 48
#define REGION_PAGES 640u
/* Pages of all regions together: about 16 MiB. */
#define ALL_PAGES 4096u

enum access { NONE, READ, WRITE };

struct page {
    uint64_t version;
    enum access access;
};

/* A range of anonymous private memory. */
struct region {
    char *base;
    unsigned pages;
    /* Whether it may be several mappings for the kernel, which mremap refuses. */
    int pieced;
    struct page page[REGION_PAGES];
};

/* What all processes of a run share, in memory that is never on a device. */
struct board {
    atomic_int go, done[2], result; /* done by the depth of the waiting process */
    uint64_t dax_version[4096];
};

struct state {
    uint64_t random, clock;
    unsigned step, depth;
    unsigned workers;
    unsigned ticking;
    const char *self, *log_path, *dax_path, *without, *only;
    uint64_t seed;
    unsigned steps, generation;
};

extern struct state now;
extern struct board *board;
extern struct region regions[REGIONS];

/* A step of the program. One that is `quiet` runs only while there are no other threads. */
struct step {
    const char *name;
    void (*run)(void);
    unsigned weight;
    int quiet;
};

extern const struct step map_steps[], advice_steps[], heap_steps[], fork_steps[], thread_steps[];
extern const struct step signal_steps[], file_steps[], transfer_steps[], dax_steps[];

/* log.c */
void open_log(int is_new);
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One line about a call: how it ended, not where. */
void tell_call(const char *name, int failed);
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define MUST(condition)                                                                        \
    do {                                                                                       \
        if (!(condition))                                                                      \
            fail("%s:%d: %s (errno %d)", __FILE__, __LINE__, #condition, errno);               \
    } while (0)

/* pages.c */
uint64_t mix(uint64_t x);
uint64_t any(void);
unsigned below(unsigned bound);
uint64_t next_version(void);
void fill_page(void *at, uint64_t version);
void fill_bytes(void *at, size_t bytes, uint64_t version);
void check_page(const void *at, uint64_t version, const char *what, unsigned number);
void check_bytes(const void *at, size_t bytes, uint64_t version, const char *what);
uint64_t hash_bytes(const void *at, size_t bytes, uint64_t before);
/* Whether an access ends in this signal. */
int faults(volatile char *at, int is_write, int signal);
void install_fault_handlers(void);

/* map.c */
struct region *any_region(void);
struct region *free_region(void);
struct region *new_region(unsigned pages, int protection, int flags);
/* A region that can be read and written as a whole, and is one mapping. */
struct region *whole_region(unsigned pages_at_least);
void drop_region(struct region *region);
void write_pages(struct region *region, unsigned from, unsigned to);
void check_region(struct region *region, unsigned from, unsigned to);
uint64_t check_all_regions(void);
unsigned pages_in_use(void);

/* The others */
uint64_t check_heap(void);
void check_everything(void);
void run_steps(unsigned count);
void check_workers_snapshot(void);
void note_workers(void);
void stop_workers(void);
void forget_workers(void);
void check_ticks(void);
void stop_ticking(void);
void after_fork_in_child(void);
uint64_t check_dax(void);
void open_dax(void);
/* Pushes what is in a small cache out of it. */
void thrash(void);
/* Another image of this program: allocates, checks, prints a line and ends with a status. */
int be_image(int status);
void wait_for(pid_t child, const char *what);
/* Ends the first thread; the last one checks everything and prints. */
_Noreturn void leave_to_the_last_thread(void);
