//! Markov prefetching.

use super::{Picks, PolicyInfo, Prefetch, Reach, Seen};
use crate::config::Settings;

/// Ways of a set of the table.
const WAYS: usize = 4;

/// Remembers which pages came after which, and brings in what came last time.
///
/// A bounded table has, for each of the most recent pages, the pages that followed it, the latest
/// first. After an access, its followers are brought in, then those of its latest follower and so
/// on, until there are `prefetch.degree`.
pub struct Markov {
    /// Rows of `1 + followers` words: the page + 1, then its followers + 1, 0 for none. A set is
    /// [`WAYS`] rows, the most recently used first.
    table: Vec<u32>,
    row: usize,
    sets: u64,
    /// The page accessed before, + 1.
    before: u32,
}

impl Markov {
    /// The first word of the row of a page.
    fn find(&self, page: u32) -> Option<usize> {
        let first = self.set_of(page);
        let rows = (0..WAYS).map(|way| first + way * self.row);
        rows.into_iter().find(|row| self.table[*row] == page + 1)
    }

    fn set_of(&self, page: u32) -> usize {
        (u64::from(page) % self.sets) as usize * WAYS * self.row
    }

    /// Makes the page's row the first of its set, in place of the last one if it has none.
    fn refresh(&mut self, page: u32) -> usize {
        let first = self.set_of(page);
        let last = first + (WAYS - 1) * self.row;
        let held = self.find(page);
        let row = held.unwrap_or(last);
        if held.is_none() {
            self.table[row..row + self.row].fill(0);
            self.table[row] = page + 1;
        }
        self.table[first..row + self.row].rotate_right(self.row);
        first
    }

    /// Notes that a page came after another.
    fn learn(&mut self, before: u32, after: u32) {
        let row = self.refresh(before);
        let followers = &mut self.table[row + 1..row + self.row];
        let held = followers.iter().position(|page| *page == after + 1);
        let place = held.unwrap_or(followers.len() - 1);
        followers[place] = after + 1;
        followers[..=place].rotate_right(1);
    }
}

/// Bytes of the table for so many pages with so many followers each.
pub(crate) fn table_bytes(pages: u64, followers: u64) -> u64 {
    pages.next_multiple_of(WAYS as u64) * (1 + followers) * size_of::<u32>() as u64
}

impl Prefetch for Markov {
    const INFO: PolicyInfo = PolicyInfo {
        name: "markov",
        meaning: "brings in the pages that came after this one before",
        source: "Joseph and Grunwald, ISCA 1997",
        uses_hits: false,
    };

    fn build(settings: &Settings) -> Markov {
        let sets = (settings.prefetch.markov_pages as usize).div_ceil(WAYS);
        let row = 1 + settings.prefetch.markov_followers as usize;
        Markov {
            table: vec![0; sets * WAYS * row],
            row,
            sets: sets as u64,
            before: 0,
        }
    }

    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
        let page = seen.lpn.0;
        if let Some(before) = self.before.checked_sub(1).filter(|before| *before != page) {
            self.learn(before, page);
        }
        self.before = page + 1;
        let (mut left, mut from) = (reach.degree as usize, page);
        while let Some(row) = self.find(from) {
            let followers = &self.table[row + 1..row + self.row];
            let known = followers
                .iter()
                .take_while(|follower| **follower != 0)
                .take(left);
            let known = known
                .inspect(|follower| picks.push(u64::from(**follower - 1)))
                .count();
            left -= known;
            if left == 0 || known == 0 {
                break;
            }
            from = followers[0] - 1;
        }
    }
}
