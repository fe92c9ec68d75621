//! Pages that fault twice within a while: how Linux's tiering finds hot pages.

use sluice_units::Ps;

/// When a page faulted last. All zero before its first fault, so that memory is touched when used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refault {
    /// Plus one picosecond.
    last: u64,
}

impl Refault {
    /// Notes a fault. Says whether the one before it was at most `window` ago.
    pub fn again(&mut self, now: Ps, window: Ps) -> bool {
        let last = std::mem::replace(&mut self.last, now.0 + 1);
        last != 0 && now - Ps(last - 1) <= window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_hot_by_its_second_fault_within_the_window() {
        let (mut page, window) = (Refault::default(), Ps(10));
        let faults = [0, 11, 21, 21, 32].map(|at| page.again(Ps(at), window));
        assert_eq!(faults, [false, false, true, true, false]);
    }
}
