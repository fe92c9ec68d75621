//! What each logical device of an endpoint has served, and how long its share of the bandwidth was
//! used.

use super::gaps::Gaps;
use sluice_units::Ps;

/// A logical device's share.
#[derive(Clone, Default)]
struct Share {
    /// When it can take the next request.
    free: Ps,
    /// Time that it was busy or is reserved.
    busy: Ps,
    gaps: Gaps,
    /// Accesses of the memory, and how many of them are still to come.
    accesses: u64,
    to_come: u64,
}

/// The logical devices of an endpoint.
pub(super) struct Shares {
    /// Time of a packet's data at the share of the bandwidth, if there is a limit.
    gap: Option<Ps>,
    each: Vec<Share>,
}

impl Shares {
    /// Of so many logical devices with `bandwidth` MB/s together, for packets with so many bytes of
    /// data.
    pub fn new(count: u32, bandwidth: Option<u64>, payload: u32) -> Shares {
        let bytes = u64::from(count) * u64::from(payload) * 1_000_000;
        Shares {
            gap: bandwidth.map(|mb_s| Ps(bytes.div_ceil(mb_s))),
            each: vec![Share::default(); count as usize],
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.each.len()
    }

    /// Whether bandwidth has a limit.
    pub fn are_limited(&self) -> bool {
        self.gap.is_some()
    }

    /// What was counted before is dropped, but for what is to come.
    pub fn begin(&mut self, now: Ps) {
        for share in &mut self.each {
            share.accesses = share.to_come;
            share.busy = share.gaps.reserved(now, share.free);
        }
    }

    /// A logical device is accessed.
    #[inline]
    pub fn count_access(&mut self, logical: u8) {
        self.each[usize::from(logical)].accesses += 1;
    }

    /// Accesses that a logical device served since the counting began.
    pub fn accesses(&self, logical: u8) -> u64 {
        let share = &self.each[usize::from(logical)];
        share.accesses - share.to_come
    }

    /// What is to come is noted anew.
    pub fn forget_to_come(&mut self) {
        self.each.iter_mut().for_each(|share| share.to_come = 0);
    }

    /// An access was counted that is served at `at`.
    pub fn note_to_come(&mut self, now: Ps, at: Ps, logical: u8) {
        self.each[usize::from(logical)].to_come += u64::from(at > now);
    }

    /// How long each share was used until `now`, since the counting began.
    pub fn busy(&self, now: Ps) -> impl Iterator<Item = Ps> {
        let each = self.each.iter();
        each.map(move |share| share.busy - share.gaps.reserved(now, share.free))
    }

    /// It is `now`: when a request that is ready at `at` has its turn, if that is a matter of
    /// bandwidth.
    #[inline]
    pub fn turn(&mut self, [now, at]: [Ps; 2], logical: u8) -> Option<Ps> {
        let gap = self.gap?;
        let share = &mut self.each[usize::from(logical)];
        let mine = at.max(share.free);
        share.gaps.note(now, share.free, mine);
        share.free = mine + gap;
        share.busy += gap;
        Some(mine)
    }
}
