//! The reorder window's entries.

use super::stream::MemOp;
use std::cmp::Reverse;

/// Entries of the ring of instructions in the window: each stands for at least one, so that this
/// is the widest window.
pub(super) const SLOTS: u64 = 1024;
/// A time that is not known yet.
pub(super) const UNKNOWN: u64 = u64::MAX;
/// No miss.
pub(super) const NO_MISS: u32 = u32::MAX;
/// No slot.
pub(super) const NOBODY: u16 = u16::MAX;

/// An instruction in the window.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// The number of the instruction among all that the core has issued.
    pub number: u64,
    /// From when on it may be executed, as far as is known.
    pub from: u64,
    /// When it may retire, or [`UNKNOWN`].
    pub done: u64,
    /// A store: when its line is there, or [`UNKNOWN`] with the miss in `miss`. What is delayed:
    /// when its data could be there.
    pub data: u64,
    pub line: u32,
    /// Instructions that it stands for.
    pub count: u32,
    /// The miss that it waits for.
    pub miss: u32,
    pub op: MemOp,
    /// The device has said that there will be no data soon.
    pub delayed: bool,
    /// First of those that need its result; next of those that wait for the same.
    pub waiters: u16,
    pub next: u16,
}

/// A slot with a result, the earliest first: when, and the slot's number and place.
pub(super) type Known = Reverse<(u64, u64, u16)>;

pub(super) const EMPTY: Slot = Slot {
    number: 0,
    from: 0,
    done: 0,
    data: 0,
    line: 0,
    count: 0,
    miss: NO_MISS,
    op: MemOp::None,
    delayed: false,
    waiters: NOBODY,
    next: NOBODY,
};
