//! What processes of a session did that are no longer listed one by one.

use crate::hist::Hist;
use crate::stats::{Counter, SLOTS, STATS_VERSION, StatsBlock};
use core::sync::atomic::{AtomicU64, Ordering::*};

/// Name of the file in the session directory that has the sum.
pub const OTHERS_FILE: &str = "others";
/// Under which it is written before it gets its name.
pub const OTHERS_NEXT: &str = "others.next";
/// First word of the file: "SLUICEOT".
pub const OTHERS_MAGIC: u64 = u64::from_le_bytes(*b"SLUICEOT");

/// Sums over program images that have ended. The identities of those that came last follow in the
/// file: their own files may still be there, and count no more.
#[repr(C)]
#[derive(Debug)]
pub struct OthersBlock {
    /// [`OTHERS_MAGIC`].
    pub magic: AtomicU64,
    /// [`STATS_VERSION`].
    pub version: AtomicU64,
    /// Images in the sums.
    pub images: AtomicU64,
    /// Images that reached their end in good order.
    pub ended: AtomicU64,
    /// Images that became another program by `exec`.
    pub replaced: AtomicU64,
    /// Images that are no copies of another process.
    pub execs: AtomicU64,
    /// Images that an image before them became.
    pub follows: AtomicU64,
    /// Programs that they started without a fork that copies it.
    pub started: AtomicU64,
    /// Identities behind the block.
    pub last: AtomicU64,
    /// Images of the session's first process in the sums.
    pub own_images: AtomicU64,
    /// Zeros.
    pub reserved: [AtomicU64; 6],
    /// By [`Counter`].
    pub counters: [AtomicU64; SLOTS],
    /// Of the images of the session's first process alone.
    pub own: [AtomicU64; SLOTS],
    /// Latency the model asked for, misses only.
    pub modelled: Hist,
    /// Latency the programs saw, misses only.
    pub achieved: Hist,
}

impl OthersBlock {
    /// Words of a block.
    pub const WORDS: usize = size_of::<OthersBlock>() / 8;

    /// Makes a block of zeros one with nothing in it.
    pub fn begin(&self) {
        self.magic.store(OTHERS_MAGIC, Relaxed);
        self.version.store(STATS_VERSION, Relaxed);
    }

    /// Adds an image. `is_own` is whether it is one of the session's first process. One writer at a
    /// time.
    pub fn add(&self, image: &StatsBlock, is_own: bool) {
        let grow =
            |sum: &AtomicU64, by: u64| sum.store(sum.load(Relaxed).wrapping_add(by), Relaxed);
        let flag = |of: &AtomicU64| u64::from(of.load(Relaxed) == 1);
        grow(&self.images, 1);
        grow(&self.ended, flag(&image.ended));
        grow(&self.replaced, flag(&image.replaced));
        grow(&self.execs, u64::from(image.forked.load(Relaxed) == 0));
        grow(&self.follows, flag(&image.follows));
        grow(&self.started, image.started.load(Relaxed));
        grow(&self.own_images, u64::from(is_own));
        for counter in Counter::ALL {
            grow(&self.counters[*counter as usize], image.get(*counter));
            if is_own {
                grow(&self.own[*counter as usize], image.get(*counter));
            }
        }
        self.modelled.merge(&image.modelled);
        self.achieved.merge(&image.achieved);
    }
}

const _: () = assert!(align_of::<OthersBlock>() == 8);
const _: () = assert!(size_of::<OthersBlock>().is_multiple_of(8));
