#ifndef SLUICE_MEMORY_H
#define SLUICE_MEMORY_H

/* A memory model for Sluice as a shared object: see docs/library.md.
   Made by `make docs` from crates/sluice-abi/src/memory.rs; do not edit. */

#include <stdbool.h>
#include <stdint.h>

/**
 * Version of this layout. A shared object of another version is refused.
 */
#define SLUICE_MEMORY_ABI 1

/**
 * No time: a request that is done later, or nothing to wait for.
 */
#define SLUICE_NEVER UINT64_C(18446744073709551615)

/**
 * What a memory model is made for.
 */
struct sluice_memory_space {
  /**
   * Bytes: every address is below this.
   */
  uint64_t capacity;
  /**
   * Seed for whatever the model draws, so that a run can be repeated.
   */
  uint64_t seed;
  /**
   * What the description of the system says in `argument`, such as the path of the model's own
   * configuration; empty if it says nothing. Valid during `build` only.
   */
  const char *argument;
};

/**
 * A memory model: a shared object defines one, as the constant `sluice_memory`.
 *
 * Times are picoseconds since the start. The caller guarantees that times never go back, from
 * `request` to `request` and from `advance` to `advance`, and that calls never overlap. An `id`
 * names a request until it is done, and may name another one afterwards. What the model does
 * depends on its state and the calls alone.
 */
struct sluice_memory {
  /**
   * `SLUICE_MEMORY_ABI`.
   */
  uint32_t abi;
  /**
   * Size of this structure.
   */
  uint32_t size;
  /**
   * A short name, and one line that says what it does; for people.
   */
  const char *name;
  /**
   * See `name`.
   */
  const char *meaning;
  /**
   * A model in which nothing has happened, or a null pointer if it cannot be.
   */
  void *(*build)(const struct sluice_memory_space *space);
  /**
   * Frees what `build` made.
   */
  void (*destroy)(void *state);
  /**
   * A request for the 64 bytes at `addr` comes in at `now`. Returns when it is done, not before
   * `now` and a second later at most; or `SLUICE_NEVER` if `advance` will report it.
   */
  uint64_t (*request)(void *state, uint64_t now, uint32_t id, uint64_t addr, bool is_write);
  /**
   * When the model wants to be advanced next, or `SLUICE_NEVER`. While a request is not done,
   * one is to be reported within a second and within 16 million calls of `advance`. Asked after
   * `request` and after `advance`. May be null if `request` never returns `SLUICE_NEVER`.
   */
  uint64_t (*next_at)(void *state);
  /**
   * Time goes on to `now`: calls `done(context, id)` for each request that is done by then and
   * of which `request` did not return the time. May be null together with `next_at`.
   */
  void (*advance)(void *state,
                  uint64_t now,
                  void (*done)(void *context, uint32_t id),
                  void *context);
};

#endif  /* SLUICE_MEMORY_H */

/* What the shared object defines. */
#ifdef __cplusplus
extern "C" const struct sluice_memory sluice_memory;
#else
extern const struct sluice_memory sluice_memory;
#endif
