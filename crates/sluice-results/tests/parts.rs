//! A live run in parts, its pages by heat, and what it started, from statistics that a test wrote.

mod common;

use common::{block, set, write};
use sluice_abi::{
    Counter, HEAT_PAGES, OF_SHARED_MEMORY, StatsBlock, heat_at, heat_len, mark_words, view_bytes,
};
use sluice_model::DeviceConfig;
use sluice_results::{
    DeviceParts, Exit, Figures, HitTimes, Moments, Process, ProcessMark, Run, Timeline, read_heat,
    read_marks, read_processes, read_run,
};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

const PID: u64 = 10;

fn config(device: &str) -> DeviceConfig {
    DeviceConfig::new(&sluice_config::load(device).unwrap()).unwrap()
}

fn run<'a>(config: &'a DeviceConfig, processes: &'a [Process]) -> Run<'a> {
    Run {
        device: "cylon",
        config,
        seed: 1,
        command: &[],
        trap_mode: "event",
        place: "heap",
        store: "dram",
        live_config: &[],
        exit: Exit::Code(0),
        wall_s: 9.0,
        pid: PID,
        processes,
        others: Box::leak(Box::default()),
    }
}

/// Brings a block to so many traps, half of them misses of so many nanoseconds.
fn goes_on(block: &StatsBlock, traps: u64, ns: u64) {
    let before = block.get(Counter::Misses);
    set(
        block,
        &[(Counter::Traps, traps), (Counter::Misses, traps / 2)],
    );
    for _ in before..traps / 2 {
        block.modelled.record(ns);
        block.achieved.record(ns);
    }
}

fn mark(dir: &Path, image: u64, number: u32, block: &StatsBlock, at_s: u64, name: &str) {
    let words = mark_words(block, at_s * 1_000_000_000, 0, name);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let path = dir.join(format!("proc-{PID}-{image}.mark{number}"));
    std::fs::write(path, bytes).unwrap();
}

/// A run from second 1 to second 10. Marks: `load` at 3, `reset` at 4, `end` at 6, with 10, 26 and
/// 46 traps; 100 at the end. The misses of each part take as many µs as the part's number.
fn marked(dir: &Path, image: u64) -> Vec<ProcessMark> {
    let block = block(PID, 1_000_000_000);
    let marks = [(10, 3, "load"), (26, 4, "reset"), (46, 6, "end")];
    for (number, (traps, at_s, name)) in (0..).zip(marks) {
        goes_on(&block, traps, 1_000 * (u64::from(number) + 1));
        mark(dir, image, number, &block, at_s, name);
    }
    goes_on(&block, 100, 4_000);
    write(dir, image, &block);
    read_marks(dir, read_run(dir, PID).listed.last().unwrap())
}

fn in_parts<'a>(
    marks: &'a [ProcessMark],
    after: Option<&'a str>,
    from: Option<usize>,
) -> Moments<'a> {
    Moments {
        started_ns: 1_000_000_000,
        marks,
        after,
        from: from.map(|number| &marks[number]),
    }
}

#[test]
fn the_regions_of_a_run_add_up_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let marks = marked(dir.path(), 0);
    let (config, processes) = (config("cylon"), read_run(dir.path(), PID).listed);
    let run = run(&config, &processes);
    let mut result = run.result();
    run.part(&mut result, &in_parts(&marks, None, None));
    let told: Vec<_> = result
        .regions
        .iter()
        .map(|region| {
            let figures = &region.figures;
            let latency = figures.latency_ns.modelled;
            let part = (region.from.as_deref(), region.from_s, region.wall_s);
            (
                part,
                figures.traps,
                figures.cache.misses,
                latency.count,
                latency.mean,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ((None, 0.0, 2.0), 10, 5, 5, 1_000.0),
            ((Some("load"), 2.0, 1.0), 16, 8, 8, 2_000.0),
            ((Some("reset"), 3.0, 2.0), 20, 10, 10, 3_000.0),
            ((Some("end"), 5.0, 4.0), 54, 27, 27, 4_000.0),
        ]
    );
}

#[test]
fn a_run_counts_from_its_last_reset_after_what_was_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let marks = marked(dir.path(), 0);
    let (config, processes) = (config("cylon"), read_run(dir.path(), PID).listed);
    let run = run(&config, &processes);
    for (after, from, name, from_s, traps) in [
        (None, None, Some("reset"), Some(3.0), 74),
        (Some("load"), Some(0), Some("reset"), Some(3.0), 74),
        (Some("end"), Some(2), Some("end"), Some(5.0), 54),
        // It was waited for and did not come: all counts.
        (Some("never"), None, Some("never"), None, 100),
    ] {
        let mut result = run.result();
        let latencies = run.part(&mut result, &in_parts(&marks, after, from));
        let counted = &result.counted;
        assert_eq!((counted.from.as_deref(), counted.from_s), (name, from_s));
        assert_eq!(counted.wall_s, 9.0 - from_s.unwrap_or(0.0));
        assert_eq!((result.figures.traps, result.regions.len()), (traps, 4));
        let latencies = latencies.expect("of the run");
        assert_eq!(latencies.modelled.count(), traps / 2);
        assert_eq!(latencies.achieved.count(), traps / 2);
    }
    let mut whole = run.result();
    run.part(&mut whole, &in_parts(&[], None, None)).unwrap();
    assert_eq!((whole.regions, whole.counted.from), (Vec::new(), None));
    assert_eq!((whole.figures.traps, whole.counted.wall_s), (100, 9.0));
}

/// The image of a mark became another one: what that did came after the mark.
#[test]
fn an_image_that_began_after_a_mark_counts_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let marks = marked(dir.path(), 0);
    let next = block(PID, 7_000_000_000);
    goes_on(&next, 12, 9_000);
    write(dir.path(), 1, &next);
    let (config, processes) = (config("cylon"), read_run(dir.path(), PID).listed);
    let run = run(&config, &processes);
    let mut result = run.result();
    let latencies = run.part(&mut result, &in_parts(&marks, None, None));
    assert_eq!((result.figures.traps, result.regions.len()), (12, 0));
    assert_eq!(result.counted.from.as_deref(), Some("reset"));
    assert_eq!(latencies.unwrap().modelled.count(), 6);
}

/// Quotients of counters that were chosen so that each differs from every other one.
#[test]
fn the_figures_of_a_run_are_quotients_of_its_counters() {
    let dir = tempfile::tempdir().unwrap();
    let block = block(PID, 1);
    set(
        &block,
        &[
            (Counter::Misses, 6),
            (Counter::SoftTraps, 4),
            (Counter::FirstMisses, 1),
            (Counter::PrefetchIssued, 8),
            (Counter::PrefetchUsed, 4),
            (Counter::PrefetchLate, 1),
            (Counter::Late, 3),
            (Counter::FlashPrograms, 15),
            (Counter::HostPrograms, 10),
        ],
    );
    for (nth, (_, part)) in (1..).zip(Counter::PARTS) {
        set(&block, &[(part, nth * 50_000)]);
    }
    (0..12).for_each(|_| block.achieved.record(1_000));
    write(dir.path(), 0, &block);
    let (config, processes) = (config("cylon"), read_run(dir.path(), PID).listed);
    let Figures {
        cache,
        late,
        flash,
        latency_parts_ns: parts,
        ..
    } = run(&config, &processes).figures();
    assert_eq!((cache.hits, cache.misses), (4, 6));
    assert_eq!(cache.hit_ratio, Some(0.4));
    assert_eq!(cache.reuse_hit_ratio, Some(4.0 / 9.0));
    assert_eq!(cache.prefetch_accuracy, Some(0.5));
    assert_eq!(cache.prefetch_coverage, Some(0.4));
    assert_eq!(cache.prefetch_timeliness, Some(0.75));
    assert_eq!(late.ratio, Some(0.25));
    assert_eq!(flash.write_amplification, Some(1.5));
    let told: Vec<_> = parts.named().collect();
    let wanted = (1..).zip(Counter::PARTS);
    let wanted: Vec<_> = wanted
        .map(|(nth, (key, _))| (key, Some(f64::from(nth) * 5.0)))
        .collect();
    assert_eq!(told, wanted);
    let json = serde_json::to_value::<DeviceParts>(parts).unwrap();
    for (key, value) in told {
        assert_eq!(json[key].as_f64(), value, "{key}");
    }
}

/// Pages that are inactive and used again are hits; first misses count in one ratio alone.
#[test]
fn samples_count_what_was_used_again_and_what_came_first() {
    let dir = tempfile::tempdir().unwrap();
    let block = block(PID, 1);
    let (samples, window_ns) = (300, 2_000_000);
    set(
        &block,
        &[
            (Counter::SampledPages, samples),
            (Counter::SampledTouched, 36),
            (Counter::SampledMapped, samples * 50),
            (Counter::SampledWindowNs, samples * window_ns),
            (Counter::LastTrapNs, 500 * window_ns),
            (Counter::Misses, 1_000),
            (Counter::FirstMisses, 250),
            (Counter::Reactivated, 500),
        ],
    );
    write(dir.path(), 0, &block);
    let (config, processes) = (config("cylon"), read_run(dir.path(), PID).listed);
    let told = run(&config, &processes).figures().cache.sampled.unwrap();
    let near = |ours: f64, wanted: f64| assert!((ours - wanted).abs() < 1e-9, "{told:?}");
    near(told.cached_pages_used_per_window, 7.0);
    near(told.misses_per_window.unwrap(), 2.0);
    near(told.hit_ratio.unwrap(), 7.0 / 9.0);
    near(told.reuse_hit_ratio.unwrap(), 7.0 / 8.5);
}

/// A hit of CMM-H takes 602.56 ns, a fifth of which is 120.5 ns.
#[test]
fn a_host_differs_from_a_device_by_more_than_a_fifth() {
    let config = config("cmm-h");
    for (host_ns, differ) in [
        (0, None),
        (400, Some(true)),
        (490, Some(false)),
        (720, Some(false)),
        (750, Some(true)),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let block = block(PID, 1);
        set(&block, &[(Counter::HitNs, host_ns)]);
        write(dir.path(), 0, &block);
        let processes = read_run(dir.path(), PID).listed;
        let HitTimes {
            host_ns: told,
            differ: does,
            modelled_ns,
        } = run(&config, &processes).result().hit_times;
        assert_eq!(modelled_ns, 602.56);
        assert_eq!((told, does), ((host_ns > 0).then_some(host_ns), differ));
    }
}

/// What is written of a large device are some of its ranges; the rest of the file is a hole.
#[test]
fn heat_is_read_from_where_it_was_written_alone() {
    let dir = tempfile::tempdir().unwrap();
    let pages = HEAT_PAGES * 40_000 - 3;
    let block = block(PID, 1);
    block.pages.store(pages, Relaxed);
    write(dir.path(), 0, &block);
    let path = dir.path().join(format!("proc-{PID}-0.stats"));
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(view_bytes(pages) as u64).unwrap();
    let start = heat_at(pages) as u64;
    // The map before it and what follows do not belong to it.
    file.write_all_at(&[7; 8], start - 8).unwrap();
    let end = start + heat_len(pages) as u64 * 4;
    file.write_all_at(&[7; 8], end).unwrap();
    let wanted: Vec<(u64, u32)> = [0, 1, 1_023, 1_024, 9_000, 16_383, 16_384, 16_385, 33_000]
        .into_iter()
        .chain(20_000..20_700)
        .chain([39_998, 39_999])
        .map(|range| (range, range as u32 * 3 + 1))
        .collect();
    for (range, misses) in &wanted {
        let at = start + range * 4;
        file.write_all_at(&misses.to_ne_bytes(), at).unwrap();
    }
    let mut wanted = wanted;
    wanted.sort_unstable();
    assert_eq!(read_heat(dir.path(), PID, 0), wanted);
    assert_eq!(read_heat(dir.path(), PID, 1), []);
}

/// A row of the map is a range of pages, and a column what came since the one before.
#[test]
fn a_map_of_misses_names_pages_and_times() {
    let dir = tempfile::tempdir().unwrap();
    let pages = HEAT_PAGES * 10;
    let block = block(PID, 1);
    block.pages.store(pages, Relaxed);
    write(dir.path(), 0, &block);
    let path = dir.path().join(format!("proc-{PID}-0.stats"));
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(view_bytes(pages) as u64).unwrap();
    let missed = |range: u64, misses: u32| {
        let at = heat_at(pages) as u64 + range * 4;
        file.write_all_at(&misses.to_ne_bytes(), at).unwrap();
    };
    let mut timeline = Timeline::default();
    missed(2, 5);
    timeline.sample(0.25, dir.path(), PID);
    missed(2, 6);
    missed(9, 7);
    timeline.sample(1.5, dir.path(), PID);
    assert_eq!(
        timeline.heat().to_csv().lines().collect::<Vec<_>>(),
        [
            "from_s,to_s,first_page,pages,misses",
            "0.000,0.250,128,64,5",
            "0.250,1.500,128,64,1",
            "0.250,1.500,576,64,7",
        ]
    );
}

/// A program image, and what became of it.
#[derive(Clone, Copy)]
struct Image {
    pid: u64,
    image: u64,
    started: u64,
    forked: u64,
    replaced: u64,
}

const MAIN: Image = Image {
    pid: PID,
    image: 0,
    started: 0,
    forked: 0,
    replaced: 0,
};
const STARTED_ONE: Image = Image { started: 1, ..MAIN };
const CHILD: Image = Image { pid: 11, ..MAIN };
const COPY: Image = Image { forked: 1, ..CHILD };

/// What happened, the programs that left no statistics, and the statistics.
const OUTSIDE: &[(&str, u64, &[Image])] = &[
    ("nothing was started", 0, &[MAIN]),
    (
        "three were started, two came",
        1,
        &[
            Image { started: 3, ..MAIN },
            CHILD,
            Image { pid: 12, ..MAIN },
        ],
    ),
    (
        "a copy is nothing that was started",
        1,
        &[STARTED_ONE, COPY],
    ),
    (
        "shared memory is no process",
        1,
        &[
            STARTED_ONE,
            Image {
                forked: OF_SHARED_MEMORY,
                ..CHILD
            },
        ],
    ),
    (
        "it became one without statistics",
        1,
        &[Image {
            replaced: 1,
            ..MAIN
        }],
    ),
    (
        "a copy became a program, which nobody started otherwise",
        1,
        &[
            STARTED_ONE,
            Image {
                replaced: 1,
                ..COPY
            },
            Image { image: 1, ..CHILD },
        ],
    ),
    (
        "what follows is a copy of a later process with its number",
        1,
        &[
            MAIN,
            Image {
                replaced: 1,
                ..COPY
            },
            Image { image: 1, ..COPY },
        ],
    ),
    ("more came than were started", 0, &[MAIN, CHILD]),
];

#[test]
fn programs_outside_are_those_that_left_no_statistics() {
    for (what, outside, images) in OUTSIDE {
        let dir = tempfile::tempdir().unwrap();
        for image in *images {
            let block = block(image.pid, image.pid * 10 + image.image);
            block.started.store(image.started, Relaxed);
            block.forked.store(image.forked, Relaxed);
            block.replaced.store(image.replaced, Relaxed);
            let is_before = |of: &&Image| (of.pid, of.image + 1) == (image.pid, image.image);
            let before = images.iter().find(is_before);
            let follows = image.forked == 0 && before.is_some_and(|before| before.replaced == 1);
            block.follows.store(u64::from(follows), Relaxed);
            write(dir.path(), image.image, &block);
        }
        let (config, processes) = (config("cylon"), read_processes(dir.path()));
        let run = run(&config, &processes);
        assert_eq!(run.programs_outside(), *outside, "{what}");
        assert_eq!(run.result().host.programs_outside, *outside, "{what}");
    }
}
