//! What is known of each page, for anybody to read: the residency map says what the device and the
//! host have of it now, and the heat where the misses were.

use crate::stats::StatsBlock;

/// The page is in the device's cache, or on its way there.
pub const CACHED: u8 = 1;
/// The page is mapped: loads and stores run at full speed.
pub const MAPPED: u8 = 2;
/// The page is pinned.
pub const PINNED: u8 = 4;
/// The page has moved to host memory (`host.migration.policy`).
pub const IN_HOST: u8 = 8;

/// Where the map begins in the file that the statistics are in: a byte for each page.
pub const MAP_AT: usize = size_of::<StatsBlock>().next_multiple_of(4096);

/// Pages of which the misses are counted together.
pub const HEAT_PAGES: u64 = 64;

/// Where the heat begins in that file: a `u32` for each [`HEAT_PAGES`] pages, the misses on them
/// since the start.
pub fn heat_at(pages: u64) -> usize {
    MAP_AT + (pages as usize).next_multiple_of(size_of::<u32>())
}

/// Counters of the heat.
pub fn heat_len(pages: u64) -> usize {
    pages.div_ceil(HEAT_PAGES) as usize
}

/// Bytes of a file with statistics, map and heat: a power of two, as a PCI BAR must be.
pub fn view_bytes(pages: u64) -> usize {
    (heat_at(pages) + heat_len(pages) * size_of::<u32>()).next_power_of_two()
}
