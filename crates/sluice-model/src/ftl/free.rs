//! The free lines of each pool, and which of them is used next.

use crate::config::Wear;
use crate::contents::{NoContents, Tables};
use sluice_lists::Lists;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Free lines by pool.
///
/// Those that were never used are a range of numbers, so that it does not matter how many they are.
pub(super) struct Free {
    /// Per pool.
    unused: Vec<Range<u32>>,
    freed: Freed,
}

/// Lines that have been erased.
enum Freed {
    /// First freed, first used.
    Queue(Lists),
    /// The least worn first: by erases, then by number.
    Worn(Vec<BinaryHeap<Reverse<(u32, u32)>>>),
}

impl Free {
    /// Pools of so many lines, none of which is free yet.
    pub fn new(wear: Wear, pools: u32, lines_per_pool: u32) -> Free {
        let heap = || BinaryHeap::with_capacity(lines_per_pool as usize);
        Free {
            unused: Vec::with_capacity(pools as usize),
            freed: match wear {
                Wear::None => Freed::Queue(Lists::new(pools, pools * lines_per_pool)),
                Wear::Dynamic | Wear::Static => Freed::Worn((0..pools).map(|_| heap()).collect()),
            },
        }
    }

    /// The next pool has these lines, which were never used.
    pub fn add_pool(&mut self, unused: Range<u32>) {
        self.unused.push(unused);
    }

    /// A line was erased, for the `erases`th time.
    pub fn push(&mut self, pool: u32, line: u32, erases: u32) {
        match &mut self.freed {
            Freed::Queue(lists) => lists.push_front(pool, line),
            Freed::Worn(heaps) => heaps[pool as usize].push(Reverse((erases, line))),
        }
    }

    /// Takes the line that is used next.
    pub fn pop(&mut self, pool: u32) -> Option<u32> {
        let unused = &mut self.unused[pool as usize];
        match &mut self.freed {
            Freed::Queue(lists) => unused.next().or_else(|| lists.pop_back(pool)),
            Freed::Worn(heaps) => {
                let heap = &mut heaps[pool as usize];
                let least = heap.peek().map(|Reverse(line)| *line);
                // Wear that was forgotten leaves freed lines that are as new.
                let is_first = |line: &u32| least.is_none_or(|least| (0, *line) < least);
                match unused.clone().next().filter(is_first) {
                    Some(_) => unused.next(),
                    None => heap.pop().map(|Reverse((_, line))| line),
                }
            }
        }
    }

    /// Takes the most worn line. Looks at every line that was freed: only moves of a whole line of
    /// cold data are worth that.
    pub fn pop_most_worn(&mut self, pool: u32) -> Option<u32> {
        let Freed::Worn(heaps) = &mut self.freed else {
            return self.pop(pool);
        };
        let (unused, heap) = (&mut self.unused[pool as usize], &mut heaps[pool as usize]);
        let worn = heap.iter().map(|Reverse(line)| *line).max();
        let last = unused.clone().next_back();
        if last.is_some_and(|last| worn.is_none_or(|worn| worn < (0, last))) {
            return unused.next_back();
        }
        let worn = worn?;
        heap.retain(|Reverse(line)| *line != worn);
        Some(worn.1)
    }

    /// Shows which lines are free, and in which order.
    pub fn tables(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        let unused = self.unused.iter();
        let mut ends: Vec<u32> = unused.flat_map(|lines| [lines.start, lines.end]).collect();
        tables.words(&mut ends)?;
        for (unused, ends) in self.unused.iter_mut().zip(ends.chunks_exact(2)) {
            *unused = ends[0]..ends[1];
        }
        match &mut self.freed {
            Freed::Queue(lists) => lists
                .parts()
                .into_iter()
                .try_for_each(|part| tables.words(part)),
            Freed::Worn(heaps) => {
                let mut lens: Vec<u32> = heaps.iter().map(|heap| heap.len() as u32).collect();
                tables.words(&mut lens)?;
                let mut lines: Vec<u32> = heaps.iter().flatten().map(|of| of.0.1).collect();
                lines.resize(lens.iter().sum::<u32>() as usize, 0);
                tables.words(&mut lines)?;
                let mut lines = lines.into_iter();
                for (heap, len) in heaps.iter_mut().zip(lens) {
                    heap.clear();
                    // None is worn.
                    let of_pool = lines.by_ref().take(len as usize);
                    heap.extend(of_pool.map(|line| Reverse((0, line))));
                }
                Ok(())
            }
        }
    }

    /// Forgets the wear so far. Free lines keep their order.
    pub fn forget_wear(&mut self) {
        let Freed::Worn(heaps) = &mut self.freed else {
            return;
        };
        for heap in heaps {
            let mut lines = std::mem::take(heap).into_vec();
            lines
                .iter_mut()
                .for_each(|Reverse((erases, _))| *erases = 0);
            *heap = lines.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_units::Rng;

    /// Lines come in the order of a list of all lines, which is searched.
    #[test]
    fn lines_are_taken_as_if_each_stood_in_a_list() {
        const LINES: u32 = 30;
        for (seed, wear) in (0..30).flat_map(|seed| [(seed, Wear::None), (seed, Wear::Static)]) {
            let mut rng = Rng::stream(seed, "free");
            let mut free = Free::new(wear, 1, LINES);
            free.add_pool(4..LINES);
            // In the order in which they became free, with their erases.
            let mut naive: Vec<(u32, u32)> = (4..LINES).map(|line| (0, line)).collect();
            let mut used: Vec<(u32, u32)> = (0..4).map(|line| (0, line)).collect();
            for _ in 0..400 {
                let of = |line: Option<u32>, naive: &[(u32, u32)]| {
                    naive.iter().position(|each| Some(each.1) == line)
                };
                match rng.below(9) {
                    0..4 => {
                        let wanted = match wear {
                            Wear::None => naive.first().copied(),
                            _ => naive.iter().min().copied(),
                        };
                        let line = free.pop(0);
                        assert_eq!(line, wanted.map(|each| each.1));
                        used.extend(of(line, &naive).map(|at| naive.remove(at)));
                    }
                    4 => {
                        let wanted = match wear {
                            Wear::None => naive.first().copied(),
                            _ => naive.iter().max().copied(),
                        };
                        let line = free.pop_most_worn(0);
                        assert_eq!(line, wanted.map(|each| each.1));
                        used.extend(of(line, &naive).map(|at| naive.remove(at)));
                    }
                    5 if rng.below(10) == 0 => {
                        free.forget_wear();
                        naive.iter_mut().for_each(|each| each.0 = 0);
                    }
                    _ if !used.is_empty() => {
                        let at = rng.below(used.len() as u64) as usize;
                        let (erases, line) = used.swap_remove(at);
                        free.push(0, line, erases + 1);
                        naive.push((erases + 1, line));
                    }
                    _ => {}
                }
            }
        }
    }
}
