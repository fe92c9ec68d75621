//! The seam between the translation layer and the flash array.

use crate::layout::Block;
pub use crate::parts::Served;
use sluice_units::{Ppn, Ps};

/// What asked for an operation of the flash array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A request of the host, or the cache for it.
    Host,
    /// Garbage collection.
    Gc,
    /// Compaction of the write log.
    Log,
    /// A store of the host that waits for the end of its program.
    Store,
}

/// The block failed while it was programmed or erased: what it holds can still be read, but it
/// must not be written again, and the page or block asked for was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadBlock;

/// What is known of the end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// It ends, or has ended, at this time, whatever comes.
    At(Ps),
    /// It ends at this time or later, as reads may overtake it. To be asked again then.
    NotBefore(Ps),
}

/// What the FTL asks of a flash array.
///
/// The caller's `now` may be ahead of its clock, for an access that has to wait for an MSHR entry
/// or a way, and then goes back at the next call. The caller programs each page of a block once,
/// in order, between two erases. Reads are answered with their end; nobody waits for programs,
/// copies and erases, which come to their dies when their time does.
pub(crate) trait Flash {
    /// Reads a page, until it is out of the channel. `None`: the controller still holds its data,
    /// and needs no flash.
    fn read(&mut self, now: Ps, ppn: Ppn, origin: Origin) -> Option<Served>;

    /// Programs a page.
    fn program(&mut self, now: Ps, ppn: Ppn, origin: Origin) -> Result<(), BadBlock>;

    /// Reads a page and programs another with it.
    fn copy(&mut self, now: Ps, from: Ppn, to: Ppn, origin: Origin) -> Result<(), BadBlock>;

    /// Erases a block.
    fn erase(&mut self, now: Ps, block: Block, origin: Origin) -> Result<(), BadBlock>;

    /// About when the block's die has done all that it was asked for.
    fn idle_at(&self, block: Block) -> Ps;
}

impl<F: Flash> Flash for &mut F {
    #[inline]
    fn read(&mut self, now: Ps, ppn: Ppn, origin: Origin) -> Option<Served> {
        (**self).read(now, ppn, origin)
    }

    #[inline]
    fn program(&mut self, now: Ps, ppn: Ppn, origin: Origin) -> Result<(), BadBlock> {
        (**self).program(now, ppn, origin)
    }

    #[inline]
    fn copy(&mut self, now: Ps, from: Ppn, to: Ppn, origin: Origin) -> Result<(), BadBlock> {
        (**self).copy(now, from, to, origin)
    }

    #[inline]
    fn erase(&mut self, now: Ps, block: Block, origin: Origin) -> Result<(), BadBlock> {
        (**self).erase(now, block, origin)
    }

    #[inline]
    fn idle_at(&self, block: Block) -> Ps {
        (**self).idle_at(block)
    }
}
