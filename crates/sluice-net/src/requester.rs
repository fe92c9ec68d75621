//! Requesters: who asks, how much at once, how often.

use super::coherent::CacheSettings;
use super::pattern::{Access, Source};
use super::stats::RequesterStats;
use sluice_units::{Ps, Ratio};

/// A requester as it is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequesterSettings {
    /// Requests under way at once.
    pub depth: u32,
    /// Least time between two requests.
    pub interval: Ps,
    /// From a request to its port.
    pub process: Ps,
    /// Looking into the local cache first.
    pub cache_access: Ps,
    /// The name of its pattern.
    pub pattern: &'static str,
    /// Bytes that it uses; none for all that it can reach.
    pub footprint: Option<u64>,
    /// Share of reads.
    pub reads: Ratio,
    /// Coherent local cache.
    pub cache: Option<CacheSettings>,
    /// Share of a skewed pattern's requests that are hot.
    pub hot_requests: Ratio,
    /// Share of its lines that are hot.
    pub hot_lines: Ratio,
}

/// A requester at work.
pub(super) struct Requester {
    pub process: Ps,
    pub cache_access: Ps,
    depth: u32,
    interval: Ps,
    outstanding: u32,
    /// No request before this.
    next_at: Ps,
    /// Whether an event will let it issue.
    pub is_woken: bool,
    source: Option<Box<dyn Source>>,
    pub stats: RequesterStats,
}

/// Whether a requester can issue.
pub(super) enum Turn {
    Now,
    At(Ps),
    /// When a request of its has come back, or never.
    Full,
}

impl Requester {
    pub fn new(settings: &RequesterSettings, source: Option<Box<dyn Source>>) -> Requester {
        Requester {
            process: settings.process,
            cache_access: settings.cache_access,
            depth: settings.depth,
            interval: settings.interval,
            outstanding: 0,
            next_at: Ps::ZERO,
            is_woken: false,
            source,
            stats: RequesterStats::default(),
        }
    }

    /// Whether it can issue at `now`.
    #[inline]
    pub fn turn(&self, now: Ps) -> Turn {
        if self.outstanding >= self.depth {
            Turn::Full
        } else if self.next_at > now {
            Turn::At(self.next_at)
        } else {
            Turn::Now
        }
    }

    /// Processing, and looking into the cache.
    pub fn times(&self) -> (Ps, Ps) {
        (self.process, self.cache_access)
    }

    /// Whether it has no more requests of its own.
    pub fn is_dry(&self) -> bool {
        self.source.is_none()
    }

    /// Takes the next request of its pattern.
    #[inline]
    pub fn take(&mut self) -> Option<Access> {
        let access = self.source.as_mut()?.next();
        if access.is_none() {
            self.source = None;
        }
        access
    }

    /// Gives it other requests.
    pub fn replace(&mut self, source: Box<dyn Source>) {
        self.source = Some(source);
    }

    #[inline]
    pub fn issued(&mut self, now: Ps) {
        self.outstanding += 1;
        let pause = self
            .source
            .as_ref()
            .map_or(Ps::ZERO, |source| source.pause());
        self.next_at = now + self.interval.max(pause);
        self.stats.issued += 1;
    }

    #[inline]
    pub fn completed(&mut self) {
        self.outstanding -= 1;
    }
}
