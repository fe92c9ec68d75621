//! A run in a line or two, for who asked for no JSON.

use serde_json::Value;
use sluice_abi::Counter;
use sluice_results::{Process, Run};

/// The figures of the program itself.
pub fn line(object: &Value) -> String {
    let number = |path: &str| object.pointer(path).and_then(|v| v.as_f64()).unwrap_or(0.0);
    format!(
        "sluice: {} traps, {} misses; miss p50 {:.1} us (model {:.1} us), {:.2} % late; {} flash \
         reads, {} programs; {:.2} s",
        number("/traps"),
        number("/cache/misses"),
        number("/latency_ns/achieved/p50") / 1e3,
        number("/latency_ns/modelled/p50") / 1e3,
        number("/late/ratio") * 100.0,
        number("/flash/reads"),
        number("/flash/programs"),
        number("/wall_s"),
    )
}

/// What the other processes of a run did, and what the program was before, by `exec`. A script does
/// nothing itself.
pub fn of_others(result: &Run<'_>) -> Option<String> {
    let main = result.main().map(|main| (main.pid, main.image));
    let others = result.processes.iter();
    let others = others.filter(|p| Some((p.pid, p.image)) != main);
    let sum = |of: Counter| others.clone().map(|p: &Process| p.get(of)).sum::<u64>();
    let traps = sum(Counter::Traps);
    (traps > 0).then(|| {
        let misses = sum(Counter::Misses);
        format!("sluice: its other processes: {traps} traps, {misses} misses (--json has each)")
    })
}
