#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

/* An eviction policy for Sluice as a shared object: see docs/extending.md.
   Made by `make docs` from crates/sluice-abi/src/policy.rs; do not edit. */

#include <stdbool.h>
#include <stdint.h>

/**
 * Version of this layout. Objects of version 1 are taken too; those of any other are refused.
 */
#define SLUICE_POLICY_ABI 2

/**
 * What `victim` answers when no page of the set may leave, and the slot where there is none.
 */
#define SLUICE_NO_SLOT 4294967295

/**
 * The thread where nobody said whose access it is.
 */
#define SLUICE_NO_THREAD 4294967295

/**
 * What `tick` returns so as not to be called again.
 */
#define SLUICE_NO_TICK UINT64_C(18446744073709551615)

/**
 * It happens for a load or a store.
 */
#define SLUICE_DEMAND 0

/**
 * It happens for a page that the prefetcher picked.
 */
#define SLUICE_PREFETCH 1

/**
 * It happens because the host asked beside its loads and stores: by a hint of the program such as
 * `madvise`, by a command, by a block request.
 */
#define SLUICE_COMMAND 2

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
   * Bytes of a page. Zero for objects of version 1.
   */
  uint32_t page_bytes;
  /**
   * Seed for whatever the policy draws, so that a run can be repeated.
   */
  uint64_t seed;
};

/**
 * What happens while a policy is called.
 */
struct sluice_policy_event {
  /**
   * When, in picoseconds of the device's time. It never goes back.
   */
  uint64_t now;
  /**
   * The set.
   */
  uint32_t set;
  /**
   * The slot; `SLUICE_NO_SLOT` in `miss` and `victim`.
   */
  uint32_t slot;
  /**
   * The page that is brought in, in `miss` and `insert`. Zero in all others.
   */
  uint32_t lpn;
  /**
   * Whose access it is: threads or cores are numbered from 0 in the order of their first access,
   * the first 1024 of them. `SLUICE_NO_THREAD` if it is not known.
   */
  uint32_t thread;
  /**
   * What made it happen: `SLUICE_DEMAND`, `SLUICE_PREFETCH` or `SLUICE_COMMAND`.
   */
  uint8_t trigger;
  /**
   * Whether the access is a store.
   */
  bool store;
  /**
   * Whether the device knows that the page in `slot` differs from flash, this access included.
   * Live, stores to a mapped page are not seen, and are reported when it leaves.
   */
  bool dirty;
  /**
   * Zero.
   */
  uint8_t reserved[5];
};

/**
 * What `victim` may ask about the slots of its set, while it is called.
 */
struct sluice_policy_slots {
  /**
   * To be handed to the functions.
   */
  void *context;
  /**
   * Whether the page in a slot may leave.
   */
  bool (*may_leave)(void *context, uint32_t slot);
  /**
   * Whether the device knows that the page in a slot differs from flash, so that it is
   * programmed when it leaves.
   */
  bool (*is_dirty)(void *context, uint32_t slot);
};

/**
 * A policy: a shared object defines one, as the constant `sluice_policy`.
 *
 * The caller guarantees, for each set on its own: `insert` names a slot that the policy does not
 * hold, `hit` and `remove` one that it does; `miss` comes before each `insert` and before the
 * `victim` calls that make room; calls never overlap. Events and slots are good during the call.
 *
 * The policy allocates memory in `build` alone. In a live run the other functions are called while
 * a page fault is served: they allocate nothing, take no lock, make no system call and throw
 * nothing. It decides by its own state and by the arguments of its calls alone.
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
  void (*miss)(void *state, const struct sluice_policy_event *event);
  /**
   * The page `lpn` is now in `slot`.
   */
  void (*insert)(void *state, const struct sluice_policy_event *event);
  /**
   * The page in `slot` was accessed.
   */
  void (*hit)(void *state, const struct sluice_policy_event *event);
  /**
   * Chooses a held slot of the set for which `may_leave` holds, forgets it and returns it.
   * `SLUICE_NO_SLOT` only if there is none. The event is that of the page that needs the room.
   */
  uint32_t (*victim)(void *state,
                     const struct sluice_policy_event *event,
                     const struct sluice_policy_slots *slots);
  /**
   * The page in `slot` was discarded, taken out or pinned, or left although the policy did not
   * choose it: forget it if it is held.
   */
  void (*remove)(void *state, const struct sluice_policy_event *event);
  /**
   * The device's time is `now`, in picoseconds. Returns when to be called next: then it is,
   * before the first event at that time or later, so at most once for each event.
   * `SLUICE_NO_TICK` for never again. The first call comes before the first event. May be null.
   */
  uint64_t (*tick)(void *state, uint64_t now);
};

#endif  /* SLUICE_POLICY_H */

/* What the shared object defines. */
#ifdef __cplusplus
extern "C" const struct sluice_policy sluice_policy;
#else
extern const struct sluice_policy sluice_policy;
#endif
