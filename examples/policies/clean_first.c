/* Clean pages first, after CFLRU (Park et al., CASES 2006): of the quarter of a set that was used
   longest ago, a page that costs no program. Build it from the root of the repository:
     cc -std=c11 -O2 -Wall -Wextra -shared -fPIC -Icrates/sluice-abi/include \
        examples/policies/clean_first.c -o clean_first.so
   and name it:  sluice sim --set cache.policy=./clean_first.so --workload uniform:write=1 */
#include <stdlib.h>
#include "sluice_policy.h"

/* A ring of slots for each set, the newest next to the set's own node, which is slots + set. */
struct state {
  uint32_t slots, window;
  struct { uint32_t newer, older; } ring[];
};

static void *build(const struct sluice_policy_space *space) {
  uint32_t slots = space->sets * space->ways, nodes = slots + space->sets;
  struct state *s = malloc(sizeof *s + nodes * sizeof s->ring[0]);
  if (s == NULL) return NULL;
  s->slots = slots, s->window = (space->ways + 3) / 4;
  for (uint32_t node = 0; node < nodes; node++) s->ring[node].newer = s->ring[node].older = node;
  return s;
}

static void drop(void *state, const struct sluice_policy_event *e) {
  struct state *s = state;
  s->ring[s->ring[e->slot].older].newer = s->ring[e->slot].newer;
  s->ring[s->ring[e->slot].newer].older = s->ring[e->slot].older;
}

static void insert(void *state, const struct sluice_policy_event *e) {
  struct state *s = state;
  uint32_t own = s->slots + e->set, newest = s->ring[own].newer;
  s->ring[own].newer = s->ring[newest].older = e->slot;
  s->ring[e->slot].newer = newest, s->ring[e->slot].older = own;
}

static void hit(void *state, const struct sluice_policy_event *e) {
  drop(state, e), insert(state, e);
}

static uint32_t victim(void *state, const struct sluice_policy_event *e,
                       const struct sluice_policy_slots *ask) {
  struct state *s = state;
  struct sluice_policy_event found = {.slot = SLUICE_NO_SLOT};
  uint32_t own = s->slots + e->set, seen = 1;
  for (uint32_t n = s->ring[own].older; n != own; n = s->ring[n].older, seen++) {
    if (!ask->may_leave(ask->context, n)) continue;
    bool is_clean = seen <= s->window && !ask->is_dirty(ask->context, n);
    if (is_clean || found.slot == SLUICE_NO_SLOT) found.slot = n;
    if (is_clean || seen >= s->window) break;
  }
  if (found.slot != SLUICE_NO_SLOT) drop(s, &found);
  return found.slot;
}

const struct sluice_policy sluice_policy = {
    .abi = SLUICE_POLICY_ABI, .size = sizeof sluice_policy, .name = "clean-first",
    .meaning = "evicts an old clean page", .build = build, .destroy = free, .insert = insert,
    .hit = hit, .victim = victim, .remove = drop};
