//! The CPUs that a program chooses for its threads.

use crate::abuse::{all_well, fault, small, within_limit};
use crate::build::{helper, preload_library};
use crate::sluice::{Outcome, Sluice, TRAPS};
use serde_json::Value;
use sluice_region::CpuSet;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// A thread that was held at a miss got back the CPUs that it had had before.
#[test]
fn cpus_chosen_for_a_thread_at_a_miss_are_kept() {
    let path = helper!("cpus.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let run = Sluice::run(trap).cache("1MiB").set("nand.read", "40us");
        let out = run.program([path]).well();
        let said = out.own_stdout();
        assert!(["well\n", "one CPU\n"].contains(&said), "{trap}: {out:#?}");
    }
}

/// A thread runs before the handler that woke it has given it its CPUs back. One in five of the
/// threads and children that it made then had one CPU for ever, and one in forty looks at its
/// status showed one. Deadlines were refused.
#[test]
fn what_is_made_right_after_a_miss_has_all_cpus() {
    let path = helper!("cpus_made.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let run = Sluice::run(trap).cache("1MiB").set("nand.read", "20us");
        let out = run.program([path]).well();
        assert_eq!(out.own_stdout(), "well\n", "{trap}: {out:#?}");
    }
}

/// In event mode the thread that spun let no thread of the runtime run beside it.
#[test]
fn a_real_time_thread_may_spin_until_another_has_its_pages() {
    all_well(helper!("abuse_real_time.c"), &["50", "99"]);
}

/// Those of other programs were above them.
#[test]
fn threads_of_the_runtime_stay_above_the_programs() {
    let program = helper!("abuse_real_time.c")
        .to_str()
        .expect("plain letters");
    let out = within_limit(&mut small("event").prepare([program, "calls"]));
    assert_eq!(fault(&out), None, "{out:#?}");
    // What a program is started with counts as well.
    let mut command = Command::new("chrt");
    command.args(["-f", "30"]);
    if !Command::new("chrt")
        .args(["-f", "30", "true"])
        .status()
        .is_ok_and(|s| s.success())
    {
        println!("not tested: needs chrt, and the right to a real-time priority");
        return;
    }
    command.arg(env!("CARGO_BIN_EXE_sluice"));
    command.args([
        "run",
        "--set=device.capacity=64MiB",
        "--",
        program,
        "inherits",
        "30",
    ]);
    let out = within_limit(command.env("SLUICE_PRELOAD", preload_library()));
    assert!(out.stdout.ends_with("well\n"), "{out:#?}");
}

/// A program of low priority whose thread has to wait for the one CPU that it may use.
fn beside_one_that_computes() -> Outcome {
    let cpu = sluice_region::cpu_now();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(CpuSet::one(cpu).bind(0));
            while !is_over.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        let low = ["nice", "-n", "19", "taskset", "-c", &cpu.to_string()];
        let own = [env!("CARGO_BIN_EXE_sluice"), "workload", "chase"];
        let flags = ["--size=1MiB", "--stride=4096", "--passes=3", "--json"];
        let words = low.iter().chain(&own).chain(&flags);
        let out = Sluice::run("event")
            .cache("512KiB")
            .set("nand.read", "40us")
            .program(words);
        is_over.store(true, Relaxed);
        out
    })
}

/// In event mode the handler does not see when a thread goes on that it woke: a program of low
/// priority beside one that computes felt seven times what its report said.
///
/// Now and then the kernel lets the thread run at once whenever it wakes, and takes the CPU away
/// while it computes: no trap has waited then, and the program runs again.
#[test]
fn a_wait_for_a_cpu_after_a_miss_is_told() {
    if !std::fs::read_to_string("/proc/thread-self/schedstat").is_ok_and(|told| told != "0 0 0\n") {
        println!("not tested: this kernel counts no waits for a CPU");
        return;
    }
    let outs = (0..5).map(|_| beside_one_that_computes());
    let outs = outs.inspect(|out| assert!(out.status.success(), "{out:#?}"));
    let mut late = outs.filter(|out| out.number("/late/run_delays_late") > 0);
    let out = late.next().expect("waits for a CPU");
    assert!(out.number("/late/run_delays") >= 100, "{out:#?}");
    let own: Value = serde_json::from_str(out.own_stdout()).expect("a workload's result");
    let felt_ns = own["passes"][0]["ns_per_access"]
        .as_f64()
        .expect("a number");
    let told_ns = out.json()["latency_ns"]["achieved"]["mean"].as_f64();
    let is_far_off = felt_ns > 1.25 * told_ns.expect("a number");
    let is_told = out.stderr.contains("for a CPU, on average");
    assert!(is_far_off && is_told, "{felt_ns} {out:#?}");
}

/// The faults that time the host at the start counted as traps of the program.
#[test]
fn a_program_without_traps_waits_for_no_cpu() {
    let out = Sluice::run("event").program(["true"]);
    assert!(out.status.success(), "{out:#?}");
    let counts = ["/traps", "/late/run_delays"].map(|path| out.number(path));
    assert_eq!(counts, [0, 0], "{out:#?}");
}
