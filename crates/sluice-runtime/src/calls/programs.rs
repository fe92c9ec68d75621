//! Programs that this one becomes or starts. They are counted, so that a warning can name the
//! number of those that the preload library does not reach. The counts are single stores, for a
//! call may come from the child of a `vfork`.

use crate::engine::Engine;
use core::sync::atomic::Ordering::*;
use sluice_abi::StatsBlock;

/// A program that is about to be started, or not.
#[derive(Debug)]
pub struct Start<'a> {
    block: &'a StatsBlock,
    /// Whether it takes the place of this one, and not of a child that has borrowed its memory.
    is_in_place: bool,
}

impl Engine {
    /// Whether the device is the calling process's, which is no child of `vfork`.
    pub fn is_callers(&self) -> bool {
        // SAFETY: no arguments.
        let caller = unsafe { libc::getpid() } as u64;
        self.block().pid.load(Relaxed) == caller
    }

    /// The calling process is about to become another program.
    pub fn become_program(&self) -> Start<'_> {
        let block = self.block();
        let is_in_place = self.is_callers();
        match is_in_place {
            true => block.replaced.store(1, Release),
            false => drop(block.started.fetch_add(1, AcqRel)),
        }
        Start { block, is_in_place }
    }

    /// A child was made that is another program.
    pub fn started_program(&self) {
        self.block().started.fetch_add(1, AcqRel);
    }
}

impl Start<'_> {
    /// It did not come to that.
    pub fn failed(self) {
        match self.is_in_place {
            true => self.block.replaced.store(0, Release),
            false => drop(self.block.started.fetch_sub(1, AcqRel)),
        }
    }
}
