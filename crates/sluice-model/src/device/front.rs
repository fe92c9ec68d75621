//! What an access meets before its page: the link, the indices, and the registers that bound how
//! much waits at once.

use crate::config::{Demoted, HintRule, Settings};
use crate::lane::Lane;
use crate::mshr::{Mshr, Requests};
use crate::parts::Parts;
use crate::request::{Hint, Op};
use sluice_units::{LINE_BYTES, Lpn, PageLine, Ps};

/// The device's side of the link.
pub(super) struct Front {
    pages: u32,
    page_shift: u32,
    /// Time on the link, there and back.
    protocol: Ps,
    /// Time to look into the cache's index, and into the write log's beside it.
    index: Ps,
    index_with_log: Ps,
    /// Whether a page that the host gives back goes to the log.
    demotes_lines: bool,
    hint: HintRule,
    hint_threshold: Ps,
    mshr: Mshr,
    requests: Requests,
    /// Time for which a page that makes room keeps the controller busy, and until when one does.
    replacement: Ps,
    replaces_until: Ps,
    link: Option<Link>,
}

/// A link of bounded bandwidth.
struct Link {
    line: Ps,
    to_host: Lane,
    to_device: Lane,
}

impl Front {
    pub fn new(settings: &Settings) -> Front {
        let mut front = Front {
            pages: settings.pages,
            page_shift: settings.page_shift,
            protocol: Ps::ZERO,
            index: Ps::ZERO,
            index_with_log: Ps::ZERO,
            demotes_lines: false,
            hint: settings.hint,
            hint_threshold: Ps::ZERO,
            mshr: Mshr::new(settings.mshr.entries),
            requests: Requests::new(settings.mshr.bound()),
            replacement: Ps::ZERO,
            replaces_until: Ps::ZERO,
            link: settings.line_time().map(|line| Link {
                line,
                to_host: Lane::new(line),
                to_device: Lane::new(line),
            }),
        };
        front.retime(settings);
        front
    }

    /// Accesses from now on take the times of these settings.
    pub fn retime(&mut self, settings: &Settings) {
        let log = settings.write_log.as_ref();
        self.protocol = settings.protocol_latency;
        self.index = settings.cache.index_latency;
        // Both are asked at once: the slower one says when the access goes on.
        self.index_with_log = log.map_or(self.index, |log| log.index_latency.max(self.index));
        self.demotes_lines = log.is_some_and(|log| log.demoted == Demoted::Lines);
        self.hint_threshold = settings.hint_threshold;
        self.replacement = settings.cache.replacement;
    }

    /// A page has left at `at` to make room: when the fill of the other can begin.
    pub fn replaces(&mut self, at: Ps) -> Ps {
        if self.replacement == Ps::ZERO {
            return at;
        }
        self.replaces_until = at.max(self.replaces_until) + self.replacement;
        self.replaces_until
    }

    /// Whether a page that the host gives back goes to the log line by line.
    pub fn demotes_lines(&self) -> bool {
        self.demotes_lines
    }

    /// Pages that the host can address.
    pub fn pages(&self) -> u64 {
        u64::from(self.pages)
    }

    /// The page of a byte.
    ///
    /// # Panics
    /// If the address is not below the capacity.
    #[inline]
    pub fn page_of(&self, addr: u64) -> Lpn {
        let lpn = addr >> self.page_shift;
        assert!(lpn < self.pages(), "address {addr:#x} is not on the device");
        Lpn(lpn as u32)
    }

    /// The line of a byte within its page.
    pub fn line_of(&self, addr: u64) -> PageLine {
        PageLine(((addr & (self.page_bytes() - 1)) / LINE_BYTES) as u32)
    }

    pub fn page_bytes(&self) -> u64 {
        1 << self.page_shift
    }

    pub fn lines_per_page(&self) -> u32 {
        (self.page_bytes() / LINE_BYTES) as u32
    }

    /// Whether the device has the page.
    pub fn is_known(&self, lpn: Lpn) -> bool {
        lpn.0 < self.pages
    }

    /// Panics if the page is not on the device.
    pub fn assert_known(&self, lpn: Lpn) {
        assert!(self.is_known(lpn), "page {lpn} is not on the device");
    }

    /// What the line of an access takes on the link, with its wait for lines of others: a store's
    /// comes at `now`, a load's goes back once the device has it, after `wait`.
    #[inline]
    pub fn transfer(&mut self, now: Ps, wait: Ps, op: Op) -> Ps {
        let Some(link) = &mut self.link else {
            return Ps::ZERO;
        };
        let (lane, at) = match op {
            Op::Read => (&mut link.to_host, now + wait),
            Op::Write => (&mut link.to_device, now),
        };
        lane.take(now, at) - at + link.line
    }

    /// The time of every access: the link and the cache's index.
    #[inline]
    pub fn parts(&self) -> Parts {
        Parts {
            protocol: self.protocol,
            indexing: self.index,
            ..Parts::default()
        }
    }

    /// The time of an access that also looks into the write log's index, if there is a log.
    #[inline]
    pub fn parts_with_log(&self) -> Parts {
        Parts {
            protocol: self.protocol,
            indexing: self.index_with_log,
            ..Parts::default()
        }
    }

    /// Of the time of [`Front::parts_with_log`], what a store waits for that went to the log, whose
    /// index has its line before it is answered or behind that.
    pub fn parts_of_append(&self, is_behind: bool) -> Parts {
        match is_behind {
            true => Parts {
                indexing: Ps::ZERO,
                ..self.parts_with_log()
            },
            false => self.parts_with_log(),
        }
    }

    /// The time of an access to a device without a cache: the link alone.
    pub fn parts_without_cache(&self) -> Parts {
        Parts {
            protocol: self.protocol,
            ..Parts::default()
        }
    }

    /// When a fill wanted at `at` can start: at once, or when an MSHR entry is free.
    pub fn fill_starts(&mut self, at: Ps) -> Ps {
        self.mshr.retire(at);
        self.mshr.free_at(at)
    }

    /// When an access that comes at `at` is taken in, if it waits for no fill of its own.
    pub fn merge_starts(&mut self, at: Ps) -> Ps {
        self.requests.free_at(at)
    }

    /// When an access that comes at `at`, and waits for a fill of its own, is taken in.
    pub fn miss_starts(&mut self, at: Ps) -> Ps {
        self.fill_starts(at).max(self.merge_starts(at))
    }

    /// Takes an MSHR entry. The caller has waited for it to be free.
    pub fn take_entry(&mut self, start: Ps, end: Ps) {
        self.mshr.take(start, end);
    }

    /// Takes the place of an access that waits. The caller has waited for it to be free.
    pub fn take_request(&mut self, start: Ps, end: Ps) {
        self.requests.take(start, end);
    }

    /// Frees the MSHR entries of all fills that have ended by `now`.
    pub fn retire(&mut self, now: Ps) {
        self.mshr.retire(now);
    }

    /// Whether hints come from an estimate, made before the wait is known.
    #[inline]
    pub fn estimates(&self) -> bool {
        self.hint == HintRule::Queue
    }

    /// Whether a wait is a long one.
    #[inline]
    pub fn is_long(&self, wait: Ps) -> bool {
        wait > self.hint_threshold
    }

    /// The hint for an access that waits so long, and was or was not estimated to wait long.
    #[inline]
    pub fn hint(&self, wait: Ps, expects_long: bool) -> Hint {
        let long = match self.hint {
            HintRule::Exact => self.is_long(wait),
            HintRule::Queue => expects_long,
        };
        match long {
            true => Hint::LongDelay,
            false => Hint::None,
        }
    }
}
