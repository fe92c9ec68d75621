//! The record of trapped pages, in order.

use core::sync::atomic::AtomicU64;
use sluice_units::splitmix;

/// First word of a trap record: "SLTRAPS1".
pub const RECORD_MAGIC: u64 = u64::from_le_bytes(*b"SLTRAPS1");

/// Head of a trap record file; `capacity` logical page numbers (`u64`) follow.
#[repr(C)]
#[derive(Debug)]
pub struct RecordHeader {
    /// [`RECORD_MAGIC`].
    pub magic: AtomicU64,
    /// Entries the file has room for.
    pub capacity: AtomicU64,
    /// Traps so far; those past `capacity` are counted but not kept.
    pub count: AtomicU64,
    /// Of a record of watched pages: one page in two to the power of this was watched.
    pub halvings: AtomicU64,
    /// Times that a watched page was taken away.
    pub taken: AtomicU64,
    /// Traps of a page that had been written since it came.
    pub written: AtomicU64,
}

const _: () = assert!(size_of::<RecordHeader>() == 48);

/// How many halvings a page outlasts among those that are watched: by the upper bits of its number,
/// mixed.
pub const fn watched_for(lpn: u64) -> u32 {
    splitmix(lpn).leading_zeros()
}

/// Whether a page is one of those that are watched, of which there is one in two to the power of
/// `halvings`. After 64 of them there is none.
pub const fn is_watched(lpn: u64, halvings: u32) -> bool {
    halvings < 64 && watched_for(lpn) >= halvings
}
