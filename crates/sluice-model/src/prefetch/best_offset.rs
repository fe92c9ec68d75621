//! Best-offset prefetching.

use super::{Arrival, Picks, PolicyInfo, Prefetch, Reach, Seen};
use sluice_params::{ConfigError, Kind, Param, RawConfig};
use sluice_units::Ps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const MICHAUD: &str = "Michaud, HPCA 2016, Table 2";

sluice_params::params! {
    /// The parameters of best-offset.
    struct BestOffsetParams {
        offset_max: u32 {
            key: "prefetch.bo_offset_max",
            kind: Kind::Count { min: 1, max: 4_096 },
            default: "256",
            meaning: "the longest offset that best-offset tries; it tries 2^i 3^j 5^k",
            source: "Michaud, HPCA 2016",
        }
        recent: u32 {
            key: "prefetch.bo_recent",
            kind: Kind::Count { min: 1, max: 65_536 },
            default: "256",
            meaning: "entries of best-offset's table of recent requests",
            source: MICHAUD,
        }
        score_max: u32 {
            key: "prefetch.bo_score_max",
            kind: Kind::Count { min: 1, max: 65_535 },
            default: "31",
            meaning: "the score at which best-offset ends a learning phase",
            source: MICHAUD,
        }
        score_bad: u32 {
            key: "prefetch.bo_score_bad",
            kind: Kind::Count { min: 0, max: 65_535 },
            default: "1",
            meaning: "the score up to which best-offset's winner is not used",
            source: MICHAUD,
        }
        round_max: u32 {
            key: "prefetch.bo_round_max",
            kind: Kind::Count { min: 1, max: 65_535 },
            default: "100",
            meaning: "rounds through all offsets after which best-offset ends a learning phase",
            source: MICHAUD,
        }
    }
}

/// Tries one offset after the other, and uses the one that would have been in time most often.
///
/// When a page has come in, the page whose access asked for it goes into a small table. An access
/// to X tries the next offset d: if X - d is in the table, a prefetch of X at the access to X - d
/// would have been over by now, and d scores. The first to reach `prefetch.bo_score_max`, or the
/// best after `prefetch.bo_round_max` rounds, is used until the next is found; if its score is
/// `prefetch.bo_score_bad` or less, nothing is prefetched meanwhile.
///
/// The paper's degree is 1. A degree of n brings in n multiples of the offset.
pub struct BestOffset {
    offsets: Vec<u64>,
    scores: Vec<u32>,
    /// The offset to try next.
    next: usize,
    rounds: u32,
    /// The offset in use, if any.
    offset: Option<u64>,
    /// Page + 1 at its hash, 0 for nothing.
    recent: Vec<u64>,
    /// Pages that go into the table when what they asked for has come in.
    pending: BinaryHeap<Reverse<(Ps, u64)>>,
    pending_max: usize,
    score_max: u32,
    score_bad: u32,
    round_max: u32,
}

/// The numbers up to `max` without a prime factor above 5 (Michaud).
fn offsets(max: u64) -> Vec<u64> {
    let smooth = |number: &u64| {
        let mut rest = *number;
        for prime in [2, 3, 5] {
            while rest.is_multiple_of(prime) {
                rest /= prime;
            }
        }
        rest == 1
    };
    (1..=max).filter(smooth).collect()
}

impl BestOffset {
    fn place(&self, lpn: u64) -> usize {
        let len = self.recent.len() as u64;
        // Neighbours in different places, and so are pages that are a table's length apart.
        ((lpn ^ (lpn / len)) % len) as usize
    }

    fn is_recent(&self, lpn: u64) -> bool {
        self.recent[self.place(lpn)] == lpn + 1
    }

    /// Takes into the table what has come in by now.
    fn settle(&mut self, now: Ps) {
        while let Some(Reverse((at, lpn))) = self.pending.peek().copied() {
            if at > now {
                break;
            }
            self.pending.pop();
            let place = self.place(lpn);
            self.recent[place] = lpn + 1;
        }
    }

    /// Tries the next offset on an access.
    fn learn(&mut self, lpn: u64) {
        let offset = self.offsets[self.next];
        let mut won = false;
        if lpn
            .checked_sub(offset)
            .is_some_and(|base| self.is_recent(base))
        {
            self.scores[self.next] += 1;
            won = self.scores[self.next] >= self.score_max;
        }
        self.next += 1;
        if self.next == self.offsets.len() {
            self.next = 0;
            self.rounds += 1;
        }
        if won || self.rounds == self.round_max {
            self.choose();
        }
    }

    /// Ends a learning phase. Of equal scores, the smaller offset is taken.
    fn choose(&mut self) {
        let scored = self.scores.iter().zip(&self.offsets);
        let best = scored.max_by_key(|(score, offset)| (**score, Reverse(**offset)));
        let (score, offset) = best.expect("an offset at least");
        self.offset = (*score > self.score_bad).then_some(*offset);
        self.scores.fill(0);
        self.next = 0;
        self.rounds = 0;
    }
}

impl Prefetch for BestOffset {
    const INFO: PolicyInfo = PolicyInfo {
        name: "best-offset",
        meaning: "learns the one offset whose prefetches come in time",
        source: "Michaud, HPCA 2016",
        uses_hits: false,
    };

    const PARAMS: &[Param] = BestOffsetParams::PARAMS;

    fn check(raw: &RawConfig, _is_chosen: bool, _device: u64) -> Result<(), ConfigError> {
        let given = BestOffsetParams::new(raw);
        if given.score_bad >= given.score_max {
            let keys = ["prefetch.bo_score_bad", "prefetch.bo_score_max"];
            let message = "no offset could ever be used; give prefetch.bo_score_bad a smaller \
                           value";
            return Err(raw.impossible(&keys, message));
        }
        Ok(())
    }

    fn build(given: &RawConfig) -> BestOffset {
        let pending_max = given.read::<u32>("mshr.entries") as usize;
        let given = BestOffsetParams::new(given);
        let offsets = offsets(u64::from(given.offset_max));
        BestOffset {
            scores: vec![0; offsets.len()],
            offsets,
            next: 0,
            rounds: 0,
            offset: Some(1),
            recent: vec![0; given.recent as usize],
            pending: BinaryHeap::with_capacity(pending_max),
            pending_max,
            score_max: given.score_max,
            score_bad: given.score_bad,
            round_max: given.round_max,
        }
    }

    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
        self.settle(seen.at);
        let lpn = u64::from(seen.lpn);
        self.learn(lpn);
        if let Some(offset) = self.offset {
            let degree = u64::from(reach.degree);
            (1..=degree).for_each(|step| picks.push(lpn + offset * step));
        }
    }

    fn arrives(&mut self, arrival: Arrival) {
        // While nothing is prefetched, missed pages teach as an offset of 0 would.
        let teaches = arrival.is_prefetch() == self.offset.is_some();
        if teaches && self.pending.len() < self.pending_max {
            self.pending
                .push(Reverse((arrival.at, arrival.cause.into())));
        }
    }
}
