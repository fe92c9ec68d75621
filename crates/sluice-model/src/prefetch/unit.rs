//! A prefetch policy under the throttle that keeps it in check.

use super::none::Off;
use super::throttle::{Throttle, ThrottleParams};
use super::{AnyPrefetch, Arrival, External, Outcome, Picks, Prefetch, PrefetchEntry, Reach, Seen};
use crate::cache::{Ahead, Evicted};
use crate::stats::Stats;
use sluice_params::RawConfig;
use sluice_units::{Lpn, Ps};

/// A policy with its throttle, if there is one.
pub(crate) struct Prefetcher {
    policy: AnyPrefetch,
    /// Whether the policy ever brings anything in.
    is_on: bool,
    reach: Reach,
    throttle: Option<Throttle>,
    /// Refused picks of prefetchers before the one in force.
    refused_before: u64,
}

impl Prefetcher {
    pub fn new(
        policy: &PrefetchEntry,
        given: &RawConfig,
        reach: Reach,
        throttle: Option<&ThrottleParams>,
    ) -> Prefetcher {
        Prefetcher {
            policy: (policy.build)(given),
            is_on: policy.info.name != Off::INFO.name,
            reach,
            throttle: throttle.map(|given| Throttle::new(given.clone(), reach)),
            refused_before: 0,
        }
    }

    /// Puts a prefetcher of the caller's in the place of the policy. With a degree of 0 it picks
    /// nothing, and is not asked.
    pub fn bring(&mut self, own: Box<dyn External>) {
        self.policy = AnyPrefetch::External(own);
        self.is_on = self.reach.degree > 0;
    }

    /// Takes other settings. A prefetcher of the caller's stays, if it is to.
    pub fn change_to(&mut self, other: Prefetcher, stays: bool) {
        let before = std::mem::replace(self, other);
        self.refused_before = before.refused();
        if let AnyPrefetch::External(own) = before.policy
            && stays
        {
            self.refused_before -= own.refused();
            self.bring(own);
        }
    }

    /// Whether it is one that the caller brought along.
    #[inline]
    pub fn is_external(&self) -> bool {
        matches!(self.policy, AnyPrefetch::External(_))
    }

    /// Picks of prefetchers of the caller's that broke the contract.
    pub fn refused(&self) -> u64 {
        let own = match &self.policy {
            AnyPrefetch::External(own) => own.refused(),
            _ => 0,
        };
        self.refused_before + own
    }

    /// Whether it ever brings anything in. If not, it need not see accesses.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Notes a miss, or the first access to a page since `by` had it brought in, for the throttle:
    /// it goes by the uses of the same pages that it counts as issued.
    #[inline]
    pub fn fares(&mut self, lpn: Lpn, outcome: Outcome, by: Option<Ahead>) {
        if let Some(throttle) = &mut self.throttle
            && by.is_none_or(|by| by == Ahead::Pick)
        {
            throttle.seen(lpn, outcome);
        }
    }

    /// Adds the pages to bring in after an access.
    #[inline]
    pub fn access(&mut self, seen: Seen, picks: &mut Picks) {
        let throttled = self.throttle.as_ref().map(Throttle::reach);
        let reach = throttled.unwrap_or(self.reach);
        self.policy.access(seen, reach, picks);
    }

    /// A page was sent for that missed, or that the prefetcher picked because of an access to the
    /// page `cause`.
    #[inline]
    pub fn arrives(&mut self, at: Ps, lpn: Lpn, cause: Lpn) {
        let arrival = Arrival { at, lpn, cause };
        if let Some(throttle) = &mut self.throttle
            && arrival.is_prefetch()
        {
            throttle.prefetched(lpn);
        }
        self.policy.arrives(arrival);
    }

    /// A page left to make room, perhaps for a prefetched one.
    #[inline]
    pub fn evicted(&mut self, victim: &Evicted, for_prefetch: bool, stats: &mut Stats) {
        if let Some(throttle) = &mut self.throttle {
            let demanded = victim.ahead.is_none();
            throttle.evicted(victim.lpn, demanded, for_prefetch, stats);
        }
    }
}
