//! A bound on the time that something takes: of all time one part in so many.

/// How much may be saved up, ns: after an idle time no more than this is spent at once.
const MOST_NS: u64 = 20_000_000;

/// Time that is earned as time goes on, and spent.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Of so much time, one part is earned.
    one_in: u64,
    /// Until when time was earned, ns.
    until_ns: u64,
    earned_ns: u64,
    /// Spent beyond what was earned.
    owed_ns: u64,
}

impl Allowance {
    /// One part of time in so many. Earns from the first question on.
    pub fn new(one_in: u64) -> Allowance {
        Allowance {
            one_in,
            until_ns: u64::MAX,
            earned_ns: 0,
            owed_ns: 0,
        }
    }

    /// Whether anything is left to be spent at this time, ns.
    pub fn has_any(&mut self, now_ns: u64) -> bool {
        let earned = now_ns.saturating_sub(self.until_ns) / self.one_in;
        // What is below one unit is earned later.
        if earned > 0 || self.until_ns == u64::MAX {
            self.until_ns = now_ns;
        }
        let paid = earned.min(self.owed_ns);
        self.owed_ns -= paid;
        self.earned_ns = (self.earned_ns + earned - paid).min(MOST_NS);
        self.owed_ns == 0 && self.earned_ns > 0
    }

    /// Spends so much, ns, be it there or not.
    pub fn spend(&mut self, ns: u64) {
        let there = ns.min(self.earned_ns);
        self.earned_ns -= there;
        self.owed_ns += ns - there;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that spends 11 µs whenever it may, and works for 40 µs otherwise.
    #[test]
    fn the_share_of_the_time_is_bounded() {
        for one_in in [10, 20, 50] {
            let mut allowance = Allowance::new(one_in);
            let (mut now, mut spent) = (1_000_000u64, 0u64);
            while now < 10_000_000_000 {
                if allowance.has_any(now) {
                    allowance.spend(11_000);
                    spent += 11_000;
                    now += 11_000;
                }
                now += 40_000;
            }
            let share = spent as f64 / (now - 1_000_000) as f64;
            assert!((share * one_in as f64 - 1.0).abs() < 0.01, "{share}");
        }
    }

    #[test]
    fn an_idle_time_earns_no_more_than_the_most() {
        let mut allowance = Allowance::new(20);
        assert!(!allowance.has_any(5));
        assert!(allowance.has_any(1_000_000_000_000));
        allowance.spend(MOST_NS);
        assert!(!allowance.has_any(1_000_000_000_000));
        allowance.spend(1_000);
        assert!(
            !allowance.has_any(1_000_000_020_000),
            "what is owed comes first"
        );
        assert!(allowance.has_any(1_000_000_020_020));
    }
}
