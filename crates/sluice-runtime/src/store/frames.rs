//! Pages in memory between the program and a file.

use super::page_map::PageMap;
use sluice_region::{Mapping, PAGE};

/// How many there are. Pages that are prefetched or written wait here at the same time.
pub const FRAMES: usize = 512;

/// What a frame holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It holds no page.
    Free,
    /// The file's page is on its way into it.
    Reading,
    /// What the file has.
    Ready,
    /// What is on its way into the file.
    Writing,
}

/// All frames, and which page each is of.
#[derive(Debug)]
pub struct Frames {
    memory: Mapping,
    of: [(u32, State); FRAMES],
    table: PageMap,
    /// Where the search for a frame goes on.
    hand: usize,
}

impl Frames {
    /// Frames of which none holds a page.
    pub fn new() -> Result<Frames, i32> {
        let memory = Mapping::anonymous(FRAMES * PAGE)?;
        memory.keep_from_core_files();
        Ok(Frames {
            memory,
            of: [(0, State::Free); FRAMES],
            table: PageMap::new(FRAMES),
            hand: 0,
        })
    }

    /// The frame's memory.
    pub fn addr(&self, frame: usize) -> usize {
        self.memory.addr() + frame * PAGE
    }

    /// The frame of a page.
    pub fn find(&self, page: u32) -> Option<usize> {
        self.table.get(page).map(|frame| frame as usize)
    }

    /// What a frame holds, and of which page.
    pub fn get(&self, frame: usize) -> (u32, State) {
        self.of[frame]
    }

    /// Takes a frame for a page that has none. One that the file has as well is given up for it.
    pub fn take(&mut self, page: u32, state: State) -> Option<usize> {
        let from = self.hand;
        let frames = || (0..FRAMES).map(|n| (from + n) % FRAMES);
        let is = |wanted| move |of: &[(u32, State); FRAMES], n: usize| of[n].1 == wanted;
        let (free, ready) = (is(State::Free), is(State::Ready));
        let found = frames().find(|n| free(&self.of, *n));
        let frame = found.or_else(|| frames().find(|n| ready(&self.of, *n)))?;
        self.free(frame);
        self.hand = (frame + 1) % FRAMES;
        self.of[frame] = (page, state);
        // There is room for as many pages as there are frames.
        self.table.set(page, frame as u64);
        Some(frame)
    }

    /// A frame is in another state.
    pub fn set(&mut self, frame: usize, state: State) {
        self.of[frame].1 = state;
    }

    /// A frame holds nothing any more.
    pub fn free(&mut self, frame: usize) {
        let (page, state) = self.of[frame];
        if state != State::Free {
            self.table.remove(page);
            self.of[frame].1 = State::Free;
        }
    }
}
