//! `sluice ctl`: commands for a running device have the effects they say.

mod blocks;
mod hostile;
pub mod programs;
pub mod rig;
mod screen;

use crate::sluice::{Sluice, TRAPS, finish};
use rig::{CACHE, PAGE, PAGES, Rig, cached};
use std::process::{Command, Stdio};

#[test]
fn what_was_prefetched_is_hit() {
    for trap in TRAPS {
        let mut rig = Rig::start(trap, &[]);
        rig.tell(&format!("write 0 {PAGES}"));
        // FIFO: the last 1024 are there.
        assert_eq!(rig.pages("prefetch", 100, 300), (300, 0, 0), "{trap}");
        assert_eq!(
            rig.pages("prefetch", 100, 300),
            (0, 300, 0),
            "they are there"
        );
        assert_eq!(rig.grows("traps", "read 100 300"), 0, "{trap}");
        assert_eq!(
            rig.grows("misses", "read 400 5"),
            5,
            "{trap}: others are not"
        );
        let json = rig.quit();
        assert_eq!(json["cache"]["prefetch_issued"], 0, "no prefetcher");
        assert_eq!(json["commands"]["prefetched"], 300);
    }
}

/// Evicted pages were shown as mapped.
#[test]
fn the_map_shows_no_page_as_mapped_that_has_left() {
    for trap in TRAPS {
        for settings in [&[][..], &[("cache.inactive", "20%")]] {
            let mut rig = Rig::start(trap, settings);
            rig.tell(&format!("write 0 {PAGES}"));
            let map = rig.ctl(&["map", "all"]);
            let pages = |key: &str| map[key].as_u64().expect("a number");
            assert_eq!(pages("cached"), CACHE, "{trap} {map}");
            let mapped = pages("mapped");
            assert!(mapped <= CACHE && mapped > CACHE / 2, "{trap} {map}");
            rig.quit();
        }
    }
}

#[test]
fn what_is_pinned_stays_and_what_is_unpinned_leaves() {
    for trap in TRAPS {
        let mut rig = Rig::start(trap, &[]);
        rig.tell(&format!("write 0 {PAGES}"));
        assert_eq!(rig.pages("pin", 0, 64), (64, 0, 0));
        assert_eq!(rig.pages("pin", 32, 64), (32, 32, 0));
        rig.tell(&format!("read 0 {PAGES}"));
        rig.tell(&format!("read 0 {PAGES}"));
        assert_eq!(rig.grows("traps", "read 0 96"), 0, "{trap}");
        assert_eq!(rig.counter("pinned_pages"), 96);
        let (changed, already, refused) = rig.pages("evict", 95, 2);
        assert_eq!((changed + already, refused), (1, 1), "one is pinned");
        assert_eq!(rig.pages("unpin", 0, 128), (96, 32, 0));
        rig.tell(&format!("read 0 {PAGES}"));
        assert_eq!(rig.grows("misses", "read 0 96"), 96, "{trap}");
        rig.quit();
    }
}

#[test]
fn a_full_set_refuses_more_pins() {
    let mut rig = Rig::start("event", &[("cache.pin_max", "25%")]);
    assert_eq!(rig.pages("pin", 0, 300), (CACHE / 4, 0, 300 - CACHE / 4));
    rig.tell("read 0 1");
    let out = rig.ctl_outcome(&["pin", "0x300000+0x1000"]);
    assert_eq!(out.status.code(), Some(1), "{out:#?}");
    assert!(
        out.stdout.contains("0 of 1 pages") && out.stdout.contains("cache.pin_max"),
        "{out:#?}"
    );
    rig.quit();
}

#[test]
fn what_was_evicted_is_missed_and_what_was_flushed_is_clean() {
    for trap in TRAPS {
        let mut rig = Rig::start(trap, &[]);
        rig.tell(&format!("write 0 {PAGES}"));
        let last = PAGES - 100;
        assert_eq!(rig.pages("evict", last, 16), (16, 0, 0));
        assert_eq!(rig.pages("evict", last, 16), (0, 16, 0), "gone already");
        assert_eq!(
            rig.grows("misses", &format!("read {last} 16")),
            16,
            "{trap}"
        );

        let programs = rig.counter("host_programs");
        assert_eq!(
            rig.pages("flush", last, 32),
            (16, 16, 0),
            "the first 16 were programmed"
        );
        assert_eq!(rig.counter("host_programs") - programs, 16);
        assert_eq!(
            rig.grows("traps", &format!("read {last} 32")),
            0,
            "they are mapped"
        );
        assert_eq!(rig.grows("traps", &format!("write {last} 8")), 0);
        assert_eq!(
            rig.pages("flush", last, 32),
            (8, 24, 0),
            "{trap}: written again"
        );
        rig.tell(&format!("read 0 {PAGES}"));
        rig.quit();
    }
}

#[test]
fn a_policy_switch_keeps_the_pages_and_changes_who_leaves() {
    let mut rig = Rig::start("event", &[]);
    rig.tell("read 0 900");
    rig.tell("read 900 124");
    let before = cached(&rig);
    let json = rig.ctl(&["policy", "lifo"]);
    assert_eq!(json["status"], "done");
    assert_eq!(rig.ctl(&["policy", "lifo"])["status"], "nothing");
    assert!(cached(&rig) == before, "nothing left");
    assert_eq!(rig.grows("evictions", "read 2000 50"), 50);
    let after = cached(&rig);
    assert!(
        after.contains(&10) && after.contains(&100),
        "FIFO would have let these go"
    );
    rig.ctl(&["policy", "fifo"]);
    rig.tell("read 2500 1100");
    assert!(!cached(&rig).contains(&10), "and now it does");
    rig.quit();
}

#[test]
fn latencies_change_live_and_what_cannot_is_refused() {
    let mut rig = Rig::start("event", &[]);
    rig.tell("read 0 100");
    rig.ctl(&["set", "nand.read=300us", "cache.hit_latency=1us"]);
    rig.tell("read 1000 200");
    let stats = rig.ctl(&["stats"]);
    let p90 = stats["latency_ns"]["modelled"]["p90"].as_u64();
    assert!(
        p90.is_some_and(|ns| (300_000..303_000).contains(&ns)),
        "{stats}"
    );
    let cases = [
        (
            &["set", "device.capacity=2GiB"][..],
            "cannot change while the device runs",
        ),
        (&["set", "nand.raed=5us"], "nand.read"),
        (&["policy", "lru2"], "lru"),
        (&["policy", "./policy.so"], "while it runs"),
        (
            &["set", "nand.read=20us", "cache.capacity=1GiB"],
            "cache.capacity",
        ),
    ];
    for (arguments, says) in cases {
        let out = rig.ctl_outcome(arguments);
        assert_ne!(out.status.code(), Some(0), "{out:#?}");
        let said = out.stdout.clone() + &out.stderr;
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    assert_eq!(rig.counter("tunes"), 1, "all or none");
    rig.quit();
}

#[test]
fn statistics_are_those_of_the_run() {
    let mut rig = Rig::start("event", &[("cache.policy", "lru")]);
    rig.tell(&format!("write 0 {PAGES}"));
    rig.pages("prefetch", 0, 100);
    rig.pages("evict", 50, 100);
    rig.pages("flush", 0, PAGES);
    rig.tell("read 500 700");
    let live = rig.ctl(&["stats"]);
    let end = rig.quit();
    let pairs = [
        ("traps", "/traps"),
        ("misses", "/cache/misses"),
        ("evictions", "/cache/evictions"),
        ("dirty_evictions", "/cache/dirty_evictions"),
        ("flash_reads", "/flash/reads"),
        ("flash_programs", "/flash/programs"),
        ("late", "/late/count"),
        ("command_prefetches", "/commands/prefetched"),
        ("command_evictions", "/commands/evicted"),
        ("flushes", "/commands/flushed"),
        ("commands", "/commands/answered"),
    ];
    for (counter, path) in pairs {
        assert_eq!(
            Some(&live["counters"][counter]),
            end.pointer(path),
            "{counter}"
        );
    }
    assert_eq!(live["latency_ns"], end["latency_ns"]);
}

#[test]
fn nothing_is_lost_while_commands_come_in() {
    for trap in TRAPS {
        let mut rig = Rig::start(trap, &[]);
        rig.tell(&format!("write 0 {PAGES}"));
        rig.tell("hammer");
        let whats = ["prefetch", "evict", "flush", "pin", "evict", "unpin"];
        let policies = ["lru", "s3fifo", "lifo", "arc", "fifo"];
        for n in 0..18 {
            let range = format!("@{:#x}+1MiB", rig.memory + n * 577 % (PAGES - 256) * PAGE);
            let commands = [
                [whats[n as usize % whats.len()], &range],
                ["policy", policies[n as usize % policies.len()]],
            ];
            for command in commands {
                let out = rig.ctl_outcome(&command);
                assert!(matches!(out.status.code(), Some(0 | 1)), "{trap}: {out:#?}");
            }
        }
        rig.tell("settle");
        rig.quit();
    }
}

/// With one thread, a page that leaves by a fault needs no second look. One that leaves by a
/// command does: the program goes on meanwhile.
#[test]
fn a_single_thread_loses_nothing_either() {
    let mut rig = Rig::start("event", &[]);
    rig.tell("write 0 512");
    rig.say("alone");
    let range = format!("@{:#x}+2MiB", rig.memory);
    for n in 0..40 {
        let what = ["evict", "flush"][n % 2];
        let out = rig.ctl_outcome(&[what, &range]);
        assert_eq!(out.status.code(), Some(0), "{out:#?}");
    }
    rig.say("read 0 512");
    rig.hear("alone");
    rig.hear("read 0 512");
    rig.quit();
}

#[test]
fn a_forked_child_has_a_ring_of_its_own() {
    let mut rig = Rig::start("event", &[]);
    rig.tell(&format!("write 0 {PAGES}"));
    let parent = rig.pid;
    rig.pages("pin", 7, 1);
    rig.tell("fork");
    assert_ne!(rig.pid, parent);
    assert_eq!(
        rig.pages("pin", 0, 8),
        (7, 1, 0),
        "it is a copy of its parent's device"
    );
    assert_eq!(rig.pages("prefetch", 100, 50), (50, 0, 0));
    assert_eq!(rig.grows("traps", "read 100 50"), 0);
    assert!(cached(&rig).contains(&120));
    rig.quit();
}

fn refused(arguments: &[&str], says: &str) {
    let out = finish(Sluice::command().arg("ctl").args(arguments));
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    assert!(out.stderr.contains(says), "{says} in {out:#?}");
}

#[test]
fn processes_that_cannot_be_commanded() {
    let own = std::process::id().to_string();
    refused(&[&own, "stats"], "not under Sluice");
    refused(&["4194305", "stats"], "no process 4194305");
    refused(&["0x1", "stats"], "0x1");
    refused(&[&own, "pin", "5..5"], "empty");
    refused(&[&own, "fly"], "fly");
    let mut command = Sluice::run("event")
        .args(["--control", "off"])
        .prepare(["sleep", "60"]);
    let mut child = command
        .stdout(Stdio::null())
        .spawn()
        .expect("a command that starts");
    let id = child.id().to_string();
    let started = std::time::Instant::now();
    let mut said = String::new();
    // The program needs a moment to start.
    while started.elapsed().as_secs() < 30 && !said.contains("--control on") {
        said = finish(Sluice::command().args(["ctl", &id, "stats"])).stderr;
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // SAFETY: our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let _ = child.wait();
    assert!(said.contains("--control on"), "{said}");
}

#[test]
fn the_command_itself_can_be_named() {
    let rig = Rig::start("event", &[]);
    let mut command = Sluice::command();
    command.args(["ctl", &rig.child.id().to_string(), "stats", "--json"]);
    let json = finish(&mut command).json();
    assert_eq!(json["pid"], rig.pid);
    rig.quit();
}

/// Two commands at once, each on a channel of its own; and one after a client that was killed.
#[test]
fn clients_do_not_get_in_each_others_way() {
    let mut rig = Rig::start("event", &[]);
    rig.tell(&format!("write 0 {PAGES}"));
    std::thread::scope(|scope| {
        for first in [0, 500] {
            let rig = &rig;
            scope.spawn(move || assert_eq!(rig.pages("prefetch", first, 400), (400, 0, 0)));
        }
    });
    for _ in 0..20 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
        command.args(["ctl", &rig.pid.to_string(), "flush", "all"]);
        let mut child = command
            .stdout(Stdio::null())
            .spawn()
            .expect("a command that starts");
        let _ = child.kill();
        let _ = child.wait();
    }
    assert!(rig.counter("commands") >= 3);
    rig.quit();
}

#[test]
fn top_tells_rates_of_what_runs() {
    let mut rig = Rig::start("event", &[]);
    rig.tell("hammer");
    let pid = rig.pid.to_string();
    let top = |more: &[&str]| {
        finish(
            Sluice::command()
                .args(["top", &pid, "--interval", "500ms"])
                .args(more),
        )
    };
    let out = top(&["--json"]).json();
    assert_eq!(out["schema"], "sluice.top/1");
    let row = &out["processes"][0];
    assert_eq!(row["pid"], rig.pid);
    assert!(
        row["misses_per_s"].as_f64().is_some_and(|rate| rate > 10.0),
        "{out}"
    );
    let cached = row["cached_pages"].as_u64();
    assert!(
        cached.is_some_and(|pages| pages > 0 && pages <= CACHE),
        "{out}"
    );
    let hottest = row["hottest"].as_array().expect("ranges");
    let rates = hottest.iter().map(|range| range["misses_per_s"].as_f64());
    let rates: Vec<f64> = rates.map(|rate| rate.expect("a rate")).collect();
    assert!(rates.is_sorted_by(|a, b| a >= b), "{out}");
    let all = row["misses_per_s"].as_f64().expect("a rate");
    let sum: f64 = rates.iter().sum();
    assert!(sum > 0. && sum <= all * 1.001, "{out}");
    let text = top(&[]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains("MISSES/s") && lines[1].contains(&pid) && lines[2].is_empty(),
        "{text}"
    );
    assert!(lines[3].starts_with("HOTTEST RANGES"), "{text}");
    assert!((5..=9).contains(&lines.len()), "{text}");
    rig.tell("settle");
    rig.quit();
    let out = finish(Sluice::command().args(["top", &pid]));
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    assert!(out.stderr.contains("no process"), "{out:#?}");
}
