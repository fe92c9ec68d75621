//! The write log (SkyByte section III-B): stores append 64-byte lines to DRAM, and go to flash
//! later, coalesced by page.
//!
//! The log is made of equal buffers that take turns. One takes the appends; when it is full, the
//! next one does, and the full one is compacted in the background: each of its pages is read,
//! unless it is cached or wholly in the log, merged and programmed. A buffer can be filled again
//! when all of it is in flash. If no buffer is free, the store waits for the oldest one.
//!
//! The background work is played forward when time passes, in the order of its events, so that it
//! meets demand reads where they are. Only a store that waits needs to know the end of
//! a compaction: it plays the rest at once, and later reads queue below that.
//!
//! Worn flash refuses pages. Their lines stay in the log, which finds them as before: the device
//! has acknowledged them. Their buffer is never free again and no other is compacted, so that the
//! log takes lines until all buffers are full, and none from then on.

mod compaction;
mod index;
mod tables;

pub(crate) use compaction::{Destage, Programmed};

use crate::config::WriteLogSettings;
use crate::stats::Stats;
use compaction::Compaction;
use index::{Index, Inserted};
use sluice_units::{Lpn, PageLine, Ps, index_type};

index_type! {
    /// Which entry of the log, counted through all buffers: where a line lies that was appended.
    pub(crate) struct LogEntry;
}

/// The buffers of the log, and the compaction of the oldest full one.
pub(crate) struct WriteLog {
    buffers: Vec<Index>,
    /// Lines that a buffer takes.
    lines: u32,
    lines_per_page: u32,
    /// The oldest full buffer. The full ones follow it in turn, and after them the open one.
    oldest: usize,
    /// How many are full.
    full: usize,
    /// Lines appended to the open buffer.
    appended: u32,
    /// When the open buffer became free, if a store had to wait for it.
    open_at: Ps,
    compaction: Compaction,
    /// When the next background event is due; the end of time if there is none.
    due: Ps,
    index_bytes: u64,
}

impl WriteLog {
    pub fn new(settings: &WriteLogSettings, lines_per_page: u32) -> WriteLog {
        let lines = settings.lines_per_buffer;
        WriteLog {
            buffers: (0..settings.buffers).map(|_| Index::new(lines)).collect(),
            lines,
            lines_per_page,
            oldest: 0,
            full: 0,
            appended: 0,
            open_at: Ps::ZERO,
            compaction: Compaction::new(settings.coalescing_buffers, lines_per_page),
            due: Ps::MAX,
            index_bytes: 0,
        }
    }

    /// Plays the background work forward up to `now`. To be called before anything else happens
    /// at `now`.
    #[inline]
    pub fn run<D: Destage>(&mut self, now: Ps, below: &mut D, stats: &mut Stats) {
        while self.due <= now {
            self.step(below, stats);
        }
    }

    /// Appends a line. Returns when it is in the log, at once or when a buffer is free, and where
    /// it is there. `None` if all buffers are full, of lines that flash refuses.
    pub fn append<D: Destage>(
        &mut self,
        now: Ps,
        lpn: Lpn,
        line: PageLine,
        below: &mut D,
        stats: &mut Stats,
    ) -> Option<(Ps, LogEntry)> {
        while self.full == self.buffers.len() && !self.is_over() {
            self.step(below, stats);
        }
        if self.is_over() {
            return None;
        }
        let at = now.max(self.open_at);
        if at > now {
            stats.write_log.stalls += 1;
            stats.write_log.stall_ps += (at - now).0;
        }
        let open = (self.oldest + self.full) % self.buffers.len();
        let entry = LogEntry(open as u32 * self.lines + self.appended);
        let buffer = &mut self.buffers[open];
        let bytes = buffer.bytes();
        stats.write_log.appends += 1;
        match buffer.insert(lpn, line, entry) {
            Inserted::New => {}
            Inserted::Newer => stats.write_log.superseded += 1,
        }
        self.index_bytes += buffer.bytes() - bytes;
        let most = &mut stats.write_log.index_bytes_max;
        *most = self.index_bytes.max(*most);
        self.appended += 1;
        if self.appended == self.lines {
            self.close_open(at);
        }
        Some((at, entry))
    }

    /// Whether it takes no line any more: all buffers are full, of lines that flash refuses.
    pub fn is_over(&self) -> bool {
        self.full == self.buffers.len() && self.due == Ps::MAX
    }

    /// Counts the open buffer as full, if it has anything, so that it is compacted.
    pub fn close<D: Destage>(&mut self, now: Ps, below: &mut D, stats: &mut Stats) {
        self.run(now, below, stats);
        if self.appended > 0 {
            self.close_open(now);
        }
    }

    fn close_open(&mut self, at: Ps) {
        self.appended = 0;
        self.full += 1;
        if self.full == 1 {
            self.begin(at);
        }
    }

    /// Compacts everything that flash takes, the open buffer too. Returns when that is done.
    pub fn settle<D: Destage>(&mut self, now: Ps, below: &mut D, stats: &mut Stats) -> Ps {
        self.close(now, below, stats);
        let mut at = now;
        while self.due < Ps::MAX {
            at = self.due;
            self.step(below, stats);
        }
        at
    }

    /// The newest entry of a line.
    pub fn find(&self, lpn: Lpn, line: PageLine) -> Option<LogEntry> {
        self.newest_first()
            .find_map(|buffer| buffer.find(lpn, line))
    }

    /// Whether every line of a page is here.
    pub fn has_whole(&self, lpn: Lpn) -> bool {
        let mut lines = (0..self.lines_per_page).map(PageLine);
        lines.all(|line| self.find(lpn, line).is_some())
    }

    /// Forgets the page: its contents are elsewhere, whole and newer, or no longer wanted.
    pub fn drop_page(&mut self, lpn: Lpn, stats: &mut Stats) {
        for buffer in &mut self.buffers {
            let bytes = buffer.bytes();
            stats.write_log.dropped += u64::from(buffer.drop_page(lpn));
            self.index_bytes -= bytes - buffer.bytes();
        }
    }

    /// The buffers that hold lines, from the open one back to the oldest.
    fn newest_first(&self) -> impl Iterator<Item = &Index> {
        let turn = |age: usize| (self.oldest + age) % self.buffers.len();
        // When all are full, the place of the open one is that of the oldest.
        let newest = self.full.min(self.buffers.len() - 1);
        (0..=newest).rev().map(move |age| &self.buffers[turn(age)])
    }

    fn begin(&mut self, at: Ps) {
        self.compaction.begin(at);
        self.due = at;
    }

    /// Carries out the next event of the compaction under way.
    fn step<D: Destage>(&mut self, below: &mut D, stats: &mut Stats) {
        let buffer = &mut self.buffers[self.oldest];
        match self.compaction.step(buffer, below, stats) {
            Some(at) => self.reclaim(at, stats),
            None => self.due = self.compaction.due().unwrap_or(Ps::MAX),
        }
    }

    /// Frees the oldest buffer, all of which is in flash, and goes on with the next; neither if
    /// flash has refused a page.
    fn reclaim(&mut self, at: Ps, stats: &mut Stats) {
        if self.compaction.was_refused() {
            self.due = Ps::MAX;
            return;
        }
        stats.write_log.compactions += 1;
        let buffer = &mut self.buffers[self.oldest];
        self.index_bytes -= buffer.bytes();
        buffer.reset();
        if self.full == self.buffers.len() {
            self.open_at = at;
        }
        self.oldest = (self.oldest + 1) % self.buffers.len();
        self.full -= 1;
        if self.full > 0 {
            self.begin(at);
        } else {
            self.due = Ps::MAX;
        }
    }
}

#[cfg(test)]
mod tests;
