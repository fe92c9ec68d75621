//! Host memory for pages in sets: a page can have the frames of one set only, as in a cache that
//! hardware looks up.

/// The page of a frame is on its way in: it cannot leave.
const HELD: u64 = u64::MAX;

/// Which frames a page can have, and which of them was used longest ago.
pub(super) struct Sets {
    ways: u32,
    sets: u32,
    /// When a frame was used last, in uses; 0 if nothing is in it.
    used: Vec<u64>,
    uses: u64,
}

impl Sets {
    /// # Panics
    /// If the frames are not whole sets.
    pub fn new(frames: u32, ways: u32) -> Sets {
        assert!(
            frames.is_multiple_of(ways),
            "{frames} frames, {ways} to a set"
        );
        Sets {
            ways,
            sets: frames / ways,
            used: vec![0; frames as usize],
            uses: 0,
        }
    }

    /// The frame that an entry of the page table gets: an empty one, or the one used longest ago.
    /// None if all pages of its set are on their way in.
    pub fn room(&self, unit: u32) -> Option<u32> {
        if self.sets == 0 {
            return None;
        }
        let first = unit % self.sets * self.ways;
        let oldest = (first..first + self.ways).min_by_key(|frame| self.used[*frame as usize])?;
        (self.used[oldest as usize] != HELD).then_some(oldest)
    }

    pub fn is_empty(&self, frame: u32) -> bool {
        self.used[frame as usize] == 0
    }

    /// An access. That of a page on its way in changes nothing.
    pub fn uses(&mut self, frame: u32) {
        if self.used[frame as usize] != HELD {
            self.comes_in(frame);
        }
    }

    pub fn holds(&mut self, frame: u32) {
        self.used[frame as usize] = HELD;
    }

    /// The page is there, and was used just now.
    pub fn comes_in(&mut self, frame: u32) {
        self.uses += 1;
        self.used[frame as usize] = self.uses;
    }

    pub fn frees(&mut self, frame: u32) {
        self.used[frame as usize] = 0;
    }
}
