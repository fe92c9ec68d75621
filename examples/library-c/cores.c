/* Cores with caches of their own on a shared memory: two simulated processors in C, each driven by
   a trace. Their caches are here; Sluice keeps them coherent (CXL 3, HDM-DB) and says what snoops
   take. Build and run it from the root of the repository, after `make build`:

     cc -std=c11 -O2 -Wall -Wextra -Icrates/sluice-capi/include examples/library-c/cores.c \
        -Ltarget/release -lsluice -Wl,-rpath,target/release -o cores && ./cores FABRIC TRACE...

   FABRIC is a TOML file with a requester of pattern "external" for each TRACE, a text file of one
   access a line: R or W, and an address in hexadecimal. A core waits for each access. It counts
   how often two cores had a line of which one could write it: never, or coherence has failed. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice.h"

#define CORES 8
#define SETS 64
#define WAYS 4
#define LINE 64
#define HIT_PS 2000      /* time of a hit */
#define AGAIN_PS 1000000 /* after a long-delay message a core does something else so long */

/* What a core may do with a line, and whether it has. */
enum state { ABSENT, READ, WRITE, WRITTEN };

struct way {
  uint64_t line, used;
  enum state state;
};

struct core {
  struct sluice_simulation *simulation;
  struct core *cores; /* all of them */
  FILE *trace;
  struct way ways[SETS][WAYS];
  uint32_t number, all, tag;
  uint64_t addr, wakes_at; /* the access under way, and when the core goes on by itself */
  bool is_write, waits;
  uint64_t accesses, hits, snooped, delayed, written_back, violations;
};

static struct way *find(struct core *core, uint64_t line) {
  struct way *set = core->ways[line / LINE % SETS];
  for (int i = 0; i < WAYS; i++)
    if (set[i].state != ABSENT && set[i].line == line) return &set[i];
  return NULL;
}

static void ask(struct core *core, uint64_t line, uint32_t what) {
  int32_t status = sluice_ask(core->simulation, core->number, line, what, true, ++core->tag);
  if (status != SLUICE_OK) {
    fprintf(stderr, "%s\n", sluice_error(core->simulation));
    exit(1);
  }
}

/* Asks for the line of the access under way. */
static void miss(struct core *core) {
  core->waits = true;
  core->wakes_at = SLUICE_NO_EVENT;
  ask(core, core->addr / LINE * LINE, core->is_write ? SLUICE_OWN : SLUICE_READ);
}

/* Puts a line into the cache; the one used longest ago makes room. */
static void fill(struct core *core, uint64_t line, enum state state) {
  struct way *way = find(core, line);
  if (way == NULL) {
    struct way *set = core->ways[line / LINE % SETS];
    way = &set[0];
    for (int i = 1; i < WAYS && way->state != ABSENT; i++)
      if (set[i].state == ABSENT || set[i].used < way->used) way = &set[i];
    if (way->state == WRITTEN)
      ask(core, way->line, SLUICE_WRITE);
    else if (way->state != ABSENT)
      ask(core, way->line, SLUICE_DROP);
  }
  *way = (struct way){line, core->accesses, state};
}

/* The access is done: nobody else may have a line that this core can write. */
static void perform(struct core *core, struct way *way) {
  way->used = core->accesses++;
  if (core->is_write) way->state = WRITTEN;
  for (uint32_t i = 0; i < core->all; i++) {
    struct way *other = i == core->number ? NULL : find(&core->cores[i], way->line);
    if (other != NULL && (way->state >= WRITE || other->state >= WRITE)) core->violations++;
  }
  core->waits = false;
  core->wakes_at = sluice_now(core->simulation) + HIT_PS;
}

/* The next access of the trace. */
static void go_on(struct core *core) {
  char what;
  if (core->waits) {
    miss(core); /* it was delayed */
  } else if (fscanf(core->trace, " %c %" SCNx64, &what, &core->addr) != 2) {
    core->wakes_at = SLUICE_NO_EVENT;
  } else {
    core->is_write = what == 'W';
    struct way *way = find(core, core->addr / LINE * LINE);
    if (way != NULL && (!core->is_write || way->state >= WRITE)) {
      core->hits++;
      perform(core, way);
    } else {
      miss(core);
    }
  }
}

static void on_news(void *context, const struct sluice_news *news) {
  struct core *core = &((struct core *)context)[news->requester];
  struct way *way = find(core, news->addr);
  switch (news->what) {
    case SLUICE_LINE:
    case SLUICE_OWNED:
      fill(core, news->addr, news->what == SLUICE_OWNED ? WRITE : READ);
      perform(core, find(core, news->addr));
      break;
    case SLUICE_DELAYED:
      core->delayed++;
      core->wakes_at = news->at_ps + AGAIN_PS;
      break;
    case SLUICE_WRITTEN:
      core->written_back++;
      break;
    case SLUICE_SHARED:
    case SLUICE_GONE:
      core->snooped++;
      if (way != NULL) way->state = news->what == SLUICE_GONE ? ABSENT : READ;
      break;
  }
}

int main(int count, char **words) {
  static struct core cores[CORES];
  uint32_t all = (uint32_t)count - 2;
  if (count < 3 || all > CORES || sluice_abi() != SLUICE_ABI) {
    fprintf(stderr, "usage: cores FABRIC TRACE..., with the library of this sluice.h\n");
    return 2;
  }
  char *error;
  struct sluice_simulation *simulation = sluice_open(words[1], 1, &error);
  if (simulation == NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  sluice_call_with_news(simulation, on_news, cores);
  for (uint32_t i = 0; i < all; i++) {
    cores[i] = (struct core){.simulation = simulation, .cores = cores, .number = i, .all = all};
    cores[i].trace = fopen(words[2 + i], "r");
    if (cores[i].trace == NULL) {
      perror(words[2 + i]);
      return 1;
    }
    if (sluice_take_host(simulation, i, SETS * WAYS, 2, HIT_PS) != SLUICE_OK) {
      fprintf(stderr, "%s\n", sluice_error(simulation));
      return 1;
    }
  }
  /* One clock: the first thing that any core or the fabric does comes next. */
  for (;;) {
    uint64_t next = sluice_next_event(simulation);
    for (uint32_t i = 0; i < all; i++)
      if (cores[i].wakes_at < next) next = cores[i].wakes_at;
    if (next == SLUICE_NO_EVENT) break;
    if (sluice_advance(simulation, next) != SLUICE_OK) {
      fprintf(stderr, "%s\n", sluice_error(simulation));
      return 1;
    }
    for (uint32_t i = 0; i < all; i++)
      if (cores[i].wakes_at <= next) go_on(&cores[i]);
  }
  for (uint32_t i = 0; i < all; i++) {
    struct core *core = &cores[i];
    printf("core %u: %" PRIu64 " accesses, %" PRIu64 " hits, %" PRIu64 " snooped, %" PRIu64
           " written back, %" PRIu64 " delayed, %" PRIu64 " violations\n",
           i, core->accesses, core->hits, core->snooped, core->written_back, core->delayed,
           core->violations);
    fclose(core->trace);
  }
  printf("%" PRIu64 " ps\n", sluice_now(simulation));
  sluice_delete(simulation);
  return 0;
}
