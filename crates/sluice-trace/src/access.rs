//! One access to memory.

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Reads data.
    Load = 0,
    /// Writes data.
    Store = 1,
    /// Reads an instruction.
    Fetch = 2,
    /// Reads pages by the block door, as a disk does.
    BlockRead = 3,
    /// Writes pages so.
    BlockWrite = 4,
    /// Says that the contents of pages are no longer needed.
    BlockTrim = 5,
    /// Makes durable all that was written. It has neither address nor size: both are 0.
    BlockFlush = 6,
}

/// Kinds of accesses.
pub const KINDS: usize = 7;

/// Bytes of an access by the block door that goes on in the next access of its CPU. The next access
/// goes on if it has the same kind and instructions and begins where this one ends. So requests may
/// be larger than the size of an access. A request that such a piece ends has its last byte once
/// more, so that it is no part of the next.
pub const BLOCK_PIECE: u16 = 15 * 4096;

/// What a tag has for each access by the block door, in the place of a kind.
pub(crate) const BY_BLOCK: u8 = 3;

impl Kind {
    /// Whether it is a request for pages, by the block door.
    pub fn is_block(self) -> bool {
        self as u8 >= BY_BLOCK
    }

    /// What it is in a tag: two bits, and for the block door three for its kind.
    pub(crate) fn bits(self) -> (u8, Option<u8>) {
        match (self as u8).checked_sub(BY_BLOCK) {
            Some(which) => (BY_BLOCK, Some(which)),
            None => (self as u8, None),
        }
    }

    /// The kind that a tag calls by two bits, and for the block door by three more.
    pub(crate) fn from_bits(bits: u8, more: u8) -> Option<Kind> {
        let number = if bits == BY_BLOCK { bits + more } else { bits };
        [
            Kind::Load,
            Kind::Store,
            Kind::Fetch,
            Kind::BlockRead,
            Kind::BlockWrite,
            Kind::BlockTrim,
            Kind::BlockFlush,
        ]
        .get(usize::from(number))
        .copied()
    }
}

/// One load, store or instruction fetch of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Which CPU (of a single program: which thread), from 0.
    pub cpu: u32,
    /// Instructions that this CPU had executed before the one that made the access. Never falls
    /// from one access of a CPU to its next.
    pub instructions: u64,
    /// Byte address; a multiple of the trace's granularity.
    pub address: u64,
    /// Bytes, at least 1 but for a flush.
    pub size: u16,
    /// What it does.
    pub kind: Kind,
}

impl Access {
    /// Its last byte; of a flush, its first.
    pub fn last(&self) -> u64 {
        let more = u64::from(self.size).saturating_sub(1);
        self.address.saturating_add(more)
    }

    /// Whether this one is the rest of a request by the block door that `before`, which ends at
    /// `end`, is a piece of.
    pub fn goes_on(&self, before: &Access, end: u64) -> bool {
        let same = |access: &Access| (access.cpu, access.instructions, access.kind);
        before.size == BLOCK_PIECE
            && self.kind.is_block()
            && same(self) == same(before)
            && (self.address == end || self.size == 1 && self.address.checked_add(1) == Some(end))
    }
}
