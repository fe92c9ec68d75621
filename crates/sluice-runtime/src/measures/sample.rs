//! Sampled hits: a cached page is unmapped, and its next touch is a trap served at once.
//!
//! A live device sees no hit on a mapped page. Taking a few pages away at random shows how many of
//! the cached pages a program uses within a window, which, against the misses of the same window,
//! is the hit ratio at page granularity. The policy sees these touches as the hits they are.

use sluice_units::Rng;

/// Pages that may be away at once; one window is as long as it takes to go round. Short windows
/// have fewer, so that samples keep their distance.
pub const SLOTS: usize = 128;
/// A sample costs its program a trap and the way out of its page. The next one is taken after so
/// many times that, which bounds the share of the time that sampling takes to 5 %.
const COST_TIMES: u64 = 20;
/// Tries to find a mapped page by chance before the turn is skipped.
const TRIES: usize = 32;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    lpn: u64,
    taken_ns: u64,
    used: bool,
    touched: bool,
}

/// A page's time away, once it is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// The program touched the page meanwhile.
    pub touched: bool,
    /// How long it was looked at, ns.
    pub window_ns: u64,
}

/// Chooses pages and keeps score.
#[derive(Debug)]
pub struct Sampler {
    window_ns: u64,
    gap_ns: u64,
    next_ns: u64,
    /// What a trap costs outside the runtime's own time, ns.
    trap_ns: u64,
    slots: Box<[Slot]>,
    turn: usize,
    rng: Rng,
}

impl Sampler {
    /// A sampler whose windows last `window_ns`, or longer if samples cost much.
    pub fn new(window_ns: u64, seed: u64) -> Sampler {
        Sampler {
            window_ns,
            gap_ns: (window_ns / SLOTS as u64).max(1),
            next_ns: 0,
            trap_ns: 0,
            slots: vec![Slot::default(); SLOTS].into(),
            turn: 0,
            rng: Rng::stream(seed, "runtime.sample"),
        }
    }

    /// Learns what a trap costs on this host, before the first sample.
    pub fn set_trap_cost(&mut self, trap_ns: u64) {
        self.trap_ns = trap_ns;
        let least_ns = (COST_TIMES * trap_ns).max(1);
        let slots = (self.window_ns / least_ns).clamp(1, SLOTS as u64);
        self.slots = vec![Slot::default(); slots as usize].into();
        self.gap_ns = (self.window_ns / slots).max(1);
        self.turn = 0;
    }

    /// A turn that began at `from_ns` took until now: the page of it is away, and will trap.
    pub fn took(&mut self, from_ns: u64, now_ns: u64) {
        let cost_ns = self.trap_ns + now_ns.saturating_sub(from_ns);
        self.next_ns = self.next_ns.max(now_ns + COST_TIMES * cost_ns);
    }

    /// Whether it is time for the next page.
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// Ends the window of the oldest page and takes the next, if chance finds a mapped one below
    /// `top`. A page whose window is open is not taken again, touched or not: else those that are
    /// touched would be taken more often than the others, which are away.
    pub fn turn(
        &mut self,
        now_ns: u64,
        top: u64,
        is_mapped: impl Fn(u64) -> bool,
    ) -> (Option<Verdict>, Option<u64>) {
        self.next_ns = now_ns + self.gap_ns;
        let slots = self.slots.len();
        let turn = self.turn;
        self.turn = (turn + 1) % slots;
        let slot = &mut self.slots[turn];
        let verdict = slot.used.then(|| Verdict {
            touched: slot.touched,
            window_ns: now_ns - slot.taken_ns,
        });
        slot.used = false;
        if top == 0 {
            return (verdict, None);
        }
        let is_open = |lpn| self.slots.iter().any(|slot| slot.used && slot.lpn == lpn);
        let found = (0..TRIES)
            .map(|_| self.rng.below(top))
            .find(|lpn| is_mapped(*lpn) && !is_open(*lpn));
        if let Some(lpn) = found {
            self.slots[turn] = Slot {
                lpn,
                taken_ns: now_ns,
                used: true,
                touched: false,
            };
        }
        (verdict, found)
    }

    /// Pages that are away.
    pub fn away(&self) -> u64 {
        let away = self.slots.iter().filter(|slot| slot.used && !slot.touched);
        away.count() as u64
    }

    /// The program touched a page that was away. Says whether it was because of the sampler.
    pub fn touched(&mut self, lpn: u64) -> bool {
        let slot = self.slots.iter_mut().find(|s| s.used && s.lpn == lpn);
        slot.map(|slot| slot.touched = true).is_some()
    }

    /// The page left the cache or was given back: its window says nothing.
    pub fn forget(&mut self, lpn: u64) {
        if let Some(slot) = self.slots.iter_mut().find(|s| s.used && s.lpn == lpn) {
            slot.used = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, VecDeque};

    /// Of 1,000 mapped pages, a program touches the first 250 in every window.
    #[test]
    fn the_share_of_touched_pages_is_the_share_in_use() {
        let mut sampler = Sampler::new(1_000_000, 7);
        let (mut now, mut judged, mut touched) = (0, 0u32, 0u32);
        while judged < 20_000 {
            assert!(sampler.is_due(now));
            let (verdict, taken) = sampler.turn(now, 1_000, |_| true);
            if let Some(v) = verdict {
                judged += 1;
                touched += u32::from(v.touched);
                assert!(v.window_ns.abs_diff(1_000_000) < 10_000, "{}", v.window_ns);
            }
            if let Some(lpn) = taken.filter(|lpn| *lpn < 250) {
                sampler.touched(lpn);
            }
            now += 1_000_000 / SLOTS as u64;
        }
        let share = f64::from(touched) / f64::from(judged);
        assert!((share - 0.25).abs() < 0.02, "{share}");
    }

    /// A page that was taken again while its window was open counted as untouched. Of few mapped
    /// pages, a program touches a quarter at once, and each other when its window is over.
    #[test]
    fn a_page_whose_window_is_open_is_not_taken_again() {
        for pages in [40, SLOTS as u64, 160, 256, 1_000] {
            let is_hot = |lpn: &u64| lpn % 4 == 1;
            let mut sampler = Sampler::new(1_000_000, 7);
            let (mut open, mut away) = (VecDeque::new(), BTreeSet::new());
            let (mut judged, mut touched) = (0u32, 0u32);
            for turn in 0..40_000 {
                let now = turn * (1_000_000 / SLOTS as u64);
                let (verdict, taken) = sampler.turn(now, pages, |lpn| !away.contains(&lpn));
                if open.len() == SLOTS
                    && let Some(Some(lpn)) = open.pop_front()
                {
                    away.remove(&lpn);
                    let verdict = verdict.expect("a window is over");
                    assert_eq!(verdict.touched, is_hot(&lpn), "{pages} pages: {lpn}");
                    judged += 1;
                    touched += u32::from(verdict.touched);
                }
                open.push_back(taken);
                match taken {
                    Some(lpn) if is_hot(&lpn) => assert!(sampler.touched(lpn)),
                    cold => away.extend(cold),
                }
            }
            let share = f64::from(touched) / f64::from(judged);
            assert!((share - 0.25).abs() < 0.012, "{pages} pages: {share}");
        }
    }

    /// A program that touches each page at once, so that each sample costs it `TAKE_NS` and a trap.
    /// Its share of the time, and the mean window, ns.
    fn share_of(window_ns: u64) -> (f64, f64) {
        let mut sampler = Sampler::new(window_ns, 7);
        sampler.set_trap_cost(TRAP_NS);
        let (mut now, mut spent, mut windows) = (0, 0, Vec::new());
        while now < 20 * window_ns.max(1_000_000) {
            if sampler.is_due(now) {
                let (verdict, taken) = sampler.turn(now, 1_000, |_| true);
                windows.extend(verdict.map(|verdict| verdict.window_ns));
                sampler.took(now, now + TAKE_NS);
                sampler.touched(taken.expect("all are mapped"));
                spent += TAKE_NS + TRAP_NS;
                now += TAKE_NS + TRAP_NS;
            }
            now += 10;
        }
        let mean = windows.iter().sum::<u64>() as f64 / windows.len() as f64;
        (spent as f64 / now as f64, mean)
    }

    const TRAP_NS: u64 = 6_000;
    const TAKE_NS: u64 = 2_000;

    /// From 5 ms to 2 ms the cost of an access rose a thousandfold.
    #[test]
    fn the_share_of_the_time_is_the_closed_form_and_bounded() {
        let cost = (TRAP_NS + TAKE_NS) as f64;
        for window_ns in [
            100_000,
            300_000,
            1_000_000,
            3_000_000,
            10_000_000,
            100_000_000,
        ] {
            let (share, mean) = share_of(window_ns);
            let slots = (window_ns / (COST_TIMES * TRAP_NS)).clamp(1, SLOTS as u64) as f64;
            let gap = (window_ns as f64 / slots).max(COST_TIMES as f64 * cost + TAKE_NS as f64);
            let expected = cost / gap;
            assert!(
                (share / expected - 1.0).abs() < 0.03,
                "{window_ns}: {share} {expected}"
            );
            assert!(share < 1.0 / COST_TIMES as f64, "{window_ns}: {share}");
            assert!(
                (mean / (gap * slots) - 1.0).abs() < 0.03,
                "{window_ns}: {mean}"
            );
        }
    }

    #[test]
    fn pages_that_are_not_mapped_are_not_taken() {
        let mut sampler = Sampler::new(1_000, 1);
        assert_eq!(sampler.turn(0, 0, |_| true), (None, None));
        for n in 0..1_000 {
            let (_, taken) = sampler.turn(n * 10, 64, |lpn| lpn % 2 == 0);
            assert!(taken.is_none_or(|lpn| lpn % 2 == 0));
        }
    }

    #[test]
    fn a_forgotten_page_is_not_judged() {
        let mut sampler = Sampler::new(1_000, 1);
        let (_, taken) = sampler.turn(0, 1, |_| true);
        sampler.forget(taken.unwrap());
        for n in 1..SLOTS as u64 {
            sampler.turn(n, 0, |_| true);
        }
        assert_eq!(sampler.turn(SLOTS as u64, 0, |_| true).0, None);
    }

    /// One of several: the verdict on each of the others stays what it is.
    #[test]
    fn one_of_many_pages_is_touched_and_another_forgotten() {
        let mut sampler = Sampler::new(1_000, 1);
        let mut one = |n| {
            sampler
                .turn(n, 1 << 40, |_| true)
                .1
                .expect("all are mapped")
        };
        let taken = [0, 1, 2, 3].map(&mut one);
        sampler.touched(taken[1]);
        sampler.forget(taken[2]);
        for n in 4..SLOTS as u64 {
            sampler.turn(n, 0, |_| true);
        }
        let judged: Vec<_> = (0..4)
            .map(|n| sampler.turn(1_000 + n, 0, |_| true).0.map(|it| it.touched))
            .collect();
        assert_eq!(judged, [Some(false), Some(true), None, Some(false)]);
    }
}
