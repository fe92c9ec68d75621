//! Garbage collection: when, how much at a time, and what becomes of worn or failed lines.

use super::geometry::Geometry;
use super::lines::{State, Writer};
use super::store::{Io, Moved, Plan, ReadOnly, Store};
use crate::config::{Settings, Wear};
use crate::nand::{BadBlock, Flash, Origin};
use sluice_units::{Lpn, Ps};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lines that are looked at for cold data after each erase.
const COLD_LOOKS: u32 = 4;

/// The thresholds, and what is under way in each pool.
pub(super) struct Collector {
    /// Free lines at or below which a full line waits for collection.
    threshold: u32,
    /// Lines that one collection erases at least.
    at_once: u32,
    /// Free lines below which a pool collects while it is idle.
    background: u32,
    /// Free lines below which each write collects a step.
    paced: u32,
    /// Pages moved in a step.
    step: u32,
    /// Erases between the most and the least worn line at which cold data moves.
    wear_spread: Option<u32>,
    pools: Vec<Progress>,
    /// Pools to collect while idle, by the time of the next step.
    waiting: BinaryHeap<Reverse<(Ps, u32)>>,
}

#[derive(Clone, Copy, Default)]
struct Progress {
    /// The line being collected.
    victim: Option<u32>,
    /// Its next page to look at.
    next: u32,
    /// A line with cold data that wear levelling wants to move.
    cold: Option<u32>,
    /// The next line to look at for cold data.
    look: u32,
    /// Whether it is among those waiting.
    waits: bool,
}

impl Collector {
    pub fn new(settings: &Settings, plan: &Plan, geometry: &Geometry) -> Collector {
        let ftl = &settings.ftl;
        let background = match ftl.gc_background_blocks {
            blocks if plan.data && blocks > 0 => blocks + 1,
            _ => 0,
        };
        let step = if plan.data { ftl.gc_step } else { None };
        Collector {
            threshold: plan.threshold,
            at_once: plan.at_once,
            background,
            paced: match step {
                Some(_) => background.max(plan.threshold + 2),
                None => 0,
            },
            step: step.unwrap_or(u32::MAX),
            wear_spread: (ftl.wear == Wear::Static).then_some(ftl.wear_spread),
            pools: vec![Progress::default(); geometry.pools as usize],
            waiting: BinaryHeap::with_capacity(geometry.pools as usize),
        }
    }

    /// Sees to it that the writer's next page has a line, as far as collection can.
    #[inline]
    pub fn make_room<F: Flash>(
        &mut self,
        store: &mut Store,
        io: &mut Io<F>,
        pool: u32,
        writer: Writer,
        moved: &mut impl Moved<F>,
    ) {
        if store.lines.is_full(pool, writer) {
            self.collect(store, io, pool, moved);
        } else if store.lines.free_lines(pool) < self.paced {
            self.step(store, io, pool, self.step, moved);
        }
    }

    /// Collects until the pool has more free lines than the threshold, and as many lines as one
    /// collection erases, then what failed or is cold.
    fn collect<F: Flash>(
        &mut self,
        store: &mut Store,
        io: &mut Io<F>,
        pool: u32,
        moved: &mut impl Moved<F>,
    ) {
        let mut erased = 0;
        while !store.read_only {
            let is_begun = (1..self.at_once).contains(&erased);
            let short = is_begun || store.lines.free_lines(pool) <= self.threshold;
            if self.pools[pool as usize].victim.is_none() {
                let victim = match short {
                    true => store
                        .lines
                        .take_victim(pool)
                        .or_else(|| store.next_failing(pool)),
                    // Moving these frees nothing, so it needs a line to spare.
                    false if store.lines.free_lines(pool) < 2 => None,
                    false => store
                        .next_failing(pool)
                        .or_else(|| self.next_cold(store, pool, io)),
                };
                if victim.is_none() {
                    return;
                }
                self.begin(pool, victim);
            } else if !short {
                return;
            }
            self.step(store, io, pool, u32::MAX, moved);
            store.lines.for_cold = false;
            erased += u32::from(short);
        }
    }

    fn begin(&mut self, pool: u32, victim: Option<u32>) {
        let progress = &mut self.pools[pool as usize];
        progress.victim = victim;
        progress.next = 0;
    }

    fn next_cold<F>(&mut self, store: &mut Store, pool: u32, io: &mut Io<F>) -> Option<u32> {
        let line = self.pools[pool as usize].cold.take()?;
        if store.lines.state(line) != State::Closed {
            return None;
        }
        store.lines.take(line);
        store.lines.for_cold = true;
        io.stats.wear_moves += u64::from(store.lines.valid(line));
        Some(line)
    }

    /// Collects a step: moves up to `most` pages, or erases the line once none is left. Says
    /// whether there was anything to do.
    pub fn step<F: Flash>(
        &mut self,
        store: &mut Store,
        io: &mut Io<F>,
        pool: u32,
        most: u32,
        moved: &mut impl Moved<F>,
    ) -> bool {
        if self.pools[pool as usize].victim.is_none() {
            let victim = store.lines.take_victim(pool);
            self.begin(pool, victim);
        }
        let Progress {
            victim: Some(line),
            mut next,
            ..
        } = self.pools[pool as usize]
        else {
            return false;
        };
        let mut moves = 0;
        while store.lines.valid_of_full(line) > 0 {
            let place = line * store.geometry.line_pages + next;
            if let Some(lpn) = store.map.owner_of(place) {
                if moves == most {
                    self.pools[pool as usize].next = next;
                    return true;
                }
                if self.move_page(store, io, lpn, place, moved).is_err() {
                    return false;
                }
                moves += 1;
            }
            next += 1;
        }
        self.pools[pool as usize].next = next;
        if moves == 0 || most == u32::MAX {
            self.erase(store, io, line);
            self.pools[pool as usize].victim = None;
        }
        true
    }

    fn move_page<F: Flash>(
        &mut self,
        store: &mut Store,
        io: &mut Io<F>,
        lpn: Lpn,
        from: u32,
        moved: &mut impl Moved<F>,
    ) -> Result<(), ReadOnly> {
        let line = store.geometry.line_of(from);
        let stream = store.lines.stream(line);
        let writer = Writer::Gc(if store.by_heat {
            stream.saturating_sub(1)
        } else {
            stream
        });
        loop {
            let Some(to) = store.lines.append(store.geometry.pool_of(line), writer, 1) else {
                store.read_only = true;
                return Err(ReadOnly);
            };
            io.stats.flash_reads += 1;
            io.stats.flash_programs += 1;
            io.stats.gc_moves += 1;
            let (source, target) = (store.blocks.ppn_of(from), store.blocks.ppn_of(to));
            match io.flash.copy(io.now, source, target, Origin::Gc) {
                Ok(()) => {
                    store.map.set(lpn, to);
                    store.lines.moved(line, 1);
                    moved.moved(io, lpn);
                    return Ok(());
                }
                Err(BadBlock) => store.program_failed(to, writer, io.stats),
            }
        }
    }

    fn erase<F: Flash>(&mut self, store: &mut Store, io: &mut Io<F>, line: u32) {
        let mut whole = true;
        for member in 0..store.geometry.width {
            let block = store.blocks.block_of(line, member);
            if !store.blocks.is_bad(block) {
                io.stats.erases += 1;
                if io.flash.erase(io.now, block, Origin::Gc).is_err() {
                    io.stats.erase_failures += 1;
                    io.stats.bad_blocks += 1;
                    store.blocks.mark_bad(block);
                }
            }
            whole &= !store.blocks.is_bad(block);
        }
        if whole || store.blocks.mend(line) {
            store.lines.free(line);
            self.look_for_cold(store, line);
        } else {
            store.lines.retire(line);
            store.read_only |= store.lines.room() < u64::from(store.geometry.lpns);
        }
    }

    /// Looks at a few lines, each pool's in turn, for one that is much less worn than `line`.
    fn look_for_cold(&mut self, store: &Store, line: u32) {
        let Some(spread) = self.wear_spread else {
            return;
        };
        let pool = store.geometry.pool_of(line);
        let progress = &mut self.pools[pool as usize];
        for _ in 0..COLD_LOOKS {
            let other = pool * store.geometry.lines_per_pool + progress.look;
            progress.look = (progress.look + 1) % store.geometry.lines_per_pool;
            let younger = store.lines.erases(other) + spread <= store.lines.erases(line);
            if younger && store.lines.state(other) == State::Closed {
                progress.cold = Some(other);
            }
        }
    }

    /// Notes that the pool is to be collected when it is idle, if it is short of free lines.
    #[inline]
    pub fn wake<F>(&mut self, store: &Store, io: &Io<F>, pool: u32) {
        if store.lines.free_lines(pool) < self.background {
            let progress = &mut self.pools[pool as usize];
            if !progress.waits {
                progress.waits = true;
                self.waiting.push(Reverse((io.now, pool)));
            }
        }
    }

    /// Whether a pool is due to be collected in the background before `now`.
    #[inline]
    pub fn is_due(&self, now: Ps) -> bool {
        self.waiting
            .peek()
            .is_some_and(|Reverse((at, _))| *at < now)
    }

    /// Collects in the background what idle pools had the time for before `now`, in order of time.
    pub fn catch_up<F: Flash>(
        &mut self,
        store: &mut Store,
        io: &mut Io<F>,
        moved: &mut impl Moved<F>,
    ) {
        let now = io.now;
        while self.is_due(now) {
            let Some(Reverse((at, pool))) = self.waiting.pop() else {
                break;
            };
            self.pools[pool as usize].waits = false;
            if let Some(next) = self.step_when_idle(store, io, pool, at, now, moved) {
                self.pools[pool as usize].waits = true;
                self.waiting.push(Reverse((next, pool)));
            }
        }
        io.now = now;
    }

    /// Collects a step at the first idle moment from `at` on, if that is before `now`. Says when
    /// to try again.
    fn step_when_idle<F: Flash>(
        &mut self,
        store: &mut Store,
        io: &mut Io<F>,
        pool: u32,
        at: Ps,
        now: Ps,
        moved: &mut impl Moved<F>,
    ) -> Option<Ps> {
        if self.pools[pool as usize].victim.is_none() {
            if store.read_only || store.lines.free_lines(pool) >= self.background {
                return None;
            }
            let victim = store.lines.take_victim(pool);
            self.begin(pool, victim);
        }
        let Progress {
            victim: Some(line),
            next,
            ..
        } = self.pools[pool as usize]
        else {
            return None;
        };
        let block = store.blocks.block_of(line, next % store.geometry.width);
        io.now = at.max(io.flash.idle_at(block));
        if io.now >= now {
            return Some(io.now);
        }
        let went_on = self.step(store, io, pool, self.step, moved);
        went_on.then_some(io.now + Ps(1))
    }
}
