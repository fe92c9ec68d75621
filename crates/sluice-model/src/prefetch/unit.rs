//! The prefetcher as the engine sees it: a policy, and what keeps it in check.

use super::throttle::Throttle;
use super::{AnyPrefetch, Arrival, Outcome, Picks, Reach, Seen};
use crate::config::Settings;
use crate::stats::Stats;
use sluice_units::Ps;

/// A policy with its throttle, if there is one.
pub(crate) struct Prefetcher {
    policy: AnyPrefetch,
    reach: Reach,
    throttle: Option<Throttle>,
}

impl Prefetcher {
    pub fn new(settings: &Settings) -> Prefetcher {
        let reach = Reach {
            degree: settings.prefetch.degree,
            distance: settings.prefetch.distance,
        };
        Prefetcher {
            policy: (settings.prefetch.policy.build)(settings),
            reach,
            throttle: Throttle::new(settings, reach),
        }
    }

    /// Adds the pages to bring in after an access.
    #[inline]
    pub fn access(&mut self, at: Ps, lpn: u32, outcome: Outcome, picks: &mut Picks) {
        let lpn = u64::from(lpn);
        let mut reach = self.reach;
        if let Some(throttle) = &mut self.throttle {
            throttle.seen(lpn, outcome);
            reach = throttle.reach();
        }
        self.policy.access(Seen { at, lpn, outcome }, reach, picks);
    }

    /// A page was sent for, because of an access to the page `cause`.
    #[inline]
    pub fn arrives(&mut self, at: Ps, lpn: u32, cause: u32) {
        let (lpn, cause) = (u64::from(lpn), u64::from(cause));
        let arrival = Arrival { at, lpn, cause };
        if let Some(throttle) = &mut self.throttle
            && arrival.is_prefetch()
        {
            throttle.prefetched(lpn);
        }
        self.policy.arrives(arrival);
    }

    /// A page left to make room. `demanded`: it had been asked for since it came.
    #[inline]
    pub fn evicted(&mut self, lpn: u32, demanded: bool, for_prefetch: bool, stats: &mut Stats) {
        if let Some(throttle) = &mut self.throttle {
            throttle.evicted(u64::from(lpn), demanded, for_prefetch, stats);
        }
    }
}
