//! Plain programs that know nothing of the emulator.
//!
//! They measure and check memory or a server that they believe to be ordinary.
//!
//! # JSON
//!
//! With `--json` a program prints one object on the last line of its output, and `--out FILE`
//! writes the same object to a file. Latencies are in nanoseconds, times in seconds.
//!
//! - `schema`: `sluice.workload/1`; `workload`: the subcommand;
//! - `params`: the parameters as resolved, with the seed; sizes end in `_bytes`;
//! - `passes[]`: `pass` (from 1), `phase` (where phases differ), `accesses`, `wall_s`,
//!   `ns_per_access`, `histogram`, and where accesses were timed `latency_ns` and `below_1us`
//!   (a share from 0 to 1);
//! - `latency_ns`: `count`, `mean`, `p50`, `p90`, `p99`, `p999`, `max` over all passes, `null`
//!   when accesses were not timed; `histogram`: pairs of a bucket's midpoint and its count;
//! - `wall_s`: sum over the passes; `mismatches`: what was not as stored;
//! - chase: `build_s`, `checksum` (a hash of all visits in order), `timer` (`source`,
//!   `overhead_ns`);
//! - kv and redis: `requests`, `errors`, `values_checked`, `ops[]` (latencies by kind); kv:
//!   `records_at_end`; redis: `bgsave` (`at_request`, `requests_meanwhile`, `seconds`,
//!   `status`, or `null`);
//! - pattern: `words_checked`, `words_written`;
//! - hints: passes `fill` and `read`, an access a page;
//! - mixed: passes `fill` and `read`, an access a page; `cpu_share` (how much of a CPU each
//!   computing thread had, 0 to 1), `cpu_of_process` (theirs, as a share of the process's CPU time)
//!   and `steps` (of all of them);
//! - traffic: `bytes_per_s` (64 bytes for each access); latencies are those of the dependent loads;
//! - graph: `vertices`, `edges`, `memory_bytes` (all arrays), `validated` (whether the answers were
//!   checked against the edges drawn again), `bfs` (`searches[]` with `source`, `reached`, `depth`,
//!   `edges`, `wall_s`, `teps`; `teps_min`, `teps_median`, `teps_max`, `teps_harmonic_mean`) and
//!   `pagerank` (`iterations`, `edges_per_s`, `sum`, `change`, `error`, `checksum`), each `null`
//!   where it was not asked for. Edges a second count an edge once in a search, as Graph500 does,
//!   and in both directions in an iteration.

mod chase;
mod command;
mod error;
mod graph;
mod hints;
mod hist;
mod kv;
mod meeting;
mod memory;
mod mixed;
pub mod numa;
mod pattern;
mod redis;
mod report;
mod resp;
mod store;
mod timer;
mod traffic;
mod value;

pub use command::{WorkloadCommand, run};
pub use error::Error;
