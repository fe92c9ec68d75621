//! Every victim policy keeps its side of the contract, and is the policy that it says it is.

use super::*;
use crate::victim::{AnyGcVictim, GC_VICTIMS, GcSpace};

const LINES: u32 = 40;
const PAGES: u32 = 16;

fn space() -> GcSpace {
    GcSpace {
        pools: 2,
        lines_per_pool: LINES,
        line_pages: PAGES,
        window: 5,
        choices: 3,
        streams: 1,
        valid_max: 0,
        rng: Rng::stream(1, "ftl.gc"),
    }
}

/// A closed line of the naive model.
#[derive(Clone, Copy, Debug)]
struct Closed {
    line: u32,
    stale: u32,
    /// When it was filled, and when it changed last.
    filled: u64,
    changed: u64,
}

/// What the policy should take, worked out by looking at every line. Ties go to the line that has
/// had its stale pages longest, or was filled first. `None` if any line may be taken.
fn expected(name: &str, lines: &[Closed], now: u64) -> Option<u32> {
    let gain = || lines.iter().filter(|line| line.stale > 0);
    let oldest = |lines: Vec<&Closed>| lines.iter().min_by_key(|line| line.filled).unwrap().line;
    match name {
        "greedy" => {
            let best = gain().max_by_key(|line| (line.stale, u64::MAX - line.changed))?;
            Some(best.line)
        }
        "cost-benefit" => {
            // Fractions, compared across.
            let valid = |line: &Closed| u128::from(2 * (PAGES - line.stale));
            if let Some(empty) = gain().find(|line| valid(line) == 0) {
                return (gain().filter(|line| valid(line) == 0).count() == 1).then_some(empty.line);
            }
            let value = |line: &Closed| u128::from(now - line.changed + 1) * u128::from(line.stale);
            let beats = |a: &Closed, b: &Closed| value(a) * valid(b) >= value(b) * valid(a);
            let mut best = gain().filter(|line| gain().all(|other| beats(line, other)));
            let line = best.next()?.line;
            best.next().is_none().then_some(line)
        }
        "fifo" => Some(oldest(gain().collect())),
        "windowed-greedy" => {
            let mut window: Vec<&Closed> = lines.iter().collect();
            window.sort_by_key(|line| line.filled);
            window.truncate(5);
            let most = window.iter().map(|line| line.stale).max()?;
            let best = window
                .into_iter()
                .filter(|line| line.stale == most)
                .collect();
            (most > 0).then(|| oldest(best))
        }
        _ => None,
    }
}

/// A policy beside the naive model.
struct Pair {
    name: &'static str,
    policy: AnyGcVictim,
    closed: Vec<Closed>,
    stale: Vec<u32>,
    now: u64,
}

impl Pair {
    fn close(&mut self, line: u32, stale: u32) {
        self.stale[line as usize] = stale;
        self.policy.close(line, stale, self.now);
        self.closed.push(Closed {
            line,
            stale,
            filled: self.now,
            changed: self.now,
        });
    }

    fn invalidate(&mut self, index: usize) {
        let closed = &mut self.closed[index];
        closed.stale += 1;
        closed.changed = self.now;
        self.stale[closed.line as usize] += 1;
        self.policy.invalidate(closed.line, closed.stale, self.now);
    }

    fn victim(&mut self, pool: u32) {
        let mine = |closed: &&Closed| closed.line / LINES == pool;
        let lines: Vec<Closed> = self.closed.iter().filter(mine).copied().collect();
        let found = self.policy.victim(pool, &self.stale, self.now);
        let dump = self.policy.dump(pool);
        assert_eq!(
            found.is_some(),
            lines.iter().any(|line| line.stale > 0),
            "{}: a line is there or not: {lines:?}, {dump:?}",
            self.name
        );
        let Some(found) = found else { return };
        let taken = self.closed.iter().position(|closed| closed.line == found);
        let taken = self.closed.swap_remove(taken.expect("a held line"));
        assert!(
            taken.stale > 0 && taken.line / LINES == pool,
            "{}: {taken:?}",
            self.name
        );
        if let Some(line) = expected(self.name, &lines, self.now) {
            assert_eq!(found, line, "{}: of {lines:?}, {dump:?}", self.name);
        }
    }

    fn step(&mut self, rng: &mut Rng, intact: bool) {
        self.now += 1;
        match rng.below(12) {
            0 => {
                let line = rng.below(u64::from(2 * LINES)) as u32;
                if self.closed.iter().all(|closed| closed.line != line) {
                    // Some are filled with pages that are stale already.
                    let stale = if intact { 0 } else { rng.below(4) };
                    self.close(line, stale as u32);
                }
            }
            1 => self.victim(rng.below(2) as u32),
            2 if !self.closed.is_empty() && rng.below(4) == 0 => {
                let index = rng.below(self.closed.len() as u64) as usize;
                let closed = self.closed.swap_remove(index);
                self.policy.remove(closed.line, closed.stale);
            }
            _ if !self.closed.is_empty() => {
                let index = rng.below(self.closed.len() as u64) as usize;
                if self.closed[index].stale < PAGES {
                    self.invalidate(index);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn every_policy_takes_what_a_naive_search_takes() {
    for entry in GC_VICTIMS {
        for seed in 0..40 {
            let mut pair = Pair {
                name: entry.info.name,
                policy: (entry.build)(&space()),
                closed: Vec::new(),
                stale: vec![0; 2 * LINES as usize],
                now: 0,
            };
            // FIFO sends intact lines to the end, which the naive order of filling does not know.
            let rotates = ["fifo", "windowed-greedy"].contains(&entry.info.name);
            let mut rng = Rng::stream(seed, entry.info.name);
            for _ in 0..1_000 {
                if rotates {
                    let intact = pair.closed.iter().position(|closed| closed.stale == 0);
                    if let Some(index) = intact {
                        pair.now += 1;
                        pair.invalidate(index);
                    }
                }
                pair.step(&mut rng, false);
            }
            let mut held: Vec<u32> = (0..2).flat_map(|pool| pair.policy.dump(pool)).collect();
            held.sort_unstable();
            let mut closed: Vec<u32> = pair.closed.iter().map(|closed| closed.line).collect();
            closed.sort_unstable();
            let gains = |line: &u32| pair.stale[*line as usize] > 0;
            held.retain(gains);
            closed.retain(gains);
            assert_eq!(held, closed, "{} lost a line", entry.info.name);
        }
    }
}

/// With lines that are intact, which no policy may take: the contract alone.
#[test]
fn no_policy_takes_an_intact_line() {
    for entry in GC_VICTIMS {
        let mut policy = (entry.build)(&space());
        let mut stale = vec![0; 2 * LINES as usize];
        (0..LINES).for_each(|line| policy.close(line, 0, u64::from(line)));
        assert_eq!(policy.victim(0, &stale, 100), None, "{}", entry.info.name);
        stale[17] += 1;
        policy.invalidate(17, 1, 101);
        assert_eq!(
            policy.victim(1, &stale, 102),
            None,
            "{}: of the other pool",
            entry.info.name
        );
        assert_eq!(
            policy.victim(0, &stale, 102),
            Some(17),
            "{}",
            entry.info.name
        );
        assert_eq!(
            policy.victim(0, &stale, 103),
            None,
            "{}: it was forgotten",
            entry.info.name
        );
    }
}

/// A policy that learns at once that all lines are full at the start goes on as one that learned it
/// line by line.
#[test]
fn lines_that_are_full_at_the_start_are_as_if_each_had_been_closed() {
    for entry in GC_VICTIMS {
        for seed in 0..40 {
            let name = entry.info.name;
            let mut rng = Rng::stream(seed, name);
            let full = rng.below(u64::from(LINES) + 1) as u32;
            let [mut begun, mut told] = [(); 2].map(|()| (entry.build)(&space()));
            for pool in 0..2 {
                begun.begin(pool, full);
                (0..full).for_each(|line| told.close(pool * LINES + line, 0, 0));
            }
            let mut held: Vec<u32> = (0..full).chain(LINES..LINES + full).collect();
            let mut stale = vec![0; 2 * LINES as usize];
            for now in 1..600 {
                let pool = rng.below(2) as u32;
                match rng.below(16) {
                    0..2 => {
                        let found = begun.victim(pool, &stale, now);
                        assert_eq!(found, told.victim(pool, &stale, now), "{name}");
                        held.retain(|line| Some(*line) != found);
                    }
                    2 => {
                        let line = rng.below(u64::from(2 * LINES)) as u32;
                        if !held.contains(&line) {
                            held.push(line);
                            stale[line as usize] = rng.below(3) as u32;
                            let stale = stale[line as usize];
                            for of in [&mut begun, &mut told] {
                                of.close(line, stale, now);
                            }
                        }
                    }
                    3 if rng.below(3) == 0 && !held.is_empty() => {
                        let at = rng.below(held.len() as u64) as usize;
                        let line = held.swap_remove(at);
                        let stale = stale[line as usize];
                        for of in [&mut begun, &mut told] {
                            of.remove(line, stale);
                        }
                    }
                    _ if !held.is_empty() => {
                        let line = held[rng.below(held.len() as u64) as usize];
                        let stale = &mut stale[line as usize];
                        if *stale < PAGES {
                            *stale += 1;
                            for of in [&mut begun, &mut told] {
                                of.invalidate(line, *stale, now);
                            }
                        }
                    }
                    _ => {}
                }
                let dumps = [&begun, &told].map(|of| of.dump(pool));
                assert_eq!(dumps[0], dumps[1], "{name}, seed {seed}, step {now}");
            }
        }
    }
}
