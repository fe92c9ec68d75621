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
    let used = names(pages.iter().copied());
    let set_of = |page: &u32| index.set_of(Lpn(*page), sets);
    let used_sets = names(used.iter().map(set_of));
    let set_places: Vec<u32> = used
        .iter()
        .map(|page| place(&used_sets, set_of(page)))
        .collect();
    let uses = next_uses(pages, &used);
    // Per page: its next use while it is cached, or 0. No use but the first, a miss, is at 0.
    let mut cached = vec![0u32; used.len()];
    let mut held = vec![0u32; used_sets.len()];
    // Per set: (next use, page), also of pages that were used or have left meanwhile.
    let mut farthest = vec![BinaryHeap::new(); used_sets.len()];
    let mut misses = 0;
    for (page, next) in pages.iter().zip(uses) {
        let page = place(&used, *page);
        let set = set_places[page as usize] as usize;
        if cached[page as usize] == 0 {
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
        cached[page as usize] = next;
        farthest[set].push((next, page));
        // Each hit leaves an entry of before behind. More of those than of cached pages are let go,
        // so that the heaps take no more than the caches.
        if farthest[set].len() > 2 * held[set] as usize + SPARE {
            farthest[set].retain(|(use_at, page)| cached[*page as usize] == *use_at);
        }
    }
    misses
}

/// The different ones of some numbers, in order.
fn names(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut names: Vec<u32> = numbers.collect();
    names.sort_unstable();
    names.dedup();
    names.shrink_to_fit();
    names
}

/// Where a number is among its names.
fn place(names: &[u32], number: u32) -> u32 {
    names.partition_point(|name| *name < number) as u32
}

/// For each access, the place of the next to the same page.
fn next_uses(pages: &[u32], used: &[u32]) -> Vec<u32> {
    let mut seen = vec![NEVER; used.len()];
    let mut uses = vec![NEVER; pages.len()];
    for (index, page) in pages.iter().enumerate().rev() {
        uses[index] = std::mem::replace(&mut seen[place(used, *page) as usize], index as u32);
    }
    uses
}
