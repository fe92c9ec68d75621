//! A program that writes and checks memory from four threads, while commands and hints come from
//! outside, one a millisecond after the other has ended: no wrong word, and no memory that grows.
//!
//! `SLUICE_SOAK_SECONDS` is how long it takes in each mode and with each store.

use crate::sluice::{Running, Sluice, TRAPS};
use sluice_abi::{Operation, Range, Request, Text};
use sluice_control::{Connection, DeviceFiles};
use sluice_units::Rng;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const PAGE: u64 = 4096;
const MEMORY: u64 = 32 << 20;
const POLICIES: [&str; 6] = ["fifo", "lru", "clock", "s3fifo", "arc", "lirs"];
const SETTINGS: [&str; 5] = [
    "prefetch.policy=nextn",
    "prefetch.policy=none",
    "prefetch.sequential=16",
    "cache.pin_max=10%",
    "cache.pin_max=50%",
];

/// The longest round, s. A command that takes minutes is ended, as one that hangs.
const ROUND: u64 = 120;

fn seconds() -> u64 {
    let given = std::env::var("SLUICE_SOAK_SECONDS").ok();
    given.map_or(30, |text| text.parse().expect("a number of seconds"))
}

/// Some pages of the program's memory, and something to be done with them.
fn pages(rng: &mut Rng) -> Request {
    const ALL: [Operation; 9] = [
        Operation::Pin,
        Operation::Unpin,
        Operation::Prefetch,
        Operation::Evict,
        Operation::Flush,
        Operation::Cold,
        Operation::Sequential,
        Operation::Random,
        Operation::Normal,
    ];
    let operation = ALL[rng.below(ALL.len() as u64) as usize];
    // Pins and advice are taken back everywhere.
    let is_all = matches!(operation, Operation::Unpin | Operation::Normal);
    let (start, count) = match is_all {
        true => (0, MEMORY / PAGE),
        false => (rng.below(MEMORY / PAGE - 64), 1 + rng.below(64)),
    };
    let range = Range {
        start: start * PAGE,
        len: count * PAGE,
        is_address: false,
    };
    Request::Pages(operation, range)
}

fn command(rng: &mut Rng) -> Request {
    let set = |text: &str| Request::Set(Text::new(text).expect("a short text"));
    match rng.below(10) {
        0 => set(&format!("cache.policy={}", POLICIES[rng.below(6) as usize])),
        1 => set(SETTINGS[rng.below(5) as usize]),
        2 => Request::Stats,
        _ => pages(rng),
    }
}

/// Waits until the program commands its device by a ring.
fn connect(running: &Running) -> Connection {
    let started = Instant::now();
    loop {
        let place = DeviceFiles::of_process(running.id() as u32);
        if let Ok(connection) = place.and_then(Connection::open) {
            return connection;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "no ring");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Resident memory of a process, bytes; nothing once it has ended.
fn resident(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE).filter(|bytes| *bytes > 0)
}

/// What was seen of a program from outside.
#[derive(Default, Debug)]
struct Seen {
    commands: u64,
    /// The most resident memory in the second and in the last quarter of the time, bytes.
    resident: [u64; 2],
}

/// Sends one command after the other until the program's time is nearly over.
fn trouble(running: &Running, seconds: u64, rng: &mut Rng) -> Seen {
    let mut connection = connect(running);
    let pid = connection.view().stats().pid.load(Ordering::Relaxed) as u32;
    let (started, time) = (Instant::now(), Duration::from_secs(seconds));
    let mut seen = Seen::default();
    while started.elapsed() < time {
        if connection.call(command(rng)).is_err() {
            break;
        }
        seen.commands += 1;
        let quarter = started.elapsed().as_secs_f64() / time.as_secs_f64() * 4.0;
        let at = match quarter as u32 {
            1 => Some(0),
            3 => Some(1),
            _ => None,
        };
        if let Some((at, bytes)) = at.zip(resident(pid)) {
            seen.resident[at] = seen.resident[at].max(bytes);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    seen
}

/// One round of so many seconds.
fn round(trap: &str, is_stored: bool, seconds: u64, rng: &mut Rng) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = match is_stored {
        true => format!("file:{}", folder.path().display()),
        false => "dram".to_owned(),
    };
    let run = Sluice::run(trap)
        .cache("4MiB")
        .set("nand.read", "10us")
        .set("cache.inactive", "10%")
        .args(["--control", "on", "--store", &store]);
    let sluice = env!("CARGO_BIN_EXE_sluice");
    let (size, time) = (MEMORY.to_string(), (seconds + 1).to_string());
    let words = [sluice, "workload", "pattern", "--threads", "4"];
    let more = ["--size", &size, "--seconds", &time];
    let running = Running::start(&mut run.prepare(words.into_iter().chain(more)));
    let seen = trouble(&running, seconds, rng);
    let out = running.finish().evicted();
    assert!(out.own_stdout().contains(" 0 wrong"), "{out:#?}");
    let what = format!("{trap}, stored: {is_stored}, {seconds} s: {seen:?}");
    println!("{what}");
    assert!(seen.commands > 20 * seconds, "{what}");
    let [early, late] = seen.resident;
    assert!(
        early > 0 && late <= early + early / 20 + (2 << 20),
        "{what}"
    );
}

#[test]
fn memory_stays_right_and_flat_under_commands() {
    let mut rng = Rng::stream(11, "soak");
    let mut left = seconds();
    while left > 0 {
        let time = left.min(ROUND);
        left -= time;
        for trap in TRAPS {
            for is_stored in [false, true] {
                round(trap, is_stored, time, &mut rng);
            }
        }
    }
}
