#ifndef SLUICE_CONTROL_H
#define SLUICE_CONTROL_H

/* Commands for the device of a running program: see docs/control-ring.md.
   Made by `make docs` from crates/sluice-control/src/api.rs; do not edit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Version of this interface: that of the header and `sluice_ctl_abi()` of the library must be
 * equal.
 */
#define SLUICE_CTL_ABI 1

/**
 * Carried out, and something changed.
 */
#define SLUICE_CTL_DONE 0

/**
 * Carried out, and nothing was to be done: all was so already.
 */
#define SLUICE_CTL_NOTHING 1

/**
 * Some pages were refused, for the reason in the result.
 */
#define SLUICE_CTL_PARTLY 2

/**
 * Every page was refused, or the parameters or a power cut were. Nothing changed.
 */
#define SLUICE_CTL_REFUSED 3

/**
 * The command is still under way.
 */
#define SLUICE_CTL_PENDING 4

/**
 * This program is not under Sluice and in no guest of it.
 */
#define SLUICE_CTL_NOT_HERE -1

/**
 * The program is under Sluice, but has no control ring.
 */
#define SLUICE_CTL_NO_RING -2

/**
 * All channels of the ring are taken, or as many commands are under way as can be.
 */
#define SLUICE_CTL_BUSY -3

/**
 * The device has gone, or this is the child of a fork: open again there.
 */
#define SLUICE_CTL_GONE -4

/**
 * The range is empty, or not all of it is on the device.
 */
#define SLUICE_CTL_RANGE -5

/**
 * A null pointer, a text that is not UTF-8 or too long, an unknown operation or counter, or the
 * number of no command that is under way.
 */
#define SLUICE_CTL_INVALID -6

/**
 * The device could not be reached for another reason, such as missing permission.
 */
#define SLUICE_CTL_FAILED -7

/**
 * Bring pages in, and keep them until they are unpinned.
 */
#define SLUICE_CTL_PIN 1

/**
 * Let pinned pages leave again.
 */
#define SLUICE_CTL_UNPIN 2

/**
 * Bring pages in.
 */
#define SLUICE_CTL_PREFETCH 3

/**
 * Take pages out of the cache, programming those that were written.
 */
#define SLUICE_CTL_EVICT 4

/**
 * Program the pages that were written; they stay cached.
 */
#define SLUICE_CTL_FLUSH 5

/**
 * Let those that are cached be the next to leave.
 */
#define SLUICE_CTL_COLD 8

/**
 * Takes back every advice on them.
 */
#define SLUICE_CTL_NORMAL 9

/**
 * They will be accessed in no order: accesses to them bring no other page in.
 */
#define SLUICE_CTL_RANDOM 10

/**
 * They will be accessed in order: the next are brought in, those passed are cold.
 */
#define SLUICE_CTL_SEQUENTIAL 11

/**
 * The page is in the device's cache, or on its way there.
 */
#define SLUICE_CTL_CACHED 1

/**
 * The page is mapped: loads and stores run at full speed.
 */
#define SLUICE_CTL_MAPPED 2

/**
 * The page is pinned.
 */
#define SLUICE_CTL_PINNED 4

/**
 * The page has moved to host memory (`host.migration.policy`).
 */
#define SLUICE_CTL_IN_HOST 8

/**
 * The device of this program, or of the guest that it runs in.
 */
struct sluice_ctl;

/**
 * What became of the pages of a command.
 */
struct sluice_ctl_result {
  /**
   * Pages of the range.
   */
  uint64_t pages;
  /**
   * Those for which something was done.
   */
  uint64_t changed;
  /**
   * Pages that were so already.
   */
  uint64_t already;
  /**
   * Pages that were refused.
   */
  uint64_t refused;
  /**
   * When it was done, nanoseconds since the device was started.
   */
  uint64_t done_ns;
  /**
   * Why the first page was refused that was: for `sluice_ctl_reason_text`.
   */
  uint32_t reason;
  /**
   * Zero.
   */
  uint32_t reserved;
};

#ifdef __cplusplus
extern "C" {
#endif /* __cplusplus */

/**
 * The version of the library.
 */
uint32_t sluice_ctl_abi(void);

/**
 * Opens the device of this program, or of the guest that it runs in. Null if there is none, with
 * the cause in `error` if that is not null: a program runs on without.
 */
struct sluice_ctl *sluice_ctl_open(int32_t *error);

/**
 * Closes it. A null pointer is allowed. Pinned pages stay pinned.
 */
void sluice_ctl_close(struct sluice_ctl *ctl);

/**
 * Sends a command, one of `SLUICE_CTL_PIN` to `SLUICE_CTL_SEQUENTIAL`, for the pages that a range
 * of this program's memory touches, and waits for its end. In a guest a page must have been
 * touched before.
 */
int32_t sluice_ctl_command(const struct sluice_ctl *ctl,
                           uint32_t operation,
                           const void *start,
                           uintptr_t len,
                           struct sluice_ctl_result *result);

/**
 * Sends a command as `sluice_ctl_command` does, for a range of bytes of the device.
 */
int32_t sluice_ctl_command_bytes(const struct sluice_ctl *ctl,
                                 uint32_t operation,
                                 uint64_t start,
                                 uint64_t len,
                                 struct sluice_ctl_result *result);

/**
 * Sends a command and does not wait. `number` is what `sluice_ctl_end` takes. In a guest the
 * range must be in one piece on the device, or it is `SLUICE_CTL_RANGE`.
 */
int32_t sluice_ctl_send(const struct sluice_ctl *ctl,
                        uint32_t operation,
                        const void *start,
                        uintptr_t len,
                        uint64_t *number);

/**
 * Takes memory of the device, of whole pages of zeros, whatever else `sluice run --place` places.
 * To be given back by `sluice_free`. NULL with `errno`: `ENODEV` if the program is not under
 * `sluice run`, where this is another function of the same name; `ENOTSUP` if the device is a
 * file (`--place dax:`); `ENOMEM` if it is full; `EINVAL` for no bytes.
 */
void *sluice_alloc(uintptr_t bytes);

/**
 * Gives back what `sluice_alloc` gave for so many bytes; null is nothing. -1 with `errno` `EINVAL`
 * if that is no memory of the device.
 */
int32_t sluice_free(void *memory,
                    uintptr_t bytes);

/**
 * Marks this moment by a name of up to 64 letters, digits, `-`, `_` and `.`: the result of `sluice
 * run`, or of `--simulate` in a guest too, has the figures from each mark to the next. Needs no
 * control ring. `SLUICE_CTL_NOT_HERE` if the program is under neither; `SLUICE_CTL_FAILED` if it
 * has set 64 marks, which a simulation cannot say.
 */
int32_t sluice_mark(const char *name);

/**
 * The end of a command that was sent: waits for it if `wait`, or says `SLUICE_CTL_PENDING`. An end
 * is reported once.
 */
int32_t sluice_ctl_end(const struct sluice_ctl *ctl,
                       uint64_t number,
                       bool wait,
                       struct sluice_ctl_result *result);

/**
 * Gives parameters of the device other values, all or none: `pairs` is `KEY=VALUE` with blanks
 * between them, such as `cache.policy=lru`. What was wrong is put into `why`, at most `room` bytes
 * with the zero at the end, if `why` is not null.
 */
int32_t sluice_ctl_set(const struct sluice_ctl *ctl,
                       const char *pairs,
                       char *why,
                       uintptr_t room);

/**
 * Cuts the power of this program's persistent device, which can still program so many pages of
 * those that only its cache has. That kills this program and all others of the session: there is
 * an answer only if it cannot be done.
 */
int32_t sluice_ctl_power_cut(const struct sluice_ctl *ctl,
                             uint64_t pages);

/**
 * A counter by its name in docs/reference/formats.md, such as `misses`, after the device has
 * brought all of them up to date if `fresh`; otherwise without asking it.
 */
int32_t sluice_ctl_counter(const struct sluice_ctl *ctl,
                           const char *name,
                           bool fresh,
                           uint64_t *value);

/**
 * What is known of each page that a range touches, without asking the device: a byte of
 * `SLUICE_CTL_CACHED`, `SLUICE_CTL_MAPPED`, `SLUICE_CTL_PINNED` and `SLUICE_CTL_IN_HOST` for each
 * page into `out`.
 */
int32_t sluice_ctl_residency(const struct sluice_ctl *ctl,
                             const void *start,
                             uintptr_t len,
                             uint8_t *out);

/**
 * Bytes of a page.
 */
uint64_t sluice_ctl_page_bytes(void);

/**
 * Bytes of the device; 0 of a null pointer.
 */
uint64_t sluice_ctl_device_bytes(const struct sluice_ctl *ctl);

/**
 * What a code of these functions means, in words that live for ever.
 */
const char *sluice_ctl_text(int32_t code);

/**
 * Why a page was refused, in words that live for ever.
 */
const char *sluice_ctl_reason_text(uint32_t reason);

#ifdef __cplusplus
} /* extern "C" */
#endif /* __cplusplus */

#endif  /* SLUICE_CONTROL_H */
