//! What is behind the cache: the translation layer and the flash array.

use super::observer::{FlashIo, Observer, Written};
use super::write_buffer::WriteBuffer;
use crate::config::Settings;
use crate::contents::{NoContents, Tables};
use crate::ftl::{Ftl, Placement, WearReport};
use crate::layout::PlaneAddress;
use crate::nand::{Nand, Origin, ProgramEnd, Served};
use crate::stats::Stats;
use crate::write_log::Programmed;
use sluice_units::{Lpn, Ppn, Ps};

/// Flash by logical pages, with the time that it takes to get at them.
///
/// The times given may go back: an access that waited to be taken in asks for a later moment than
/// the one that comes after it.
pub(super) struct Back<O> {
    buffer: Option<WriteBuffer>,
    ftl: Ftl,
    nand: Nand,
    times: OperationTimes,
    takes_placement: bool,
    observer: O,
}

/// How long an operation of the flash array takes, for estimates.
struct OperationTimes {
    read: Ps,
    program: Ps,
    erase: Ps,
}

impl OperationTimes {
    fn of(settings: &Settings) -> OperationTimes {
        let nand = &settings.nand;
        OperationTimes {
            read: nand.read,
            program: nand.program,
            erase: nand.erase,
        }
    }
}

/// How long a read may take, from what its channel has been asked for.
pub(super) struct Estimate {
    /// Whether it waits behind garbage collection.
    pub gc: bool,
    /// The time of all that is waiting, as if it came one after the other.
    pub wait: Ps,
}

impl<O: Observer> Back<O> {
    pub fn new(settings: &Settings, seed: u64) -> Back<O> {
        let ftl = Ftl::new(settings, seed);
        Back {
            observer: O::new(&ftl, settings, seed),
            buffer: WriteBuffer::new(settings),
            nand: Nand::new(settings, seed),
            times: OperationTimes::of(settings),
            takes_placement: settings.ftl.placement_by_host,
            ftl,
        }
    }

    /// The observer, which follows what pages hold.
    #[inline]
    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Operations asked for from now on take the times of these settings.
    pub fn retime(&mut self, settings: &Settings) {
        self.nand.retime(settings);
        self.times = OperationTimes::of(settings);
    }

    #[inline]
    fn io(&mut self) -> (&mut O, FlashIo<'_>) {
        let io = FlashIo {
            ftl: &mut self.ftl,
            nand: &mut self.nand,
        };
        (&mut self.observer, io)
    }

    /// Nothing will be asked for before `now`. What idle dies had the time for until then is done
    /// in the background.
    #[inline]
    pub fn pass(&mut self, now: Ps, stats: &mut Stats) {
        if self.ftl.is_due(now) {
            let (observer, io) = self.io();
            observer.advance(io, now, stats);
        }
        self.nand.pass(now);
    }

    /// When the flash array has done what it has been asked for.
    pub fn idle_at(&mut self) -> Ps {
        self.nand.at_rest()
    }

    /// When the page, asked for at `at`, is out of the flash array, and what it waited for.
    pub fn read(&mut self, at: Ps, lpn: Lpn, origin: Origin, stats: &mut Stats) -> Served {
        if self.is_buffered(lpn) {
            stats.write_buffer_reads += 1;
            self.observer.regained(lpn);
            return Served::at_once(at);
        }
        let (observer, io) = self.io();
        let served = observer.read(io, at, lpn, origin, stats);
        self.nand.count(stats);
        served
    }

    /// Counts from now on what each channel has been asked for. Allocates.
    pub fn watch_queues(&mut self) {
        self.nand.watch();
    }

    /// How long a page may take that is asked for at `at`. `None` if it needs no flash: it has no
    /// place there, or the write buffer or the controller still holds it.
    ///
    /// `reads`: 1 if its page is still to be read, 0 if it is on its way, so that the channel has
    /// been asked for the read already.
    pub fn estimate(&mut self, at: Ps, lpn: Lpn, reads: u64) -> Option<Estimate> {
        if self.is_buffered(lpn) {
            return None;
        }
        let outlook = self.nand.outlook(at, self.ppn_of(lpn)?)?;
        let wait = self.times.read * (u64::from(outlook.reads) + reads)
            + self.times.program * u64::from(outlook.programs)
            + self.times.erase * u64::from(outlook.erases);
        let gc = outlook.gc;
        Some(Estimate { gc, wait })
    }

    /// Whether the page has contents behind the cache: in flash, or on its way there.
    pub fn has(&self, lpn: Lpn) -> bool {
        self.is_buffered(lpn) || self.ppn_of(lpn).is_some()
    }

    /// Where in flash the page is, if it has a place there. The write buffer may have it newer.
    pub fn ppn_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.ftl.ppn_of(lpn)
    }

    /// Writes the page, to where the host wants it. Nobody waits for the program. Says whether the
    /// device has it: flash may refuse it.
    pub fn write(&mut self, at: Ps, lpn: Lpn, placement: Placement, stats: &mut Stats) -> bool {
        let Some(buffer) = &mut self.buffer else {
            return self.program(at, lpn, placement, stats);
        };
        stats.write_buffer_saved += u64::from(buffer.take(lpn, placement));
        let due = buffer.due();
        self.observer.gathered(lpn);
        let mut has_it = true;
        for _ in 0..due {
            if let Some((oldest, placement)) = self.buffer.as_mut().and_then(WriteBuffer::pop) {
                has_it &= self.program(at, oldest, placement, stats) || oldest != lpn;
            }
        }
        has_it
    }

    /// Writes the page to where the host wants it, and says when the device has a place for it: at
    /// its die, or in the write buffer, when what makes room there has places at its dies. `None`
    /// if flash refuses it.
    pub fn write_held(
        &mut self,
        at: Ps,
        lpn: Lpn,
        placement: Placement,
        stats: &mut Stats,
    ) -> Option<Ps> {
        let Some(buffer) = &mut self.buffer else {
            return self.program_held(at, lpn, placement, stats);
        };
        stats.write_buffer_saved += u64::from(buffer.take(lpn, placement));
        let due = buffer.due();
        self.observer.gathered(lpn);
        let mut held_at = Some(at);
        for _ in 0..due {
            if let Some((oldest, placement)) = self.buffer.as_mut().and_then(WriteBuffer::pop) {
                match self.program_held(at, oldest, placement, stats) {
                    None if oldest == lpn => held_at = None,
                    programmed => {
                        held_at = held_at.map(|held_at| held_at.max(programmed.unwrap_or(at)))
                    }
                }
            }
        }
        held_at
    }

    fn program_held(
        &mut self,
        at: Ps,
        lpn: Lpn,
        placement: Placement,
        stats: &mut Stats,
    ) -> Option<Ps> {
        let is_written = self.program(at, lpn, placement, stats);
        let ppn = self.ppn_of(lpn).filter(|_| is_written)?;
        Some(self.nand.held_at(at, ppn))
    }

    /// Writes the page, and says when its place is free for another: when it, or what makes room
    /// for it in the write buffer, has been programmed. `None` if flash refuses it.
    pub fn write_awaited(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) -> Option<Ps> {
        let Some(buffer) = &mut self.buffer else {
            let served = self.write_through(at, lpn, Placement::default(), stats);
            return served.map(|served| served.done_at);
        };
        stats.write_buffer_saved += u64::from(buffer.take(lpn, Placement::default()));
        let due = buffer.due();
        self.observer.gathered(lpn);
        let mut free_at = Some(at);
        for _ in 0..due {
            if let Some((oldest, placement)) = self.buffer.as_mut().and_then(WriteBuffer::pop) {
                match self.program_awaited(at, oldest, placement, stats) {
                    None if oldest == lpn => free_at = None,
                    None => {}
                    Some(served) => free_at = free_at.map(|free_at| free_at.max(served.done_at)),
                }
            }
        }
        free_at
    }

    /// Programs what waits in the write buffer.
    pub fn empty_buffer(&mut self, at: Ps, stats: &mut Stats) {
        while let Some((lpn, placement)) = self.buffer.as_mut().and_then(WriteBuffer::pop) {
            self.program(at, lpn, placement, stats);
        }
    }

    /// Programs the page, whatever the write buffer has of it. Says about when the die that it is
    /// on has done all that it was asked for: exactly, where it does so in order. `None` if flash
    /// refuses it.
    pub fn flush(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) -> Option<Ps> {
        self.forget_buffered(lpn, stats);
        let is_written = self.program(at, lpn, Placement::default(), stats);
        is_written.then(|| self.done_of(at, lpn))
    }

    /// Programs what waits in the write buffer. Says as [`Back::flush`] when that is done.
    pub fn flush_buffer(&mut self, at: Ps, stats: &mut Stats) -> Ps {
        let mut done_at = at;
        while let Some((lpn, placement)) = self.buffer.as_mut().and_then(WriteBuffer::pop) {
            self.program(at, lpn, placement, stats);
            done_at = done_at.max(self.done_of(at, lpn));
        }
        done_at
    }

    /// Programs the page if it waits in the write buffer. Says whether it did.
    pub fn flush_buffered(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) -> bool {
        let taken = self.buffer.as_mut().and_then(|buffer| buffer.remove(lpn));
        if let Some(placement) = taken {
            self.program(at, lpn, placement, stats);
        }
        taken.is_some()
    }

    fn done_of(&self, at: Ps, lpn: Lpn) -> Ps {
        let idle_at = self.ppn_of(lpn).map(|ppn| self.nand.idle_of(ppn));
        idle_at.map_or(at, |idle_at| at.max(idle_at))
    }

    /// Whether the page waits to be programmed with others.
    #[inline]
    fn is_buffered(&self, lpn: Lpn) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.has(lpn))
    }

    /// What the write buffer has of the page is not to be programmed.
    fn forget_buffered(&mut self, lpn: Lpn, stats: &mut Stats) {
        let buffer = self.buffer.as_mut();
        let was_there = buffer.is_some_and(|buffer| buffer.remove(lpn).is_some());
        stats.write_buffer_saved += u64::from(was_there);
        if was_there {
            self.observer.overtaken(lpn);
        }
    }

    /// Pages that wait in the write buffer.
    pub fn buffered(&self) -> u64 {
        self.buffer.as_ref().map_or(0, |buffer| buffer.len().into())
    }

    /// When all is programmed that the host wrote before `at`, but for the write buffer.
    pub fn programmed_at(&mut self, at: Ps) -> Ps {
        self.nand.programmed_at(at)
    }

    /// Programs the page. Says whether it was: a refusal is counted, and `is_read_only` says so
    /// from then on.
    fn program(&mut self, at: Ps, lpn: Lpn, placement: Placement, stats: &mut Stats) -> bool {
        let page = Written {
            lpn,
            placement,
            origin: Origin::Host,
        };
        let (observer, io) = self.io();
        let written = observer.write(io, at, page, stats);
        self.nand.count(stats);
        written.is_ok()
    }

    /// Writes the page for who waits for the program. `None` if flash refuses it.
    pub fn write_through(
        &mut self,
        at: Ps,
        lpn: Lpn,
        placement: Placement,
        stats: &mut Stats,
    ) -> Option<Served> {
        self.forget_buffered(lpn, stats);
        self.program_awaited(at, lpn, placement, stats)
    }

    /// Programs the page for somebody who waits for it.
    fn program_awaited(
        &mut self,
        at: Ps,
        lpn: Lpn,
        placement: Placement,
        stats: &mut Stats,
    ) -> Option<Served> {
        let page = Written {
            lpn,
            placement,
            origin: Origin::Store,
        };
        let (observer, io) = self.io();
        let written = observer.write(io, at, page, stats);
        self.nand.count(stats);
        let ppn = self.ppn_of(lpn).filter(|_| written.is_ok())?;
        Some(self.nand.await_program(at, ppn))
    }

    /// Writes the page for compaction of the write log. `None` if flash refuses it, which is
    /// counted as for the host: the write buffer keeps what it has.
    pub fn write_for_log(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) -> Option<Programmed> {
        let page = Written {
            lpn,
            placement: Placement::default(),
            origin: Origin::Log,
        };
        let (observer, io) = self.io();
        let written = observer.write(io, at, page, stats);
        self.nand.count(stats);
        let ppn = self.ppn_of(lpn).filter(|_| written.is_ok())?;
        self.forget_buffered(lpn, stats);
        let end = self.nand.program_end(at, ppn);
        Some(Programmed { ppn, end })
    }

    /// When a program ends, as far as is known at `at`.
    pub fn program_end(&mut self, at: Ps, ppn: Ppn) -> ProgramEnd {
        self.nand.program_end(at, ppn)
    }

    /// The page has no contents any more.
    pub fn trim(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) {
        self.forget_buffered(lpn, stats);
        let (observer, io) = self.io();
        observer.trim(io, at, lpn, stats);
    }

    /// Whether a write can name its plane.
    pub fn takes_placement(&self) -> bool {
        self.takes_placement
    }

    /// Whether the flash array has such a plane.
    pub fn has_place(&self, place: PlaneAddress) -> bool {
        self.ftl.has_place(place)
    }

    /// Whether too many blocks failed for another write.
    pub fn is_read_only(&self) -> bool {
        self.ftl.is_read_only()
    }

    /// See [`Device::contents`](super::Device::contents).
    pub fn contents(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        self.ftl.contents(tables)
    }

    /// How worn the blocks are.
    pub fn wear(&self) -> WearReport {
        self.ftl.wear()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceConfig;

    impl<O: Observer> Back<O> {
        /// Whether the page waits in the write buffer.
        pub(in crate::device) fn holds(&self, lpn: Lpn) -> bool {
            self.is_buffered(lpn)
        }

        /// Panics if the mapping and the blocks contradict each other.
        pub(in crate::device) fn check(&self) {
            self.ftl.check();
        }
    }

    #[test]
    fn an_estimate_sees_the_channel_of_its_page() {
        let mut raw = DeviceConfig::builder();
        for (key, value) in [
            ("device.capacity", "16MiB"),
            ("cache.capacity", "1MiB"),
            ("device.hint", "queue"),
            ("nand.channels", "2"),
            ("nand.dies", "1"),
        ] {
            raw.set(key, value).unwrap();
        }
        let mut back: Back<()> = Back::new(&DeviceConfig::new(&raw).unwrap(), 1);
        back.watch_queues();
        let stats = &mut Stats::default();
        // The first write goes to die 0, the second to die 1, on the other channel.
        for lpn in (0..3).map(Lpn) {
            back.write(Ps::ZERO, lpn, Placement::default(), stats);
        }
        back.read(Ps::ZERO, Lpn(4), Origin::Host, stats);
        let mut counts = |now, lpn| {
            back.pass(now, stats);
            let ppn = back.ppn_of(Lpn(lpn)).expect("a preconditioned page");
            let seen = back.nand.outlook(now, ppn).expect("a page in flash");
            [seen.reads, seen.programs, seen.erases]
        };
        assert_eq!(counts(Ps::ZERO, 6), [1, 2, 0]);
        assert_eq!(counts(Ps::ZERO, 7), [0, 1, 0]);
        let program = Ps::from_us(200);
        assert_eq!(counts(program - Ps(1), 7), [0, 1, 0]);
        assert_eq!(counts(program, 7), [0, 0, 0]);
        assert_eq!(counts(program, 6), [1, 1, 0]);
    }
}
