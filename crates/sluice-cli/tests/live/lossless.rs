//! Nothing is lost: programs that check all they have written, over memory four times the cache.

use crate::sluice::{Outcome, Running, Sluice, TRAPS, finish};
use serde_json::Value;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Seconds for each backing and trap mode; `SLUICE_SOAK_SECONDS=60` is the whole minute.
fn seconds() -> u64 {
    let given = std::env::var("SLUICE_SOAK_SECONDS");
    given.map_or(6, |text| text.parse().expect("a number of seconds"))
}

const CACHE: &str = "8MiB";
const SIZE: u64 = 32 << 20;

fn no_mismatch(trap: &str, out: Outcome) {
    let out = out.evicted();
    let line = out.own_stdout().lines().last().unwrap_or_default();
    let report: Value = serde_json::from_str(line).expect("the workload's own report");
    let count = |name: &str| report[name].as_u64().expect(name);
    let (checked, written) = (count("words_checked"), count("words_written"));
    println!("{trap}: {checked} words checked, {written} written");
    assert_eq!(count("mismatches"), 0, "{trap}");
    assert!(
        checked > SIZE / 8 && written > SIZE / 8,
        "{trap}: too little was done"
    );
    assert!(out.number("/cache/dirty_evictions") > SIZE / 4096);
}

fn soak(trap: &str, more: &[&str], file: &str) {
    let sluice = Sluice::run(trap).cache(CACHE).args(more);
    let seconds = seconds();
    let flags = format!("pattern --json --threads 8 --size {SIZE} --seconds {seconds} {file}");
    no_mismatch(trap, sluice.workload(&flags));
}

#[test]
fn eight_threads_on_the_heap() {
    TRAPS.iter().for_each(|trap| soak(trap, &[], ""));
}

#[test]
fn eight_threads_with_four_handlers() {
    soak("event", &["--handlers", "4"], "");
}

#[test]
fn eight_threads_on_a_device_file() {
    for trap in TRAPS {
        let builder = tempfile::Builder::new();
        let file = builder.tempfile_in("/dev/shm").expect("a file in memory");
        file.as_file().set_len(SIZE).expect("room");
        let path = file.path().to_str().expect("plain letters");
        let place = format!("dax:{path}");
        soak(trap, &["--place", &place], &format!("--file {path}"));
    }
}

/// What was written to the device is in the file afterwards, and an earlier run's is found again.
#[test]
fn a_device_file_keeps_what_was_written() {
    let script = "
import mmap, sys
path, mode = sys.argv[1:]
with open(path, 'r+b') as file, mmap.mmap(file.fileno(), 0) as memory:
    for page in range(len(memory) // 4096):
        value = (page * 2654435761 % 2**32).to_bytes(4, 'little') * 1024
        if mode == 'write':
            memory[page * 4096:(page + 1) * 4096] = value
        elif memory[page * 4096:(page + 1) * 4096] != value:
            sys.exit(f'page {page} is wrong')
";
    let builder = tempfile::Builder::new();
    let file = builder.tempfile_in("/dev/shm").expect("a file in memory");
    file.as_file().set_len(8 << 20).expect("room");
    let path = file.path().to_str().expect("plain letters");
    let program = |mode| ["python3", "-c", script, path, mode];
    let place = ["--place".to_owned(), format!("dax:{path}")];
    let live = |trap, mode| {
        let sluice = Sluice::run(trap).cache("2MiB").args(&place);
        sluice.program(program(mode))
    };
    assert!(live("event", "write").status.success());
    let plain = finish(Command::new("python3").args(&program("check")[1..]));
    assert!(plain.status.success(), "{plain:#?}");
    let again = live("event", "check");
    assert!(again.status.success(), "{again:#?}");
}

/// A Redis server, plain or under Sluice, with its socket in `folder`.
fn redis(folder: &Path, sluice: Option<Sluice>) -> Option<Running> {
    let name = "redis-server";
    let flags = ["--port", "0", "--unixsocket", "redis.sock", "--save", ""];
    Command::new(name).arg("--version").output().ok()?;
    let mut command = match sluice {
        Some(sluice) => sluice.prepare([name].iter().chain(&flags)),
        None => Command::new(name),
    };
    if command.get_program() == name {
        command.args(flags);
    }
    let running = Running::start(command.current_dir(folder));
    // Its socket is there before it listens.
    let listens = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        UnixStream::connect(folder.join("redis.sock")).is_ok()
    });
    assert!(listens, "redis does not start");
    Some(running)
}

/// The load generator, which checks every value that it reads.
fn load(folder: &Path, flags: &str) -> Value {
    let socket = folder.join("redis.sock");
    let all = format!("workload redis --json --records 20000 --connections 8 {flags} --socket");
    let mut command = Sluice::command();
    let out = finish(command.args(all.split_whitespace()).arg(socket));
    assert!(out.status.success(), "{flags}: {out:#?}");
    let report = out.json();
    assert_eq!(
        (&report["errors"], &report["mismatches"]),
        (&0.into(), &0.into())
    );
    report
}

/// The whole of it: load, traffic with a background save in the middle, every value checked, and
/// the saved file loaded by a Redis that knows nothing of the device.
#[test]
fn redis_saves_and_a_plain_one_loads() {
    for trap in TRAPS {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let Some(server) = redis(path, Some(Sluice::run(trap).cache(CACHE))) else {
            println!("not tested: there is no redis-server");
            return;
        };
        let report = load(path, "--phase all --mix A --ops 40000 --bgsave-at 0.5");
        assert_eq!(report["bgsave"]["status"], "ok", "{trap}");
        assert!(report["values_checked"].as_u64() > Some(20_000));
        server.signal_group(libc::SIGTERM);
        let out = server.finish();
        assert!(out.number("/cache/evictions") > 1_000, "{out:#?}");
        assert_eq!(out.number("/host/forks"), 1);
        let _ = std::fs::remove_file(path.join("redis.sock"));
        let plain = redis(path, None).expect("it started before");
        let report = load(path, "--phase verify --mix A");
        assert_eq!(report["values_checked"], 20_000, "{trap}");
        plain.signal_group(libc::SIGTERM);
        plain.finish();
    }
}
