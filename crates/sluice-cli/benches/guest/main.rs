//! What the device costs a guest, measured in the guest: `sluice vm` beside the same machine and
//! memory without Sluice, and beside QEMU's own `cxl-type3`.
//!
//! `cargo bench -p sluice-cli --bench guest -- [device|clocks]..`; both without a name. In `device`
//! three guests are up together and chase in turn, so that a round compares what is a quarter of a
//! second apart. Which guest is first changes from round to round. `SLUICE_BENCH_ROUNDS` sets the
//! rounds of a boot (default 24), `SLUICE_BENCH_BOOTS` the boots (default 3), for memory lies
//! elsewhere after each. As a test it runs once, small.

mod booted;
mod clocks;
mod figures;

use booted::{Booted, Guest};
use figures::{median, told};
use serde_json::Value;

/// Chases that hit: nothing but dependent loads, as Intel's MLC measures an idle latency. All fit
/// the device's cache; what else they fit changes from line to line.
const HITS: [(&str, &str); 8] = [
    ("16 KiB, in order", "--size 16KiB"),
    ("16 KiB, at random", "--size 16KiB --random"),
    ("256 KiB, in order", "--size 256KiB"),
    ("256 KiB, at random", "--size 256KiB --random"),
    ("1 MiB, at random", "--size 1MiB --random"),
    ("8 MiB, in order", "--size 8MiB"),
    ("8 MiB, at random", "--size 8MiB --random"),
    ("8 MiB, a page each", "--size 8MiB --random --stride 4096"),
];
/// With twice the device's cache every access misses where there is a device.
const MISSES: &str = "--size 48MiB --random --stride 4096 --passes 2";
/// The first pass still hits what the build left in the cache.
const SECOND_PASS: &str = "/passes/1/latency_ns/p50";
/// A page that is there, right after a miss: the guest's own walk of its page tables, and its
/// translator's, when a stop of 40 µs has made them cold.
const REVISITS: &str = "--size 48MiB --random --stride 4096 --passes 2 --revisit";
/// Chases of misses of the guest that is up alone, in each boot.
const ALONE: usize = 8;
const BARE: &str = "--bare --passes 8";
/// QEMU's device model is so slow, and misses are, that few rounds will do.
const SLOW_EVERY: usize = 6;

/// Ratios of all boots, one by one of each round.
#[derive(Default)]
struct Found {
    /// By chase: ours to QEMU alone, medians of passes.
    passes: [Vec<Vec<f64>>; HITS.len()],
    /// Their shortest passes, which nothing else has disturbed.
    shortest: [Vec<Vec<f64>>; HITS.len()],
    /// `cxl-type3` to ours.
    cxl: [Vec<Vec<f64>>; HITS.len()],
    /// ns an access: alone, ours, `cxl-type3`.
    ns: [[Vec<Vec<f64>>; 3]; HITS.len()],
    /// Median of a miss as the guest measures it, ns: alone, ours, and their difference.
    misses: [Vec<Vec<f64>>; 3],
    /// While no other guest is up, as a user has it: of a miss, of a hit right after one, and their
    /// difference.
    alone: [Vec<Vec<f64>>; 3],
    /// What the model says of most misses.
    modelled_ns: f64,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let smoke = !args.iter().any(|arg| arg == "--bench");
    let names: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    for (name, part) in [("device", device as fn(bool)), ("clocks", clocks::clocks)] {
        if names.is_empty() || names.iter().any(|n| *n == name) {
            part(smoke);
        }
    }
}

fn device(smoke: bool) {
    let set = |name: &str, usual: usize| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}: a number")),
        Err(_) => usual,
    };
    let boots = if smoke {
        1
    } else {
        set("SLUICE_BENCH_BOOTS", 3)
    };
    let rounds = if smoke {
        1
    } else {
        set("SLUICE_BENCH_ROUNDS", 24)
    };
    let dir = tempfile::tempdir().expect("a folder");
    let mut found = Found::default();
    let mut accelerator = Value::Null;
    for _ in 0..boots {
        found.new_boot();
        let mut ours = Guest::Sluice.boot(dir.path());
        (0..if smoke { 1 } else { ALONE }).for_each(|_| found.round_alone(&mut ours));
        let [plain, cxl] = [Guest::Plain, Guest::Cxl].map(|guest| guest.boot(dir.path()));
        let mut guests = [plain, ours, cxl];
        (0..rounds).for_each(|round| found.round(&mut guests, round));
        let [alone, ours, _] = guests.map(Booted::end);
        found.modelled_ns = number(&ours, "/workload/latency_ns/modelled/p50");
        accelerator = alone["vm"]["accelerator"].clone();
    }
    println!("accelerator {accelerator}, {boots} boots of {rounds} rounds");
    found.tell();
}

impl Found {
    fn new_boot(&mut self) {
        let of_chases = [&mut self.passes, &mut self.shortest, &mut self.cxl];
        let chases = of_chases.into_iter().flatten();
        let all = chases.chain(self.ns.iter_mut().flatten());
        let misses = self.misses.iter_mut().chain(&mut self.alone);
        all.chain(misses).for_each(|boots| boots.push(Vec::new()));
    }

    fn round_alone(&mut self, ours: &mut Booted) {
        let [miss, after] = [MISSES, REVISITS].map(|flags| number(&ours.chase(flags), SECOND_PASS));
        for (to, ns) in self.alone.iter_mut().zip([miss, after, miss - after]) {
            add(to, ns);
        }
    }

    fn round(&mut self, [plain, ours, cxl]: &mut [Booted; 3], round: usize) {
        let is_slow = round.is_multiple_of(SLOW_EVERY);
        for (at, (_, flags)) in HITS.iter().enumerate() {
            let flags = format!("{BARE} {flags}");
            let mut pair = || match round.is_multiple_of(2) {
                true => [plain.chase(&flags), ours.chase(&flags)],
                false => {
                    let ours = ours.chase(&flags);
                    [plain.chase(&flags), ours]
                }
            };
            let pair = pair();
            let ratio = |place: &str| number(&pair[1], place) / number(&pair[0], place);
            add(&mut self.passes[at], ratio("/pass_ns/median"));
            add(&mut self.shortest[at], ratio("/pass_ns/min"));
            let ns = |of: &Value| number(of, "/pass_ns/median");
            add(&mut self.ns[at][0], ns(&pair[0]));
            add(&mut self.ns[at][1], ns(&pair[1]));
            if is_slow {
                let theirs = ns(&cxl.chase(&flags));
                add(&mut self.cxl[at], theirs / ns(&pair[1]));
                add(&mut self.ns[at][2], theirs);
            }
        }
        if is_slow {
            let median = |guest: &mut Booted| number(&guest.chase(MISSES), SECOND_PASS);
            let (alone, with) = (median(plain), median(ours));
            for (to, ns) in self.misses.iter_mut().zip([alone, with, with - alone]) {
                add(to, ns);
            }
        }
    }

    fn tell(&self) {
        println!("hits, ns an access: QEMU alone, with Sluice, and with the other's model");
        for (at, (name, _)) in HITS.iter().enumerate() {
            let [alone, ours, theirs] = self.ns[at].each_ref().map(|boots| median(boots));
            println!("  {name}: {alone:.1}, {ours:.1}; cxl-type3 {theirs:.0}");
        }
        println!("with Sluice to QEMU alone, median of rounds [95 %]; of shortest passes");
        for (at, (name, _)) in HITS.iter().enumerate() {
            let (passes, shortest) = (&self.passes[at], &self.shortest[at]);
            println!("  {name}: {}; {}", told(passes), told(shortest));
        }
        let all = |of: &[Vec<Vec<f64>>]| -> Vec<Vec<f64>> {
            let boots = 0..of[0].len();
            boots
                .map(|boot| of.iter().flat_map(|chase| chase[boot].clone()).collect())
                .collect()
        };
        println!(
            "  all: {}; {}",
            told(&all(&self.passes)),
            told(&all(&self.shortest))
        );
        println!("cxl-type3 to Sluice, median of rounds [95 %]");
        for (at, (name, _)) in HITS.iter().enumerate() {
            println!("  {name}: {}", told(&self.cxl[at]));
        }
        let [miss, after, net] = self.alone.each_ref().map(|boots| told(boots));
        println!("a miss of the one guest that is up, median, ns: {miss}");
        println!("  a hit right after a miss {after}; less that {net}");
        let [alone, ours, net] = self.misses.each_ref().map(|boots| told(boots));
        println!("a miss with three guests up, ns: {ours}");
        println!(
            "  without Sluice {alone}; less that {net}; modelled {}",
            self.modelled_ns
        );
    }
}

fn add(boots: &mut [Vec<f64>], value: f64) {
    boots.last_mut().expect("a boot").push(value);
}

fn number(of: &Value, place: &str) -> f64 {
    let found = of.pointer(place).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no {place} in {of}"))
}
