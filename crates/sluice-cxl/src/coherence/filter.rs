//! The snoop filter's entries: which hosts hold which lines, and which entry leaves next.

use super::heap::Heap;
use super::index::LineIndex;
use super::victim::{Facts, Needs, Victim};
use std::collections::BTreeMap;

/// The most lines that one snoop names.
pub const BLOCK_LINES_MAX: u8 = 4;

/// How far lines are looked at: a run of 4 may begin 3 before a line that is 3 away.
const REACH: u32 = 2 * (BLOCK_LINES_MAX as u32 - 1);

/// Which runs of adjacent lines one snoop may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// Longest run, 1 to [`BLOCK_LINES_MAX`].
    pub lines_max: u8,
    /// Whether only aligned pairs and aligned fours, which is what BISnp-Blk encodes (CXL 3.1,
    /// 3.3.7). If not, any run, also of three, as ESF section V-C has it.
    pub aligned: bool,
    /// Whether the victim of any policy takes the idle lines beside it along.
    pub extends: bool,
}

/// An inclusive filter. An entry is idle, and then can be a victim, or busy. A line can be in any
/// entry of its set.
#[derive(Clone)]
pub(super) struct Filter {
    pub(super) index: LineIndex,
    lines: Vec<u64>,
    /// One host holds the line and may write it.
    exclusive: Vec<bool>,
    /// `words` for each entry, a bit for each host.
    owners: Vec<u64>,
    words: usize,
    /// Entries of a set, one after the other.
    ways: u32,
    sets: u32,
    /// The free entries of each set, at the front of its part.
    free: Vec<u32>,
    /// How many those are.
    free_len: Vec<u32>,
    pub(super) facts: Vec<Facts>,
    idle: Heap,
    policy: &'static Victim,
    blocks: Blocks,
    /// Per line that came in: how often, if the policy wants to know.
    pub(super) insertions: BTreeMap<u64, u32>,
    clock: u64,
}

impl Filter {
    /// Empty. `ways` divides `entries`.
    pub fn new(
        [entries, ways]: [u32; 2],
        hosts: u32,
        policy: &'static Victim,
        blocks: Blocks,
    ) -> Filter {
        let words = hosts.div_ceil(64) as usize;
        let size = entries as usize;
        let sets = entries / ways;
        let of_set = |set| (set * ways..(set + 1) * ways).rev();
        Filter {
            index: LineIndex::new(size),
            lines: vec![0; size],
            exclusive: vec![false; size],
            owners: vec![0; size * words],
            words,
            ways,
            sets,
            free: (0..sets).flat_map(of_set).collect(),
            free_len: vec![ways; sets as usize],
            facts: vec![Facts::default(); size],
            idle: Heap::new(size, ways),
            policy,
            blocks,
            insertions: BTreeMap::new(),
            clock: 0,
        }
    }

    /// The entry of a line.
    #[inline]
    pub fn find(&self, line: u64) -> Option<u32> {
        self.index.get(line)
    }

    pub fn line(&self, entry: u32) -> u64 {
        self.lines[entry as usize]
    }

    /// How many sets there are.
    pub fn sets(&self) -> u32 {
        self.sets
    }

    /// The set that an index picks.
    #[inline]
    pub fn set_at(&self, index: u64) -> u32 {
        match self.sets {
            1 => 0,
            sets => (index % u64::from(sets)) as u32,
        }
    }

    /// The set of an entry.
    pub fn set_of(&self, entry: u32) -> u32 {
        entry / self.ways
    }

    /// Puts a line into a free entry of a set, if there is one. The entry is busy and has no owner.
    pub fn insert(&mut self, line: u64, set: u32) -> Option<u32> {
        let set = set as usize;
        let left = self.free_len[set].checked_sub(1)?;
        self.free_len[set] = left;
        let entry = self.free[set * self.ways as usize + left as usize];
        self.index.set(line, entry);
        self.lines[entry as usize] = line;
        self.clock += 1;
        let insertions = match self.policy.needs {
            Needs::Insertions => {
                let count = self.insertions.entry(line).or_default();
                *count += 1;
                *count
            }
            Needs::Order | Needs::Runs => 0,
        };
        self.facts[entry as usize] = Facts {
            inserted: self.clock,
            touched: self.clock,
            insertions,
            run: 1,
        };
        Some(entry)
    }

    /// Empties a busy entry.
    pub fn remove(&mut self, entry: u32) {
        let at = entry as usize;
        debug_assert!(!self.idle.contains(entry));
        let set = self.set_of(entry) as usize;
        self.index.remove(self.lines[at]);
        self.lines[at] = 0;
        self.exclusive[at] = false;
        self.owners[at * self.words..(at + 1) * self.words].fill(0);
        self.free[set * self.ways as usize + self.free_len[set] as usize] = entry;
        self.free_len[set] += 1;
    }

    /// The entry was asked for.
    pub fn touch(&mut self, entry: u32) {
        self.clock += 1;
        self.facts[entry as usize].touched = self.clock;
    }

    pub fn is_idle(&self, entry: u32) -> bool {
        self.idle.contains(entry)
    }

    /// A transaction on the entry begins.
    pub fn set_busy(&mut self, entry: u32) {
        self.idle.remove(entry);
        if self.policy.needs == Needs::Runs {
            self.rank_around(self.line(entry));
        }
    }

    /// The transaction on the entry has ended.
    pub fn set_idle(&mut self, entry: u32) {
        self.idle
            .set(entry, (self.policy.rank)(&self.facts[entry as usize]));
        if self.policy.needs == Needs::Runs {
            self.rank_around(self.line(entry));
        }
    }

    pub fn is_exclusive(&self, entry: u32) -> bool {
        self.exclusive[entry as usize]
    }

    pub fn set_exclusive(&mut self, entry: u32, exclusive: bool) {
        self.exclusive[entry as usize] = exclusive;
    }

    /// The owners of an entry as bits, 64 hosts a word.
    pub fn owners(&self, entry: u32) -> &[u64] {
        &self.owners[entry as usize * self.words..][..self.words]
    }

    pub fn is_owner(&self, entry: u32, host: u32) -> bool {
        self.owners(entry)[host as usize / 64] >> (host % 64) & 1 == 1
    }

    pub fn add_owner(&mut self, entry: u32, host: u32) {
        self.owners[entry as usize * self.words + host as usize / 64] |= 1 << (host % 64);
    }

    pub fn remove_owner(&mut self, entry: u32, host: u32) {
        self.owners[entry as usize * self.words + host as usize / 64] &= !(1 << (host % 64));
    }

    /// Whether nobody but `host` holds the line.
    pub fn is_alone(&self, entry: u32, host: u32) -> bool {
        let words = self.owners(entry).iter().enumerate();
        words.fold(0, |others, (at, word)| {
            let own = u64::from(at == host as usize / 64) << (host % 64);
            others | word & !own
        }) == 0
    }

    /// The entries that leave so that one of the set is free, adjacent and in order of their lines;
    /// none if all of the set are busy.
    pub fn choose(&self, set: u32) -> Option<Chosen> {
        let first = self.idle.first(set)?;
        let line = self.line(first);
        let length = match self.policy.needs {
            Needs::Runs => self.facts[first as usize].run,
            _ if self.blocks.extends => run_of(self.idle_around(line), REACH, line, self.blocks),
            _ => 1,
        };
        let start = match self.blocks.aligned {
            true => line / u64::from(length) * u64::from(length),
            // The lowest window with the line in it.
            false => {
                let lower = (1..u64::from(length)).take_while(|back| self.has_idle(line, *back));
                line - lower.last().unwrap_or(0)
            }
        };
        let mut chosen = Chosen {
            line: start,
            length,
            entries: [first; BLOCK_LINES_MAX as usize],
        };
        for (next, entry) in (start..).zip(&mut chosen.entries[..length as usize]) {
            *entry = self.index.get(next).expect("a run of entries");
        }
        Some(chosen)
    }

    fn has_idle(&self, line: u64, back: u64) -> bool {
        line >= back && self.idle_at(line - back)
    }

    fn idle_at(&self, line: u64) -> bool {
        let entry = self.index.get(line);
        entry.is_some_and(|entry| self.idle.contains(entry))
    }

    /// Which lines up to [`REACH`] away are idle: bit `REACH + d` for line + d.
    fn idle_around(&self, line: u64) -> u16 {
        let reach = u64::from(REACH);
        let base = line.wrapping_sub(reach);
        (0..=2 * reach).fold(0, |idle, at| {
            let there = base.wrapping_add(at);
            // A line below 0 has wrapped round, and is not there.
            idle | u16::from(there < line + reach + 1 && self.idle_at(there)) << at
        })
    }

    /// The runs of all lines that may have changed with `line`, and so their ranks.
    fn rank_around(&mut self, line: u64) {
        let idle = self.idle_around(line);
        let base = line.wrapping_sub(u64::from(REACH));
        let half = REACH / 2;
        for at in REACH - half..=REACH + half {
            if idle >> at & 1 == 1 {
                let line = base.wrapping_add(u64::from(at));
                let run = run_of(idle, at, line, self.blocks);
                let entry = self.index.get(line).expect("an idle entry");
                let facts = &mut self.facts[entry as usize];
                if facts.run != run {
                    facts.run = run;
                    let rank = (self.policy.rank)(facts);
                    self.idle.set(entry, rank);
                }
            }
        }
    }
}

/// The victims of one eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub line: u64,
    pub length: u8,
    pub entries: [u32; BLOCK_LINES_MAX as usize],
}

/// How many lines can leave with the one at bit `at`, which is idle.
fn run_of(idle: u16, at: u32, line: u64, blocks: Blocks) -> u8 {
    let whole = |length: u32| {
        let first = at - (line % u64::from(length)) as u32;
        let mask = ((1u16 << length) - 1) << first;
        length <= u32::from(blocks.lines_max) && idle & mask == mask
    };
    match blocks.aligned {
        true if whole(4) => 4,
        true if whole(2) => 2,
        true => 1,
        false => {
            let above = (idle >> at).trailing_ones();
            let below = (idle << (15 - at)).leading_ones();
            (above + below - 1).min(u32::from(blocks.lines_max)) as u8
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::victim::VICTIMS;
    use super::*;
    use proptest::prelude::*;
    use sluice_params::Registered;

    const ENTRIES: u32 = 9;
    const LINES: u64 = 24;

    /// A line in the filter: when it came in and was last asked for, and whether it is idle.
    #[derive(Clone, Copy)]
    struct Held {
        line: u64,
        inserted: usize,
        touched: usize,
        idle: bool,
    }

    /// The victim by looking at everything: the first line that leaves and how many do.
    fn naive(
        held: &[Held],
        counts: &[u32],
        name: &str,
        blocks: Blocks,
        is_here: impl Fn(u64) -> bool,
    ) -> Option<(u64, u8)> {
        let all: Vec<Held> = held.iter().copied().filter(|it| it.idle).collect();
        let idle: Vec<Held> = all.iter().copied().filter(|it| is_here(it.line)).collect();
        let newest_first = |it: &&Held| usize::MAX - it.inserted;
        let one = match name {
            "fifo" => idle.iter().min_by_key(|it| it.inserted),
            "lifo" => idle.iter().max_by_key(|it| it.inserted),
            "lru" => idle.iter().min_by_key(|it| it.touched),
            "mru" => idle.iter().max_by_key(|it| it.touched),
            // From the newest on, the first that has the lowest count.
            "lfi" => {
                let mut newest: Vec<&Held> = idle.iter().collect();
                newest.sort_by_key(|it| usize::MAX - it.inserted);
                let count = |it: &&Held| counts[it.line as usize];
                let lowest = newest.iter().map(count).min();
                newest.into_iter().find(|it| Some(count(it)) == lowest)
            }
            _ => None,
        };
        if name != "block" && !blocks.extends {
            return one.map(|it| (it.line, 1));
        }
        let is_idle = |line| all.iter().any(|it| it.line == line);
        let lengths = (1..=u64::from(blocks.lines_max)).rev();
        for length in lengths.filter(|length| !blocks.aligned || *length != 3) {
            let starts = (0..LINES).filter(|start| {
                (!blocks.aligned || start % length == 0) && (*start..start + length).all(is_idle)
            });
            let windows: Vec<u64> = starts.collect();
            let holds = |it: &&Held, start: u64| (start..start + length).contains(&it.line);
            let can = |it: &&Held| windows.iter().any(|start| holds(it, *start));
            let first = match name {
                "block" => idle.iter().filter(can).min_by_key(newest_first),
                _ => one.filter(can),
            };
            if let Some(first) = first {
                let start = windows.into_iter().find(|start| holds(&first, *start))?;
                return Some((start, length as u8));
            }
        }
        None
    }

    /// Holds a filter against the list of its lines, step by step.
    fn follow(
        policy: &'static Victim,
        ways: u32,
        blocks: Blocks,
        steps: Vec<(u64, u8)>,
    ) -> Result<(), TestCaseError> {
        let mut filter = Filter::new([ENTRIES, ways], 1, policy, blocks);
        let (mut held, mut counts) = (Vec::<Held>::new(), vec![0u32; LINES as usize]);
        let sets = u64::from(ENTRIES / ways);
        for (step, (line, what)) in steps.into_iter().enumerate() {
            match (
                filter.find(line),
                held.iter_mut().find(|it| it.line == line),
                what,
            ) {
                (None, None, _) => {
                    let of_set = |it: &&Held| it.line % sets == line % sets;
                    let has_room = held.iter().filter(of_set).count() < ways as usize;
                    let set = filter.set_at(line);
                    prop_assert_eq!(filter.insert(line, set).is_some(), has_room);
                    if has_room {
                        let idle = false;
                        held.push(Held {
                            line,
                            inserted: step,
                            touched: step,
                            idle,
                        });
                        counts[line as usize] += 1;
                    }
                }
                (Some(entry), Some(it), 0) if it.idle => {
                    filter.set_busy(entry);
                    it.idle = false;
                }
                (Some(entry), Some(_), 0) => {
                    filter.remove(entry);
                    held.retain(|it| it.line != line);
                }
                (Some(entry), Some(it), 1) if !it.idle => {
                    filter.touch(entry);
                    it.touched = step;
                }
                (Some(entry), Some(it), _) if !it.idle => {
                    filter.set_idle(entry);
                    it.idle = true;
                }
                (entry, naive, _) => prop_assert_eq!(entry.is_some(), naive.is_some()),
            }
            for set in 0..sets {
                let is_here = |line| line % sets == set;
                let chosen = filter.choose(set as u32);
                let expected = naive(&held, &counts, policy.name, blocks, is_here);
                prop_assert_eq!(chosen.map(|it| (it.line, it.length)), expected);
                let Some(chosen) = chosen else { continue };
                let lines = chosen.entries[..chosen.length as usize].iter();
                let lines: Vec<u64> = lines.map(|entry| filter.line(*entry)).collect();
                let run = chosen.line..chosen.line + u64::from(chosen.length);
                prop_assert!(lines.into_iter().eq(run));
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn every_policy_chooses_as_looking_at_everything_does(
            policy in 0..VICTIMS.len(),
            lines_max in 1..=BLOCK_LINES_MAX,
            (aligned, extends) in any::<(bool, bool)>(),
            ways in prop::sample::select(vec![1, 3, ENTRIES]),
            steps in prop::collection::vec((0..LINES, 0u8..4), 1..200),
        ) {
            let blocks = Blocks { lines_max, aligned, extends };
            follow(&VICTIMS[policy], ways, blocks, steps)?;
        }

        /// Lines that are all adjacent, from the first one on, and mostly idle: runs join and
        /// break at every distance.
        #[test]
        fn runs_join_and_break_as_looking_at_everything_says(
            (aligned, extends) in any::<(bool, bool)>(),
            steps in prop::collection::vec((0..u64::from(ENTRIES), 0u8..4), 1..300),
        ) {
            let blocks = Blocks { lines_max: BLOCK_LINES_MAX, aligned, extends };
            let policy = if extends { "lru" } else { "block" };
            follow(Victim::named(policy).expect("it is there"), ENTRIES, blocks, steps)?;
        }
    }

    #[test]
    fn a_policy_is_found_by_its_name_and_no_other() {
        for policy in VICTIMS {
            assert_eq!(
                Victim::named(policy.name).map(|it| it.name),
                Some(policy.name)
            );
        }
        assert!(Victim::named("belady").is_none());
    }

    #[test]
    fn owners_are_a_set_of_any_host() {
        let blocks = Blocks {
            lines_max: 1,
            aligned: true,
            extends: false,
        };
        let mut filter = Filter::new([2, 2], 1000, &VICTIMS[0], blocks);
        let (one, other) = (filter.insert(1, 0).unwrap(), filter.insert(2, 0).unwrap());
        filter.add_owner(one, 999);
        filter.add_owner(other, 64);
        assert!(filter.is_owner(one, 999) && !filter.is_owner(one, 64));
        assert!(filter.is_alone(one, 999) && !filter.is_alone(one, 0));
        filter.add_owner(one, 3);
        assert!(!filter.is_alone(one, 999));
        filter.remove_owner(one, 999);
        assert!(filter.is_alone(one, 3));
    }
}
