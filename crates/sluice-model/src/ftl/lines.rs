//! The state of every line: free, open, closed, being collected, or retired.

use super::WearReport;
use super::free::Free;
use super::geometry::{Blocks, Geometry};
use crate::config::Settings;
use crate::contents::{NoContents, Tables};
use crate::victim::{AnyGcVictim, GcSpace};
use std::cmp::Ordering;

/// Lines by state, and the policy that picks those to collect.
///
/// Counts alone: where pages are is the map's business, so that preconditioning can run on this.
/// A table that is as long as the device begins as zeros, so that one which is never written to
/// costs nothing: a program that only reads must not wait until there are lines to write to.
pub(super) struct Lines {
    geometry: Geometry,
    streams: u32,
    /// Per line: pages that were written since it was erased and hold no valid data.
    stale: Vec<u32>,
    /// Per line: a [`State`], or [`AS_AT_START`].
    state: Vec<u8>,
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

/// The state of a line that has had no other.
const AS_AT_START: u8 = 0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum State {
    Free = 1,
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
    /// The line that was open at the start. Those before it were closed, those after it free ..
    first_open: u32,
    /// .. up to here, from where on lines lack a block.
    end: u32,
}

/// A line being written, and its next page. `next == line_pages` is full.
#[derive(Clone, Copy)]
struct Open {
    line: u32,
    next: u32,
}

/// What a page is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writer {
    Host(u32),
    Gc(u32),
}

impl Pool {
    /// What a line of the pool is as long as nobody has changed it.
    fn state_at_start(&self, line: u32) -> State {
        match line.cmp(&self.first_open) {
            Ordering::Less => State::Closed,
            Ordering::Equal => State::Open,
            Ordering::Greater if line < self.end => State::Free,
            Ordering::Greater => State::Retired,
        }
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
        let mut lines = Lines {
            geometry: *geometry,
            streams: space.streams,
            stale: vec![0; count],
            state: vec![AS_AT_START; count],
            stream: vec![0; count],
            erases: vec![0; count],
            policy: (settings.ftl.gc.build)(space),
            free: Free::new(settings.ftl.wear, geometry.pools, geometry.lines_per_pool),
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
        let end = first + usable;
        self.policy.begin(pool, open - first);
        self.free.add_pool(open + 1..end);
        let full = Open {
            line: open,
            next: geometry.line_pages,
        };
        self.open.push(Open {
            line: open,
            next: home % geometry.line_pages,
        });
        self.open.extend((1..2 * self.streams).map(|_| full));
        let missing = geometry.lines_per_pool - usable;
        self.pools.push(Pool {
            valid: home,
            valid_max: valid_max - missing * geometry.line_pages,
            free: end - open - 1,
            written: 0,
            first_open: open,
            end,
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

    /// Pages of the line that hold valid data.
    pub fn valid(&self, line: u32) -> u32 {
        match self.state(line) {
            State::Free | State::Retired => 0,
            State::Open => self.written(line) - self.stale[line as usize],
            State::Closed | State::Taken => self.valid_of_full(line),
        }
    }

    /// Valid pages of a line that is known to be closed or taken.
    #[inline]
    pub fn valid_of_full(&self, line: u32) -> u32 {
        self.geometry.line_pages - self.stale[line as usize]
    }

    /// Pages of an open line that were written.
    fn written(&self, line: u32) -> u32 {
        let writers = 2 * self.streams as usize;
        let first = self.geometry.pool_of(line) as usize * writers;
        // A writer that has filled a line may have nothing to do with it any more.
        let is_at = |open: &&Open| open.line == line && open.next < self.geometry.line_pages;
        let mut open = self.open[first..first + writers].iter();
        open.find(is_at).expect("a writer has each open line").next
    }

    pub fn state(&self, line: u32) -> State {
        match self.state[line as usize] {
            AS_AT_START => self.pools[self.geometry.pool_of(line) as usize].state_at_start(line),
            1 => State::Free,
            2 => State::Open,
            3 => State::Closed,
            4 => State::Taken,
            _ => State::Retired,
        }
    }

    fn set_state(&mut self, line: u32, state: State) {
        self.state[line as usize] = state as u8;
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
        self.set_state(line, State::Open);
        let (Writer::Host(stream) | Writer::Gc(stream)) = writer;
        self.stream[line as usize] = stream as u8;
        Some(Open { line, next: 0 })
    }

    fn close(&mut self, line: u32) {
        self.set_state(line, State::Closed);
        let pool = self.geometry.pool_of(line) as usize;
        let stale = self.stale[line as usize];
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
        let stale = &mut self.stale[line as usize];
        *stale += 1;
        let pool = &mut self.pools[self.geometry.pool_of(line) as usize];
        pool.valid -= 1;
        let is_closed = match self.state[line as usize] {
            AS_AT_START => line < pool.first_open,
            state => state == State::Closed as u8,
        };
        if is_closed {
            self.policy.invalidate(line, *stale, pool.written);
        }
    }

    /// Valid pages of a line being collected have moved on.
    pub fn moved(&mut self, line: u32, count: u32) {
        self.stale[line as usize] += count;
        self.pools[self.geometry.pool_of(line) as usize].valid -= count;
    }

    /// Stops writing the open line: what is left of it counts as written in vain. It must be
    /// collected.
    pub fn abandon(&mut self, pool: u32, writer: Writer) {
        let slot = self.slot(pool, writer);
        let open = &mut self.open[slot];
        self.stale[open.line as usize] += self.geometry.line_pages - open.next;
        open.next = self.geometry.line_pages;
    }

    /// Takes what the policy thinks is best to collect.
    pub fn take_victim(&mut self, pool: u32) -> Option<u32> {
        let line = self
            .policy
            .victim(pool, &self.stale, self.pools[pool as usize].written)?;
        debug_assert_eq!(self.state(line), State::Closed);
        self.set_state(line, State::Taken);
        Some(line)
    }

    /// Takes a line that is closed or was just closed, whatever the policy thinks.
    pub fn take(&mut self, line: u32) {
        if self.state(line) == State::Closed {
            self.policy.remove(line, self.stale[line as usize]);
        }
        self.set_state(line, State::Taken);
    }

    /// Takes back an erased line.
    pub fn free(&mut self, line: u32) {
        let pool = self.geometry.pool_of(line);
        self.erases[line as usize] += 1;
        self.stale[line as usize] = 0;
        self.set_state(line, State::Free);
        self.free.push(pool, line, self.erases[line as usize]);
        self.pools[pool as usize].free += 1;
    }

    /// Takes a line out of use: the pool holds so much less.
    pub fn retire(&mut self, line: u32) {
        self.set_state(line, State::Retired);
        let pool = &mut self.pools[self.geometry.pool_of(line) as usize];
        pool.valid_max = pool.valid_max.saturating_sub(self.geometry.line_pages);
    }

    /// Forgets the wear so far. Free lines keep their order.
    pub fn forget_wear(&mut self) {
        self.erases.fill(0);
        self.free.forget_wear();
    }

    /// Shows the state at the start, when no line is worn.
    pub fn tables(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        tables.words(&mut self.stale)?;
        tables.bytes(&mut self.state)?;
        tables.bytes(&mut self.stream)?;
        self.policy.tables(tables)?;
        self.free.tables(tables)?;
        let pools = self.pools.iter();
        let mut counts: Vec<u32> = pools.flat_map(|pool| [pool.valid, pool.free]).collect();
        tables.words(&mut counts)?;
        let mut written: Vec<u64> = self.pools.iter().map(|pool| pool.written).collect();
        tables.longs(&mut written)?;
        let counts = counts.chunks_exact(2).zip(written);
        for (pool, (counts, written)) in self.pools.iter_mut().zip(counts) {
            (pool.valid, pool.free, pool.written) = (counts[0], counts[1], written);
        }
        let open = self.open.iter();
        let mut places: Vec<u32> = open.flat_map(|open| [open.line, open.next]).collect();
        tables.words(&mut places)?;
        for (open, place) in self.open.iter_mut().zip(places.chunks_exact(2)) {
            (open.line, open.next) = (place[0], place[1]);
        }
        Ok(())
    }

    pub fn wear(&self) -> WearReport {
        let used = (0..self.geometry.lines())
            .filter(|line| self.state(*line) != State::Retired)
            .map(|line| self.erases(line));
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
        match self.state(line) {
            State::Free | State::Retired => 0,
            State::Open => self.written(line),
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
