//! What the CPU of a thread that misses does meanwhile.

use crate::build::helper;
use crate::sluice::{Outcome, Sluice, TRAPS};
use sluice_region::{CpuSet, cpu_now};

/// Two threads that compute and two that miss, all on the CPU of the calling thread: how much of
/// what the process has of it those have that compute. What else runs there does not matter.
fn computing(trap: &str, rule: &str) -> f64 {
    let run = Sluice::run(trap)
        .cache("256KiB")
        .set("nand.read", "4ms")
        .set("host.on_long_delay", rule);
    let out = run
        .workload("mixed --size 512KiB --seconds 2 --json")
        .evicted();
    let said: serde_json::Value = serde_json::from_str(out.own_stdout()).expect("a result");
    assert_eq!(out.json()["live_config"]["host.on_long_delay"], rule);
    said["cpu_of_process"].as_f64().expect("a share")
}

/// A stalled core is busy: two threads of four have half of it. Otherwise all but what a miss costs
/// is theirs.
#[test]
fn a_wait_that_gives_the_cpu_away_leaves_it_to_who_computes() {
    let all = CpuSet::of(0).expect("CPUs");
    CpuSet::one(cpu_now()).bind(0);
    for trap in TRAPS {
        let [spin, threshold, switch] =
            ["spin", "threshold", "switch"].map(|rule| computing(trap, rule));
        println!("{trap}: spin {spin:.3}, threshold {threshold:.3}, switch {switch:.3}");
        assert!((0.3..0.65).contains(&spin), "{trap}: {spin}");
        assert!(threshold > 0.75, "{trap}: {threshold}");
        assert!(switch > 0.75, "{trap}: {switch}");
    }
    all.bind(0);
}

fn refused(out: &Outcome, told: &str) {
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    assert!(out.stderr.contains(told), "{out:#?}");
}

#[test]
fn a_rule_or_threshold_that_cannot_be_is_refused_by_its_key() {
    for (key, value, told) in [
        ("host.on_long_delay", "sleep", "spin, switch, threshold"),
        ("host.switch_threshold", "long", "host.switch_threshold"),
        (
            "host.switching",
            "on",
            "host.on_long_delay, host.switch_threshold",
        ),
        ("device.hint_threshold", "2us", "host.switch_threshold"),
    ] {
        let out = Sluice::run("event").set(key, value).program(["true"]);
        refused(&out, told);
    }
}

/// Its own sleeps are as exact as before, though sleeps in its thread are made exact meanwhile.
#[test]
fn the_programs_timer_slack_stays() {
    let path = helper!("slack.c").to_str().expect("plain letters");
    let run = Sluice::run("signal")
        .cache("1MiB")
        .set("nand.read", "100us")
        .set("host.on_long_delay", "switch");
    let out = run.program([path]).evicted();
    assert_eq!(out.own_stdout(), "123456\n", "{out:#?}");
}
