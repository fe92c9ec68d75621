//! A ring that somebody fills with nonsense, settings out of all proportion, and a server that is
//! not there.

use super::rig::{PAGES, Rig, cached};
use crate::sluice::{Sluice, stop};
use sluice_abi::{Completion, Request, Status, Text};
use sluice_control::Connection;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Whatever is written into a ring, the device goes on, and so do its other clients.
#[test]
fn a_ring_full_of_nonsense() {
    let mut rig = Rig::start("event", &[]);
    rig.tell(&format!("write 0 {PAGES}"));
    let place = sluice_control::DeviceFiles::of_process(rig.pid as u32).expect("a ring");
    let (before, misses) = (cached(&rig), rig.counter("misses"));
    let mut state = 1u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..200 {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(&place.ring)
            .expect("our own");
        // All of the last channel: its counts, its entries.
        let bytes: Vec<u8> = (0..8320).map(|_| next() as u8).collect();
        std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 64 + 7 * 8320).expect("room");
        // The bell gets nonsense, too.
        let bell = (round as u32).to_ne_bytes();
        std::os::unix::fs::FileExt::write_all_at(&file, &bell, 32).expect("room");
        if round % 50 == 0 {
            assert_eq!(rig.counter("misses"), misses, "it still answers");
        }
    }
    assert!(cached(&rig) == before, "nothing well-formed was in there");
    rig.tell(&format!("read 0 {PAGES}"));
    rig.quit();
}

fn connection(rig: &Rig) -> Connection {
    let place = sluice_control::DeviceFiles::of_process(rig.pid as u32).expect("a ring");
    Connection::open(place).expect("a channel")
}

fn set(to: &mut Connection, pairs: &str) -> Completion {
    let text = Text::new(pairs).expect("a short text");
    to.call(Request::Set(text)).expect("an answer")
}

const HUGE: [&str; 4] = [
    "prefetch.markov_pages=268435456",
    "prefetch.markov_followers=64",
    "prefetch.policy=markov",
    "prefetch.degree=4",
];

/// 70 GB were allocated by the ring's thread, which never came back from the attempt; the program
/// could not be ended by SIGTERM for as long.
#[test]
fn a_setting_out_of_proportion_is_refused_and_the_program_can_be_ended() {
    let mut rig = Rig::start("event", &[]);
    let answer = set(&mut connection(&rig), &HUGE.join(" "));
    assert_eq!(answer.status, Status::Refused);
    for part in [
        "prefetch.markov_pages = 268435456",
        "at most 64 is accepted",
    ] {
        assert!(answer.text.as_str().contains(part), "{answer:?}");
    }
    rig.tell(&format!("write 0 {PAGES}"));
    let out = rig.ctl_outcome(&[&["set"][..], &HUGE].concat());
    assert_eq!(out.status.code(), Some(1), "{out:#?}");
    // SAFETY: our own child.
    unsafe { libc::kill(rig.child.id() as i32, libc::SIGTERM) };
    let status = rig.child.wait().expect("our own child");
    assert_eq!(status.signal(), Some(libc::SIGTERM), "{status}");
}

/// What a running device refuses is refused at the start by one line.
#[test]
fn a_device_out_of_proportion_is_refused_at_the_start() {
    let mut command = crate::sluice::Sluice::command();
    command.arg("run");
    HUGE.iter().for_each(|pair| {
        command.args(["--set", pair]);
    });
    command.args(["--set", "device.capacity=1GiB", "--", "true"]);
    crate::bad_input::refused(&mut command, &["prefetch.markov_pages", "at most 64"]);
}

/// Each switch took address space that was never given back: a guest could end its emulator by
/// asking for one after the other.
#[test]
fn policies_come_and_go_without_end() {
    // The library then sets 4 GiB aside for itself. The tables of two switches take some 15 MiB.
    const ADDRESSES: libc::rlim_t = 15 << 29;
    let limit = libc::rlimit {
        rlim_cur: ADDRESSES,
        rlim_max: ADDRESSES,
    };
    let limited = move || {
        // SAFETY: a live structure.
        match unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    let settings = [("cache.capacity", "900MiB")];
    // SAFETY: the call is allowed between fork and exec.
    let rig = Rig::start_by("event", &settings, |command| unsafe {
        command.pre_exec(limited)
    });
    let mut connection = connection(&rig);
    for n in 0..700 {
        let policy = ["cache.policy=lirs", "cache.policy=arc"][n % 2];
        assert_eq!(set(&mut connection, policy).status, Status::Done, "{n}");
    }
    assert_eq!(rig.counter("tunes"), 700);
    rig.quit();
}

/// A command to a process that was stopped ends, and says what may be wrong. It waited longer for a
/// channel than for an answer: 5 s instead of 2.
#[test]
fn a_stopped_process_is_not_waited_for_without_end() {
    let rig = Rig::start("event", &[]);
    stop(rig.pid as i32);
    let mut took = (0..5).map(|_| {
        let began = Instant::now();
        let out = rig.ctl_outcome(&["stats"]);
        assert_eq!(out.status.code(), Some(2), "{out:#?}");
        assert!(out.stderr.contains("stopped"), "{out:#?}");
        began.elapsed()
    });
    assert!(took.any(|time| time < Duration::from_secs(5)));
    // SAFETY: the program of our own child.
    unsafe { libc::kill(rig.pid as i32, libc::SIGCONT) };
    rig.quit();
}

/// A program that cut its own files ended root's command by a SIGBUS, without a word.
#[test]
fn a_command_whose_files_are_cut_says_so() {
    let mut rig = Rig::start("event", &[]);
    let place = sluice_control::DeviceFiles::of_process(rig.pid as u32).expect("a ring");
    // The command waits for its answer at the ring.
    stop(rig.pid as i32);
    let mut command = Sluice::command();
    command.args(["ctl", &rig.pid.to_string(), "stats"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let asking = command.spawn().expect("a command that starts");
    let maps = format!("/proc/{}/maps", asking.id());
    let ring = place.ring.to_str().expect("plain letters");
    let began = Instant::now();
    while !std::fs::read_to_string(&maps).is_ok_and(|maps| maps.contains(ring)) {
        assert!(began.elapsed() < Duration::from_secs(100), "no ring");
        std::thread::yield_now();
    }
    let file = std::fs::OpenOptions::new().write(true).open(&place.ring);
    file.expect("our own").set_len(0).expect("a shorter file");
    let out = asking.wait_with_output().expect("its end");
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{told}");
    assert!(told.contains("became shorter"), "{told}");
    // SAFETY: the program of our own child.
    unsafe { libc::kill(rig.pid as i32, libc::SIGKILL) };
    let _ = rig.child.wait();
}
