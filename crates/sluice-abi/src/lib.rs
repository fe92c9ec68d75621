//! Memory layouts shared between processes: statistics, latency histograms, trap records, the
//! residency map and the control ring.
//!
//! A running program writes them into a file mapped by both sides; `sluice run` reads them while
//! it runs and after it ended, however it ended. Every field is an atomic, so that a reader never
//! forms a Rust reference to memory that changes under it.
//!
//! [`Policy`], [`Prefetcher`] and [`Memory`] are the layouts that others write programs against: an
//! eviction policy, a prefetcher and a memory model as shared objects. The headers in `include` are
//! made from them.

mod command;
#[macro_use]
mod counters;
mod desk;
pub mod export;
mod hist;
mod marks;
mod memory;
mod others;
mod policy;
mod policy_v1;
mod prefetcher;
mod profile;
mod record;
mod residency;
mod ring;
pub mod session_text;
mod stats;

pub use command::{Completion, Operation, Range, Reason, Request, Status, Submission, Text};
pub use desk::{
    ASKS, Answer, Ask, DESK_FILE, DESK_MAGIC, Desk, DeskState, PROGRAMMED_AT, Progress, Ticket,
    Wanted, desk_bytes, desk_words, lost_at,
};
pub use hist::{BUCKETS, Hist};
pub use marks::{
    MARK_BEGINS, MARK_DONE, MARK_ENDS, MARK_FAILED, MARK_INVALID, MARK_LOAD, MARK_LOAD_AT,
    MARK_NAME_MAX, MARK_NOT_HERE, MARK_RESET, MARKS_MAX, Mark, SIMULATED_CPU, is_mark_name,
    mark_words, read_mark,
};
pub use memory::{Memory, MemorySpace, SLUICE_MEMORY_ABI, SLUICE_NEVER};
pub use others::{OTHERS_FILE, OTHERS_MAGIC, OTHERS_NEXT, OthersBlock};
pub use policy::{
    Policy, PolicyEvent, PolicySlots, PolicySpace, SLUICE_COMMAND, SLUICE_DEMAND, SLUICE_NO_SLOT,
    SLUICE_NO_THREAD, SLUICE_NO_TICK, SLUICE_POLICY_ABI, SLUICE_PREFETCH,
};
pub use policy_v1::{POLICY_ABI_1, PolicyV1};
pub use prefetcher::{
    Prefetcher, PrefetcherAccess, PrefetcherPicks, PrefetcherSpace, SLUICE_FIRST_USE,
    SLUICE_LATE_USE, SLUICE_MISS, SLUICE_PREFETCHER_ABI,
};
pub use profile::{
    Missed, Module, PROFILE_FRAMES, PROFILE_MAGIC, PROFILE_MODULES, PROFILE_SITES, PROFILE_THREADS,
    PROFILE_VERSION, ProfileBlock, ProfiledThread, Site, frame, parts_of_frame, profile_bytes,
    profile_pages_at, read_words, write_words,
};
pub use record::{RECORD_MAGIC, RecordHeader, is_watched, watched_for};
pub use residency::{
    CACHED, HEAT_PAGES, IN_HOST, MAP_AT, MAPPED, PINNED, heat_at, heat_len, view_bytes,
};
pub use ring::{
    CHANNELS, Channel, Client, ENTRIES, Found, Hello, RING_BYTES, RING_MAGIC, RING_VERSION, Ring,
    Server, TEXT_BYTES, WORDS, Words,
};
pub use stats::{Change, Counter, OF_SHARED_MEMORY, STATS_MAGIC, STATS_VERSION, StatsBlock};

/// Environment variable that names the session directory.
pub const SESSION_VAR: &str = "SLUICE_SESSION";
/// Name of the file in the session directory that holds `key=value` lines.
pub const SESSION_FILE: &str = "session.conf";
/// Why the library refused the session, as it has said: a file in the session directory.
pub const REFUSAL_FILE: &str = "refused";
/// What traps and loads cost on this host, as the session's first process measured it: a file in
/// the session directory.
pub const COSTS_FILE: &str = "costs";
/// What each device of the session holds at its start, if it takes long to make: a file in the
/// session directory.
pub const CONTENTS_FILE: &str = "contents";
/// Where the session's device for memory that processes share is reached: a socket in the session
/// directory.
pub const SHARED_SOCKET: &str = "shared.sock";
/// Name in the session directory of the guest's ring of the session's first process, a link.
pub const GUEST_RING_LINK: &str = "guest-ring";
/// Name in the session directory of a link to the first process's statistics and residency map.
pub const VIEW_LINK: &str = "view";
/// Name of the socket by which QEMU reaches the device as a disk.
pub const DISK_SOCKET: &str = "disk";
/// A file in the session directory that everybody who uses the session keeps locked, shared. It
/// begins with [`SESSION_MARK`].
pub const LOCK_FILE: &str = "lock";
/// Each process locks the byte of the lock file whose number is its statistics' inode. One whose
/// lock ends for a moment locks another one meanwhile: the number with this bit.
pub const MEANWHILE: u64 = 1 << 62;
/// The byte that a session's keeper locks while it looks for what ended programs leave.
pub const KEEPER: u64 = 1 << 61;
/// A session with so many files has more than its keeper leaves there: the next program that starts
/// waits for it, and it looks without a rest.
pub const CROWD_FILES: usize = 4096;
/// Files of so many first images of a process stay as long as it runs.
pub const FIRST_IMAGES: u32 = 2;
/// What the lock file says: this folder is a session's, and may be removed when nobody holds it.
pub const SESSION_MARK: &str = "sluice session 1\n";
/// The command that made the session: its process id, when it was started and its PID namespace.
pub const OWNER_FILE: &str = "owner";
/// A link to the preload library, by a path that `LD_PRELOAD` can hold.
pub const PRELOAD_LINK: &str = "libsluice_preload.so";
