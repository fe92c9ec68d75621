//! A part of the flash array with its own map: pages written to it, moved about in it, and read.

use super::factory::Factory;
use super::fresh::{Fresh, Scatter};
use super::gc::Collector;
use super::geometry::{Blocks, Geometry};
use super::lines::{Lines, State, Writer};
use super::map::Map;
use super::order::Rule;
use super::precondition;
use super::turn::Turn;
use super::victim::GcSpace;
use crate::config::{Precondition, Settings};
use crate::nand::{BadBlock, Flash, Origin, Served};
use crate::stats::Stats;
use sluice_lists::Lists;
use sluice_units::{Lpn, Ps, Rng};

/// The moment, the flash array and the counters that an operation works with.
pub(super) struct Io<'a, F> {
    pub now: Ps,
    pub flash: &'a mut F,
    pub stats: &'a mut Stats,
}

/// Is told of each page that collection moves, because its entry in the map changes.
pub(super) trait Moved<F> {
    fn moved(&mut self, io: &mut Io<F>, lpn: Lpn);
}

/// A map in memory: its changes cost nothing.
impl<F> Moved<F> for () {
    fn moved(&mut self, _io: &mut Io<F>, _lpn: Lpn) {}
}

/// The flash array cannot be written any more: too many blocks failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadOnly;

/// Where a write should go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Route {
    /// The pool, if the host chose one.
    pub pool: Option<u32>,
    /// The write stream that the host put it in.
    pub stream: u32,
}

/// A map, the lines that it points into, and their collection.
pub(super) struct Area {
    pub geometry: Geometry,
    pub blocks: Blocks,
    pub map: Map,
    pub lines: Lines,
    pub gc: Collector,
    /// Per pool: lines where a program failed, to be emptied.
    pub failing: Option<Lists>,
    turn: Turn,
    rule: Rule,
    streams: u32,
    /// Whether the page's past, not the host, chooses its stream.
    pub by_heat: bool,
    pub read_only: bool,
}

/// What sets one area apart from another.
pub(super) struct Plan {
    pub lpns: u32,
    pub first_block: u32,
    pub blocks_per_plane: u32,
    pub threshold: u32,
    pub streams: u32,
    /// Whether it is the host's data: translation pages know neither heat nor background work.
    pub data: bool,
}

impl Area {
    pub fn new(settings: &Settings, plan: &Plan, factory: Option<&Factory>, seed: u64) -> Area {
        let ftl = &settings.ftl;
        let width = ftl.superblock_planes;
        let geometry = Geometry {
            lpns: plan.lpns,
            pools: settings.nand.plane_count() / width,
            width,
            lines_per_pool: plan.blocks_per_plane,
            line_pages: width * settings.nand.pages_per_block,
            first_block: plan.first_block,
        };
        let space = GcSpace {
            pools: geometry.pools,
            lines_per_pool: geometry.lines_per_pool,
            line_pages: geometry.line_pages,
            window: ftl.gc_window,
            choices: ftl.gc_choices,
            streams: plan.streams,
            valid_max: (plan.blocks_per_plane - plan.threshold - 2 * plan.streams)
                * geometry.line_pages,
            rng: Rng::stream(seed, "ftl.gc"),
        };
        let written = ftl.precondition != Precondition::None;
        let blocks = Blocks::new(settings, &geometry, ftl.may_fail, factory);
        let mut lines = Lines::new(settings, &geometry, &space, &blocks, written);
        let collector = Collector::new(settings, plan, &geometry);
        let by_heat = plan.data && !ftl.streams_by_host;
        let fresh = match ftl.precondition {
            Precondition::None => Fresh::Empty,
            Precondition::Random if plan.data => {
                let mut rng = Rng::stream(seed, "ftl.precondition");
                let rules = precondition::Rules {
                    writes: ftl.precondition_writes,
                    threshold: plan.threshold,
                    streams: plan.streams,
                    by_heat,
                };
                precondition::overwrite(&mut lines, &geometry, &rules, &mut rng);
                let full = |line| lines.state(line) == State::Closed;
                let valid = lines.valid_by_line();
                Fresh::Scattered(Box::new(Scatter::new(&geometry, valid, full, &mut rng)))
            }
            Precondition::Sequential | Precondition::Random => Fresh::Home(geometry),
        };
        let failing = (geometry.pools as usize, geometry.lines() as usize);
        Area {
            geometry,
            blocks,
            map: Map::new(&geometry, fresh),
            lines,
            gc: collector,
            failing: ftl
                .may_fail
                .then(|| Lists::new(failing.0 as u32, failing.1 as u32)),
            turn: Turn::default(),
            rule: ftl.allocation.rule,
            streams: plan.streams,
            by_heat,
            read_only: false,
        }
    }

    /// When the page is out of the flash array; `None` if it has no place there.
    #[inline]
    pub fn read<F: Flash>(&self, io: &mut Io<F>, lpn: Lpn, origin: Origin) -> Option<Served> {
        let place = self.map.place_of(lpn)?;
        io.stats.flash_reads += 1;
        Some(io.flash.read(io.now, self.blocks.ppn_of(place), origin))
    }

    /// Writes the page to a new place.
    ///
    /// # Errors
    /// [`ReadOnly`], from the first time on. The page then keeps its former contents.
    pub fn write<F: Flash>(
        &mut self,
        io: &mut Io<F>,
        lpn: Lpn,
        route: Route,
        origin: Origin,
        moved: &mut impl Moved<F>,
    ) -> Result<(), ReadOnly> {
        if self.read_only {
            return Err(ReadOnly);
        }
        let stream = self.stream_for(self.map.place_of(lpn), route);
        // Where programs can fail, the former contents stay until the new ones are written: while
        // room is made their line may be erased, and they with it.
        let keep = self.failing.is_some();
        if !keep {
            self.unmap(lpn);
        }
        let writer = Writer::Host(stream);
        let asked = route.pool.filter(|pool| self.lines.has_room(*pool));
        io.stats.placements_missed += u64::from(route.pool.is_some() && asked.is_none());
        let pool = match asked {
            Some(pool) => pool,
            None => self.pick(io, lpn, writer),
        };
        loop {
            self.make_room(io, pool, writer, moved);
            let Some(place) = self.lines.append(pool, writer, 1) else {
                self.read_only = true;
                return Err(ReadOnly);
            };
            io.stats.flash_programs += 1;
            match io.flash.program(io.now, self.blocks.ppn_of(place), origin) {
                Ok(()) => {
                    if keep {
                        self.unmap(lpn);
                    }
                    self.map.set(lpn, place);
                    self.wake(io, pool);
                    return Ok(());
                }
                Err(BadBlock) => self.program_failed(place, writer, io.stats),
            }
        }
    }

    /// The pool that the rule says. A page that is to be written over makes room for itself where
    /// it is.
    fn pick<F: Flash>(&mut self, io: &Io<F>, lpn: Lpn, writer: Writer) -> u32 {
        let Area {
            geometry, lines, ..
        } = self;
        let own = self.map.place_of(lpn);
        let own = own.map(|place| geometry.pool_of(geometry.line_of(place)));
        let picked = match self.rule {
            Rule::Turn => self.turn.pick(geometry, lines),
            Rule::Home => {
                let home = geometry.home_of(lpn);
                let home = geometry.pool_of(geometry.line_of(home));
                let home = Some(home).filter(|home| lines.has_room(*home));
                home.or_else(|| self.turn.pick(geometry, lines))
            }
            Rule::Idle => self.turn.pick_idle(geometry, lines, io.now, |pool| {
                let member = lines.next_page(pool, writer) % geometry.width;
                let line = pool * geometry.lines_per_pool;
                io.flash.idle_at(self.blocks.block_of(line, member))
            }),
        };
        let picked = picked.or(own);
        picked.expect("the pools together hold every logical page")
    }

    fn stream_for(&self, old: Option<u32>, route: Route) -> u32 {
        if self.streams == 1 {
            return 0;
        }
        match old {
            _ if !self.by_heat => route.stream % self.streams,
            Some(place) => {
                let stream = self.lines.stream(self.geometry.line_of(place));
                (stream + 1).min(self.streams - 1)
            }
            None => 0,
        }
    }

    /// Forgets the page's place.
    #[inline]
    pub fn unmap(&mut self, lpn: Lpn) {
        if let Some(place) = self.map.place_of(lpn) {
            self.map.clear(lpn);
            let line = self.geometry.line_of(place);
            match self.read_only {
                // Nothing is collected any more.
                true => self.lines.moved(line, 1),
                false => self.lines.make_stale(line),
            }
        }
    }

    /// The page at `place` could not be programmed: its line is filled no further.
    pub fn program_failed(&mut self, place: u32, writer: Writer, stats: &mut Stats) {
        let line = self.geometry.line_of(place);
        let pool = self.geometry.pool_of(line);
        let block = self.blocks.ppn_of(place) / self.blocks.pages_per_block();
        stats.program_failures += 1;
        stats.bad_blocks += 1;
        self.blocks.mark_bad(block);
        self.lines.make_stale(line);
        if self.lines.state(line) == State::Open {
            self.lines.abandon(pool, writer);
        }
        self.lines.take(line);
        let failing = self.failing.as_mut().expect("this array may fail");
        failing.push_front(pool, line);
    }
}
