//! Which of the device's pages have moved to host memory.

use super::Host;

/// Where the device's pages are, as the host knows: behind the bit of a mapped page nobody could
/// see whether the device has it.
#[derive(Debug)]
pub struct Near {
    /// The frame that each page is in, plus one; 0: on the device. Untouched until it is used.
    frame_of: Box<[u32]>,
    /// Pages in host memory that are mapped.
    mapped: u64,
}

impl Near {
    /// All of so many pages are on the device.
    pub fn new(pages: usize) -> Near {
        Near {
            frame_of: vec![0; pages].into(),
            mapped: 0,
        }
    }

    /// The frame of host memory that a page is in.
    pub fn frame(&self, lpn: u64) -> Option<u32> {
        self.frame_of[lpn as usize].checked_sub(1)
    }

    /// A mapped page has moved into a frame.
    pub fn moves_in(&mut self, lpn: u64, frame: u32) {
        self.frame_of[lpn as usize] = frame + 1;
        self.mapped += 1;
    }

    /// A page is on the device again.
    pub fn leaves(&mut self, lpn: u64, is_mapped: bool) {
        self.frame_of[lpn as usize] = 0;
        self.mapped -= u64::from(is_mapped);
    }

    /// Whether a page is in host memory.
    pub fn has(&self, lpn: u64) -> bool {
        self.frame_of[lpn as usize] != 0
    }

    /// A page was mapped, or is no longer.
    pub fn count_mapped(&mut self, lpn: u64, change: i64) {
        if self.has(lpn) {
            self.mapped = self.mapped.wrapping_add_signed(change);
        }
    }
}

impl Host {
    /// Whether a page is in host memory.
    #[inline]
    pub fn is_near(&self, lpn: u64) -> bool {
        self.near.as_ref().is_some_and(|near| near.has(lpn))
    }

    /// Mapped pages that the device has.
    pub fn mapped_of_device(&self) -> u64 {
        self.mapped() - self.near.as_ref().map_or(0, |near| near.mapped)
    }
}
