//! The record of trapped pages, in order.

use core::sync::atomic::AtomicU64;

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
    /// Zero.
    pub reserved: AtomicU64,
}

const _: () = assert!(size_of::<RecordHeader>() == 32);
