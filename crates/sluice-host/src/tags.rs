//! The tags of a set-associative cache, least recently used first out.

use super::config::Level;

/// The part of an entry that names the line: its number plus one.
const LINE: u32 = (1 << 30) - 1;
/// The line was written and its memory does not know yet.
pub(crate) const DIRTY: u32 = 1 << 31;
/// The line is on its way.
pub(super) const PENDING: u32 = 1 << 30;

/// Lines that the tags can name: 64 GiB of memory.
pub(super) const LINES_MAX: u64 = LINE as u64 - 1;

/// Sets of entries, each set with its most recently used line first. An entry is 0, or a line's
/// number plus one with flags.
pub(crate) struct Tags {
    entries: Vec<u32>,
    ways: usize,
    mask: u32,
}

/// The line that an entry names.
pub(crate) fn line_of(entry: u32) -> u32 {
    (entry & LINE) - 1
}

/// Entries that are compared at once.
const TOGETHER: usize = 8;

/// Where a line is in its set.
#[inline]
fn place_of(set: &[u32], line: u32) -> Option<usize> {
    let is_it = |entry: &u32| entry & LINE == line + 1;
    // Most are used again at once.
    if is_it(&set[0]) {
        return Some(0);
    }
    let (groups, rest) = set.as_chunks::<TOGETHER>();
    for (number, group) in groups.iter().enumerate() {
        // Without a branch for each, so that vector instructions do it.
        if group.iter().fold(false, |any, entry| any | is_it(entry)) {
            return Some(number * TOGETHER + group.iter().position(is_it)?);
        }
    }
    let before = set.len() - rest.len();
    Some(before + rest.iter().position(is_it)?)
}

impl Tags {
    pub fn new(level: &Level) -> Tags {
        Tags::with(level.lines, level.ways)
    }

    /// `entries / ways` sets; a power of two.
    pub fn with(entries: u32, ways: u32) -> Tags {
        let sets = entries / ways;
        assert!(sets.is_power_of_two() && sets * ways == entries);
        Tags {
            entries: vec![0; entries as usize],
            ways: ways as usize,
            mask: sets - 1,
        }
    }

    fn set(&mut self, line: u32) -> &mut [u32] {
        let first = (line & self.mask) as usize * self.ways;
        &mut self.entries[first..first + self.ways]
    }

    /// Finds a line and makes it the most recent of its set.
    #[inline]
    pub fn find(&mut self, line: u32) -> Option<&mut u32> {
        let set = self.set(line);
        let place = place_of(set, line)?;
        if place > 0 {
            let found = set[place];
            set.copy_within(0..place, 1);
            set[0] = found;
        }
        Some(&mut set[0])
    }

    /// Finds a line, which does not count as a use of it.
    pub fn peek(&mut self, line: u32) -> Option<&mut u32> {
        let set = self.set(line);
        place_of(set, line).map(|place| &mut set[place])
    }

    /// An entry's line is as its memory has it. Says whether it was not.
    pub fn clean(entry: &mut u32) -> bool {
        let dirty = *entry & DIRTY != 0;
        *entry &= !DIRTY;
        dirty
    }

    /// Puts a line in that is not there. Returns the entry that had to go, or 0.
    pub fn insert(&mut self, line: u32, flags: u32) -> u32 {
        let set = self.set(line);
        let last = set.len() - 1;
        let victim = set[last];
        set.copy_within(0..last, 1);
        set[0] = (line + 1) | flags;
        victim
    }

    /// Takes a line out. Returns its entry, or 0 if it was not there.
    pub fn remove(&mut self, line: u32) -> u32 {
        let set = self.set(line);
        let Some(place) = place_of(set, line) else {
            return 0;
        };
        let entry = set[place];
        set.copy_within(place + 1.., place);
        set[set.len() - 1] = 0;
        entry
    }

    /// Takes every line out, and calls `tell` with each.
    pub fn take_all(&mut self, mut tell: impl FnMut(u32)) {
        for entry in &mut self.entries {
            match std::mem::take(entry) {
                0 => {}
                taken => tell(taken),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The tags as lists of lines, most recent first.
    struct Naive(Vec<Vec<(u32, u32)>>);

    impl Naive {
        fn set(&mut self, line: u32) -> &mut Vec<(u32, u32)> {
            let sets = self.0.len() as u32;
            &mut self.0[(line % sets) as usize]
        }
    }

    proptest! {
        #[test]
        fn a_cache_is_lists_of_lines(
            // Around the number of entries that are compared at once.
            ways in prop::sample::select(vec![1, 3, 8, 12, 16]),
            steps in prop::collection::vec((0u32..80, 0u8..4), 1..300),
        ) {
            let sets = 4;
            let mut tags = Tags::with(sets * ways, ways);
            let mut naive = Naive(vec![Vec::new(); sets as usize]);
            for (line, what) in steps {
                let at = naive.set(line).iter().position(|(l, _)| *l == line);
                match (what, at) {
                    (0, _) => {
                        let was = at.map(|at| naive.set(line).remove(at));
                        let entry = tags.remove(line);
                        prop_assert_eq!(entry != 0, was.is_some());
                        prop_assert!(was.is_none_or(|(l, f)| entry == (l + 1) | f));
                    }
                    (_, Some(at)) => {
                        let hit = naive.set(line).remove(at);
                        naive.set(line).insert(0, hit);
                        prop_assert_eq!(tags.find(line).copied(), Some((hit.0 + 1) | hit.1));
                    }
                    (_, None) => {
                        prop_assert_eq!(tags.find(line), None);
                        let flags = if what == 1 { DIRTY } else { 0 };
                        naive.set(line).insert(0, (line, flags));
                        let victim = match naive.set(line).len() > ways as usize {
                            true => naive.set(line).pop(),
                            false => None,
                        };
                        let entry = tags.insert(line, flags);
                        prop_assert_eq!(entry, victim.map_or(0, |(l, f)| (l + 1) | f));
                        prop_assert!(entry == 0 || line_of(entry) != line);
                    }
                }
            }
        }
    }
}
