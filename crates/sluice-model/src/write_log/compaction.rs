//! Compaction of one full buffer: which page is flushed next, and when.

use super::LogEntry;
use super::index::{Index, PageId};
use crate::nand::ProgramEnd;
use crate::stats::Stats;
use sluice_units::{Lpn, PageLine, Ppn, Ps};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A page that was posted to be programmed.
pub(crate) struct Programmed {
    /// Where in flash.
    pub ppn: Ppn,
    /// What is known of the program's end.
    pub end: ProgramEnd,
}

/// What compaction asks of the cache and flash, to move the lines of the log there.
pub(crate) trait Destage {
    /// Whether the whole page is in the data cache at `at`.
    fn is_cached(&self, at: Ps, lpn: Lpn) -> bool;

    /// Reads the page from flash into a coalescing buffer. Says when it is there.
    fn read(&mut self, at: Ps, lpn: Lpn, stats: &mut Stats) -> Ps;

    /// Programs the page, merged with its lines of the log: each line with its newest entry. `None`
    /// if worn flash refuses it.
    fn program(
        &mut self,
        at: Ps,
        lpn: Lpn,
        lines: impl Iterator<Item = (PageLine, LogEntry)> + Clone,
        stats: &mut Stats,
    ) -> Option<Programmed>;

    /// What is known at `at` of the end of a program.
    fn program_end(&mut self, at: Ps, ppn: Ppn) -> ProgramEnd;
}

/// What happens to a page at the time of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// It has been read into its coalescing buffer.
    Read,
    /// The program of this physical page may have ended.
    MayHaveEnded(Ppn),
    /// It has been programmed, and its coalescing buffer is free.
    Ended,
}

/// Flushes the pages of a buffer, each in a coalescing buffer, as many at once as there are.
///
/// A page that is not cached is read, unless the log has all of it; then it is programmed; then
/// its coalescing buffer takes the next page. Events are carried out in order of time and, at the
/// same time, of page number.
pub(super) struct Compaction {
    /// When, to which page, and what.
    events: BinaryHeap<Reverse<(Ps, PageId, Event)>>,
    coalescing_buffers: usize,
    lines_per_page: u32,
    /// The next page to begin with.
    cursor: u32,
    /// When it starts, as long as it has not.
    start: Option<Ps>,
    /// Whether flash has refused a page, whose lines stay where they are. It refuses all others.
    refused: bool,
}

impl Compaction {
    pub fn new(coalescing_buffers: u32, lines_per_page: u32) -> Compaction {
        Compaction {
            events: BinaryHeap::with_capacity(coalescing_buffers as usize),
            coalescing_buffers: coalescing_buffers as usize,
            lines_per_page,
            cursor: 0,
            start: None,
            refused: false,
        }
    }

    pub fn begin(&mut self, at: Ps) {
        self.cursor = 0;
        self.start = Some(at);
    }

    /// Whether flash has refused a page: the buffer is not free at the end.
    pub fn was_refused(&self) -> bool {
        self.refused
    }

    /// When the next event is due, or `None` if there is none left.
    pub fn due(&self) -> Option<Ps> {
        self.start
            .or_else(|| self.events.peek().map(|event| event.0.0))
    }

    /// Carries out the next event. Says when it ended all, if it did.
    pub fn step<D: Destage>(
        &mut self,
        index: &mut Index,
        below: &mut D,
        stats: &mut Stats,
    ) -> Option<Ps> {
        let at = if let Some(start) = self.start.take() {
            start
        } else {
            let Reverse((at, id, event)) = self.events.pop()?;
            match event {
                Event::Read => self.program(at, id, index, below, stats),
                Event::MayHaveEnded(ppn) => {
                    let end = below.program_end(at, ppn);
                    self.end(id, Programmed { ppn, end });
                }
                Event::Ended => {}
            }
            at
        };
        while self.events.len() < self.coalescing_buffers
            && self.cursor < index.pages()
            && !self.refused
        {
            self.load(at, PageId(self.cursor), index, below, stats);
            self.cursor += 1;
        }
        self.events.is_empty().then_some(at)
    }

    /// Brings a page into a coalescing buffer.
    fn load<D: Destage>(
        &mut self,
        at: Ps,
        id: PageId,
        index: &mut Index,
        below: &mut D,
        stats: &mut Stats,
    ) {
        let (lpn, lines) = index.page(id);
        if lines == self.lines_per_page || below.is_cached(at, lpn) {
            self.program(at, id, index, below, stats);
        } else if lines > 0 {
            stats.write_log.compaction_reads += 1;
            let read_at = below.read(at, lpn, stats);
            self.events.push(Reverse((read_at, id, Event::Read)));
        }
    }

    /// Programs a page, unless it was dropped. One that flash refuses stays in the buffer.
    fn program<D: Destage>(
        &mut self,
        at: Ps,
        id: PageId,
        index: &mut Index,
        below: &mut D,
        stats: &mut Stats,
    ) {
        let (lpn, lines) = index.page(id);
        if lines > 0 {
            let Some(programmed) = below.program(at, lpn, index.lines(id), stats) else {
                stats.writes_kept += 1;
                self.refused = true;
                self.events.push(Reverse((at, id, Event::Ended)));
                return;
            };
            index.set_flushed(id);
            stats.write_log.pages_flushed += 1;
            stats.write_log.lines_flushed += u64::from(lines);
            self.end(id, programmed);
        }
    }

    /// Notes when the page's coalescing buffer is free again.
    fn end(&mut self, id: PageId, programmed: Programmed) {
        self.events.push(Reverse(match programmed.end {
            ProgramEnd::At(at) => (at, id, Event::Ended),
            ProgramEnd::NotBefore(at) => (at, id, Event::MayHaveEnded(programmed.ppn)),
        }));
    }
}
