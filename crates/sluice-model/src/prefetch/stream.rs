//! Stream prefetching: accesses go up or down, if not page by page.

use super::{Picks, PolicyInfo, Prefetch, Reach, Seen};
use sluice_params::{Kind, Param, RawConfig};

sluice_params::params! {
    /// The parameters of the stream prefetcher.
    struct StreamParams {
        window: u32 {
            key: "prefetch.stream_window",
            kind: Kind::Count { min: 1, max: 4_096 },
            default: "16",
            meaning: "pages around a stream within which an access belongs to it",
            source: "Srinath et al., HPCA 2007: 16 blocks",
        }
    }
}

/// Follows streams that go up or down, not necessarily page by page.
///
/// Three accesses near each other and in one direction make a stream. From then on it runs ahead
/// of the furthest access by `prefetch.distance` pages, `prefetch.degree` at an access. Pages may
/// be accessed out of order, or left out, as long as they are within `prefetch.stream_window`.
pub struct Stream {
    streams: Vec<Entry>,
    window: i64,
    clock: u64,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    /// The access that is furthest in the stream's direction; while it trains, the last one.
    front: i64,
    /// +1 or -1; 0 until there is a second access.
    direction: i64,
    trained: bool,
    /// How many pages beyond the front have been asked for.
    ahead: i64,
    /// When it was last used, by the count of accesses; 0 for a free place.
    used: u64,
}

impl Stream {
    /// The stream that the page belongs to: a trained one first, then the nearest.
    fn of(&self, lpn: i64) -> Option<usize> {
        let near = |entry: &Entry| {
            let gap = lpn - entry.front;
            if entry.trained {
                (-self.window..=entry.ahead + self.window).contains(&(gap * entry.direction))
            } else {
                gap.abs() <= self.window
            }
        };
        let held = self
            .streams
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.used > 0);
        let near = held.filter(|(_, entry)| near(entry));
        let best = near.min_by_key(|(_, entry)| (!entry.trained, (lpn - entry.front).abs()));
        best.map(|(index, _)| index)
    }

    fn oldest(&self) -> usize {
        let by_use = |index: &usize| self.streams[*index].used;
        (0..self.streams.len())
            .min_by_key(by_use)
            .expect("a stream at least")
    }
}

impl Entry {
    fn learn(&mut self, lpn: i64) {
        let direction = (lpn - self.front).signum();
        if direction == 0 {
            return;
        }
        self.trained = direction == self.direction;
        self.direction = direction;
        self.front = lpn;
    }

    /// Moves the front to an access that is beyond it.
    fn follow(&mut self, lpn: i64) {
        let gap = (lpn - self.front) * self.direction;
        if gap > 0 {
            self.front = lpn;
            self.ahead = (self.ahead - gap).max(0);
        }
    }
}

impl Prefetch for Stream {
    const INFO: PolicyInfo = PolicyInfo {
        name: "stream",
        meaning: "follows ascending and descending streams, up to prefetch.distance pages ahead",
        source: "Srinath et al., HPCA 2007, after IBM POWER4",
        uses_hits: false,
    };

    const PARAMS: &[Param] = StreamParams::PARAMS;

    fn build(given: &RawConfig) -> Stream {
        Stream {
            streams: vec![Entry::default(); given.read::<u32>("prefetch.streams") as usize],
            window: i64::from(StreamParams::new(given).window),
            clock: 0,
        }
    }

    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
        self.clock += 1;
        let lpn = i64::from(seen.lpn.0);
        let Some(index) = self.of(lpn) else {
            let index = self.oldest();
            let (front, used) = (lpn, self.clock);
            self.streams[index] = Entry {
                front,
                used,
                ..Entry::default()
            };
            return;
        };
        let entry = &mut self.streams[index];
        entry.used = self.clock;
        if entry.trained {
            entry.follow(lpn);
        } else {
            entry.learn(lpn);
        }
        if !entry.trained {
            return;
        }
        let until = (entry.ahead + i64::from(reach.degree)).min(i64::from(reach.distance));
        for step in entry.ahead + 1..=until {
            let Ok(page) = u64::try_from(entry.front + entry.direction * step) else {
                break;
            };
            picks.push(page);
            entry.ahead = step;
        }
    }
}
