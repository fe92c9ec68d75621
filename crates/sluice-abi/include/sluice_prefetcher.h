#ifndef SLUICE_PREFETCHER_H
#define SLUICE_PREFETCHER_H

/* A prefetcher for Sluice as a shared object: see docs/extending.md.
   Made by `make docs` from crates/sluice-abi/src/prefetcher.rs; do not edit. */

#include <stdbool.h>
#include <stdint.h>

/**
 * Version of this layout. A shared object of another version is refused.
 */
#define SLUICE_PREFETCHER_ABI 1

/**
 * The page was not in the cache.
 */
#define SLUICE_MISS 0

/**
 * The page was brought in by a prefetch and is accessed for the first time.
 */
#define SLUICE_FIRST_USE 1

/**
 * The page was brought in by a prefetch, is accessed for the first time, and is still on its way.
 */
#define SLUICE_LATE_USE 2

/**
 * The device that a prefetcher is made for.
 */
struct sluice_prefetcher_space {
  /**
   * Pages on the device: every page is below this.
   */
  uint32_t pages;
  /**
   * `prefetch.degree`: pages that one access may pick at most.
   */
  uint32_t degree;
  /**
   * `prefetch.distance`: how far ahead one that follows a stream may run, in its steps.
   */
  uint32_t distance;
  /**
   * Bytes of a page.
   */
  uint32_t page_bytes;
  /**
   * Seed for whatever the prefetcher draws, so that a run can be repeated.
   */
  uint64_t seed;
};

/**
 * An access that a prefetcher sees.
 */
struct sluice_prefetcher_access {
  /**
   * When it reached the cache, in picoseconds of the device's time. It may go back a little:
   * accesses wait for their turn.
   */
  uint64_t now;
  /**
   * The page.
   */
  uint32_t lpn;
  /**
   * Whose access it is: threads or cores are numbered from 0 in the order of their first access,
   * the first 1024 of them. 0xffffffff if it is not known.
   */
  uint32_t thread;
  /**
   * Pages that may be picked now. Below the space's `degree` while the throttle holds back.
   */
  uint32_t degree;
  /**
   * How far ahead a stream may be run now, in its steps. As `degree`.
   */
  uint32_t distance;
  /**
   * What it found: `SLUICE_MISS`, `SLUICE_FIRST_USE` or `SLUICE_LATE_USE`.
   */
  uint8_t outcome;
  /**
   * Whether it is a store.
   */
  bool store;
  /**
   * Zero.
   */
  uint8_t reserved[6];
};

/**
 * What `access` picks with, while it is called.
 */
struct sluice_prefetcher_picks {
  /**
   * To be handed to `pick`.
   */
  void *context;
  /**
   * Has a page brought in if there is room: the most urgent first. Pages that are cached already
   * are skipped. Says whether it was taken: a page that the device does not have, and one above
   * `degree`, is refused and counted.
   */
  bool (*pick)(void *context, uint64_t lpn);
};

/**
 * A prefetcher: a shared object defines one, as the constant `sluice_prefetcher`.
 *
 * `access` is called once for each access that missed, or that was the first to a prefetched page.
 * Other hits are not shown, because a live device cannot see them. Calls never overlap. What a
 * pointer points to is good during the call.
 *
 * The prefetcher allocates memory in `build` alone. In a live run the other functions are called
 * while a page fault is served: they allocate nothing, take no lock, make no system call and throw
 * nothing. It decides by its own state and by the arguments of its calls alone.
 */
struct sluice_prefetcher {
  /**
   * `SLUICE_PREFETCHER_ABI`.
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
   * A prefetcher that has seen nothing, or a null pointer if it cannot be.
   */
  void *(*build)(const struct sluice_prefetcher_space *space);
  /**
   * Frees what `build` made.
   */
  void (*destroy)(void *state);
  /**
   * An access: `picks` takes the pages to bring in.
   */
  void (*access)(void *state,
                 const struct sluice_prefetcher_access *access,
                 const struct sluice_prefetcher_picks *picks);
  /**
   * The page `lpn` was sent for, because of an access to `cause` (itself, if it was missed), and
   * will be there at `at`, in picoseconds. May be null.
   */
  void (*arrives)(void *state, uint32_t lpn, uint32_t cause, uint64_t at);
};

#endif  /* SLUICE_PREFETCHER_H */

/* What the shared object defines. */
#ifdef __cplusplus
extern "C" const struct sluice_prefetcher sluice_prefetcher;
#else
extern const struct sluice_prefetcher sluice_prefetcher;
#endif
