#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

/* An eviction policy for Sluice as a shared object: see docs/extending.md.
   Made by `make docs` from crates/sluice-abi/src/policy.rs; do not edit. */

#include <stdbool.h>
#include <stdint.h>

/**
 * Version of this layout. A shared object of another version is refused.
 */
#define SLUICE_POLICY_ABI 1

/**
 * What `victim` answers when no page of the set may leave.
 */
#define SLUICE_NO_SLOT 4294967295

/**
 * The slots that a policy manages. Set `s` has the slots `s * ways` up to `(s + 1) * ways`.
 */
struct sluice_policy_space {
  /**
   * Number of sets, at least 1.
   */
  uint32_t sets;
  /**
   * Slots in a set, at least 1.
   */
  uint32_t ways;
  /**
   * Pages on the device: every LPN is below this.
   */
  uint32_t pages;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Seed for whatever the policy draws, so that a run can be repeated.
   */
  uint64_t seed;
};

/**
 * A policy: a shared object defines one, as the constant `sluice_policy`.
 *
 * The caller guarantees, for each set on its own: `insert` names a slot that the policy does not
 * hold, `hit` and `remove` one that it does; `miss` comes before each `insert` and before the
 * `victim` calls that make room; calls never overlap.
 *
 * The policy allocates memory in `build` alone. In a live run the other functions are called
 * while a page fault is served: they allocate nothing, take no lock, make no system call and
 * throw nothing. It decides by its own state alone.
 */
struct sluice_policy {
  /**
   * `SLUICE_POLICY_ABI`.
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
   * An empty policy for these slots, or a null pointer if it cannot be.
   */
  void *(*build)(const struct sluice_policy_space *space);
  /**
   * Frees what `build` made.
   */
  void (*destroy)(void *state);
  /**
   * The page `lpn`, which is in no slot, is about to be brought in. May be null.
   */
  void (*miss)(void *state, uint32_t set, uint32_t lpn);
  /**
   * The page `lpn` is now in `slot`.
   */
  void (*insert)(void *state, uint32_t set, uint32_t slot, uint32_t lpn);
  /**
   * The page in `slot` was accessed.
   */
  void (*hit)(void *state, uint32_t set, uint32_t slot);
  /**
   * Chooses a held slot of the set for which `evictable(context, slot)` holds, forgets it and
   * returns it. `SLUICE_NO_SLOT` only if there is none.
   */
  uint32_t (*victim)(void *state,
                     uint32_t set,
                     bool (*evictable)(void *context, uint32_t slot),
                     void *context);
  /**
   * The page in `slot` was discarded, taken out or pinned, or left although the policy did not
   * choose it: forget it if it is held.
   */
  void (*remove)(void *state, uint32_t set, uint32_t slot);
};

#endif  /* SLUICE_POLICY_H */

/* What the shared object defines. */
#ifdef __cplusplus
extern "C" const struct sluice_policy sluice_policy;
#else
extern const struct sluice_policy sluice_policy;
#endif
