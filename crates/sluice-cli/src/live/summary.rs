//! A run in a line or two, where no JSON was asked for.

use super::profile;
use sluice_abi::Counter;
use sluice_model::EVICTIONS;
use sluice_results::{Figures, LiveRun, MissLatency, Process, Run};
use sluice_units::{Bytes, round_bytes};
use std::fmt::Write;

/// Prints what the device did.
pub fn print(run: &Run<'_>, result: &LiveRun, cache: Bytes) {
    // Of a guest's command, if there was one, and not of its boot.
    let (figures, wall_s) = match &result.workload {
        Some(workload) => (&workload.figures, workload.wall_s.unwrap_or_default()),
        None => (&result.figures, result.counted.wall_s),
    };
    of_regions(result);
    errln!("{}", line(figures, wall_s, cache));
    if run.main().is_some() {
        errln!("{}", of_hits(result));
    }
    let profile = result.profile.as_ref().map(profile::text_of);
    for text in [of_shared(run), of_others(run), profile].iter().flatten() {
        errln!("{text}");
    }
}

/// The figures of the program itself, and how long it took.
fn line(figures: &Figures, wall_s: f64, cache: Bytes) -> String {
    let misses = match figures.cache.misses {
        0 => "no misses".to_owned(),
        misses => format!(
            "{misses} misses, {} of them the first of their page",
            figures.cache.counts.first_misses
        ),
    };
    let waits = waits(
        figures.cache.misses,
        &figures.latency_ns,
        figures.late.counts.count,
    );
    let room = match figures.cache.counts.evictions {
        0 if figures.cache.misses > 0 => format!(
            "; the cache was never too full: nothing left its {} (cache.capacity)",
            round_bytes(cache.0)
        ),
        _ => String::new(),
    };
    format!(
        "sluice: {} traps, {misses}{waits}; {} flash reads, {} programs; {wall_s:.2} s{room}",
        figures.traps, figures.flash.counts.reads, figures.flash.counts.programs,
    )
}

/// How long the timed waits took. They are the misses, unless a prefetch or another thread had sent
/// for some of the pages, or a wait began before counting did or ended after it.
fn waits(misses: u64, latency: &MissLatency, late: u64) -> String {
    let of = match latency.achieved.count {
        0 => return String::new(),
        timed if timed == misses => "miss".to_owned(),
        timed => format!("{timed} waits,"),
    };
    format!(
        "; {of} p50 {:.1} us (model {:.1} us), {:.2} % late",
        latency.achieved.p50 as f64 / 1e3,
        latency.modelled.p50 as f64 / 1e3,
        late as f64 * 100.0 / latency.achieved.count as f64,
    )
}

/// The parts of a run between its marks, and which part the figures are of.
fn of_regions(result: &LiveRun) {
    for (at, region) in result.regions.iter().enumerate() {
        let next = result.regions.get(at + 1);
        let next = next.and_then(|next| next.from.as_deref());
        let cache = &region.figures.cache;
        errln!(
            "sluice: from {} to {}: {} traps, {} misses, {} of them the first of their page; \
             {:.2} s",
            region.from.as_deref().unwrap_or("the start"),
            next.unwrap_or("the end"),
            region.figures.traps,
            cache.misses,
            cache.counts.first_misses,
            region.wall_s
        );
    }
    if let (Some(from), Some(after)) = (&result.counted.from, result.counted.from_s) {
        errln!("sluice: what follows counts from {from} on, {after:.2} s after the start");
    }
}

/// What hits take, and what of the device they do not. A program without any has not run on it.
fn of_hits(result: &LiveRun) -> String {
    let times = &result.hit_times;
    let host = match times.host_ns {
        Some(ns) => format!("{ns} ns"),
        None => "time".to_owned(),
    };
    let head = match times.differ {
        Some(true) => "sluice: warning:",
        _ => "sluice:",
    };
    let modelled = times.modelled_ns;
    let mut text = format!("{head} a hit takes this host's {host}, on the device {modelled:.0} ns");
    for (at, of) in result.not_applied.iter().enumerate() {
        let before = if at == 0 {
            "; not applied to hits:"
        } else {
            ","
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{before} {}={}", of.key, of.value);
    }
    let policy = result.config.get("cache.policy").map_or("", String::as_str);
    let goes_by_hits = EVICTIONS
        .iter()
        .any(|e| e.info.name == policy && e.info.uses_hits);
    if goes_by_hits && result.figures.cache.sampled.is_none() {
        let _ = write!(
            text,
            "; cache.policy={policy} sees no hits (--sample-hits shows it some)"
        );
    }
    text
}

/// What the device of memory that processes share did, if there was one.
fn of_shared(result: &Run<'_>) -> Option<String> {
    let shared = result.processes.iter().find(|p| p.shared_memory)?;
    let (latency, misses) = (shared.latency(), shared.get(Counter::Misses));
    Some(format!(
        "sluice: the device of shared memory: {} traps, {misses} misses{}; {:.1} MiB placed",
        shared.get(Counter::Traps),
        waits(misses, &latency, shared.get(Counter::Late)),
        shared.get(Counter::PlacedBytes) as f64 / f64::from(1 << 20),
    ))
}

/// What the other processes of a run did, and what the program was before, by `exec`. A script does
/// nothing itself.
fn of_others(result: &Run<'_>) -> Option<String> {
    let main = result.main().map(|main| (main.pid, main.image));
    let others = result.processes.iter();
    let others = others.filter(|p| Some((p.pid, p.image)) != main && !p.shared_memory);
    let sum = |of: Counter| {
        let listed = others.clone().map(|p: &Process| p.get(of));
        listed.sum::<u64>() + result.others.get(of)
    };
    let traps = sum(Counter::Traps);
    (traps > 0).then(|| {
        let misses = sum(Counter::Misses);
        format!("sluice: its other processes: {traps} traps, {misses} misses (--json has more)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_stats::Summary;

    /// `29 misses .. 68 % late` was of 200 waits, most of them for pages on their way.
    #[test]
    fn the_share_that_is_late_names_what_it_is_of() {
        let waits = |misses, timed, late| {
            let summary = |p50| Summary {
                count: timed,
                p50,
                ..Summary::default()
            };
            let latency = MissLatency {
                modelled: summary(40_000),
                achieved: summary(41_000),
            };
            super::waits(misses, &latency, late)
        };
        let times = "p50 41.0 us (model 40.0 us)";
        assert_eq!(waits(50, 50, 5), format!("; miss {times}, 10.00 % late"));
        assert_eq!(
            waits(29, 200, 136),
            format!("; 200 waits, {times}, 68.00 % late")
        );
        assert_eq!(waits(0, 4, 1), format!("; 4 waits, {times}, 25.00 % late"));
        assert_eq!(waits(3, 0, 0), "");
    }
}
