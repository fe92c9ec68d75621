//! Counters that must agree, and the state for the message of a failed test.

use super::Device;

impl Device {
    /// Checks that everything was counted once: accesses, their time, programs, and pages.
    ///
    /// # Errors
    /// The first equation that does not hold, with its numbers.
    pub fn balance(&self) -> Result<(), String> {
        let s = &self.stats;
        let served = s.hits + s.mshr_merges + s.misses + s.write_log.served();
        let written =
            s.dirty_evictions + s.late_write_backs + s.flushes + s.write_log.pages_flushed;
        let written = written + s.write_throughs + s.write_arounds + s.block_writes;
        let written = written + s.migration.programs + s.clean_write_backs;
        let gone = s.evictions + s.command_evictions + s.drops;
        let brought = s.misses - s.write_arounds - s.read_arounds + s.prefetch_issued + s.pin_fills;
        let brought = brought + s.migration.fills;
        let left = s.prefetch_used + s.prefetch_unused;
        // A program that failed was asked for again; only those of collection count as moves.
        let asked = s.host_programs + s.translation_programs + s.gc_moves;
        let programs = s.flash_programs.clamp(asked, asked + s.program_failures);
        let equations = [
            ("accesses", "attributed", s.accesses(), served),
            ("latency", "its parts", s.latency.0, s.parts.total().0),
            (
                "host programs",
                "their reasons",
                s.host_programs + s.writes_refused,
                written,
            ),
            (
                "programs",
                "host, map and collection",
                s.flash_programs,
                programs,
            ),
            ("fills", "their reasons", s.fills, brought),
            ("fills", "cached and gone", s.fills, self.cache.len() + gone),
            (
                "pins",
                "pinned and not",
                s.pins,
                self.cache.pins() + s.unpins + s.pins_dropped,
            ),
            (
                "prefetches",
                "at least used and unused",
                s.prefetch_issued.max(left),
                s.prefetch_issued,
            ),
        ];
        match equations.into_iter().find(|(_, _, a, b)| a != b) {
            Some((one, other, a, b)) => Err(format!("{one} {a} != {other} {b}; {s:?}")),
            None => Ok(()),
        }
    }

    /// The state in words: counters, then the cache's sets.
    pub fn dump(&self) -> String {
        let mut out = format!("at {}, {:?}\n", self.now, self.stats);
        self.cache.dump(&mut out);
        out
    }
}
