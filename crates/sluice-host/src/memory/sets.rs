//! Host memory for pages in sets: a page can have the frames of one set only, as in a cache that
//! hardware looks up.

use sluice_lists::Lists;

/// What is in a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    /// A page on its way in: it cannot leave.
    Coming,
    Page,
}

/// Which frames a page can have, and which of them was used longest ago. A set has all of host
/// memory at most, so nothing here may take longer in a larger one.
pub(super) struct Sets {
    ways: u32,
    sets: u32,
    holds: Vec<Holds>,
    /// Two of each set: frames with a page, the one used last in front, and empty ones. Those of
    /// pages on their way are in neither.
    lists: Lists,
}

impl Sets {
    /// # Panics
    /// If the frames are not whole sets.
    pub fn new(frames: u32, ways: u32) -> Sets {
        assert!(
            frames.is_multiple_of(ways),
            "{frames} frames, {ways} to a set"
        );
        let sets = frames / ways;
        let mut it = Sets {
            ways,
            sets,
            holds: vec![Holds::Nothing; frames as usize],
            lists: Lists::new(2 * sets, frames),
        };
        (0..frames).for_each(|frame| it.lists.push_front(it.empty(frame / ways), frame));
        it
    }

    fn pages(&self, set: u32) -> u32 {
        2 * set
    }

    fn empty(&self, set: u32) -> u32 {
        2 * set + 1
    }

    /// The list that a frame is in.
    fn list_of(&self, frame: u32) -> Option<u32> {
        let set = frame / self.ways;
        match self.holds[frame as usize] {
            Holds::Nothing => Some(self.empty(set)),
            Holds::Coming => None,
            Holds::Page => Some(self.pages(set)),
        }
    }

    /// The frame that an entry of the page table gets: an empty one, or the one used longest ago.
    /// None if all pages of its set are on their way in.
    pub fn room(&self, unit: u32) -> Option<u32> {
        let set = unit.checked_rem(self.sets)?;
        let lists = [self.empty(set), self.pages(set)];
        lists.into_iter().find_map(|list| self.lists.back(list))
    }

    pub fn is_empty(&self, frame: u32) -> bool {
        self.holds[frame as usize] == Holds::Nothing
    }

    /// An access. That of a page on its way in changes nothing.
    pub fn uses(&mut self, frame: u32) {
        if self.holds[frame as usize] == Holds::Page {
            let list = self.pages(frame / self.ways);
            self.lists.move_to_front(list, frame);
        }
    }

    pub fn holds(&mut self, frame: u32) {
        self.becomes(frame, Holds::Coming);
    }

    /// The page is there, and was used just now.
    pub fn comes_in(&mut self, frame: u32) {
        self.becomes(frame, Holds::Page);
    }

    pub fn frees(&mut self, frame: u32) {
        self.becomes(frame, Holds::Nothing);
    }

    fn becomes(&mut self, frame: u32, holds: Holds) {
        if let Some(list) = self.list_of(frame) {
            self.lists.remove(list, frame);
        }
        self.holds[frame as usize] = holds;
        if let Some(list) = self.list_of(frame) {
            self.lists.push_front(list, frame);
        }
    }
}
