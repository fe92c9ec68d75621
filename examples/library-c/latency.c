/* Idle latency: one request at a time into a fabric of one host and two memories. Build and run it
   from the root of the repository, after `make build`:

     cc -std=c11 -O2 -Wall -Wextra -Icrates/sluice-capi/include examples/library-c/latency.c \
        -Ltarget/release -lsluice -Wl,-rpath,target/release -o latency && ./latency */

#include <inttypes.h>
#include <stdio.h>

#include "sluice.h"

static const char FABRIC[] =
    "[topology]\n"
    "kind = 'bus'\n"
    "[[requesters]]\n"
    "name = 'host'\n"
    "count = 1\n"
    "pattern = 'external'\n"
    "process = '10ns'\n"
    "[[endpoints]]\n"
    "name = 'near'\n"
    "count = 1\n"
    "type = 'fixed'\n"
    "capacity = '1GiB'\n"
    "read = '40ns'\n"
    "write = '60ns'\n"
    "[[endpoints]]\n"
    "name = 'far'\n"
    "count = 1\n"
    "type = 'fixed'\n"
    "capacity = '1GiB'\n"
    "read = '90ns'\n"
    "write = '90ns'\n"
    "[map]\n"
    "ways = 1\n";

/* The context of a callback is whatever the program likes. */
static void on_done(void *context, const struct sluice_completion *completion) {
  *(uint64_t *)context = completion->latency_ps;
}

int main(void) {
  if (sluice_abi() != SLUICE_ABI) {
    fprintf(stderr, "sluice.h and libsluice.so are of different versions\n");
    return 1;
  }
  char *error;
  struct sluice_simulation *simulation = sluice_new(FABRIC, NULL, 1, &error);
  if (simulation == NULL) {
    fprintf(stderr, "%s\n", error);
    sluice_free_text(error);
    return 1;
  }
  uint64_t latency = 0;
  sluice_call_when_done(simulation, on_done, &latency);
  uint64_t half = sluice_memory_bytes(simulation, 0) / 2;
  const struct { const char *name; uint64_t addr; bool is_write; } requests[] = {
      {"near read", 0, false},
      {"near write", 64, true},
      {"far read", half, false},
      {"far write", half + 64, true},
  };
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
    if (sluice_send(simulation, 0, requests[i].addr, requests[i].is_write, i) != SLUICE_OK ||
        sluice_advance(simulation, sluice_now(simulation) + 10000000) != SLUICE_OK) {
      fprintf(stderr, "%s\n", sluice_error(simulation));
      sluice_delete(simulation);
      return 1;
    }
    printf("%s %" PRIu64 " ps\n", requests[i].name, latency);
  }
  char *statistics = sluice_statistics(simulation);
  printf("%s\n", statistics ? statistics : sluice_error(simulation));
  sluice_free_text(statistics);
  sluice_delete(simulation);
  return 0;
}
