//! The residency map: what the device and the host know of each page, for anybody to read.

use crate::stats::StatsBlock;

/// The page is in the device's cache, or on its way there.
pub const CACHED: u8 = 1;
/// The page is mapped: loads and stores run at full speed.
pub const MAPPED: u8 = 2;
/// The page is pinned.
pub const PINNED: u8 = 4;

/// Where the map begins in the file that the statistics are in: a byte for each page.
pub const MAP_AT: usize = size_of::<StatsBlock>().next_multiple_of(4096);

/// Bytes of a file with statistics and map: a power of two, as a PCI BAR must be.
pub fn view_bytes(pages: u64) -> usize {
    (MAP_AT + pages as usize).next_power_of_two()
}
