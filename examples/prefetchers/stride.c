/* Follows one stride: when two accesses in a row are the same distance from those before them, the
   next pages at that distance are brought in. Build it from the repository's root:

     cc -std=c11 -O2 -Wall -Wextra -shared -fPIC -Icrates/sluice-abi/include \
        examples/prefetchers/stride.c -o stride.so

   and name it:  sluice sim --set prefetch.policy=./stride.so --set prefetch.degree=4 \
                     --workload chase:size=64MiB,stride=8192 */
#include <stdlib.h>

#include "sluice_prefetcher.h"

struct state {
  int64_t pages, last, stride;
};

static void *build(const struct sluice_prefetcher_space *space) {
  struct state *s = calloc(1, sizeof *s);
  if (s != NULL) s->pages = space->pages;
  return s;
}

static void on_access(void *state, const struct sluice_prefetcher_access *seen,
                      const struct sluice_prefetcher_picks *picks) {
  struct state *s = state;
  int64_t page = seen->lpn, stride = page - s->last;
  if (stride != 0 && stride == s->stride)
    for (uint32_t n = 0; n < seen->degree; n++) {
      page += stride;
      if (page < 0 || page >= s->pages) break;
      picks->pick(picks->context, page);
    }
  s->last = seen->lpn;
  s->stride = stride;
}

const struct sluice_prefetcher sluice_prefetcher = {
    .abi = SLUICE_PREFETCHER_ABI,
    .size = sizeof sluice_prefetcher,
    .name = "stride",
    .meaning = "brings in what lies ahead at the distance of the last two accesses",
    .build = build,
    .destroy = free,
    .access = on_access,
};
