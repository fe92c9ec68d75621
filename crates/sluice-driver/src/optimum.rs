//! Belady's optimum: the fewest misses that a cache can have. It needs the future, so it is
//! computed from the accesses of a run that is over.

use sluice_model::SetIndex;
use sluice_units::Lpn;
use std::collections::BinaryHeap;

/// The next use of a page that is not used again.
const NEVER: u32 = u32::MAX;

/// Entries that a set may have left behind, whatever it holds: letting go takes time.
const SPARE: usize = 1024;

/// Misses of a cache of `sets` times `ways` pages that evicts the page whose next use is farthest
/// away (Belady 1966). `index` chooses the set of a page, as in the device.
///
/// No policy has fewer as long as pages come in only when they are asked for: a prefetch may.
///
/// # Panics
/// If there are 2^32 accesses or more, or `sets` or `ways` is 0.
pub fn optimum(pages: &[u32], sets: u32, ways: u32, index: SetIndex) -> u64 {
    assert!(pages.len() < NEVER as usize && sets > 0 && ways > 0);
    // Page numbers and sets may be far apart: each that occurs has a place, in their order.
    let used = Places::of(pages.iter().copied());
    let sets_of = used
        .numbers
        .iter()
        .map(|page| index.set_of(Lpn(*page), sets));
    let used_sets = Places::of(sets_of.clone());
    let set_places: Vec<u32> = sets_of.map(|set| used_sets.of_number(set) as u32).collect();
    let uses = next_uses(pages, &used);
    // Per page: its next use while it is cached, or 0. No use but the first, a miss, is at 0.
    let mut cached = vec![0u32; used.numbers.len()];
    let mut held = vec![0u32; used_sets.numbers.len()];
    // Per set: (next use, page), also of pages that were used or have left meanwhile.
    let mut farthest = vec![BinaryHeap::new(); used_sets.numbers.len()];
    let mut misses = 0;
    for (page, next) in pages.iter().zip(uses) {
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
    misses
}

/// The different ones of some numbers, in order: each has a place.
struct Places {
    numbers: Vec<u32>,
    /// The place of each number, where that takes no more memory than the numbers did: a search
    /// for each access would take longer than all else.
    table: Option<Vec<u32>>,
}

impl Places {
    fn of(all: impl Iterator<Item = u32> + Clone) -> Places {
        let (count, most) = all
            .clone()
            .fold((0, 0), |(n, most), it| (n + 1, most.max(it)));
        if most as usize >= count {
            let mut numbers: Vec<u32> = all.collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers.shrink_to_fit();
            return Places {
                numbers,
                table: None,
            };
        }
        let mut table = vec![NEVER; most as usize + 1];
        all.for_each(|number| table[number as usize] = 0);
        let mut numbers = Vec::new();
        for (number, place) in (0..).zip(&mut table) {
            if *place != NEVER {
                *place = numbers.len() as u32;
                numbers.push(number);
            }
        }
        Places {
            numbers,
            table: Some(table),
        }
    }

    fn of_number(&self, number: u32) -> usize {
        match &self.table {
            Some(table) => table[number as usize] as usize,
            None => self.numbers.partition_point(|before| *before < number),
        }
    }
}

/// For each access, the place of the next to the same page.
fn next_uses(pages: &[u32], used: &Places) -> Vec<u32> {
    let mut seen = vec![NEVER; used.numbers.len()];
    let mut uses = vec![NEVER; pages.len()];
    for (index, page) in pages.iter().enumerate().rev() {
        uses[index] = std::mem::replace(&mut seen[used.of_number(*page)], index as u32);
    }
    uses
}
