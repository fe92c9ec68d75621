//! The files of an output folder, read back.

use hdrhistogram::serialization::Deserializer;
use sluice_results::{
    CurveLoad, CurveResult, Executed, Folder, KeptCommand, KernelProgram, Moment, Program,
    TraceProgram, image_name, image_of, version,
};
use sluice_stats::{Histogram, Summary};
use sluice_units::Ps;
use std::collections::BTreeMap;
use std::path::Path;

fn folder(dir: &Path) -> Folder {
    Folder::create(&dir.join("out"), false, &KeptCommand::default()).unwrap()
}

fn text(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join("out").join(name)).unwrap()
}

/// The rows of a CSV by the names of its columns.
fn rows(text: &str) -> Vec<BTreeMap<&str, f64>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let cells = line.split(',').map(|cell| cell.parse().unwrap());
            names.iter().copied().zip(cells).collect()
        })
        .collect()
}

#[test]
fn a_timeline_has_every_figure_of_every_moment() {
    let dir = tempfile::tempdir().unwrap();
    let moment = |n: u64| Moment {
        t_s: n as f64 * 0.5,
        instructions: 10 * n,
        accesses: 20 * n,
        flash: 30 * n,
        switches: 40 * n,
        promotions: 50 * n,
        programs: 60 * n,
    };
    let moments: Vec<Moment> = (1..4).map(moment).collect();
    let folder = folder(dir.path());
    folder.write_timeline("timeline.csv", &moments).unwrap();
    let text = text(dir.path(), "timeline.csv");
    assert!(text.starts_with("t_s,accesses,flash,"), "{text}");
    let rows = rows(&text);
    assert_eq!(rows.len(), 3);
    for (row, n) in rows.iter().zip([1.0, 2.0, 3.0]) {
        let wanted = [
            ("t_s", 0.5),
            ("instructions", 10.0),
            ("accesses", 20.0),
            ("flash", 30.0),
            ("switches", 40.0),
            ("promotions", 50.0),
            ("programs", 60.0),
        ];
        assert_eq!(*row, wanted.map(|(name, of)| (name, of * n)).into());
    }
}

#[test]
fn distributions_are_read_back_as_they_were_counted() {
    let dir = tempfile::tempdir().unwrap();
    let (mut modelled, mut achieved) = (Histogram::default(), Histogram::default());
    modelled.record_n(Ps::from_ns(200), 990);
    modelled.record_n(Ps::from_us(50), 10);
    achieved.record_n(Ps::from_us(3), 5);
    let folder = folder(dir.path());
    folder.write_latencies(&modelled, &achieved).unwrap();
    for (name, count, p50, max) in [
        ("latency_modelled.hdr", 1_000, 200, 50_000),
        ("latency_achieved.hdr", 5, 3_000, 3_000),
    ] {
        let bytes = std::fs::read(dir.path().join("out").join(name)).unwrap();
        let read = Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]);
        let read = read.unwrap();
        assert_eq!(read.len(), count, "{name}");
        let near = |ours: u64, wanted: u64| ours.abs_diff(wanted) * 100 <= wanted;
        assert!(near(read.value_at_quantile(0.5), p50), "{name}");
        assert!(near(read.max(), max), "{name}");
    }
    let read = |text: &str| -> u64 { rows(text).iter().map(|row| row["modelled"] as u64).sum() };
    assert_eq!(read(&text(dir.path(), "latency.csv")), 1_000);
    let pairs = [(100, 2), (5_000, 7)];
    folder.write_distribution("flash_read.csv", &pairs).unwrap();
    let told = text(dir.path(), "flash_read.csv");
    assert_eq!(told, "latency_ns,count\n100,2\n5000,7\n");
}

#[test]
fn a_folder_is_of_one_run_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let one = folder(dir.path());
    let other = Folder::create(&dir.path().join("out"), true, &KeptCommand::default()).unwrap_err();
    assert!(other.to_string().contains("another run"), "{other}");
    drop(one);
    folder(dir.path());
}

#[test]
fn a_program_says_how_large_it_is_whatever_it_is() {
    let kernel = KernelProgram {
        kernel: "bfs".to_owned(),
        seed: 1,
        threads: 3,
        footprint_bytes: 30,
        rounds: 1,
        checked: false,
        parameters: BTreeMap::new(),
    };
    let trace = TraceProgram {
        trace: "a file".to_owned(),
        command: "a program".to_owned(),
        filter: None,
        threads: 4,
        footprint_bytes: 40,
    };
    let executed = Executed {
        threads: 5,
        footprint_bytes: 50,
        ..Executed::default()
    };
    for (program, threads) in [
        (Program::Kernel(kernel), 3),
        (Program::Trace(trace), 4),
        (Program::Executed(executed), 5),
    ] {
        assert_eq!(program.threads(), threads);
        assert_eq!(program.footprint_bytes(), 10 * threads);
    }
}

/// Bytes a second and the median of the dependent loads, ns.
fn load(bytes_per_s: f64, p50: Option<f64>) -> CurveLoad {
    CurveLoad {
        pace_ns: 0.0,
        bytes_per_s,
        accesses: 1,
        time_s: 1.0,
        misses: None,
        latency_ns: None,
        hit_latency_ns: None,
        miss_latency_ns: None,
        chase_latency_ns: p50.map(|p50| Summary {
            p50,
            ..Summary::default()
        }),
        hash: None,
    }
}

#[test]
fn a_knee_has_the_most_bandwidth_for_its_latency() {
    let loads = |all: &[(f64, f64)]| -> Vec<CurveLoad> {
        let each = all.iter().map(|(rate, p50)| load(*rate, Some(*p50)));
        each.collect()
    };
    let rising = loads(&[(10.0, 1.0), (30.0, 2.0), (40.0, 8.0)]);
    assert_eq!(CurveResult::knee_of(&rising), Some(1));
    assert_eq!(CurveResult::knee_of(&rising[..1]), None);
    assert_eq!(CurveResult::knee_of(&rising[..2]), Some(1));
    let mut some = rising.clone();
    some[2] = load(40.0, None);
    assert_eq!(CurveResult::knee_of(&some), None);
}

#[test]
fn a_version_is_the_package_s() {
    assert_eq!(version(), env!("CARGO_PKG_VERSION"));
    let parts: Vec<Result<u32, _>> = version().split('.').map(str::parse).collect();
    assert!(
        parts.len() == 3 && parts.iter().all(Result::is_ok),
        "{parts:?}"
    );
}

#[test]
fn a_file_of_statistics_says_whose_it_is() {
    for (pid, image) in [(1, 0), (4_194_304, 12), (7, u64::MAX)] {
        let name = image_name(pid, image);
        assert_eq!(image_of(name.as_ref()), Some((pid, image)), "{name}");
    }
    for name in [
        "proc-1.stats",
        "proc-1-2",
        "1-2.stats",
        "proc-1-x.stats",
        "proc--1-2.stats",
    ] {
        assert_eq!(image_of(name.as_ref()), None, "{name}");
    }
}
