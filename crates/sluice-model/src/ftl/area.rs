//! A part of the flash array with its own map: pages written to it, moved about in it, and read.

use super::factory::Factory;
use super::fresh::{Fresh, Scatter};
use super::gc::Collector;
use super::geometry::{Blocks, Geometry};
use super::lines::{Lines, State, Writer};
use super::map::Map;
use super::precondition;
use super::store::{Io, Moved, Plan, ReadOnly, Store};
use super::turn::Turn;
use crate::config::{Precondition, Rule, Settings};
use crate::contents::{Contents, NoContents, Tables};
use crate::nand::{BadBlock, Flash, Origin};
use crate::victim::GcSpace;
use sluice_lists::Lists;
use sluice_units::{Lpn, Ps, Rng};

/// Where a write should go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Route {
    /// The pool, if the host chose one.
    pub pool: Option<u32>,
    /// The write stream that the host put it in.
    pub stream: u32,
}

/// A store of pages, their collection, and the choice of where they go.
pub(super) struct Area {
    pub store: Store,
    gc: Collector,
    turn: Turn,
    rule: Rule,
    streams: u32,
}

/// The state after random overwrites of pages that are all written.
fn overwritten(
    mut lines: Lines,
    geometry: &Geometry,
    rules: &precondition::Rules,
    seed: u64,
) -> (Lines, Scatter) {
    let mut rng = Rng::stream(seed, "ftl.precondition");
    precondition::overwrite(&mut lines, geometry, rules, &mut rng);
    let full = |line| lines.state(line) == State::Closed;
    let valid = (0..geometry.lines()).map(|line| lines.valid(line));
    let scatter = Scatter::new(geometry, valid, full, &mut rng);
    (lines, scatter)
}

/// The lines and their scatter as they were kept.
fn take_up(
    mut lines: Lines,
    geometry: &Geometry,
    kept: &dyn Contents,
) -> Result<(Lines, Scatter), NoContents> {
    let mut tables = kept.open()?;
    let mut scatter = Scatter::blank(geometry);
    scatter.tables(&mut *tables)?;
    lines.tables(&mut *tables)?;
    Ok((lines, scatter))
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
        let new_lines = || Lines::new(settings, &geometry, &space, &blocks, written);
        let by_heat = plan.data && !ftl.streams_by_host;
        let (lines, fresh) = match ftl.precondition {
            Precondition::None => (new_lines(), Fresh::Empty),
            Precondition::Random if plan.data => {
                let rules = precondition::Rules {
                    writes: ftl.precondition_writes,
                    threshold: plan.threshold,
                    streams: plan.streams,
                    by_heat,
                };
                let kept = ftl.contents.as_deref();
                let kept = kept.and_then(|kept| take_up(new_lines(), &geometry, kept).ok());
                let (lines, scatter) =
                    kept.unwrap_or_else(|| overwritten(new_lines(), &geometry, &rules, seed));
                (lines, Fresh::Scattered(Box::new(scatter)))
            }
            Precondition::Sequential | Precondition::Random => (new_lines(), Fresh::Home(geometry)),
        };
        let collector = Collector::new(settings, plan, &geometry);
        Area {
            store: Store {
                geometry,
                blocks,
                map: Map::new(&geometry, fresh),
                lines,
                failing: ftl
                    .may_fail
                    .then(|| Lists::new(geometry.pools, geometry.lines())),
                by_heat,
                read_only: false,
            },
            gc: collector,
            turn: Turn::default(),
            rule: ftl.allocation.rule,
            streams: plan.streams,
        }
    }

    /// Shows what it holds at the start.
    pub fn contents(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        let Fresh::Scattered(scatter) = self.store.map.fresh() else {
            return Err(NoContents);
        };
        scatter.tables(tables)?;
        self.store.lines.tables(tables)
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
        if self.store.read_only {
            return Err(ReadOnly);
        }
        let stream = self.stream_for(self.store.map.place_of(lpn), route);
        // Where programs can fail, the old contents stay until the new ones are written. While room
        // is made their line may be erased, and they with it.
        let keep = self.store.failing.is_some();
        if !keep {
            self.store.unmap(lpn);
        }
        let writer = Writer::Host(stream);
        let asked = route.pool.filter(|pool| self.store.lines.has_room(*pool));
        io.stats.placements_missed += u64::from(route.pool.is_some() && asked.is_none());
        let pool = match asked {
            Some(pool) => pool,
            None => self.pick(io, lpn, writer),
        };
        loop {
            self.gc.make_room(&mut self.store, io, pool, writer, moved);
            let Some(place) = self.store.lines.append(pool, writer, 1) else {
                self.store.read_only = true;
                return Err(ReadOnly);
            };
            io.stats.flash_programs += 1;
            match io
                .flash
                .program(io.now, self.store.blocks.ppn_of(place), origin)
            {
                Ok(()) => {
                    if keep {
                        self.store.unmap(lpn);
                    }
                    self.store.map.set(lpn, place);
                    self.gc.wake(&self.store, io, pool);
                    return Ok(());
                }
                Err(BadBlock) => self.store.program_failed(place, writer, io.stats),
            }
        }
    }

    /// The pool that the rule says. A page that is to be written over makes room for itself where
    /// it is.
    fn pick<F: Flash>(&mut self, io: &Io<F>, lpn: Lpn, writer: Writer) -> u32 {
        let Store {
            geometry,
            lines,
            map,
            blocks,
            ..
        } = &self.store;
        let own = map.place_of(lpn);
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
                io.flash.idle_at(blocks.block_of(line, member))
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
            _ if !self.store.by_heat => route.stream % self.streams,
            Some(place) => {
                let stream = self.store.lines.stream(self.store.geometry.line_of(place));
                (stream + 1).min(self.streams - 1)
            }
            None => 0,
        }
    }

    /// Whether a pool is due to be collected in the background before `now`.
    #[inline]
    pub fn is_due(&self, now: Ps) -> bool {
        self.gc.is_due(now)
    }

    /// Collects in the background what idle pools had the time for before `now`.
    pub fn catch_up<F: Flash>(&mut self, io: &mut Io<F>, moved: &mut impl Moved<F>) {
        self.gc.catch_up(&mut self.store, io, moved);
    }
}
