//! A trace of pages, one access at a time: how a policy is compared with other simulators.

use sluice_model::{Device, Op, Request};
use sluice_units::{Lpn, PAGE_BYTES, Ps};

/// Loads from each page in turn, the next when the last is done, and every access visible.
///
/// Nothing is in flight when an access is issued, so each is a hit or a miss, never a merge.
/// Returns when the last is done. `stop` is asked now and then whether to give up.
///
/// # Panics
/// If a page is not on the device.
pub fn replay(device: &mut Device, pages: &[u32], mut stop: impl FnMut() -> bool) -> Ps {
    let mut now = Ps::ZERO;
    for stretch in pages.chunks(STRETCH) {
        if stop() {
            break;
        }
        for page in stretch {
            let req = Request {
                addr: Lpn(*page).addr(PAGE_BYTES),
                op: Op::Read,
            };
            now = device.access(now, req, &mut ()).done_at;
        }
    }
    now
}

/// Accesses between two questions whether to stop: some ten milliseconds, also of a large device.
const STRETCH: usize = 1 << 16;
