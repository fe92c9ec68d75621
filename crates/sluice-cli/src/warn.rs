//! What makes figures other than they look, live and simulated.

use sluice_results::{CacheCounts, FlashCounts};
use sluice_units::round_bytes;

/// What makes the figures other than they look.
pub fn of_counts(cache: &CacheCounts, flash: &FlashCounts) {
    of_refusals(cache.policy_refused);
    of_picks(cache.prefetch_refused);
    of_wear(flash.writes_refused);
}

/// A cache that nothing left shows nothing of its policy, nor of more room.
pub fn of_room(evictions: u64, misses: u64, capacity: u64) {
    if evictions == 0 && misses > 0 {
        errln!(
            "sluice: warning: the cache was never too full: nothing left its {} (cache.capacity), \
             and its policy decided nothing; `sluice size` says what size matters",
            round_bytes(capacity)
        );
    }
}

/// The device has come to its end. The figures after that are not those of a device in use.
pub fn of_wear(refused: u64) {
    if refused > 0 {
        errln!(
            "sluice: warning: the flash is worn out and the device read-only: {refused} writes \
             were refused; raise nand.endurance or ftl.overprovision, or write less"
        );
    }
}

/// What a prefetcher from outside did wrong.
pub fn of_picks(count: u64) {
    if count > 0 {
        errln!(
            "sluice: warning: prefetch.policy picked {count} pages that the device does not have, \
             or that were more than it may pick at once; they were not brought in"
        );
    }
}

/// What a policy from outside did wrong. The figures are then not those of that policy.
pub fn of_refusals(count: u64) {
    if count > 0 {
        errln!(
            "sluice: warning: cache.policy answered {count} times with a page that may not leave, \
             or with none although one may; the page that came in first left instead"
        );
    }
}
