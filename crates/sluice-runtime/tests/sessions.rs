//! Nearly valid session files: what is taken is written and read again to the same, and what is
//! not is refused in a line that names the key.

use sluice_abi::SESSION_FILE;
use sluice_model::DeviceConfig;
use sluice_runtime::{BUILD, OnDevice, Session, SessionError, Trap};
use sluice_testkit::alloc::CountingAlloc;
use sluice_testkit::mutate::{any, each, reaches, seed, text};
use sluice_units::Rng;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

#[global_allocator]
static ALLOC: CountingAlloc = CountingAlloc;

/// What reading a text may allocate: so much, and so much for each of its bytes.
const FEW_BYTES: u64 = 1 << 20;
const BYTES_PER_BYTE: u64 = 64;

/// What `sluice run` could say, but for the folder.
fn session(place: OnDevice, trap: Trap, pairs: &[(&str, &str)]) -> Session {
    let mut text = format!("live.build={BUILD}\n");
    for (key, value) in pairs {
        text += &format!("{key}={value}\n");
    }
    let mut session = Session::parse(Path::new("/"), &text).expect("valid settings");
    (session.place, session.trap) = (place, trap);
    session
}

/// The file that is written for a session. What it says is that session.
fn saved(session: &Session, dir: &Path) -> String {
    let dir = dir.to_path_buf();
    let file = dir.join(SESSION_FILE);
    let session = Session {
        dir,
        ..session.clone()
    };
    let _ = std::fs::remove_file(&file);
    session.save().expect("room");
    let back = Session::load(&session.dir).expect("what it wrote itself");
    assert_eq!(format!("{session:?}"), format!("{back:?}"));
    std::fs::read_to_string(&file).expect("what was written")
}

fn valid(dir: &Path) -> Vec<String> {
    let path = |bytes| OnDevice::Dax(OsStr::from_bytes(bytes).into());
    let numbers = [
        ("live.seed", "18446744073709551615"),
        ("live.mmap_min", "131072"),
        ("live.record", "1000000"),
        ("live.sample_ns", "5000"),
        ("live.handlers", "4"),
        ("live.ring", "1"),
        ("live.ring_poll_ns", "1000000"),
    ];
    let settings = [
        ("device.capacity", "64MiB"),
        ("cache.capacity", "12.5%"),
        ("cache.policy", "lirs"),
        ("prefetch.policy", "nextn"),
        ("prefetch.degree", "4"),
    ];
    let sessions = [
        session(OnDevice::Heap, Trap::Event, &[]),
        session(OnDevice::Heap, Trap::Signal, &numbers),
        session(
            path(b"/dev/shm/a\nlive.seed=9 %41 %\xff"),
            Trap::Event,
            &settings,
        ),
    ];
    let whole = sessions.iter().map(|session| saved(session, dir));
    // What a text says nothing of keeps its default, and the device has files of its own.
    let own = |text: &String| {
        let lines = text
            .split_inclusive('\n')
            .filter(|line| line.starts_with("live."));
        lines.collect()
    };
    whole.flat_map(|text| [own(&text), text]).collect()
}

/// A text with a change that is one of these files only, and some of any text's.
fn changed(rng: &mut Rng, valid: &[&str]) -> String {
    let mut mutant = (*any(rng, valid)).to_owned();
    let lines: Vec<&str> = mutant.lines().collect();
    let (key, value) = any(rng, &lines).split_once('=').expect("a valid line");
    let (_, others) = any(rng, &lines).split_once('=').expect("a valid line");
    let long = "k".repeat(1 << rng.below(14));
    let with = match rng.below(12) {
        0 => format!("{key}={others}"),
        1 => format!("{key}={value}%0a"),
        2 => format!("{key}=%0alive.seed=1"),
        3 => format!("{key}=%ff{value}%"),
        4 => format!("{key}\n={value}"),
        5 => format!("{long}={value}"),
        6 => format!("live.{long}={value}"),
        7 => format!("{key}={long}"),
        8 => format!("{key}={}", "9".repeat(1 << rng.below(5))),
        9 => format!("{key}={key}={value}"),
        10 => long,
        _ => format!("{key}={value}"),
    };
    let line = format!("{key}={value}\n");
    mutant = mutant.replacen(&line, &(with + "\n"), 1);
    match rng.below(4) {
        0 => text(rng, &[&mutant]),
        1 => mutant,
        _ => text(rng, valid),
    }
}

/// Reads a text, and says what it allocated for.
fn parsed(dir: &Path, text: &str) -> Result<Session, SessionError> {
    let before = ALLOC.counts();
    let parsed = Session::parse(dir, text);
    let after = ALLOC.counts();
    let bytes =
        after.touched_bytes + after.zeroed_bytes - before.touched_bytes - before.zeroed_bytes;
    let most = FEW_BYTES + BYTES_PER_BYTE * text.len() as u64;
    assert!(bytes <= most, "{bytes} bytes for a text of {}", text.len());
    parsed
}

/// Whether a message is one line that names a key: one of the text's, one there is, or the build.
fn names_its_key(message: &str, text: &str) -> bool {
    let keys = DeviceConfig::builder().to_pairs();
    let mut keys = keys.iter().map(|(key, _)| *key);
    let given = |line: &str| {
        let key = line.split_once('=').map_or(line, |(key, _)| key);
        let named = message.contains(key) || message.contains(&key.escape_debug().to_string());
        named && (!key.is_empty() || message.contains("``"))
    };
    let is_a_line = !message.contains(char::is_control);
    let names_key = keys.any(|key| message.contains(key)) || text.lines().any(given);
    is_a_line && (message.contains(BUILD) || names_key)
}

#[test]
fn session_files() {
    let mut rng = Rng::stream(seed(), "session files");
    let dir = tempfile::tempdir().expect("room");
    let valid = valid(dir.path());
    let valid: Vec<&str> = valid.iter().map(String::as_str).collect();
    let count = sluice_testkit::cases(2_000);
    let run = |text: &String| {
        let session = match parsed(dir.path(), text) {
            Ok(session) => session,
            Err(error) => {
                let message = error.to_string();
                assert!(names_its_key(&message, text), "{message}");
                return false;
            }
        };
        saved(&session, dir.path());
        true
    };
    let taken = each(count, || changed(&mut rng, &valid), run);
    reaches("session files", taken, count, 20);
}

/// The runtime's own do not count where the program's threads are counted.
#[test]
fn the_threads_of_the_runtime_are_the_service_its_handlers_and_the_rings_server() {
    let with = |trap, handlers: &str, ring: &str| {
        let pairs = [("live.handlers", handlers), ("live.ring", ring)];
        session(OnDevice::Heap, trap, &pairs).threads()
    };
    assert_eq!(with(Trap::Event, "1", "0"), 2);
    assert_eq!(with(Trap::Event, "4", "1"), 6);
    assert_eq!(with(Trap::Signal, "4", "0"), 0);
    assert_eq!(with(Trap::Signal, "4", "1"), 1);
}
