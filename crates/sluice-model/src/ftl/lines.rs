//! The state of every line: free, open, closed, being collected, or retired.

use super::WearReport;
use super::geometry::{Blocks, Geometry};
use crate::config::{Settings, Wear};
use crate::victim::{AnyGcVictim, GcSpace};
use sluice_lists::Lists;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lines by state, and the policy that picks those to collect.
///
/// Counts alone: where pages are is the map's business, so that preconditioning can run on this.
pub(super) struct Lines {
    geometry: Geometry,
    streams: u32,
    /// Per line: pages that hold valid data.
    valid: Vec<u32>,
    state: Vec<State>,
    /// Per line: the stream it was opened for.
    stream: Vec<u8>,
    /// Per line: how often it was erased.
    erases: Vec<u32>,
    policy: AnyGcVictim,
    free: Free,
    pools: Vec<Pool>,
    /// Per pool: the host's lines by stream, then the collector's.
    open: Vec<Open>,
    /// Whether the next line opened should be the most worn free one: it gets cold data.
    pub for_cold: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Free,
    Open,
    /// Full, and the policy knows it.
    Closed,
    /// Being collected, or waiting for it because a program failed there.
    Taken,
    /// Out of use.
    Retired,
}

#[derive(Clone, Copy)]
struct Pool {
    valid: u32,
    /// Valid pages at which it takes no further host writes.
    valid_max: u32,
    free: u32,
    /// Pages written there, the clock of policies that look at age.
    written: u64,
}

/// A line being written, and its next page. `next == line_pages` is full.
#[derive(Clone, Copy)]
struct Open {
    line: u32,
    next: u32,
}

/// Who a page is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writer {
    Host(u32),
    Gc(u32),
}

/// The free lines of each pool.
enum Free {
    /// First freed, first used.
    Queue(Lists),
    /// The least worn first.
    Worn(Vec<BinaryHeap<Reverse<(u32, u32)>>>),
}

impl Free {
    fn push(&mut self, pool: u32, line: u32, erases: u32) {
        match self {
            Free::Queue(lists) => lists.push_front(pool, line),
            Free::Worn(heaps) => heaps[pool as usize].push(Reverse((erases, line))),
        }
    }

    fn pop(&mut self, pool: u32) -> Option<u32> {
        match self {
            Free::Queue(lists) => lists.pop_back(pool),
            Free::Worn(heaps) => heaps[pool as usize].pop().map(|Reverse((_, line))| line),
        }
    }

    /// Looks at every free line: only moves of a whole line of cold data are worth that.
    fn pop_most_worn(&mut self, pool: u32) -> Option<u32> {
        let Free::Worn(heaps) = self else {
            return self.pop(pool);
        };
        let heap = &mut heaps[pool as usize];
        let Reverse(most) = *heap.iter().min()?;
        heap.retain(|Reverse(line)| *line != most);
        Some(most.1)
    }
}

impl Lines {
    /// `written` is whether every logical page starts out written, in order.
    pub fn new(
        settings: &Settings,
        geometry: &Geometry,
        space: &GcSpace,
        blocks: &Blocks,
        written: bool,
    ) -> Lines {
        let count = geometry.lines() as usize;
        let per_pool = geometry.lines_per_pool as usize;
        let free = match settings.ftl.wear {
            Wear::None => Free::Queue(Lists::new(geometry.pools, count as u32)),
            Wear::Dynamic | Wear::Static => Free::Worn(
                (0..geometry.pools)
                    .map(|_| BinaryHeap::with_capacity(per_pool))
                    .collect(),
            ),
        };
        let mut lines = Lines {
            geometry: *geometry,
            streams: space.streams,
            valid: vec![0; count],
            state: vec![State::Free; count],
            stream: vec![0; count],
            erases: vec![0; count],
            policy: (settings.ftl.gc.build)(space),
            free,
            pools: Vec::with_capacity(geometry.pools as usize),
            open: Vec::with_capacity((geometry.pools * space.streams * 2) as usize),
            for_cold: false,
        };
        (0..geometry.pools).for_each(|pool| {
            lines.add_pool(pool, blocks.lines_of(pool), space.valid_max, written);
        });
        lines
    }

    /// Lays out a pool: its home pages written, its partly written line open, the rest free. Lines
    /// beyond the `usable` ones lack a block.
    fn add_pool(&mut self, pool: u32, usable: u32, valid_max: u32, written: bool) {
        let geometry = self.geometry;
        let home = if written {
            geometry.home_pages(pool)
        } else {
            0
        };
        let first = pool * geometry.lines_per_pool;
        let open = first + home / geometry.line_pages;
        for line in first..open {
            self.valid[line as usize] = geometry.line_pages;
            self.state[line as usize] = State::Closed;
            self.policy.close(line, 0, 0);
        }
        self.valid[open as usize] = home % geometry.line_pages;
        self.state[open as usize] = State::Open;
        for line in open + 1..first + usable {
            self.free.push(pool, line, 0);
        }
        let missing = first + usable..first + geometry.lines_per_pool;
        self.state[missing.start as usize..missing.end as usize].fill(State::Retired);
        let full = Open {
            line: open,
            next: geometry.line_pages,
        };
        self.open.push(Open {
            line: open,
            next: home % geometry.line_pages,
        });
        self.open.extend((1..2 * self.streams).map(|_| full));
        self.pools.push(Pool {
            valid: home,
            valid_max: valid_max - missing.len() as u32 * geometry.line_pages,
            free: first + usable - open - 1,
            written: 0,
        });
    }

    /// Whether the pool may take another valid page from the host.
    pub fn has_room(&self, pool: u32) -> bool {
        let pool = &self.pools[pool as usize];
        pool.valid < pool.valid_max
    }

    /// Free lines of the pool.
    pub fn free_lines(&self, pool: u32) -> u32 {
        self.pools[pool as usize].free
    }

    /// How many valid pages all pools may hold together.
    pub fn room(&self) -> u64 {
        self.pools
            .iter()
            .map(|pool| u64::from(pool.valid_max))
            .sum()
    }

    pub fn valid(&self, line: u32) -> u32 {
        self.valid[line as usize]
    }

    pub fn state(&self, line: u32) -> State {
        self.state[line as usize]
    }

    pub fn stream(&self, line: u32) -> u32 {
        u32::from(self.stream[line as usize])
    }

    pub fn erases(&self, line: u32) -> u32 {
        self.erases[line as usize]
    }

    fn slot(&self, pool: u32, writer: Writer) -> usize {
        let number = match writer {
            Writer::Host(stream) => stream,
            Writer::Gc(stream) => self.streams + stream,
        };
        (pool * 2 * self.streams + number) as usize
    }

    /// Whether the writer's next page needs a new line.
    pub fn is_full(&self, pool: u32, writer: Writer) -> bool {
        self.open[self.slot(pool, writer)].next == self.geometry.line_pages
    }

    /// The number, within its line, of the page that the writer's next write goes to.
    pub fn next_page(&self, pool: u32, writer: Writer) -> u32 {
        self.geometry.line_pages - self.left(pool, writer)
    }

    /// Takes the writer's next `count` pages, which fit, and makes them valid. The first one's
    /// place; `None` if a new line is needed and none is free.
    #[inline]
    pub fn append(&mut self, pool: u32, writer: Writer, count: u32) -> Option<u32> {
        let slot = self.slot(pool, writer);
        let mut open = self.open[slot];
        if open.next == self.geometry.line_pages {
            open = self.open_line(pool, writer)?;
        }
        let place = open.line * self.geometry.line_pages + open.next;
        open.next += count;
        self.open[slot] = open;
        self.valid[open.line as usize] += count;
        self.pools[pool as usize].valid += count;
        self.pools[pool as usize].written += u64::from(count);
        if open.next == self.geometry.line_pages {
            self.close(open.line);
        }
        Some(place)
    }

    fn open_line(&mut self, pool: u32, writer: Writer) -> Option<Open> {
        let line = match self.for_cold {
            true => self.free.pop_most_worn(pool)?,
            false => self.free.pop(pool)?,
        };
        self.pools[pool as usize].free -= 1;
        self.state[line as usize] = State::Open;
        let (Writer::Host(stream) | Writer::Gc(stream)) = writer;
        self.stream[line as usize] = stream as u8;
        Some(Open { line, next: 0 })
    }

    fn close(&mut self, line: u32) {
        self.state[line as usize] = State::Closed;
        let stale = self.geometry.line_pages - self.valid[line as usize];
        let pool = self.geometry.pool_of(line) as usize;
        self.policy.close(line, stale, self.pools[pool].written);
    }

    /// Pages left in the line that the writer's next page goes to.
    pub fn left(&self, pool: u32, writer: Writer) -> u32 {
        match self.geometry.line_pages - self.open[self.slot(pool, writer)].next {
            0 => self.geometry.line_pages,
            left => left,
        }
    }

    /// A page of the line is no longer wanted.
    #[inline]
    pub fn make_stale(&mut self, line: u32) {
        self.valid[line as usize] -= 1;
        let pool = &mut self.pools[self.geometry.pool_of(line) as usize];
        pool.valid -= 1;
        if self.state[line as usize] == State::Closed {
            let stale = self.geometry.line_pages - self.valid[line as usize];
            self.policy.invalidate(line, stale, pool.written);
        }
    }

    /// Valid pages of a line being collected have moved on.
    pub fn moved(&mut self, line: u32, count: u32) {
        self.valid[line as usize] -= count;
        self.pools[self.geometry.pool_of(line) as usize].valid -= count;
    }

    /// Stops writing the open line: what is left of it stays unwritten. It must be collected.
    pub fn abandon(&mut self, pool: u32, writer: Writer) {
        let slot = self.slot(pool, writer);
        self.open[slot].next = self.geometry.line_pages;
    }

    /// Takes what the policy thinks is best to collect.
    pub fn take_victim(&mut self, pool: u32) -> Option<u32> {
        let line = self
            .policy
            .victim(pool, &self.valid, self.pools[pool as usize].written)?;
        debug_assert_eq!(self.state[line as usize], State::Closed);
        self.state[line as usize] = State::Taken;
        Some(line)
    }

    /// Takes a line that is closed or was just closed, whatever the policy thinks.
    pub fn take(&mut self, line: u32) {
        if self.state[line as usize] == State::Closed {
            let stale = self.geometry.line_pages - self.valid[line as usize];
            self.policy.remove(line, stale);
        }
        self.state[line as usize] = State::Taken;
    }

    /// Takes back an erased line.
    pub fn free(&mut self, line: u32) {
        let pool = self.geometry.pool_of(line);
        self.erases[line as usize] += 1;
        self.state[line as usize] = State::Free;
        self.free.push(pool, line, self.erases[line as usize]);
        self.pools[pool as usize].free += 1;
    }

    /// Takes a line out of use: the pool holds so much less.
    pub fn retire(&mut self, line: u32) {
        self.state[line as usize] = State::Retired;
        let pool = &mut self.pools[self.geometry.pool_of(line) as usize];
        pool.valid_max = pool.valid_max.saturating_sub(self.geometry.line_pages);
    }

    /// Forgets the wear so far. Free lines keep their order.
    pub fn forget_wear(&mut self) {
        self.erases.fill(0);
        if let Free::Worn(heaps) = &mut self.free {
            for heap in heaps {
                let mut lines = std::mem::take(heap).into_vec();
                lines
                    .iter_mut()
                    .for_each(|Reverse((erases, _))| *erases = 0);
                *heap = lines.into();
            }
        }
    }

    pub fn valid_by_line(&self) -> &[u32] {
        &self.valid
    }

    pub fn wear(&self) -> WearReport {
        let used = self.erases.iter().zip(&self.state);
        let used = used
            .filter(|(_, state)| **state != State::Retired)
            .map(|(erases, _)| *erases);
        WearReport {
            least: used.clone().min().unwrap_or(0),
            most: used.clone().max().unwrap_or(0),
            total: used.clone().map(u64::from).sum(),
            lines: used.count() as u64,
        }
    }

    /// Pages of a line that were written since it was erased.
    #[cfg(test)]
    pub fn programmed(&self, line: u32) -> u32 {
        let open = self.open.iter().find(|open| open.line == line);
        match self.state[line as usize] {
            State::Free | State::Retired => 0,
            State::Open => open.map_or(0, |open| open.next),
            State::Closed | State::Taken => self.geometry.line_pages,
        }
    }

    /// Panics if the counts of a pool contradict its lines.
    #[cfg(test)]
    pub fn check(&self) {
        for (pool, counts) in (0..).zip(&self.pools) {
            let first = pool * self.geometry.lines_per_pool;
            let lines = first..first + self.geometry.lines_per_pool;
            let valid: u32 = lines.clone().map(|line| self.valid(line)).sum();
            assert_eq!(valid, counts.valid, "valid pages of pool {pool}");
            let free = lines
                .filter(|line| self.state(*line) == State::Free)
                .count();
            assert_eq!(free as u32, counts.free, "free lines of pool {pool}");
        }
    }

    /// The state of a pool, for messages.
    #[cfg(test)]
    pub fn dump(&self, pool: u32) -> String {
        let first = pool * self.geometry.lines_per_pool;
        let lines = first..first + self.geometry.lines_per_pool;
        let line = |line| format!("{line}:{:?}:{}", self.state(line), self.valid(line));
        let lines: Vec<String> = lines.map(line).collect();
        let Pool {
            valid,
            valid_max,
            free,
            ..
        } = self.pools[pool as usize];
        format!(
            "pool {pool}: {valid} of {valid_max} valid, {free} free; lines {}; policy {:?}",
            lines.join(" "),
            self.policy.dump(pool)
        )
    }
}
