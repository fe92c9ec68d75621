//! The sum of images that have ended, against plain additions of what a test wrote for each.

mod common;

use common::{block, set, write};
use sluice_abi::{Counter, OTHERS_FILE, OTHERS_NEXT, OthersBlock, STATS_VERSION, StatsBlock};
use sluice_model::DeviceConfig;
use sluice_results::{
    Exit, LISTED, Others, Process, Run, fold, has_marks, read_processes, read_rank, read_run,
    remove_image,
};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

const FIRST: u64 = 10;

/// An image that ended in good order if its number is even, by an `exec` unless it is a fork.
fn image(pid: u64, image: u64, traps: u64) -> Box<StatsBlock> {
    let block = block(pid, 1_000 * pid + image);
    set(
        &block,
        &[
            (Counter::Traps, traps),
            (Counter::Misses, traps / 2),
            (Counter::Late, traps / 3),
            (Counter::Evictions, 2 * traps),
            (Counter::DirtyEvictions, traps / 5),
            (Counter::PlacedBytes, 4_096 * traps),
            (Counter::SharedBytes, 64 * traps),
        ],
    );
    block.ended.store(1 - image % 2, Relaxed);
    block.replaced.store(image % 2, Relaxed);
    block.follows.store(u64::from(image > 0), Relaxed);
    block.forked.store(u64::from(pid > FIRST), Relaxed);
    block.started.store(pid, Relaxed);
    for miss in 0..traps / 2 {
        block.modelled.record(1_000 + miss);
        block.achieved.record(3_000 + 2 * miss);
    }
    block
}

/// (Process, image, traps) of three images of the first process and two others.
const IMAGES: [(u64, u64, u64); 5] = [
    (FIRST, 0, 40),
    (FIRST, 1, 7),
    (FIRST, 2, 100),
    (11, 0, 31),
    (12, 1, 3),
];

fn written(dir: &Path) -> Vec<Process> {
    for (pid, number, traps) in IMAGES {
        write(dir, number, &image(pid, number, traps));
    }
    read_processes(dir)
}

fn folded(dir: &Path, images: &[Process]) {
    let images: Vec<_> = images.iter().map(Process::identity).collect();
    fold(dir, &images, Some(FIRST)).unwrap();
}

#[test]
fn a_sum_is_what_its_images_add_up_to() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert!(Others::read(dir).result().is_none());
    let images = written(dir);
    let total = |of: fn((u64, u64, u64)) -> u64| IMAGES.into_iter().map(of).sum::<u64>();
    // In two steps: the second one adds to the first.
    folded(dir, &images[..2]);
    assert_eq!(Others::read(dir).images(), 2);
    assert_eq!(read_processes(dir).len(), 3);
    folded(dir, &images[2..]);
    let others = Others::read(dir);
    assert!(read_processes(dir).is_empty());
    assert_eq!((others.images(), others.own_images()), (5, 3));
    assert_eq!(others.replaced(), total(|(_, image, _)| image % 2));
    assert_eq!(others.execs(), 3, "those that are no forks");
    assert_eq!(others.follows(), total(|(_, image, _)| image.min(1)));
    assert_eq!(others.started(), total(|(pid, _, _)| pid));
    assert_eq!(others.get(Counter::Traps), total(|(_, _, traps)| traps));
    assert_eq!(others.own(Counter::Traps), 147);
    assert_eq!(others.own(Counter::Evictions), 294);
    let result = others.result().unwrap();
    assert_eq!((result.images, result.ended), (5, 3));
    assert_eq!(
        [
            result.traps,
            result.misses,
            result.late,
            result.evictions,
            result.dirty_evictions,
            result.placed_bytes,
            result.shared_bytes
        ],
        [
            181,
            20 + 3 + 50 + 15 + 1,
            13 + 2 + 33 + 10 + 1,
            362,
            8 + 1 + 20 + 6,
            181 * 4_096,
            181 * 64
        ]
    );
    let sum = |of: fn(u64) -> u64| total_of(of) as f64 / 89.0;
    let (modelled, achieved) = (result.latency_ns.modelled, result.latency_ns.achieved);
    assert_eq!((modelled.count, achieved.count), (89, 89));
    assert_eq!(modelled.mean, sum(|miss| 1_000 + miss));
    assert_eq!(achieved.mean, sum(|miss| 3_000 + 2 * miss));
    assert_eq!((modelled.max, achieved.max), (1_049, 3_098));
}

/// The sum of something over the misses of all images.
fn total_of(of: fn(u64) -> u64) -> u64 {
    let misses = IMAGES.map(|(_, _, traps)| (0..traps / 2).map(of).sum::<u64>());
    misses.iter().sum()
}

#[test]
fn a_run_s_sum_is_of_listed_and_others() {
    let dir = tempfile::tempdir().unwrap();
    let images = written(dir.path());
    folded(dir.path(), &images[3..]);
    let config = DeviceConfig::new(&sluice_config::load("cylon").unwrap()).unwrap();
    let processes = read_processes(dir.path());
    let run = Run {
        device: "cylon",
        config: &config,
        seed: 1,
        command: &[],
        trap_mode: "event",
        place: "heap",
        store: "dram",
        live_config: &[],
        exit: Exit::Code(0),
        wall_s: 9.0,
        pid: FIRST,
        processes: &processes,
        others: &Others::read(dir.path()),
    };
    assert_eq!(run.sum(Counter::Traps), 181);
    assert_eq!(run.sum(Counter::HintsCold), 0);
}

/// Half a file, another program's, another version's, one whose images were cut off.
#[test]
fn what_is_no_sum_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let images = written(dir.path());
    folded(dir.path(), &images[..2]);
    let path = dir.path().join(OTHERS_FILE);
    let good = std::fs::read(&path).unwrap();
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Others::read(dir.path()).images()
    };
    assert_eq!(good.len(), (OthersBlock::WORDS + 2 * 3) * 8);
    assert_eq!(read(&good), 2);
    let at = std::mem::offset_of!(OthersBlock, version);
    assert_eq!(good[at..at + 8], STATS_VERSION.to_ne_bytes());
    for spoilt in [
        std::mem::offset_of!(OthersBlock, magic),
        at,
        std::mem::offset_of!(OthersBlock, last),
    ] {
        let mut bytes = good.clone();
        bytes[spoilt] ^= 1;
        assert_eq!(read(&bytes), 0, "byte {spoilt}");
    }
    for len in [0, 8, OthersBlock::WORDS * 8, good.len() - 24] {
        assert_eq!(read(&good[..len]), 0, "{len} bytes");
    }
    assert_eq!(read(&good), 2);
}

/// Files of an image that is in the sum already do not count, and the next step removes them, but
/// not those of a later image of the same name.
#[test]
fn an_image_is_in_the_sum_by_when_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let images = written(dir);
    for kind in ["ring", "guest-ring", "profile", "cmd", "mark0", "mark1"] {
        std::fs::write(dir.join(format!("proc-{FIRST}-0.{kind}")), "x").unwrap();
    }
    assert!(has_marks(dir, FIRST, 0) && !has_marks(dir, FIRST, 1));
    folded(dir, &images[..2]);
    let named = |number: u64| {
        let of_image = format!("proc-{FIRST}-{number}.");
        let entries = std::fs::read_dir(dir).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(&of_image)).count()
    };
    assert_eq!((named(0), named(1)), (0, 0), "all files of an image go");
    // As if a keeper had been killed in between.
    write(dir, 0, &image(FIRST, 0, 40));
    let later = image(FIRST, 1, 7);
    later.started_ns.fetch_add(5, Relaxed);
    write(dir, 1, &later);
    let others = Others::read(dir);
    let has: Vec<bool> = read_processes(dir).iter().map(|p| others.has(p)).collect();
    assert_eq!(has, [false; 4], "what is in the sum is not read again");
    assert!(others.has(&images[0]) && !others.has(&images[2]));
    // One that has gone, or is another one than was meant, cannot be added.
    remove_image(dir, 12, 1);
    folded(dir, &images[1..]);
    assert_eq!((named(0), named(1)), (0, 1));
    let others = Others::read(dir);
    assert_eq!((others.images(), others.get(Counter::Traps)), (4, 178));
    // A folder where the next sum would be written: it stays as it is.
    std::fs::create_dir(dir.join(OTHERS_NEXT)).unwrap();
    assert!(fold(dir, &[images[1].identity()], None).is_err());
    assert_eq!(Others::read(dir).images(), 4);
}

/// Most traps first, then what began first.
#[test]
fn a_run_lists_the_images_with_most_traps() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for (pid, traps) in [(20, 5), (21, 9), (22, 5)] {
        write(dir, 0, &image(pid, 0, traps));
    }
    let rank = |pid| read_rank(dir, pid, 0).unwrap();
    assert!(rank(21) > rank(20) && rank(20) > rank(22));
    assert_eq!(rank(20).identity(), read_processes(dir)[0].identity());
    assert!(read_rank(dir, 23, 0).is_none());
    // One that is not ready has no rank.
    let early = image(23, 0, 1);
    early.magic.store(0, Relaxed);
    write(dir, 0, &early);
    assert!(read_rank(dir, 23, 0).is_none());
    // Of the run's own process the last image is listed, however few traps it has.
    write(dir, 0, &image(FIRST, 0, 0));
    write(dir, 1, &image(FIRST, 1, 0));
    for pid in 100..100 + LISTED as u64 - 3 {
        write(dir, 0, &image(pid, 0, 1_000 + pid));
    }
    let run = read_run(dir, FIRST);
    assert_eq!(run.others.images(), 1);
    assert_eq!(run.others.own_images(), 1);
    let own = run.listed.iter().filter(|of| of.pid == FIRST);
    let own: Vec<_> = own.map(|of| (of.image, of.latencies.is_some())).collect();
    assert_eq!((run.listed.len(), own), (LISTED + 1, vec![(1, true)]));
}
