//! Pages that fault twice within a while: how Linux's tiering finds hot pages.

use sluice_units::Ps;

/// When each page faulted last.
pub struct Refaults {
    /// Plus one picosecond; 0 before its first fault. Plain numbers, so that the memory of a large
    /// device is touched when used.
    last: Vec<u64>,
    window: Ps,
}

impl Refaults {
    /// Watches so many pages, which had no fault. Two within the window make one hot.
    pub fn new(pages: usize, window: Ps) -> Refaults {
        Refaults {
            last: vec![0; pages],
            window,
        }
    }

    /// Notes a fault. Says whether the one before it was at most the window ago.
    pub fn again(&mut self, now: Ps, page: u64) -> bool {
        let last = std::mem::replace(&mut self.last[page as usize], now.0 + 1);
        last != 0 && now - Ps(last - 1) <= self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_hot_by_its_second_fault_within_the_window() {
        let mut pages = Refaults::new(2, Ps(10));
        assert!(!pages.again(Ps(0), 1));
        let faults = [0, 11, 21, 21, 32].map(|at| pages.again(Ps(at), 0));
        assert_eq!(faults, [false, false, true, true, false]);
    }
}
