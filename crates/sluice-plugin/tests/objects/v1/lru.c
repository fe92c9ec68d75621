/* Least recently used, as a shared object for Sluice. Build it from the root of the repository:

     cc -std=c11 -O2 -Wall -Wextra -shared -fPIC -Icrates/sluice-abi/include \
        examples/policy-c/lru.c -o lru.so

   and name it:  sluice sim --set cache.policy=./lru.so --workload chase:size=64MiB,passes=4 */

#include <stdlib.h>

#include "sluice_policy.h"

/* A doubly linked list for each set, the page accessed last in front. Links hold slot + 1, so that
   zeroed memory is an empty list. */
struct links {
  uint32_t newer, older;
};

struct lru {
  uint32_t missed;    /* the page of the last miss */
  struct links *slot; /* by slot */
  struct links *ends; /* by set: `older` is the front, `newer` the back */
};

static void *build(const struct sluice_policy_space *space) {
  struct lru *lru = calloc(1, sizeof *lru);
  if (lru == NULL) return NULL;
  lru->slot = calloc((size_t)space->sets * space->ways, sizeof *lru->slot);
  lru->ends = calloc(space->sets, sizeof *lru->ends);
  if (lru->slot != NULL && lru->ends != NULL) return lru;
  free(lru->slot);
  free(lru->ends);
  free(lru);
  return NULL;
}

static void destroy(void *state) {
  struct lru *lru = state;
  free(lru->slot);
  free(lru->ends);
  free(lru);
}

static struct links *at(struct lru *lru, uint32_t set, uint32_t link) {
  return link == 0 ? &lru->ends[set] : &lru->slot[link - 1];
}

static void push_front(struct lru *lru, uint32_t set, uint32_t slot) {
  uint32_t front = lru->ends[set].older;
  lru->slot[slot] = (struct links){.newer = 0, .older = front};
  at(lru, set, front)->newer = slot + 1;
  lru->ends[set].older = slot + 1;
}

static void take_out(struct lru *lru, uint32_t set, uint32_t slot) {
  struct links links = lru->slot[slot];
  at(lru, set, links.newer)->older = links.older;
  at(lru, set, links.older)->newer = links.newer;
}

static void miss(void *state, uint32_t set, uint32_t lpn) {
  (void)set;
  ((struct lru *)state)->missed = lpn;
}

static void insert(void *state, uint32_t set, uint32_t slot, uint32_t lpn) {
  if (((struct lru *)state)->missed != lpn) abort(); /* the interface: its miss comes first */
  push_front(state, set, slot);
}

static void hit(void *state, uint32_t set, uint32_t slot) {
  take_out(state, set, slot);
  push_front(state, set, slot);
}

static uint32_t victim(void *state, uint32_t set, bool (*evictable)(void *, uint32_t),
                       void *context) {
  struct lru *lru = state;
  uint32_t link = lru->ends[set].newer;
  while (link != 0 && !evictable(context, link - 1)) link = lru->slot[link - 1].newer;
  if (link == 0) return SLUICE_NO_SLOT;
  take_out(lru, set, link - 1);
  return link - 1;
}

static void drop(void *state, uint32_t set, uint32_t slot) { take_out(state, set, slot); }

const struct sluice_policy sluice_policy = {
    .abi = SLUICE_POLICY_ABI,
    .size = sizeof(struct sluice_policy),
    .name = "lru",
    .meaning = "evicts the page whose last visible access is longest ago",
    .build = build,
    .destroy = destroy,
    .miss = miss,
    .insert = insert,
    .hit = hit,
    .victim = victim,
    .remove = drop,
};
