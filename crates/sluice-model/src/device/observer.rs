//! The observer follows what each page holds, to check that nothing is lost. Tests have one,
//! production does not.

use crate::config::Settings;
use crate::ftl::{Ftl, Placement, ReadOnly};
use crate::nand::{Nand, Origin, Served};
use crate::stats::Stats;
use crate::write_log::LogEntry;
use sluice_units::{Lpn, PageLine, Ps};

/// Sees every page on its way between the host, the cache, the write log and flash.
///
/// In production it is `()`, whose methods do nothing and cost nothing: the translation layer works
/// on the flash array itself. One that watches puts itself between the two.
pub(crate) trait Observer: Sized {
    /// An observer of a device as it is made.
    fn new(ftl: &Ftl, settings: &Settings, seed: u64) -> Self;

    /// Has the translation layer read a page.
    fn read(
        &mut self,
        io: FlashIo<'_>,
        at: Ps,
        lpn: Lpn,
        origin: Origin,
        stats: &mut Stats,
    ) -> Served;

    /// Has the translation layer write a page.
    fn write(
        &mut self,
        io: FlashIo<'_>,
        at: Ps,
        page: Written,
        stats: &mut Stats,
    ) -> Result<(), ReadOnly>;

    /// Has the translation layer forget a page.
    fn trim(&mut self, io: FlashIo<'_>, at: Ps, lpn: Lpn, stats: &mut Stats);

    /// Has the translation layer work in the background.
    fn advance(&mut self, io: FlashIo<'_>, at: Ps, stats: &mut Stats);

    /// The page came into the cache with what was read last, and with its lines of the write log,
    /// which `logged` finds.
    #[inline]
    fn filled(&mut self, _lpn: Lpn, _logged: impl Fn(PageLine) -> Option<LogEntry>) {}

    /// What was read last goes to the host, past the cache.
    #[inline]
    fn bypassed(&mut self) {}

    /// The host's data goes to the page, if it is cached.
    #[inline]
    fn stored(&mut self, _lpn: Lpn) {}

    /// The page has left the cache.
    #[inline]
    fn left(&mut self, _lpn: Lpn) {}

    /// The page goes to the write buffer: the cached one, or what the host sends.
    #[inline]
    fn gathered(&mut self, _lpn: Lpn) {}

    /// The page is read from the write buffer.
    #[inline]
    fn regained(&mut self, _lpn: Lpn) {}

    /// What the write buffer has of the page is programmed next, if flash takes it.
    #[inline]
    fn emptied(&mut self, _lpn: Lpn) {}

    /// What the write buffer has of the page is programmed, or is not to be.
    #[inline]
    fn overtaken(&mut self, _lpn: Lpn) {}

    /// The host's data goes to an entry of the write log.
    #[inline]
    fn appended(&mut self, _entry: LogEntry) {}

    /// Compaction is about to program the page: the cached one, or one read and merged with these
    /// lines.
    #[inline]
    fn destages(
        &mut self,
        _lpn: Lpn,
        _is_cached: bool,
        _lines: impl Iterator<Item = (PageLine, LogEntry)>,
    ) {
    }
}

/// The translation layer, and the flash array that it works on.
pub(crate) struct FlashIo<'a> {
    pub ftl: &'a mut Ftl,
    pub nand: &'a mut Nand,
}

/// A page that is written to flash.
#[derive(Clone, Copy)]
pub(crate) struct Written {
    pub lpn: Lpn,
    pub placement: Placement,
    pub origin: Origin,
}

impl Written {
    /// A page of the host's.
    pub fn new(lpn: Lpn, placement: Placement) -> Written {
        Written {
            lpn,
            placement,
            origin: Origin::Host,
        }
    }
}

impl Observer for () {
    fn new(_ftl: &Ftl, _settings: &Settings, _seed: u64) {}

    #[inline]
    fn read(
        &mut self,
        io: FlashIo<'_>,
        at: Ps,
        lpn: Lpn,
        origin: Origin,
        stats: &mut Stats,
    ) -> Served {
        io.ftl.read(at, lpn, origin, io.nand, stats)
    }

    fn write(
        &mut self,
        io: FlashIo<'_>,
        at: Ps,
        page: Written,
        stats: &mut Stats,
    ) -> Result<(), ReadOnly> {
        let Written {
            lpn,
            placement,
            origin,
        } = page;
        io.ftl.write(at, lpn, placement, origin, io.nand, stats)
    }

    fn trim(&mut self, io: FlashIo<'_>, at: Ps, lpn: Lpn, stats: &mut Stats) {
        io.ftl.trim(at, lpn, io.nand, stats);
    }

    fn advance(&mut self, io: FlashIo<'_>, at: Ps, stats: &mut Stats) {
        io.ftl.advance(at, io.nand, stats);
    }
}
