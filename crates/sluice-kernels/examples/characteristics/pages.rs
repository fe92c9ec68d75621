//! A cache of pages, least recently used out first, that remembers which lines were touched.

const LINES: u64 = 64;
const NONE: u32 = u32::MAX;

/// How much of the pages was touched while they were in the cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shares {
    /// Pages that left.
    pub pages: u64,
    /// Lines touched in them.
    pub lines: u64,
    /// Pages with less than 40 % of their lines touched.
    pub below_40: u64,
}

impl Shares {
    fn add(&mut self, touched: u64) {
        let lines = u64::from(touched.count_ones());
        self.pages += 1;
        self.lines += lines;
        self.below_40 += u64::from(lines * 5 < LINES * 2);
    }

    /// Lines touched, of all lines.
    pub fn mean_percent(&self) -> f64 {
        100.0 * self.lines as f64 / (self.pages * LINES).max(1) as f64
    }
}

#[derive(Clone, Copy)]
struct Entry {
    touched: u64,
    dirty: u64,
    newer: u32,
    older: u32,
    here: bool,
}

/// The cache, with an entry for each page of the program.
pub struct Pages {
    entries: Vec<Entry>,
    newest: u32,
    oldest: u32,
    room: u64,
    read: Shares,
    written: Shares,
}

impl Pages {
    /// For a program of `footprint` bytes, with `capacity` bytes of room.
    pub fn new(footprint: u64, capacity: u64) -> Pages {
        let entry = Entry {
            touched: 0,
            dirty: 0,
            newer: NONE,
            older: NONE,
            here: false,
        };
        Pages {
            entries: vec![entry; footprint.div_ceil(4096) as usize],
            newest: NONE,
            oldest: NONE,
            room: (capacity / 4096).max(1),
            read: Shares::default(),
            written: Shares::default(),
        }
    }

    /// Counts anew; the pages stay.
    pub fn forget(&mut self) {
        (self.read, self.written) = (Shares::default(), Shares::default());
    }

    /// Of the pages that left: lines touched, and of those with a dirty line the lines dirty.
    pub fn shares(&self) -> (Shares, Shares) {
        (self.read, self.written)
    }

    /// A line is read.
    pub fn read(&mut self, line: u64) {
        self.touch(line, 0);
    }

    /// A line is written.
    pub fn write(&mut self, line: u64) {
        self.touch(line, 1);
    }

    fn touch(&mut self, line: u64, dirty: u64) {
        let page = (line / LINES) as u32;
        if self.newest != page {
            if self.entries[page as usize].here {
                self.unlink(page);
            } else if self.room == 0 {
                self.evict();
            } else {
                self.room -= 1;
            }
            self.link(page);
        }
        let entry = &mut self.entries[page as usize];
        entry.touched |= 1 << (line % LINES);
        entry.dirty |= dirty << (line % LINES);
    }

    fn evict(&mut self) {
        let page = self.oldest;
        self.unlink(page);
        let entry = &mut self.entries[page as usize];
        self.read.add(entry.touched);
        if entry.dirty != 0 {
            self.written.add(entry.dirty);
        }
        (entry.touched, entry.dirty, entry.here) = (0, 0, false);
    }

    fn link(&mut self, page: u32) {
        let before = self.newest;
        let entry = &mut self.entries[page as usize];
        (entry.newer, entry.older, entry.here) = (NONE, before, true);
        match before {
            NONE => self.oldest = page,
            _ => self.entries[before as usize].newer = page,
        }
        self.newest = page;
    }

    fn unlink(&mut self, page: u32) {
        let Entry { newer, older, .. } = self.entries[page as usize];
        match newer {
            NONE => self.newest = older,
            _ => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
    }
}
