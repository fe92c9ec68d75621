//! The end of a run: what its devices did, kept and printed.

use super::count::{Counting, From};
use super::{Ended, Look, Ready, Running, SAMPLE_S, Seen, check_entered, profile, summary, warn};
use crate::child::leave;
use crate::error::Error;
use crate::output;
use crate::program;
use crate::result_args::keep;
use sluice_control::home::FIRST;
use sluice_results::{
    Exit, Latencies, LiveRun, OneOfSeveral, ProcessMark, Run, Timeline, to_json, write_config,
};
use std::path::PathBuf;
use std::process::ExitCode;

/// What is known of one device's part in a run that is over.
struct Known {
    pid: u64,
    live_config: Vec<(&'static str, String)>,
    command: Vec<String>,
    ended: Ended,
}

/// The part of a device's run that its figures are of.
struct Part {
    from: From,
    marks: Vec<ProcessMark>,
    latencies: Box<Latencies>,
}

/// Counters over time, of each device.
struct Timelines(Vec<(PathBuf, Timeline)>);

impl Timelines {
    fn new(ready: &Ready<'_>) -> Timelines {
        let folders = ready.all().map(|of| of.session.path().to_owned());
        Timelines(folders.map(|path| (path, Timeline::default())).collect())
    }

    fn of(&self, at: usize) -> &Timeline {
        &self.0[at].1
    }

    fn sample(&mut self, seconds: f64, pid: u64) {
        for (dir, timeline) in &mut self.0 {
            timeline.sample(seconds, dir, pid);
        }
    }
}

impl Known {
    fn new(ready: &Ready<'_>, pid: u64, ended: Ended) -> Known {
        Known {
            pid,
            live_config: ready.live.settings.to_pairs(),
            command: program::words_of(&ready.live.command),
            ended,
        }
    }

    fn run<'b>(&'b self, ready: &'b Ready<'_>) -> Run<'b> {
        let live = &ready.live;
        Run {
            device: &live.args.device.device,
            config: &live.config,
            live_config: &self.live_config,
            seed: live.args.device.seed,
            command: &self.command,
            trap_mode: live.trap.name(),
            place: &live.place_name,
            store: &live.store_name,
            exit: self.ended.exit,
            wall_s: self.ended.wall_s,
            pid: self.pid,
            processes: &self.ended.processes,
            others: &self.ended.others,
        }
    }
}

impl<'a> Ready<'a> {
    /// Waits for the program's end and prints what the devices did; `add` may add to that. It gets
    /// runs and results of all devices, the first one's first.
    pub fn finish(
        mut self,
        running: Running,
        add: impl FnOnce(&[Run<'_>], &mut [LiveRun], &mut Exit),
    ) -> Result<ExitCode, Error> {
        let mut timelines = Timelines::new(&self);
        let (dir, pid) = (self.session.path().to_owned(), running.pid());
        let (started_ns, mut counting) =
            (running.started_ns, Counting::new(&self.live.count_after));
        let (is_kept, mut sampled_s) = (self.folder.is_some(), 0.0);
        let mut look = |seen: Seen| {
            let soon = counting.look(seen, &dir, pid);
            // A look that is later than it was to be stays one.
            let now = seen.seconds;
            if is_kept && (seen.is_over || now >= sampled_s + SAMPLE_S) {
                timelines.sample(now, pid);
                sampled_s = now;
            }
            soon
        };
        let is_watched = is_kept || self.live.count_after.is_some();
        let look = is_watched.then_some(&mut look as &mut Look<'_>);
        let Some(known) = self.await_all(running, look)? else {
            return Ok(ExitCode::from(2));
        };
        let runs: Vec<Run<'_>> = self.all().zip(&known).map(|(r, k)| k.run(r)).collect();
        let mut exit = known[0].ended.exit;
        let (mut results, parts) = self.results(&runs, counting, started_ns)?;
        add(&runs, &mut results, &mut exit);
        self.print_all(&runs, &mut results, &timelines, &parts)?;
        for part in &parts {
            part.from.check(&part.marks)?;
        }
        // Before the end, which may be by a signal.
        drop(self);
        Ok(leave(exit))
    }

    /// Waits for the program's end. Nothing if a library refused its service, and said why.
    fn await_all(
        &mut self,
        running: Running,
        look: Option<&mut Look<'_>>,
    ) -> Result<Option<Vec<Known>>, Error> {
        let pid = running.pid();
        let Some(first) = self.await_end(running, look)? else {
            return Ok(None);
        };
        let (exit, wall_s) = (first.exit, first.wall_s);
        let others = self.beside.iter().map(|of| of.ended(pid, exit, wall_s));
        let Some(others) = others.collect::<Option<Vec<Ended>>>() else {
            return Ok(None);
        };
        let all = std::iter::once(first).chain(others).zip(self.all());
        Ok(Some(
            all.map(|(ended, ready)| Known::new(ready, pid, ended))
                .collect(),
        ))
    }

    /// The results of all devices, from the moment on that is waited for.
    fn results(
        &self,
        runs: &[Run<'_>],
        counting: Counting,
        started_ns: u64,
    ) -> Result<(Vec<LiveRun>, Vec<Part>), Error> {
        let mut counting = Some(counting);
        let (mut results, mut parts) = (Vec::new(), Vec::new());
        for (ready, run) in self.all().zip(runs) {
            if ready.library.is_some() && run.main().is_none() {
                check_entered(run.exit, &ready.live.command)?;
            }
            let mut result = run.result();
            let (live, session) = (&ready.live, ready.session.path());
            if live.profile > 0 {
                result.profile = Some(profile::read(session, live.profile));
            }
            let counting = counting.take().unwrap_or_else(|| Counting::new(&None));
            let marks = counting.marks(session, run);
            let from = counting.from(&marks);
            let latencies = run.part(&mut result, &from.moments(started_ns, &marks));
            results.push(result);
            parts.push(Part {
                from,
                marks,
                latencies: latencies.unwrap_or_default(),
            });
        }
        Ok((results, parts))
    }

    fn print_all(
        &self,
        runs: &[Run<'_>],
        results: &mut [LiveRun],
        timelines: &Timelines,
        parts: &[Part],
    ) -> Result<(), Error> {
        let names = std::iter::once(FIRST).chain(self.beside.iter().map(|of| of.name.as_str()));
        if !self.beside.is_empty() {
            let named = names.clone().zip(&*results).enumerate();
            let each = named.map(|(at, (name, of))| OneOfSeveral::of(name, 1 + at as u64, of));
            results[0].devices = each.collect();
        }
        let mut kept = Ok(());
        for (at, (ready, name)) in self.all().zip(names).enumerate() {
            // Without devices there is one line of the run.
            if !ready.live.is_emulated && at > 0 {
                continue;
            }
            if !self.beside.is_empty() && ready.live.is_emulated {
                errln!("sluice: the device {name}, node {}:", at + 1);
            }
            let (run, result) = (&runs[at], &results[at]);
            let latencies = &parts[at].latencies;
            kept = kept.and(ready.print(run, result, timelines.of(at), latencies, at == 0));
        }
        kept
    }

    fn print(
        &self,
        run: &Run<'_>,
        result: &LiveRun,
        timeline: &Timeline,
        latencies: &Latencies,
        is_first: bool,
    ) -> Result<(), Error> {
        let args = self.live.args;
        let kept = keep(self.folder.as_ref(), |folder| {
            folder.write(
                "config.toml",
                write_config(&self.live.config, args.device.seed),
            )?;
            folder.write("timeline.csv", timeline.to_csv())?;
            folder.write("heat.csv", timeline.heat().to_csv())?;
            folder.write_latencies(&latencies.modelled, &latencies.achieved)?;
            if args.record_traps > 0 {
                folder.write("traps.bin", self.record_of(run.pid)?)?;
            }
            folder.write_stats(result)
        });
        // A result that cannot be kept on disk is printed all the same.
        if args.result.json {
            if is_first {
                output::after_program(to_json(result))?;
            }
        } else if !self.live.is_emulated {
            errln!("sluice: no device was emulated; {:.2} s", run.wall_s);
        } else if !warn::is_unused(run, result) {
            summary::print(run, result, self.live.config.cache.capacity());
        }
        if self.live.is_emulated {
            warn::of_unused(run, result);
            warn::of_run(run);
            warn::of_sampling(result, args.sample_hits);
            warn::of_late(result);
            warn::of_run_delay(result);
            warn::of_late_shared(run);
            warn::of_translator(result);
            // Where the library refused its service it has said so. Each copy counts programs.
            if is_first && !self.session.is_refused() {
                warn::of_programs(run.programs_outside());
            }
        }
        kept
    }
}
