#ifndef SLUICE_H
#define SLUICE_H

/* Simulated fabrics: see docs/library.md.
   Made by `make docs` from crates/sluice-capi/src/api.rs; do not edit. */

#include <stdbool.h>
#include <stdint.h>

/**
 * Version of this interface: that of the header and `sluice_abi()` of the library must be equal.
 */
#define SLUICE_ABI 2

/**
 * Done.
 */
#define SLUICE_OK 0

/**
 * The requester has as many requests under way as its `depth` says: send again when one is done.
 */
#define SLUICE_FULL 1

/**
 * There is no such requester, address or time, or the requester sends requests of its own.
 */
#define SLUICE_INVALID 2

/**
 * The function may not be called from a callback.
 */
#define SLUICE_BUSY 3

/**
 * The simulation has come to an end: nothing can happen any more, or Sluice has failed.
 */
#define SLUICE_FAILED 4

/**
 * No time: nothing is going to happen.
 */
#define SLUICE_NO_EVENT UINT64_C(18446744073709551615)

/**
 * The last time that there is, in picoseconds: some 106 days.
 */
#define SLUICE_TIME_MAX 9223372036854775807

/**
 * A host asks for a line, to read it.
 */
#define SLUICE_READ 0

/**
 * A host asks for a line, to write it: no other host has it then.
 */
#define SLUICE_OWN 1

/**
 * A host gives up a line that it has written: memory gets it.
 */
#define SLUICE_WRITE 2

/**
 * A host gives up a line that it has not written. No event follows.
 */
#define SLUICE_DROP 3

/**
 * The line has come: it may be read.
 */
#define SLUICE_LINE 0

/**
 * The line has come: it may be read and written.
 */
#define SLUICE_OWNED 1

/**
 * The device has sent a long-delay message (SkyByte section III-A), and no line: ask again later.
 */
#define SLUICE_DELAYED 2

/**
 * Memory has the line that was given up.
 */
#define SLUICE_WRITTEN 3

/**
 * A snoop has taken the right to write the line. It may still be read; memory has what was
 * written.
 */
#define SLUICE_SHARED 4

/**
 * A snoop has taken the line; memory has what was written. A line also leaves in this way where
 * the host has more than `lines` and `misses` of `sluice_take_host` together.
 */
#define SLUICE_GONE 5

/**
 * A simulated fabric with its clock.
 */
struct sluice_simulation;

/**
 * A request that is done.
 */
struct sluice_completion {
  /**
   * The tag that `sluice_send` was given; for a requester that sends requests of its own, how
   * many it sent before.
   */
  uint64_t tag;
  /**
   * When it was done, in picoseconds.
   */
  uint64_t at_ps;
  /**
   * From when it was sent until then.
   */
  uint64_t latency_ps;
  /**
   * The requester that sent it.
   */
  uint32_t requester;
  /**
   * Whether it was a write.
   */
  bool is_write;
};

/**
 * Something that a host learns.
 */
struct sluice_news {
  /**
   * When, in picoseconds.
   */
  uint64_t at_ps;
  /**
   * The line's first byte.
   */
  uint64_t addr;
  /**
   * The requester that the host is at.
   */
  uint32_t requester;
  /**
   * The tag that `sluice_ask` was given; 0 for `SLUICE_SHARED` and `SLUICE_GONE`.
   */
  uint32_t tag;
  /**
   * `SLUICE_LINE` to `SLUICE_GONE`.
   */
  uint32_t what;
};

#ifdef __cplusplus
extern "C" {
#endif /* __cplusplus */

/**
 * The version of the library's interface.
 */
uint32_t sluice_abi(void);

/**
 * Makes a simulation from the text of a fabric's TOML file. `file` is what messages call it, and
 * where paths in it begin; null for a text without a place. The same text and seed give the same
 * simulation.
 *
 * Returns null if it cannot be, with the reason in `*error` (unless `error` is null), to be freed
 * by `sluice_free_text`.
 */
struct sluice_simulation *sluice_new(const char *toml,
                                     const char *file,
                                     uint64_t seed,
                                     char **error);

/**
 * Makes a simulation of a fabric that comes with Sluice, by its name, or from a file, by a path
 * that ends in `.toml`. Otherwise as `sluice_new`.
 */
struct sluice_simulation *sluice_open(const char *fabric, uint64_t seed, char **error);

/**
 * Ends a simulation. Does nothing for null, and nothing from a callback.
 */
void sluice_delete(struct sluice_simulation *simulation);

/**
 * Frees a text that the library returned, or null.
 */
void sluice_free_text(char *text);

/**
 * Why the last call that failed did so, on one line. The text is the simulation's, and stays until
 * another call fails.
 */
const char *sluice_error(const struct sluice_simulation *simulation);

/**
 * Whom to call for each request that is done, in the order of time, while `sluice_advance` runs; a
 * null function for nobody. `context` is handed on.
 *
 * The function may call every function but `sluice_advance` and `sluice_delete`: a request that it
 * sends leaves at the time of the one that is done. It must not throw.
 */
void sluice_call_when_done(struct sluice_simulation *simulation,
                           void (*on_done)(void *context,
                                           const struct sluice_completion *completion),
                           void *context);

/**
 * How many requesters there are; they are numbered from 0, in the order of the file.
 */
uint32_t sluice_requesters(const struct sluice_simulation *simulation);

/**
 * The bytes of memory that a requester reaches, from address 0 on without a gap.
 */
uint64_t sluice_memory_bytes(const struct sluice_simulation *simulation, uint32_t requester);

/**
 * Whether a requester can send now: its `pattern` is `external`, no host is there, and it has
 * fewer requests under way than it can.
 */
bool sluice_can_send(const struct sluice_simulation *simulation, uint32_t requester);

/**
 * Sends a request for the line of 64 bytes that holds `addr`, at the time that it is now. `tag` is
 * given back when it is done.
 *
 * Returns `SLUICE_OK`, or `SLUICE_FULL`, `SLUICE_INVALID`, `SLUICE_FAILED`: nothing was sent then.
 */
int32_t sluice_send(struct sluice_simulation *simulation,
                    uint32_t requester,
                    uint64_t addr,
                    bool is_write,
                    uint64_t tag);

/**
 * The time that it is now, in picoseconds: all that happens up to then has happened.
 */
uint64_t sluice_now(const struct sluice_simulation *simulation);

/**
 * When something happens next, in picoseconds, or `SLUICE_NO_EVENT`. Up to then a program with a
 * clock of its own need not advance the simulation.
 */
uint64_t sluice_next_event(const struct sluice_simulation *simulation);

/**
 * Moves time on to `until`, in picoseconds, and calls back for each request that is done by then,
 * and for what hosts learn.
 * A time in the past moves nothing. One after `SLUICE_TIME_MAX`, as `SLUICE_NO_EVENT` is, is
 * refused.
 *
 * Returns `SLUICE_OK`, or `SLUICE_INVALID`, `SLUICE_BUSY`, `SLUICE_FAILED`.
 */
int32_t sluice_advance(struct sluice_simulation *simulation,
                       uint64_t until);

/**
 * Requests that were sent and are not done, and what hosts have asked for and not learnt.
 */
uint64_t sluice_in_flight(const struct sluice_simulation *simulation);

/**
 * Begins to count anew, as after a warm-up. Requests under way go on.
 */
void sluice_restart_statistics(struct sluice_simulation *simulation);

/**
 * What was counted, as a JSON object with the fields that docs/reference/output.md lists for a
 * fabric. To be freed by `sluice_free_text`; null if the simulation has failed, or if requests
 * wait for each other for ever while others go on (`sluice_error`).
 */
char *sluice_statistics(const struct sluice_simulation *simulation);

/**
 * Puts a host at a requester whose `pattern` is `external`, before it sends anything. The host has
 * caches of its own, which the program keeps: `lines` of 64 bytes at most, empty now. It asks for
 * `misses` lines at once at most, and has room for those besides. A snoop looks up a line in
 * `look_up_ps` picoseconds, a second at most.
 *
 * From now on `sluice_ask` asks for the host, `sluice_call_with_news` says whom to call with what
 * it learns, and `sluice_send` is refused there. In a coherent fabric the host is a peer: devices
 * snoop its lines.
 *
 * Returns `SLUICE_OK`, or `SLUICE_INVALID`, `SLUICE_FAILED`.
 */
int32_t sluice_take_host(struct sluice_simulation *simulation,
                         uint32_t requester,
                         uint32_t lines,
                         uint32_t misses,
                         uint64_t look_up_ps);

/**
 * Whom to call with what hosts learn, in the order of time, while `sluice_advance` runs; a null
 * function for nobody. It may do what the function of `sluice_call_when_done` may, and ask.
 */
void sluice_call_with_news(struct sluice_simulation *simulation,
                           void (*on_news)(void *context, const struct sluice_news *news),
                           void *context);

/**
 * A host asks for the line of 64 bytes that holds `addr`, or gives it up, at the time that it is
 * now: `what` is `SLUICE_READ` to `SLUICE_DROP`. With `may_delay` a device may answer with a
 * long-delay message. `tag` is in the news that answer; no two that are under way have the same.
 *
 * Returns `SLUICE_OK`. With `SLUICE_FULL` for more lines than `misses`, `SLUICE_INVALID` or
 * `SLUICE_FAILED` it has asked for nothing.
 */
int32_t sluice_ask(struct sluice_simulation *simulation,
                   uint32_t requester,
                   uint64_t addr,
                   uint32_t what,
                   bool may_delay,
                   uint32_t tag);

#ifdef __cplusplus
} /* extern "C" */
#endif /* __cplusplus */

#endif  /* SLUICE_H */
