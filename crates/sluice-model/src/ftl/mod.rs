//! The flash translation layer: where each logical page is, and where the next write goes.
//!
//! Page-mapped, with the map in memory or (DFTL) in flash behind a cache. Writes go round the
//! planes in the order of `ftl.allocation`, and each pool of planes appends to its own open line,
//! a block or a superblock. When a pool runs short of free lines, garbage collection empties the
//! one that the victim policy chooses; it runs on the dies' own time, so that later reads of
//! those dies wait for it.

mod area;
#[cfg(test)]
mod check;
mod factory;
mod free;
mod fresh;
mod gc;
mod geometry;
mod lines;
mod map;
mod order;
mod precondition;
mod store;
mod translation;
mod turn;

#[cfg(test)]
pub(crate) use check::factory_bad_blocks;

use crate::config::Settings;
use crate::contents::{NoContents, Tables};
use crate::layout::{Layout, PlaneAddress};
use crate::nand::{Flash, Origin, Served};
use crate::stats::Stats;
use area::{Area, Route};
use factory::Factory;
use sluice_units::{Lpn, Ppn, Ps};
pub(crate) use store::ReadOnly;
use store::{Io, Plan};
use translation::{Translation, then};

/// The mapping and the state of every block.
pub(crate) struct Ftl {
    layout: Layout,
    placement_by_host: bool,
    data: Area,
    /// The map's own pages, if it is in flash.
    translation: Option<Translation>,
}

/// What the host says about where a write should go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The plane, under `ftl.placement = host`.
    pub place: Option<PlaneAddress>,
    /// The write stream, under `ftl.stream_by = host`. Counted modulo `ftl.streams`.
    pub stream: u32,
}

/// How worn the lines (blocks, or superblocks) of a device are, retired ones left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WearReport {
    /// Erases of the least worn line.
    pub least: u32,
    /// Erases of the most worn line.
    pub most: u32,
    /// Erases of all lines together.
    pub total: u64,
    /// Lines in use.
    pub lines: u64,
}

impl Ftl {
    pub fn new(settings: &Settings, seed: u64) -> Ftl {
        let ftl = &settings.ftl;
        let factory = Factory::new(settings, seed);
        let data = Plan {
            lpns: settings.pages,
            first_block: 0,
            blocks_per_plane: ftl.data_blocks_per_plane,
            threshold: ftl.gc_threshold_blocks,
            at_once: ftl.gc_blocks_at_once,
            streams: ftl.streams,
            data: true,
        };
        let translation = ftl.mapping_cache_pages.map(|pages| {
            let least_bad = settings.nand.bad_blocks / settings.nand.plane_count();
            let plan = Plan {
                lpns: ftl.translation_pages,
                first_block: ftl.data_blocks_per_plane,
                blocks_per_plane: settings.nand.blocks_per_plane
                    - least_bad
                    - ftl.data_blocks_per_plane,
                threshold: ftl.translation_threshold_blocks,
                at_once: 1,
                streams: 1,
                data: false,
            };
            Translation::new(settings, pages, &plan, factory.as_ref(), seed)
        });
        Ftl {
            layout: Layout::new(settings),
            placement_by_host: ftl.placement_by_host,
            data: Area::new(settings, &data, factory.as_ref(), seed),
            translation,
        }
    }

    /// When the page's data, asked for at `now`, is out of the flash array.
    ///
    /// A page without a place in flash (never written, or discarded) costs no data read.
    #[inline]
    pub fn read<F: Flash>(
        &mut self,
        now: Ps,
        lpn: Lpn,
        origin: Origin,
        flash: &mut F,
        stats: &mut Stats,
    ) -> Served {
        let io = &mut Io { now, flash, stats };
        match &mut self.translation {
            None => self
                .data
                .store
                .read(io, lpn, origin)
                .unwrap_or(Served::at_once(now)),
            Some(translation) => {
                let found = translation.look_up(io, lpn, false, origin);
                io.now = found.done_at;
                match self.data.store.read(io, lpn, origin) {
                    Some(served) => then(found, served),
                    None => found,
                }
            }
        }
    }

    /// Writes the page to a new place. Nobody waits for the program.
    ///
    /// # Errors
    /// [`ReadOnly`] if too many blocks have failed. The page keeps its former contents.
    pub fn write<F: Flash>(
        &mut self,
        now: Ps,
        lpn: Lpn,
        placement: Placement,
        origin: Origin,
        flash: &mut F,
        stats: &mut Stats,
    ) -> Result<(), ReadOnly> {
        let io = &mut Io { now, flash, stats };
        let route = Route {
            pool: self.pool_of(placement),
            stream: placement.stream,
        };
        let written = match &mut self.translation {
            None => self.data.write(io, lpn, route, origin, &mut ()),
            Some(translation) if translation.is_read_only() => Err(ReadOnly),
            Some(translation) => {
                // The entry is fetched beside the program, which needs nothing from it.
                translation.look_up(io, lpn, true, origin);
                self.data.write(io, lpn, route, origin, translation)
            }
        };
        io.stats.host_programs += u64::from(written.is_ok());
        io.stats.writes_refused += u64::from(written.is_err());
        written
    }

    /// Whether a write can name this plane.
    pub fn has_place(&self, place: PlaneAddress) -> bool {
        let plane = self.layout.plane_at(place);
        plane.is_some_and(|plane| self.data.store.blocks.rank_of(plane).is_some())
    }

    fn pool_of(&self, placement: Placement) -> Option<u32> {
        let place = placement.place.filter(|_| self.placement_by_host)?;
        let plane = self.layout.plane_at(place)?;
        let rank = self.data.store.blocks.rank_of(plane)?;
        Some(rank / self.data.store.geometry.width)
    }

    /// Forgets the page's place.
    pub fn trim<F: Flash>(&mut self, now: Ps, lpn: Lpn, flash: &mut F, stats: &mut Stats) {
        if let Some(translation) = &mut self.translation {
            let io = &mut Io { now, flash, stats };
            translation.look_up(io, lpn, true, Origin::Host);
        }
        self.data.store.unmap(lpn);
    }

    /// The PPN of a page, if it has a place.
    pub fn ppn_of(&self, lpn: Lpn) -> Option<Ppn> {
        let place = self.data.store.map.place_of(lpn)?;
        Some(self.data.store.blocks.ppn_of(place))
    }

    /// Whether there is anything to do in the background before `now`.
    #[inline]
    pub fn is_due(&self, now: Ps) -> bool {
        self.data.is_due(now)
    }

    /// Does in the background what idle dies had the time for before `now`.
    pub fn advance<F: Flash>(&mut self, now: Ps, flash: &mut F, stats: &mut Stats) {
        let io = &mut Io { now, flash, stats };
        match &mut self.translation {
            None => self.data.catch_up(io, &mut ()),
            Some(translation) => self.data.catch_up(io, translation),
        }
    }

    /// Whether it takes no writes any more.
    pub fn is_read_only(&self) -> bool {
        let translation = self.translation.as_ref();
        self.data.store.read_only || translation.is_some_and(Translation::is_read_only)
    }

    /// See [`Device::contents`](crate::Device::contents).
    pub fn contents(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        self.data.contents(tables)
    }

    /// How worn the lines of the host's data are.
    pub fn wear(&self) -> WearReport {
        self.data.store.lines.wear()
    }
}

#[cfg(test)]
mod tests;
