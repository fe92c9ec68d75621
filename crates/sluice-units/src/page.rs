//! Page numbers, and how large the lines and pages of a CXL-SSD are.

use crate::index_type;
use std::fmt;

/// Bytes in one CXL.mem transfer, a CPU cache line.
pub const LINE_BYTES: u64 = 64;

/// Bytes of a page of the host: the unit of its page tables, and of a device unless it says
/// otherwise.
pub const PAGE_BYTES: u64 = 4096;

const _: () = assert!(PAGE_BYTES.is_multiple_of(LINE_BYTES));

index_type! {
    /// A logical page number: which page of a device, as its host sees it. Devices differ in the
    /// size of their pages; none has 2^32 of them.
    pub struct Lpn;

    /// A physical page number: which page of the flash array.
    pub struct Ppn;

    /// Which slot of a device's DRAM cache: where a cached page is.
    pub struct Slot;

    /// Which line of its page, from 0 on.
    pub struct PageLine;
}

impl Lpn {
    /// The page with this number.
    ///
    /// # Panics
    /// If no device has so many pages.
    #[inline]
    pub fn of(number: u64) -> Lpn {
        match u32::try_from(number) {
            Ok(number) => Lpn(number),
            Err(_) => panic!("no device has a page {number}"),
        }
    }

    /// The address of the page's first byte, on a device with pages of so many bytes.
    #[inline]
    pub const fn addr(self, page_bytes: u64) -> u64 {
        self.0 as u64 * page_bytes
    }
}

impl From<Lpn> for u64 {
    #[inline]
    fn from(lpn: Lpn) -> u64 {
        u64::from(lpn.0)
    }
}

impl fmt::Display for Lpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}

impl fmt::Display for Ppn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.0)
    }
}
