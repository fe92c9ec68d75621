//! A program that flushes again and again, or its command, is killed at any moment.

use super::{Rig, is_whole, kill, programs};
use crate::sluice::{Running, TRAPS};
use sluice_control::home::sessions;
use sluice_units::Rng;
use std::time::Duration;

/// Rounds of kills: `SLUICE_KILL_ROUNDS` asks for more.
const ROUNDS: u64 = 12;
/// By then the program has flushed some times, and pages are written back all the while.
const LATEST_US: u64 = 250_000;

/// The last generation of which msync said that it is durable.
pub(super) fn flushed(rig: &Rig) -> u64 {
    let log = std::fs::read_to_string(rig.path("log")).unwrap_or_default();
    log.lines()
        .last()
        .map_or(0, |line| line.parse().expect("a number"))
}

/// Kills what a command has started and what it starts, until it ends by itself. Returns how often.
fn kill_programs(command: i32) -> usize {
    let ended = || {
        let stat = std::fs::read_to_string(format!("/proc/{command}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    let mut kills = 0;
    super::await_it("the command goes on without its program", || {
        let all = programs(command);
        kills += all.len();
        all.into_iter().for_each(kill);
        ended()
    });
    kills
}

#[test]
fn what_was_flushed_is_there_after_any_kill() {
    let asked = std::env::var("SLUICE_KILL_ROUNDS").ok();
    let rounds = asked.map_or(ROUNDS, |text| text.parse().expect("a number of rounds"));
    let rig = Rig::new();
    let words = format!("rounds 512 {}", rig.path("log").display());
    let mut rng = Rng::stream(1, "kills");
    let (mut commands, mut cut_off, mut during, mut kills) = (Vec::new(), 0, 0, 0);
    for round in 0..rounds {
        let (trap, before) = (TRAPS[round as usize % 2], flushed(&rig));
        let running = Running::start(&mut rig.run(trap).prepare(rig.program(&words)));
        commands.push(running.id());
        std::thread::sleep(Duration::from_micros(rng.below(LATEST_US)));
        during += u64::from(flushed(&rig) > before);
        match rng.below(3) {
            // The power of the device goes with its command, whatever else is killed.
            0 => kill(running.id()),
            1 => running.signal_group(libc::SIGKILL),
            _ => kills += kill_programs(running.id()),
        }
        running.finish();
        if !rig.path("store").exists() {
            assert_eq!(flushed(&rig), 0, "round {round}");
            continue;
        }
        cut_off += is_whole(&rig.check())["cut_off"]
            .as_u64()
            .expect("a number");
        rig.forget();
        rig.does(trap, &format!("since 512 {}", flushed(&rig)));
        assert!(!rig.path("store.new").exists(), "round {round}");
    }
    let is_ours = |path: &std::path::Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let pid = name.and_then(|name| name.split('-').next()?.parse().ok());
        pid.is_some_and(|pid| commands.contains(&pid))
    };
    super::await_it("sessions are left", || {
        !sessions().iter().any(|session| is_ours(&session.path))
    });
    assert!(during > 0, "no program was killed after a flush of its own");
    assert!(kills > 0, "no program was killed beside its command");
    println!(
        "{rounds} rounds: {during} after a flush of theirs, generation {} at the end, {cut_off} \
         writes were cut off",
        flushed(&rig)
    );
}
