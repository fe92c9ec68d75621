//! The host's caches, as a filter: what they hold does not reach memory.
//!
//! Levels of one CPU, each set-associative with the least recently used line out, that allocate on
//! loads and stores and write back. They are not inclusive of each other. What passes is what
//! memory would see: the fill of a line as a load, the write-back of a dirty one as a store.

use sluice_units::{Bytes, LINE_BYTES, ParseUnitError};
use std::fmt;

/// Levels at most.
const LEVELS_MAX: usize = 4;
/// An entry: a line's number plus one, and whether it was written.
const DIRTY: u64 = 1 << 63;

/// One level: how large, and how many ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Bytes that it holds.
    pub capacity: Bytes,
    /// Lines of a set.
    pub ways: u32,
}

/// The levels of a filter, the first nearest to the CPU; none: nothing is filtered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels(Vec<Level>);

impl Levels {
    /// Whether nothing is filtered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads `none`, or levels such as `L1=32KiB/8,L2=512KiB/8`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Levels, LevelsError> {
        let bad = |fault| LevelsError {
            text: text.to_owned(),
            fault,
        };
        if text == "none" {
            return Ok(Levels::default());
        }
        let mut levels = Vec::new();
        for (place, part) in text.split([',', '+']).enumerate() {
            let name = format!("L{}=", place + 1);
            let level = match part.strip_prefix(&name) {
                Some(size) => Level::parse(size),
                None => Err(LevelFault::Name(part.to_owned(), name)),
            };
            levels.push(level.map_err(bad)?);
        }
        match levels.len() {
            0..=LEVELS_MAX => Ok(Levels(levels)),
            _ => Err(bad(LevelFault::TooMany)),
        }
    }
}

/// Why a text names no filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad value for filter: \"{text}\"; {fault}; expected none or L1=32KiB/8,L2=..")]
pub struct LevelsError {
    text: String,
    #[source]
    fault: LevelFault,
}

/// What is wrong with a level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum LevelFault {
    #[error("\"{0}\" does not begin with {1}")]
    Name(String, String),
    #[error("at most {LEVELS_MAX} levels")]
    TooMany,
    #[error("\"{0}\" is not SIZE/WAYS")]
    Form(String),
    #[error(transparent)]
    Capacity(#[from] ParseUnitError),
    #[error("\"{0}\" ways; 1 to 64 are accepted")]
    Ways(String),
    #[error("{} in {} ways are not a power of two of sets", .0.capacity, .0.ways)]
    Sets(Level),
}

impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (place, level) in self.0.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(f, "{comma}L{}={}/{}", place + 1, level.capacity, level.ways)?;
        }
        Ok(())
    }
}

impl Level {
    fn parse(text: &str) -> Result<Level, LevelFault> {
        let parts = text.split_once('/');
        let (capacity, given) = parts.ok_or_else(|| LevelFault::Form(text.to_owned()))?;
        let capacity: Bytes = capacity.parse()?;
        let ways = given.parse().ok().filter(|ways| (1..=64).contains(ways));
        let ways: u32 = ways.ok_or_else(|| LevelFault::Ways(given.to_owned()))?;
        let level = Level { capacity, ways };
        let set = u64::from(ways) * LINE_BYTES;
        let sets = capacity.0 / set;
        let is_whole = sets * set == capacity.0 && sets.is_power_of_two() && sets <= 1 << 24;
        match is_whole {
            true => Ok(level),
            false => Err(LevelFault::Sets(level)),
        }
    }
}

struct Cache {
    /// Sets of entries, each with its most recently used line first; 0 for none.
    entries: Box<[u64]>,
    ways: usize,
    mask: u64,
}

impl Cache {
    fn new(level: &Level) -> Cache {
        let lines = level.capacity.0 / LINE_BYTES;
        Cache {
            entries: vec![0; lines as usize].into_boxed_slice(),
            ways: level.ways as usize,
            mask: lines / u64::from(level.ways) - 1,
        }
    }

    /// Finds a line, or puts it in. It is the most recent of its set then, and written if `dirty`.
    /// Returns whether it was there, and the entry that had to go for it, or 0.
    #[inline]
    fn touch(&mut self, line: u64, dirty: u64) -> (bool, u64) {
        let first = (line & self.mask) as usize * self.ways;
        let set = &mut self.entries[first..first + self.ways];
        if set[0] & !DIRTY == line + 1 {
            set[0] |= dirty;
            return (true, 0);
        }
        let place = set.iter().position(|entry| entry & !DIRTY == line + 1);
        let end = place.unwrap_or(set.len() - 1);
        let last = set[end];
        set.copy_within(0..end, 1);
        set[0] = (line + 1) | dirty;
        match place {
            Some(_) => {
                set[0] |= last;
                (true, 0)
            }
            None => (false, last),
        }
    }
}

/// What passes the last level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// A line is fetched.
    Fill(u64),
    /// A written line goes back.
    WriteBack(u64),
}

/// The caches of one CPU.
pub struct Filter {
    levels: Box<[Cache]>,
}

impl Filter {
    /// A filter whose caches are empty.
    pub fn new(levels: &Levels) -> Filter {
        Filter {
            levels: levels.0.iter().map(Cache::new).collect(),
        }
    }

    /// A load or store of a line.
    #[inline]
    pub fn access(&mut self, line: u64, store: bool, pass: &mut impl FnMut(Passed)) {
        let dirty = if store { DIRTY } else { 0 };
        let (found, victim) = self.levels[0].touch(line, dirty);
        if !found {
            self.below(1, line, victim, pass);
        }
    }

    /// A level above has missed a line, and let an entry go.
    fn below(&mut self, level: usize, line: u64, victim: u64, pass: &mut impl FnMut(Passed)) {
        if victim & DIRTY != 0 {
            self.write_back(level, (victim & !DIRTY) - 1, pass);
        }
        let Some(cache) = self.levels.get_mut(level) else {
            return pass(Passed::Fill(line));
        };
        let (found, victim) = cache.touch(line, 0);
        if !found {
            self.below(level + 1, line, victim, pass);
        }
    }

    /// A level above lets a written line go: this one takes it.
    fn write_back(&mut self, level: usize, line: u64, pass: &mut impl FnMut(Passed)) {
        let Some(cache) = self.levels.get_mut(level) else {
            return pass(Passed::WriteBack(line));
        };
        let (_, victim) = cache.touch(line, DIRTY);
        if victim & DIRTY != 0 {
            self.write_back(level + 1, (victim & !DIRTY) - 1, pass);
        }
    }
}
