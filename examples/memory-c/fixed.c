/* A memory with a fixed time for reads and one for writes, as a shared object for Sluice. Build it
   from the root of the repository:

     cc -std=c11 -O2 -Wall -Wextra -shared -fPIC -Icrates/sluice-abi/include \
        examples/memory-c/fixed.c -o fixed.so

   and give it to endpoints of a fabric, with both times in picoseconds:

     [[endpoints]]
     name = "memory"
     library = "./fixed.so"
     argument = "110000 130000"

   Sluice has the same built in (endpoint.type = "fixed"). This one shows how a model that works
   with a clock of its own, such as a DRAM simulator, reports later when a request is done; with
   -DAT_ONCE it returns the time at once. */

#include <stdio.h>
#include <stdlib.h>

#include "sluice_memory.h"

/* A request that is not done yet. */
struct waiting {
  uint64_t at;
  uint32_t id;
};

struct memory {
  uint64_t read, write;
  struct waiting *queue; /* by rising time */
  size_t length, room;
};

static void *build(const struct sluice_memory_space *space) {
  struct memory *memory = calloc(1, sizeof *memory);
  if (memory == NULL) return NULL;
  unsigned long long read, write;
  if (sscanf(space->argument, "%llu %llu", &read, &write) != 2) {
    free(memory);
    return NULL;
  }
  memory->read = read;
  memory->write = write;
  return memory;
}

static void destroy(void *state) {
  struct memory *memory = state;
  free(memory->queue);
  free(memory);
}

static uint64_t request(void *state, uint64_t now, uint32_t id, uint64_t addr, bool is_write) {
  struct memory *memory = state;
  (void)addr;
  uint64_t at = now + (is_write ? memory->write : memory->read);
#ifdef AT_ONCE
  (void)id;
  return at;
#else
  if (memory->length == memory->room) {
    size_t room = memory->room * 2 + 16;
    struct waiting *queue = realloc(memory->queue, room * sizeof *queue);
    if (queue == NULL) return at; /* no room to report it later */
    memory->queue = queue;
    memory->room = room;
  }
  /* Nearly always the last: only reads and writes can pass each other. */
  size_t place = memory->length++;
  for (; place > 0 && memory->queue[place - 1].at > at; place--)
    memory->queue[place] = memory->queue[place - 1];
  memory->queue[place] = (struct waiting){at, id};
  return SLUICE_NEVER;
#endif
}

#ifndef AT_ONCE

static uint64_t next_at(void *state) {
  const struct memory *memory = state;
  return memory->length == 0 ? SLUICE_NEVER : memory->queue[0].at;
}

static void advance(void *state, uint64_t now, void (*done)(void *context, uint32_t id),
                    void *context) {
  struct memory *memory = state;
  size_t count = 0;
  while (count < memory->length && memory->queue[count].at <= now)
    done(context, memory->queue[count++].id);
  memory->length -= count;
  for (size_t i = 0; i < memory->length; i++) memory->queue[i] = memory->queue[i + count];
}
#endif

const struct sluice_memory sluice_memory = {
    .abi = SLUICE_MEMORY_ABI,
    .size = sizeof(struct sluice_memory),
    .name = "fixed",
    .meaning = "the same time for every read, and for every write",
    .build = build,
    .destroy = destroy,
    .request = request,
#ifndef AT_ONCE
    .next_at = next_at,
    .advance = advance,
#endif
};
