//! Belady's optimum: the most hits that any policy can have.

use std::collections::{BTreeMap, BTreeSet};

/// Hits of the policy that evicts the page whose next use is farthest away.
pub fn hits(pages: &[u64], capacity: usize) -> u64 {
    let mut next_use = vec![usize::MAX; pages.len()];
    let mut last_seen = BTreeMap::new();
    for (index, page) in pages.iter().enumerate().rev() {
        next_use[index] = last_seen.insert(*page, index).unwrap_or(usize::MAX);
    }
    let mut cached: BTreeMap<u64, usize> = BTreeMap::new();
    let mut by_next_use: BTreeSet<(usize, u64)> = BTreeSet::new();
    let mut hits = 0;
    for (page, next) in pages.iter().zip(next_use) {
        if let Some(old) = cached.insert(*page, next) {
            hits += 1;
            by_next_use.remove(&(old, *page));
        } else if cached.len() > capacity
            && let Some((_, farthest)) = by_next_use.pop_last()
        {
            cached.remove(&farthest);
        }
        by_next_use.insert((next, *page));
    }
    hits
}

#[cfg(test)]
mod tests {
    /// The example of Belady's paper as textbooks give it: 3 frames, 9 faults in 20 references.
    #[test]
    fn the_textbook_reference_string_has_nine_faults() {
        let pages = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1];
        assert_eq!(pages.len() as u64 - super::hits(&pages, 3), 9);
    }
}
