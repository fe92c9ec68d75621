//! The program, its command and the keeper of its session are killed at any moment, in any order.

use super::await_it;
use crate::sluice::{Running, Sluice, TRAPS};
use sluice_control::home::{Home, session_name, sessions};
use std::ffi::CString;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rounds of kills: `SLUICE_KILL_ROUNDS` asks for more.
const ROUNDS: u32 = 30;
/// A program is well under way by then.
const LATEST_US: u64 = 120_000;

/// The processes that a process has started, itself not among them.
fn children(of: i32) -> Vec<i32> {
    let path = format!("/proc/{of}/task/{of}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|p| p.parse().ok())
        .collect()
}

fn kill(pid: i32) {
    // SAFETY: no pointers; started by this test a moment ago, so that nobody else has the number.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Starts a program, and kills it, its command and its keeper, or some of them.
fn round(dice: &mut Dice) -> i32 {
    let run = Sluice::run("event")
        .set("device.capacity", "64MiB")
        .cache("1MiB");
    let running = Running::start(&mut run.prepare(["sleep", "60"]));
    let command = running.id();
    std::thread::sleep(Duration::from_micros(dice.below(LATEST_US)));
    let mut all = children(command);
    all.push(command);
    // Any order, and any number of them.
    for at in (1..all.len()).rev() {
        all.swap(at, dice.below(at as u64 + 1) as usize);
    }
    all.truncate(1 + dice.below(all.len() as u64) as usize);
    for pid in all {
        kill(pid);
        std::thread::sleep(Duration::from_micros(dice.below(2_000)));
    }
    // Only a keeper may be left: it has a group of its own, and ends by itself.
    running.signal_group(libc::SIGKILL);
    running.finish();
    command
}

/// The sessions of some commands.
fn left(commands: &[i32]) -> Vec<PathBuf> {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let pid = name.and_then(|name| name.split('-').next()?.parse().ok());
        pid.is_some_and(|pid| commands.contains(&pid))
    };
    let all = sessions().into_iter().map(|session| session.path);
    all.filter(is_ours).collect()
}

/// A file that looks like a session that was left, and is no session.
fn decoys() -> Vec<PathBuf> {
    assert!(Sluice::run("event").program(["true"]).status.success());
    let home = Home::own().into_iter().next().expect("a home").path;
    let own = std::process::id();
    let decoys = [
        home.join(format!("sluice-{}-0", own + (1 << 30))),
        home.join(session_name(1 << 30, u64::from(own) << 8)),
    ];
    for path in &decoys {
        std::fs::create_dir(path).expect("room");
        std::fs::write(path.join("proc-1073741824-0.stats"), "mine").expect("room");
    }
    decoys.into()
}

#[test]
fn kills_leave_nothing_that_the_next_start_does_not_clean() {
    let asked = std::env::var("SLUICE_KILL_ROUNDS").ok();
    let rounds = asked.map_or(ROUNDS, |text| text.parse().expect("a number of rounds"));
    let decoys = decoys();
    let mut dice = Dice(0x5eed_5eed_5eed_5eed);
    let mut commands = Vec::new();
    let mut found = 0;
    for _ in 0..rounds {
        commands.push(round(&mut dice));
        found += usize::from(!left(&commands).is_empty());
    }
    let before = left(&commands).len();
    assert!(Sluice::run("event").program(["true"]).status.success());
    let after = left(&commands).len();
    await_it("sessions are left", || left(&commands).is_empty());
    assert!(found > 0, "no round left a session");
    println!(
        "{rounds} rounds: a session was left after {found} of them, {before} at the end, {after} \
         right after the next start, none a moment later"
    );
    for path in decoys {
        assert!(path.join("proc-1073741824-0.stats").exists(), "{path:?}");
        std::fs::remove_dir_all(&path).expect("ours");
    }
}

/// Programs that a script starts while its keeper is killed.
const PROGRAMS: u64 = 40;
/// Rounds of that: each runs to the end of its program.
const WHOLE_ROUNDS: u32 = 4;

/// A pipe with a name, which the end of this test's folder takes away.
fn named_pipe(path: &Path) -> File {
    let name = CString::new(path.as_os_str().as_bytes()).expect("no zero in it");
    // SAFETY: a string that ends.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0, "{path:?}");
    // Open both ways, so that it waits for nobody at the other end.
    let both = File::options().read(true).write(true).open(path);
    both.expect("a pipe of our own")
}

/// Whether a process is a session's keeper.
fn is_keeper(pid: i32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0)
        .any(|word| word == b"keep-session")
}

/// Whether a process has ended, be it that nobody has asked for its status yet.
fn has_ended(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map_or("X", |(_, rest)| rest);
    state.starts_with(['Z', 'X'])
}

/// The program is right, each of its processes is counted once, one warning says what happened, and
/// nothing stays. The program waits at its end for the kill, which a fast machine would else miss.
#[test]
fn a_run_whose_keeper_is_killed_goes_on_and_is_whole() {
    let asked = std::env::var("SLUICE_KILL_ROUNDS").ok();
    let rounds = asked.map_or(WHOLE_ROUNDS, |text| text.parse().expect("rounds"));
    let mut dice = Dice(0x0dd_ba11);
    let dir = tempfile::TempDir::new().expect("room");
    let pipe = dir.path().join("killed");
    let mut killed = named_pipe(&pipe);
    let script = format!(
        "n=0; while [ $n -lt {PROGRAMS} ]; do /bin/true || exit 3; n=$((n+1)); done; \
         read word < {} && echo $word",
        pipe.display()
    );
    for _ in 0..rounds {
        let run = Sluice::run("event")
            .set("device.capacity", "64MiB")
            .cache("1MiB");
        let running = Running::start(&mut run.prepare(["sh", "-c", &script]));
        let command = running.id();
        let session = running.await_session();
        await_it("no program", || session.join("view").exists());
        std::thread::sleep(Duration::from_micros(dice.below(LATEST_US)));
        let keeper = children(command).into_iter().find(|pid| is_keeper(*pid));
        let keeper = keeper.expect("a keeper");
        kill(keeper);
        // It dies in its own time, and the command looks for it when the program ends.
        await_it("the keeper lives", || has_ended(keeper));
        killed.write_all(b"well\n").expect("room");
        let out = running.finish();
        assert!(out.status.success(), "{out:#?}");
        assert!(out.own_stdout().ends_with("well\n"), "{out:#?}");
        let listed = out.json()["processes"].as_array().map_or(0, Vec::len);
        assert_eq!(listed as u64, PROGRAMS + 1, "{out:#?}");
        let warned = out.stderr.matches("the keeper of this session").count();
        assert_eq!(warned, 1, "{out:#?}");
        assert!(!session.exists(), "{out:#?}");
    }
}

/// The child of a fork gave up its own lock on the session as soon as it had it.
#[test]
fn a_forked_child_alone_keeps_its_session() {
    for trap in TRAPS {
        let script = "import os, time; os.fork(); time.sleep(60)";
        let run = Sluice::run(trap).prepare(["/usr/bin/python3", "-c", script]);
        let running = Running::start(&mut { run });
        let session = running.await_session();
        let has_two = || {
            let entries = session.read_dir().into_iter().flatten().flatten();
            entries
                .filter(|e| e.path().extension() == Some("stats".as_ref()))
                .count()
                == 2
        };
        await_it("no child", has_two);
        let command = running.id();
        let of_command = children(command);
        let forked: Vec<i32> = of_command.iter().flat_map(|&pid| children(pid)).collect();
        assert_eq!(forked.len(), 1, "{of_command:?}");
        for pid in of_command.into_iter().chain([command]) {
            kill(pid);
        }
        let lock = session.join("lock");
        let is_free = || File::open(&lock).is_ok_and(|file| file.try_lock().is_ok());
        let is_running = || Path::new(&format!("/proc/{}", forked[0])).exists();
        // The killed ones are gone when only the child has the device.
        std::thread::sleep(Duration::from_millis(200));
        assert!(is_running() && !is_free(), "{trap}: {:?}", session.exists());
        kill(forked[0]);
        await_it("the lock stays", || !session.exists() || is_free());
        running.finish();
    }
}
