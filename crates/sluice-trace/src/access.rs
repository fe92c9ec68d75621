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
}

impl Kind {
    /// The kind that a file calls by this number.
    pub(crate) fn from_bits(bits: u8) -> Option<Kind> {
        [Kind::Load, Kind::Store, Kind::Fetch]
            .get(usize::from(bits))
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
    /// Bytes, at least 1.
    pub size: u16,
    /// What it does.
    pub kind: Kind,
}
