//! What coherence costs, counted.

/// What an agent did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DcohCount {
    /// Requests that read or own, and writes that snoop.
    pub requests: u64,
    /// Requests whose line had an entry.
    pub hits: u64,
    /// Requests that found the filter full.
    pub waits_for_entry: u64,
    /// Entries that had to leave.
    pub evictions: u64,
    /// Snoops sent for that; a block is one for each owner.
    pub eviction_snoops: u64,
    /// Snoops sent because of what another host holds.
    pub conflict_snoops: u64,
    /// Conflict handshakes that requesters began.
    pub conflicts: u64,
    /// Lines written back by owners.
    pub write_backs: u64,
    /// Clean lines that hosts gave up and notified the device of.
    pub clean_evictions: u64,
}

/// What a host's cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCount {
    /// Accesses that needed nobody.
    pub hits: u64,
    /// Accesses that did not find their line, or not so that they may write it.
    pub misses: u64,
    /// Misses that are stores to a shared copy.
    pub upgrades: u64,
    /// Snoops received; a block is one.
    pub snoops: u64,
    /// Lines taken away by snoops.
    pub invalidated: u64,
    /// Lines that left for others.
    pub evictions: u64,
    /// Dirty lines sent back, for whatever reason.
    pub write_backs: u64,
}

impl std::ops::AddAssign for DcohCount {
    fn add_assign(&mut self, other: DcohCount) {
        self.requests += other.requests;
        self.hits += other.hits;
        self.waits_for_entry += other.waits_for_entry;
        self.evictions += other.evictions;
        self.eviction_snoops += other.eviction_snoops;
        self.conflict_snoops += other.conflict_snoops;
        self.conflicts += other.conflicts;
        self.write_backs += other.write_backs;
        self.clean_evictions += other.clean_evictions;
    }
}

impl std::ops::AddAssign for CacheCount {
    fn add_assign(&mut self, other: CacheCount) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.upgrades += other.upgrades;
        self.snoops += other.snoops;
        self.invalidated += other.invalidated;
        self.evictions += other.evictions;
        self.write_backs += other.write_backs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_one_by_one() {
        let counted = |by: u64| DcohCount {
            requests: by,
            hits: 2 * by,
            waits_for_entry: 3 * by,
            evictions: 4 * by,
            eviction_snoops: 5 * by,
            conflict_snoops: 6 * by,
            conflicts: 7 * by,
            write_backs: 8 * by,
            clean_evictions: 9 * by,
        };
        let mut sum = counted(10);
        sum += counted(7);
        assert_eq!(sum, counted(17));
        let counted = |by: u64| CacheCount {
            hits: by,
            misses: 2 * by,
            upgrades: 3 * by,
            snoops: 4 * by,
            invalidated: 5 * by,
            evictions: 6 * by,
            write_backs: 7 * by,
        };
        let mut sum = counted(10);
        sum += counted(7);
        assert_eq!(sum, counted(17));
    }
}
