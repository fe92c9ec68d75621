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

/// A way to program a page. Says when what it waits for is done; `None` if flash refuses the page.
type Program<O> = fn(&mut Back<O>, Ps, Written, &mut Stats) -> Option<Ps>;

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
        self.write_by(Back::post, at, Written::new(lpn, placement), stats)
            .is_some()
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
        self.write_by(Back::program_held, at, Written::new(lpn, placement), stats)
    }

    /// Writes the page, and says when its place is free for another: when it, or what makes room
    /// for it in the write buffer, has been programmed. `None` if flash refuses it.
    pub fn write_awaited(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) -> Option<Ps> {
        let page = Written::new(lpn, Placement::default());
        self.write_by(Back::program_awaited, at, page, stats)
    }

    /// Programs the page by `program`, or puts it into the write buffer.
    #[inline]
    fn write_by(
        &mut self,
        program: Program<O>,
        at: Ps,
        page: Written,
        stats: &mut Stats,
    ) -> Option<Ps> {
        match self.buffer.is_some() {
            true => self.gather(program, at, page, stats),
            false => program(self, at, page, stats),
        }
    }

    /// Puts the page into the write buffer. If that is full then, a superpage of it is programmed
    /// by `program`. Says when the last of those is done, or `at`. `None` if the buffer is full of
    /// pages that flash refuses.
    fn gather(
        &mut self,
        program: Program<O>,
        at: Ps,
        page: Written,
        stats: &mut Stats,
    ) -> Option<Ps> {
        let buffer = self.buffer.as_mut()?;
        let Some(is_saved) = buffer.take(page.lpn, page.placement) else {
            stats.writes_refused += 1;
            return None;
        };
        stats.write_buffer_saved += u64::from(is_saved);
        let due = buffer.due();
        self.observer.gathered(page.lpn);
        let mut done_at = at;
        for _ in 0..due {
            match self.program_oldest(at, program, stats) {
                Some(end) => done_at = done_at.max(end),
                None => break,
            }
        }
        Some(done_at)
    }

    /// Programs the oldest page of the write buffer by `program`. `None` if there is none, or if
    /// flash refuses it.
    fn program_oldest(&mut self, at: Ps, program: Program<O>, stats: &mut Stats) -> Option<Ps> {
        let (lpn, placement) = self.buffer.as_ref()?.oldest()?;
        self.program_gathered(at, lpn, placement, program, stats)
    }

    /// Programs a page of the write buffer by `program`. `None` if flash refuses it: the page stays
    /// where it is, as the device has acknowledged it.
    fn program_gathered(
        &mut self,
        at: Ps,
        lpn: Lpn,
        placement: Placement,
        program: Program<O>,
        stats: &mut Stats,
    ) -> Option<Ps> {
        if self.is_read_only() {
            return None;
        }
        self.observer.emptied(lpn);
        let Some(done_at) = program(self, at, Written::new(lpn, placement), stats) else {
            stats.writes_kept += 1;
            return None;
        };
        self.take_buffered(lpn);
        Some(done_at)
    }

    /// Programs what waits in the write buffer, as far as flash takes it.
    pub fn empty_buffer(&mut self, at: Ps, stats: &mut Stats) {
        while self.program_oldest(at, Back::post, stats).is_some() {}
    }

    /// Programs the page, whatever the write buffer has of it. Says about when the die that it is
    /// on has done all that it was asked for: exactly, where it does so in order. `None` if flash
    /// refuses it.
    pub fn flush(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) -> Option<Ps> {
        let done_at = self.program_done(at, Written::new(lpn, Placement::default()), stats)?;
        self.forget_buffered(lpn, stats);
        Some(done_at)
    }

    /// Programs what waits in the write buffer. Says as [`Back::flush`] when that is done. `None`
    /// if flash refuses some of it.
    pub fn flush_buffer(&mut self, at: Ps, stats: &mut Stats) -> Option<Ps> {
        let mut done_at = at;
        while let Some(end) = self.program_oldest(at, Back::program_done, stats) {
            done_at = done_at.max(end);
        }
        (self.buffered() == 0).then_some(done_at)
    }

    /// Programs the page if it waits in the write buffer. Says whether it did; `None` if flash
    /// refuses it.
    pub fn flush_buffered(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) -> Option<bool> {
        let buffer = self.buffer.as_ref();
        let Some(placement) = buffer.and_then(|buffer| buffer.placement_of(lpn)) else {
            return Some(false);
        };
        let done_at = self.program_gathered(at, lpn, placement, Back::post, stats);
        done_at.map(|_| true)
    }

    /// Whether the page waits to be programmed with others.
    #[inline]
    fn is_buffered(&self, lpn: Lpn) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.has(lpn))
    }

    /// What the write buffer has of the page is not to be programmed.
    fn forget_buffered(&mut self, lpn: Lpn, stats: &mut Stats) {
        stats.write_buffer_saved += u64::from(self.take_buffered(lpn));
    }

    /// Takes the page out of the write buffer. Says whether it was there.
    fn take_buffered(&mut self, lpn: Lpn) -> bool {
        let buffer = self.buffer.as_mut();
        let was_there = buffer.is_some_and(|buffer| buffer.remove(lpn));
        if was_there {
            self.observer.overtaken(lpn);
        }
        was_there
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
    fn program(&mut self, at: Ps, page: Written, stats: &mut Stats) -> bool {
        let (observer, io) = self.io();
        let written = observer.write(io, at, page, stats);
        self.nand.count(stats);
        written.is_ok()
    }

    /// Programs the page, and says where it is. `None` if flash refuses it.
    fn place(&mut self, at: Ps, page: Written, stats: &mut Stats) -> Option<Ppn> {
        let is_written = self.program(at, page, stats);
        self.ppn_of(page.lpn).filter(|_| is_written)
    }

    /// Programs the page for nobody who waits.
    fn post(&mut self, at: Ps, page: Written, stats: &mut Stats) -> Option<Ps> {
        self.program(at, page, stats).then_some(at)
    }

    /// Programs the page, and says when its die has a place for it.
    fn program_held(&mut self, at: Ps, page: Written, stats: &mut Stats) -> Option<Ps> {
        let ppn = self.place(at, page, stats)?;
        Some(self.nand.held_at(at, ppn))
    }

    /// Programs the page, and says about when its die has done all that it was asked for.
    fn program_done(&mut self, at: Ps, page: Written, stats: &mut Stats) -> Option<Ps> {
        let ppn = self.place(at, page, stats)?;
        Some(at.max(self.nand.idle_of(ppn)))
    }

    /// Programs the page for somebody who waits for it, and says when that is done.
    fn program_awaited(&mut self, at: Ps, page: Written, stats: &mut Stats) -> Option<Ps> {
        self.await_program(at, page, stats)
            .map(|served| served.done_at)
    }

    fn await_program(&mut self, at: Ps, page: Written, stats: &mut Stats) -> Option<Served> {
        let origin = Origin::Store;
        let ppn = self.place(at, Written { origin, ..page }, stats)?;
        Some(self.nand.await_program(at, ppn))
    }

    /// Writes the page for who waits for the program. `None` if flash refuses it: the write buffer
    /// keeps what it has.
    pub fn write_through(
        &mut self,
        at: Ps,
        lpn: Lpn,
        placement: Placement,
        stats: &mut Stats,
    ) -> Option<Served> {
        let served = self.await_program(at, Written::new(lpn, placement), stats)?;
        self.forget_buffered(lpn, stats);
        Some(served)
    }

    /// Writes the page for compaction of the write log. `None` if flash refuses it, which is
    /// counted as for the host: the write buffer keeps what it has.
    pub fn write_for_log(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) -> Option<Programmed> {
        let page = Written {
            origin: Origin::Log,
            ..Written::new(lpn, Placement::default())
        };
        let ppn = self.place(at, page, stats)?;
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
