//! Markov prefetching: what came after a page before will come after it again.

use super::{PICKS_MAX, Picks, PolicyInfo, Prefetch, Reach, Seen};
use sluice_params::{ConfigError, Kind, Param, RawConfig};

sluice_params::params! {
    /// The parameters of the Markov prefetcher.
    struct MarkovParams {
        pages: u64 {
            key: "prefetch.markov_pages",
            kind: Kind::Count { min: 4, max: 1 << 28 },
            default: "65536",
            meaning: "pages whose followers the Markov prefetcher remembers; its table of 4 bytes \
                      for each and for each follower takes at most a 16th of the device, between \
                      16 MiB and 1 GiB",
            source: "assumed: 1.3 MB of controller memory; Joseph and Grunwald had 1 MB",
        }
        followers: u64 {
            key: "prefetch.markov_followers",
            kind: Kind::Count { min: 1, max: PICKS_MAX as u64 },
            default: "4",
            meaning: "followers that the Markov prefetcher remembers of a page",
            source: "Joseph and Grunwald, ISCA 1997: four",
        }
    }
}

/// Ways of a set of the table.
const WAYS: usize = 4;

/// The table takes this part of the device at most ..
const TABLE_SHARE: u64 = 16;
/// .. but so much on the smallest, ..
const TABLE_MIN: u64 = 16 << 20;
/// .. and no more than so much on the largest.
const TABLE_MAX: u64 = 1 << 30;

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

impl MarkovParams {
    /// Bytes of the table.
    fn table_bytes(&self) -> u64 {
        let rows = self.pages.next_multiple_of(WAYS as u64);
        rows * (1 + self.followers) * size_of::<u32>() as u64
    }
}

impl Prefetch for Markov {
    const INFO: PolicyInfo = PolicyInfo {
        name: "markov",
        meaning: "brings in the pages that came after this one before",
        source: "Joseph and Grunwald, ISCA 1997",
        uses_hits: false,
    };

    const PARAMS: &[Param] = MarkovParams::PARAMS;

    /// Refuses a table out of all proportion to its device. The commander of a running device, also
    /// a guest, could make its host allocate that much.
    fn check(raw: &RawConfig, is_chosen: bool, device: u64) -> Result<(), ConfigError> {
        let bytes = MarkovParams::new(raw).table_bytes();
        let most = (device / TABLE_SHARE).clamp(TABLE_MIN, TABLE_MAX);
        if is_chosen && bytes > most {
            let [mib, most] = [bytes, most].map(|bytes| bytes >> 20);
            let message =
                format!("a table of {mib} MiB; at most {most} is accepted for this device");
            let keys = ["prefetch.markov_pages", "prefetch.markov_followers"];
            return Err(raw.impossible(&keys, message));
        }
        Ok(())
    }

    fn build(given: &RawConfig) -> Markov {
        let given = MarkovParams::new(given);
        let sets = (given.pages as usize).div_ceil(WAYS);
        let row = 1 + given.followers as usize;
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
