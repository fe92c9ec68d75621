//! Belady's optimum: the fewest misses that a cache can have. It needs the future, so it is
//! computed from the accesses of a run that is over.

use sluice_model::SetIndex;
use sluice_units::Lpn;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The next use of a page that is not used again.
const NEVER: u32 = u32::MAX;

/// Entries that a set may have left behind, whatever it holds: letting go takes time.
const SPARE: usize = 1024;

/// How many pages are looked at between two questions whether to stop.
const STOP_EVERY: usize = 1 << 16;

/// How many numbers are sorted between two such questions.
const SORTED: usize = 1 << 20;

/// Misses of a cache of `sets` times `ways` pages that evicts the page whose next use is farthest
/// away (Belady 1966). `index` chooses the set of a page, as in the device. `None` if `stop` said
/// so, which is asked now and then.
///
/// No policy has fewer as long as pages come in only when they are asked for: a prefetch may.
///
/// # Panics
/// If there are 2^32 accesses or more, or `sets` or `ways` is 0.
pub fn optimum(
    pages: &[u32],
    sets: u32,
    ways: u32,
    index: SetIndex,
    stop: &dyn Fn() -> bool,
) -> Option<u64> {
    assert!(pages.len() < NEVER as usize && sets > 0 && ways > 0);
    // Page numbers and sets may be far apart: each that occurs has a place, in their order.
    let used = Places::of(pages.iter().copied(), stop)?;
    let sets_of = used
        .numbers
        .iter()
        .map(|page| index.set_of(Lpn(*page), sets));
    let used_sets = Places::of(sets_of.clone(), stop)?;
    let set_places: Vec<u32> = sets_of.map(|set| used_sets.of_number(set) as u32).collect();
    let uses = next_uses(pages, &used, stop)?;
    // Per page: its next use while it is cached, or 0. No use but the first, a miss, is at 0.
    let mut cached = vec![0u32; used.numbers.len()];
    let mut held = vec![0u32; used_sets.numbers.len()];
    // Per set: (next use, page), also of pages that were used or have left meanwhile.
    let mut farthest = vec![BinaryHeap::new(); used_sets.numbers.len()];
    let mut misses = 0;
    for (number, (page, next)) in pages.iter().zip(uses).enumerate() {
        if is_time(number, stop) {
            return None;
        }
        let page = used.of_number(*page);
        let set = set_places[page] as usize;
        if cached[page] == 0 {
            misses += 1;
            held[set] += 1;
        }
        while held[set] > ways {
            let (use_at, victim): (u32, u32) = farthest[set].pop().expect("a full set");
            if cached[victim as usize] == use_at {
                cached[victim as usize] = 0;
                held[set] -= 1;
            }
        }
        cached[page] = next;
        farthest[set].push((next, page as u32));
        // Each hit leaves an entry of before behind. More of those than of cached pages are let go,
        // so that the heaps take no more than the caches.
        if farthest[set].len() > 2 * held[set] as usize + SPARE {
            farthest[set].retain(|(use_at, page)| cached[*page as usize] == *use_at);
        }
    }
    Some(misses)
}

/// The different ones of some numbers, in order: each has a place.
struct Places {
    numbers: Vec<u32>,
    /// The place of each number, where that takes no more memory than the numbers did: a search
    /// for each access would take longer than all else.
    table: Option<Vec<u32>>,
}

impl Places {
    fn of(all: impl Iterator<Item = u32> + Clone, stop: &dyn Fn() -> bool) -> Option<Places> {
        let (mut count, mut most) = (0, 0);
        for number in all.clone() {
            count += 1;
            most = most.max(number);
            if is_time(count, stop) {
                return None;
            }
        }
        if most as usize >= count {
            let numbers = sorted(all, stop)?;
            return Some(Places {
                numbers,
                table: None,
            });
        }
        let mut table = vec![NEVER; most as usize + 1];
        for (seen, number) in all.enumerate() {
            table[number as usize] = 0;
            if is_time(seen, stop) {
                return None;
            }
        }
        let mut numbers = Vec::new();
        for (number, place) in (0..).zip(&mut table) {
            if *place != NEVER {
                *place = numbers.len() as u32;
                numbers.push(number);
            }
        }
        Some(Places {
            numbers,
            table: Some(table),
        })
    }

    fn of_number(&self, number: u32) -> usize {
        match &self.table {
            Some(table) => table[number as usize] as usize,
            None => self.numbers.partition_point(|before| *before < number),
        }
    }
}

/// The different ones of some numbers, in order. `None` if stopped: sorted in parts, which one
/// question each can end.
fn sorted(mut all: impl Iterator<Item = u32>, stop: &dyn Fn() -> bool) -> Option<Vec<u32>> {
    let mut parts = Vec::new();
    loop {
        let mut part: Vec<u32> = all.by_ref().take(SORTED).collect();
        part.sort_unstable();
        part.dedup();
        part.shrink_to_fit();
        if part.is_empty() {
            break;
        }
        parts.push(part.into_iter());
        if stop() {
            return None;
        }
    }
    let first = |(part, numbers): (usize, &mut std::vec::IntoIter<u32>)| {
        numbers.next().map(|number| Reverse((number, part)))
    };
    let mut least: BinaryHeap<_> = parts.iter_mut().enumerate().filter_map(first).collect();
    let mut numbers = Vec::new();
    for seen in 0.. {
        let Some(Reverse((number, part))) = least.pop() else {
            break;
        };
        if numbers.last() != Some(&number) {
            numbers.push(number);
        }
        least.extend(first((part, &mut parts[part])));
        if is_time(seen, stop) {
            return None;
        }
    }
    numbers.shrink_to_fit();
    Some(numbers)
}

/// For each access, the place of the next to the same page. `None` if stopped.
fn next_uses(pages: &[u32], used: &Places, stop: &dyn Fn() -> bool) -> Option<Vec<u32>> {
    let mut seen = vec![NEVER; used.numbers.len()];
    let mut uses = vec![NEVER; pages.len()];
    for (index, page) in pages.iter().enumerate().rev() {
        if is_time(index, stop) {
            return None;
        }
        uses[index] = std::mem::replace(&mut seen[used.of_number(*page)], index as u32);
    }
    Some(uses)
}

/// Asks after so many pages whether to stop.
fn is_time(number: usize, stop: &dyn Fn() -> bool) -> bool {
    number.is_multiple_of(STOP_EVERY) && stop()
}
