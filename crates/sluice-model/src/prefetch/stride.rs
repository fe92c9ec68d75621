//! Stride prefetching: an access follows another at a constant distance.

use super::{Outcome, Picks, PolicyInfo, Prefetch, Reach, Seen};
use sluice_params::{Kind, Param, RawConfig};

sluice_params::params! {
    /// The parameters of the stride prefetcher.
    struct StrideParams {
        stride_max: u32 {
            key: "prefetch.stride_max",
            kind: Kind::Count { min: 1, max: 65_536 },
            default: "256",
            meaning: "the longest stride that is looked for, in pages",
            source: "assumed: 1 MiB",
        }
    }
}

/// Follows streams of pages that are a constant distance apart.
///
/// A processor distinguishes streams by the program counter, which is missing here: an access
/// belongs to the stream that it continues. Two accesses make a stride, the third confirms it and
/// is followed by prefetches. A confirmed stream is left alone by accesses that do not belong to
/// it; the least recently used one gives way to a new one.
pub struct Stride {
    streams: Vec<Entry>,
    stride_max: u64,
    clock: u64,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    last: u64,
    /// Pages from one access to the next; 0 until there is a second access.
    stride: i64,
    /// Whether a third access was where the stride said.
    confirmed: bool,
    /// Steps beyond `last` that have been asked for.
    ahead: u32,
    /// When it was last used, by the count of accesses; 0 for a free place.
    used: u64,
}

impl Entry {
    /// How many steps further a page of this stream is, if it is within `steps`.
    fn steps_to(&self, lpn: u64, steps: u32) -> Option<u32> {
        let gap = lpn as i64 - self.last as i64;
        // Nearly every entry is ruled out by distance: a division would cost more than all else.
        let near = gap.unsigned_abs() <= self.stride.unsigned_abs() * u64::from(steps);
        if self.stride == 0 || !near || gap % self.stride != 0 {
            return None;
        }
        let step = gap / self.stride;
        (1..=i64::from(steps))
            .contains(&step)
            .then_some(step as u32)
    }

    fn page_at(&self, step: u32) -> Option<u64> {
        let page = self.last as i64 + self.stride * i64::from(step);
        u64::try_from(page).ok()
    }
}

impl Stride {
    /// The stream that the page continues, with the number of steps to it.
    ///
    /// A step can be left out, because the page was cached for another reason: but only as many
    /// as are on their way.
    fn continued(&self, lpn: u64) -> Option<(usize, u32)> {
        let steps = |entry: &Entry| entry.steps_to(lpn, entry.ahead + 1);
        let found = self.streams.iter().enumerate();
        let found = found.filter_map(|(index, entry)| steps(entry).map(|step| (index, step)));
        found.min_by_key(|(index, step)| (!self.streams[*index].confirmed, *step))
    }

    /// The nearest stream that has no confirmed stride yet.
    fn nearest(&self, lpn: u64) -> Option<usize> {
        let open = self.streams.iter().enumerate();
        let open = open.filter(|(_, entry)| entry.used > 0 && !entry.confirmed);
        let gaps = open.map(|(index, entry)| (entry.last.abs_diff(lpn), index));
        let (gap, index) = gaps.min()?;
        (gap <= self.stride_max).then_some(index)
    }

    fn oldest(&self) -> usize {
        let by_use = |index: &usize| self.streams[*index].used;
        (0..self.streams.len())
            .min_by_key(by_use)
            .expect("a stream at least")
    }
}

impl Prefetch for Stride {
    const INFO: PolicyInfo = PolicyInfo {
        name: "stride",
        meaning: "follows streams of a constant stride, up to prefetch.distance strides ahead",
        source: "Chen and Baer, IEEE TC 1995, told apart by address instead of program counter",
        uses_hits: false,
    };

    const PARAMS: &[Param] = StrideParams::PARAMS;

    fn build(given: &RawConfig) -> Stride {
        Stride {
            streams: vec![Entry::default(); given.read::<u32>("prefetch.streams") as usize],
            stride_max: u64::from(StrideParams::new(given).stride_max),
            clock: 0,
        }
    }

    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
        self.clock += 1;
        let lpn = u64::from(seen.lpn);
        let Some((index, step)) = self.continued(lpn) else {
            let index = self.nearest(lpn).unwrap_or_else(|| self.oldest());
            let entry = &mut self.streams[index];
            let learns = entry.used > 0 && !entry.confirmed;
            let near = learns && entry.last.abs_diff(lpn) <= self.stride_max;
            let stride = if near {
                lpn as i64 - entry.last as i64
            } else {
                0
            };
            let (last, used) = (lpn, self.clock);
            *entry = Entry {
                last,
                stride,
                used,
                ..Entry::default()
            };
            return;
        };
        let entry = &mut self.streams[index];
        entry.last = lpn;
        entry.used = self.clock;
        entry.confirmed = true;
        entry.ahead = match seen.outcome {
            // What had been asked for did not come, or is gone: ask again.
            Outcome::Miss => 0,
            _ => entry.ahead.saturating_sub(step),
        };
        let until = (entry.ahead + reach.degree).min(reach.distance);
        for step in entry.ahead + 1..=until {
            let Some(page) = entry.page_at(step) else {
                break;
            };
            picks.push(page);
            entry.ahead = step;
        }
    }
}
