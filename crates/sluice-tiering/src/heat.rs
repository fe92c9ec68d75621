//! Accesses of a page, counted and forgotten in time: SkyByte's promotion (section III-C).

use sluice_units::Ps;

/// A count for each page, halved once in a stretch of time, and the threshold that makes it hot.
pub struct Heat {
    /// A page's count, which saturates, and above it in which stretch of decay that was right.
    /// Plain numbers, so that the memory of a large device is touched when used.
    counters: Vec<u64>,
    threshold: u16,
    decay: Ps,
    /// The present stretch of decay, and when the next begins.
    epoch: u64,
    next_epoch: Ps,
}

/// A counter's low bits, which count.
const COUNT_BITS: u32 = u16::BITS;

impl Heat {
    /// So many cold pages. A decay of zero forgets nothing.
    ///
    /// # Panics
    /// If the threshold is more than a counter counts.
    pub fn new(pages: usize, threshold: u32, decay: Ps) -> Heat {
        Heat {
            counters: vec![0; pages],
            threshold: u16::try_from(threshold).expect("a threshold below 65536"),
            decay,
            epoch: 0,
            next_epoch: match decay {
                Ps::ZERO => Ps::MAX,
                decay => decay,
            },
        }
    }

    /// Counts an access. Says whether it makes the page hot, which then has to become hot anew.
    pub fn count(&mut self, now: Ps, page: u64) -> bool {
        if now >= self.next_epoch {
            let passed = 1 + (now - self.next_epoch).0 / self.decay.0;
            self.epoch += passed;
            self.next_epoch += self.decay * passed;
        }
        let counter = &mut self.counters[page as usize];
        let (count, epoch) = (*counter as u16, *counter >> COUNT_BITS);
        let halvings = (self.epoch - epoch).min(u64::from(COUNT_BITS));
        let count = count.checked_shr(halvings as u32).unwrap_or(0);
        let count = count.saturating_add(1);
        let is_hot = count >= self.threshold;
        let kept = if is_hot { 0 } else { count };
        *counter = self.epoch << COUNT_BITS | u64::from(kept);
        is_hot
    }

    /// Forgets what was counted of a page.
    pub fn forget(&mut self, page: u64) {
        self.counters[page as usize] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_makes_a_page_hot_and_it_begins_anew() {
        let mut heat = Heat::new(2, 3, Ps::ZERO);
        let counts: Vec<_> = (0..6).map(|n| heat.count(Ps(n), 1)).collect();
        assert_eq!(counts, [false, false, true, false, false, true]);
        assert!(!heat.count(Ps(9), 0), "a page of its own");
        heat.count(Ps(9), 0);
        heat.forget(0);
        assert!(!heat.count(Ps(9), 0));
    }

    /// Four accesses are two after one stretch, and one after another.
    #[test]
    fn counts_are_halved_once_in_a_stretch() {
        for (later, most) in [(99, 4), (100, 2), (299, 1), (300, 0)] {
            let mut heat = Heat::new(1, 5, Ps(100));
            (0..4).for_each(|_| assert!(!heat.count(Ps(0), 0)));
            let more = (1..=5).find(|_| heat.count(Ps(later), 0));
            assert_eq!(more, Some(5 - most), "after {later} ps");
        }
    }

    /// The rule over a list of all pages, which are halved together at each end of a stretch.
    #[test]
    fn it_counts_as_a_list_that_is_halved_does() {
        let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
        let mut draw = |below: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            (dice >> 8) % below
        };
        for round in 0..400 {
            let (threshold, decay) = (1 + draw(9), draw(60));
            let mut heat = Heat::new(3, threshold as u32, Ps(decay));
            let (mut counts, mut now, mut halved) = ([0u64; 3], 0, 0);
            for _ in 0..200 {
                let most = if draw(8) == 0 { 4_000 } else { 20 };
                now += draw(most);
                while decay > 0 && halved + decay <= now {
                    halved += decay;
                    counts = counts.map(|count| count / 2);
                }
                let page = draw(3);
                let count = &mut counts[page as usize];
                if draw(16) == 0 {
                    heat.forget(page);
                    *count = 0;
                    continue;
                }
                *count += 1;
                let is_hot = *count >= threshold;
                *count *= u64::from(!is_hot);
                assert_eq!(heat.count(Ps(now), page), is_hot, "{round}: {now}");
            }
        }
    }

    /// 16 bits for the number of a stretch were too few.
    #[test]
    fn everything_is_forgotten_after_any_number_of_stretches() {
        let full = 1u64 << 16;
        for later in [17, full - 1, full, full + 1, 2 * full, 2 * full + 1] {
            let mut heat = Heat::new(2, 5, Ps(100));
            (0..4).for_each(|_| assert!(!heat.count(Ps(0), 0)));
            assert!(!heat.count(Ps(later * 100), 0), "after {later} stretches");
            // Another page is counted in each stretch between.
            let mut heat = Heat::new(2, 5, Ps(100));
            (0..4).for_each(|_| assert!(!heat.count(Ps(0), 0)));
            (1..later).for_each(|stretch| _ = heat.count(Ps(stretch * 100), 1));
            assert!(!heat.count(Ps(later * 100), 0), "after {later}, one by one");
        }
    }
}
