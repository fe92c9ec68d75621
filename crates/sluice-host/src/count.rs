//! What a host counts.

use super::artifact::Artifact;
use super::core::Core;
use super::phase::Mark;
use super::stats::{CoreTime, HostStats, LevelStats, Sample};
use super::system::Host;
use sluice_model::Stats;
use sluice_units::Ps;

impl<A: Artifact> Host<'_, A> {
    /// Counting begins here.
    pub fn reset(&mut self) {
        self.began = self.now;
        for core in &mut self.cores {
            core.stats = Default::default();
            core.misses.waiting.forget(self.now);
        }
        for (core, spent) in self.cores.iter().zip(&mut self.spent) {
            // What is left of a switch is to come.
            (spent.switching, spent.idle) = (spent.since - self.now, Ps::ZERO);
            if core.thread.is_none() {
                spent.since = self.now;
            }
        }
        if self.artifact.compacts_first() {
            self.memory.compact_log();
        }
        self.l3.stats = LevelStats::default();
        self.l3.waiting.forget(self.now);
        self.memory.reset_stats();
        self.device_began = self.device_stats();
        (self.switches, self.shootdowns) = (0, 0);
        self.sampled = self.totals();
        // In the midst of a phase unless nothing has happened yet.
        let begins = self.now == Ps::ZERO;
        if !begins {
            // Of all events, with where counting began.
            self.hash.word(self.now.0);
        }
        self.phase.forget(begins.then(|| self.mark()));
        self.marks.clear();
    }

    /// What was counted in all, with what was up to each mark.
    pub fn finish(&mut self) -> HostStats {
        HostStats {
            marks: std::mem::take(&mut self.marks),
            ..self.results()
        }
    }

    /// All threads are at a barrier, or have ended: a phase is over, and the next begins.
    pub(super) fn end_phase(&mut self) {
        self.phase.end(self.mark(), self.program.phase());
    }

    /// Counters that phases are measured by.
    fn mark(&self) -> Mark {
        let [hits, misses] = match &self.port {
            Some(port) => port.looked_up,
            None => {
                let device = self.memory.device().stats();
                [device.hits, device.misses + device.mshr_merges]
            }
        };
        Mark {
            at: self.now,
            instructions: self.totals().instructions,
            requests: self.memory.stats().requests,
            hits,
            misses,
        }
    }

    /// The device's counters; of one behind a port, its owner's business, nothing.
    fn device_stats(&self) -> Stats {
        match self.port {
            Some(_) => Stats::default(),
            None => *self.memory.device().stats(),
        }
    }

    /// Ends stretches of the timeline of so much time that are over.
    pub fn sample(&mut self, every: Ps) {
        while self.until().saturating_sub(self.sampled.at) >= every {
            let totals = Sample {
                at: self.sampled.at + every,
                ..self.totals()
            };
            let before = std::mem::replace(&mut self.sampled, totals);
            self.timeline.push(totals.since(&before, self.began));
        }
    }

    /// Up to when the time of the run counts.
    fn until(&self) -> Ps {
        self.ended.unwrap_or(self.now)
    }

    /// Counts since counting began.
    pub(super) fn totals(&self) -> Sample {
        let requests = &self.memory.stats().requests;
        Sample {
            at: self.now,
            instructions: self.cores.iter().map(|core| core.stats.instructions).sum(),
            accesses: requests.total(),
            flash: requests.device_read_misses,
            switches: self.switches,
            promotions: self.memory.stats().migration.promotions,
            programs: match &self.port {
                Some(port) => port.programs,
                None => self.memory.device().stats().flash_programs,
            },
        }
    }

    /// The counts since counting began. They have no device's counters if the host's device is
    /// behind a port.
    pub fn results(&self) -> HostStats {
        let now = self.until();
        let time = now.saturating_sub(self.began);
        let sum = |of: fn(&Core<A>) -> u64| self.cores.iter().map(of).sum();
        let mut levels = [LevelStats::default(), LevelStats::default(), self.l3.stats];
        for core in &self.cores {
            levels[0].add(&core.stats.levels[0]);
            levels[1].add(&core.stats.levels[1]);
            levels[0].mshr_wait += core.misses.waiting.upto(now);
        }
        levels[2].mshr_wait = self.l3.waiting.upto(now);
        let mut memory = self.memory.stats().clone();
        memory.migration.shootdowns = self.shootdowns;
        HostStats {
            instructions: sum(|core| core.stats.instructions),
            loads: sum(|core| core.stats.loads),
            stores: sum(|core| core.stats.stores),
            time,
            until: now,
            cores: self.core_time(now, time),
            levels,
            tlb_misses: sum(|core| core.stats.tlb_misses),
            switches: self.switches,
            squashed: sum(|core| core.stats.squashed),
            memory,
            device: self.device_stats().since(&self.device_began),
            timeline: self.timeline.clone(),
            phases: self.phase.told.clone(),
            marks: Vec::new(),
            hash: self.hash.value(),
        }
    }

    /// Where the time of the cores went: what is neither computation, switching nor idle is
    /// memory.
    fn core_time(&self, now: Ps, time: Ps) -> CoreTime {
        let mut total = CoreTime::default();
        for (core, spent) in self.cores.iter().zip(&self.spent) {
            let mut idle = spent.idle;
            if core.thread.is_none() {
                idle += now.saturating_sub(spent.since);
            }
            let idle = idle.min(time);
            let left = spent.since - now;
            let switching = (spent.switching - left).min(time.saturating_sub(idle));
            let busy = time.saturating_sub(idle).saturating_sub(switching);
            let compute = core.compute().min(busy);
            total.idle += idle;
            total.switching += switching;
            total.compute += compute;
            total.memory += busy.saturating_sub(compute);
        }
        total
    }
}
