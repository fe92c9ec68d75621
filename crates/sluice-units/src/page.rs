//! Page numbers and the two granularities of a CXL-SSD.

use std::fmt;

/// Bytes in one CXL.mem transfer, a CPU cache line.
pub const LINE_BYTES: u64 = 64;

/// Bytes in one page: the unit of the DRAM cache, of the mapping and of a NAND read.
pub const PAGE_BYTES: u64 = 4096;

const _: () = assert!(PAGE_BYTES.is_multiple_of(LINE_BYTES));

/// A logical page number: a byte address on the device divided by [`PAGE_BYTES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lpn(pub u64);

impl Lpn {
    /// The page that holds the byte at `addr`.
    pub const fn of_addr(addr: u64) -> Self {
        Lpn(addr / PAGE_BYTES)
    }

    /// The address of the page's first byte.
    pub const fn addr(self) -> u64 {
        self.0 * PAGE_BYTES
    }
}

impl fmt::Display for Lpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}

/// A physical page number: a place in the flash array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppn(pub u64);

impl fmt::Display for Ppn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.0)
    }
}
