//! Measures a kernel with plain functional caches, beside SkyByte's Table I.
//!
//! `cargo run --release -p sluice-kernels --example characteristics -- bfs-dense --scale 8`
//!
//! The caches are those of Table II, with the second and third level divided by the scale as the
//! kernel's memory is. Threads take turns, a stretch each; nothing here has a time but the speed
//! of the generation, which is measured without caches.

mod cache;
mod pages;

use cache::{Caches, OffChip};
use clap::Parser;
use pages::{Pages, Shares};
use sluice_host::{Instr, MemOp, Step};
use sluice_kernels::{KERNELS, Kernel, KernelInfo, KernelOptions};
use sluice_params::RawConfig;
use std::process::ExitCode;
use std::time::Instant;

/// Measures a kernel with plain functional caches, beside SkyByte's Table I.
#[derive(Parser)]
struct Args {
    /// The kernel's name; `all` for every one.
    kernel: String,
    /// Memory and caches are divided by this.
    #[arg(long, default_value_t = 8)]
    scale: u32,
    /// Threads, each on a core of its own.
    #[arg(long, default_value_t = 8)]
    threads: u32,
    /// Seed of the kernel.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Instructions of all threads before the count begins.
    #[arg(long, default_value_t = 100_000_000)]
    warmup: u64,
    /// Instructions of all threads in a count.
    #[arg(long, default_value_t = 400_000_000)]
    instructions: u64,
    /// Counts, one after the other.
    #[arg(long, default_value_t = 1)]
    counts: u32,
}

/// What was seen in a count.
#[derive(Default)]
struct Counted {
    instructions: u64,
    loads: u64,
    stores: u64,
    off_chip: OffChip,
    read: Shares,
    written: Shares,
}

/// A kernel and the turns of its threads.
struct Turns {
    kernel: Box<dyn Kernel>,
    stretch: Vec<Instr>,
    steps: Vec<Step>,
    turn: usize,
}

impl Turns {
    fn new(kernel: Box<dyn Kernel>) -> Turns {
        Turns {
            steps: vec![Step::More; kernel.threads() as usize],
            stretch: Vec::new(),
            turn: 0,
            kernel,
        }
    }

    /// Lets the next thread that can run give its stretch; `None` when all have ended.
    fn next(&mut self) -> Option<usize> {
        if self.steps.iter().all(|step| *step != Step::More) {
            for step in self.steps.iter_mut().filter(|s| **s == Step::Barrier) {
                *step = Step::More;
            }
        }
        let threads = self.steps.len();
        let turns = (0..threads).map(|at| (self.turn + at) % threads);
        let thread = turns
            .into_iter()
            .find(|thread| self.steps[*thread] == Step::More)?;
        self.stretch.clear();
        self.steps[thread] = self.kernel.fill(thread as u32, &mut self.stretch);
        self.turn = thread + 1;
        Some(thread)
    }
}

fn count(turns: &mut Turns, caches: &mut Caches, pages: &mut Pages, most: u64) -> Counted {
    let mut seen = Counted::default();
    let before = caches.off_chip();
    pages.forget();
    while seen.instructions < most {
        let Some(thread) = turns.next() else { break };
        for instr in &turns.stretch {
            seen.instructions += instr.count();
            if matches!(instr.op, MemOp::Load | MemOp::Store) {
                let store = instr.op == MemOp::Store;
                *if store {
                    &mut seen.stores
                } else {
                    &mut seen.loads
                } += 1;
                caches.access(thread, instr.addr / 64, store, pages);
            }
        }
    }
    seen.off_chip = caches.off_chip() - before;
    (seen.read, seen.written) = pages.shares();
    seen
}

fn show(info: &KernelInfo, footprint: u64, scale: u32, seen: &Counted) {
    let (memory, ratio, mpki) = info.published.unwrap_or_default();
    let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let beside = |ours: f64, theirs: f64| {
        let distance = 100.0 * (ours / theirs - 1.0);
        format!("{ours:9.2}   Table I {theirs:8.2}   {distance:+7.1} %")
    };
    let OffChip { reads, writes } = seen.off_chip;
    println!("  instructions          {:>12}", seen.instructions);
    println!("  loads                 {:>12}", seen.loads);
    println!("  stores                {:>12}", seen.stores);
    println!("  off-chip reads        {reads:>12}");
    println!("  off-chip writes       {writes:>12}");
    let ours = footprint as f64 / 1e6 * f64::from(scale);
    println!("  footprint x scale, MB {}", beside(ours, memory.into()));
    let ours = 1e3 * reads as f64 / seen.instructions.max(1) as f64;
    println!(
        "  LLC MPKI              {}",
        beside(ours, f64::from(mpki) / 10.0)
    );
    let ours = share(seen.stores, seen.loads + seen.stores);
    println!("  stores, % of accesses {}", beside(ours, ratio.into()));
    let ours = share(writes, reads + writes);
    println!("  writes, % of off-chip {}", beside(ours, ratio.into()));
    for (name, shares) in [("lines read", &seen.read), ("lines written", &seen.written)] {
        println!(
            "  {name:13} of a page {:6.1} %; below 40 % in {:.1} % of {} pages",
            shares.mean_percent(),
            share(shares.below_40, shares.pages),
            shares.pages
        );
    }
}

fn measure(info: &KernelInfo, args: &Args) {
    let options = KernelOptions {
        threads: args.threads,
        scale: args.scale,
        seed: args.seed,
        rounds: 0,
        given: RawConfig::of(info.params),
    };
    let start = Instant::now();
    let kernel = (info.make)(&options);
    let made = start.elapsed().as_secs_f64();
    let footprint = kernel.footprint().0;
    println!("{} at 1:{}, {} bytes", info.name, args.scale, footprint);
    let mut turns = Turns::new(kernel);
    let (mut generated, mut took) = (0, 0.0);
    let mut caches = Caches::new(args.threads, args.scale);
    let mut pages = Pages::new(footprint, footprint / 16);
    count(&mut turns, &mut caches, &mut pages, args.warmup);
    for _ in 0..args.counts {
        let seen = count(&mut turns, &mut caches, &mut pages, args.instructions);
        show(info, footprint, args.scale, &seen);
    }
    let start = Instant::now();
    while generated < args.instructions / 4 && turns.next().is_some() {
        generated += turns.stretch.iter().map(Instr::count).sum::<u64>();
        took = start.elapsed().as_secs_f64();
    }
    let speed = generated as f64 / f64::max(took, 1e-9) / 1e6;
    println!("  made in {made:.2} s; {speed:.0} million instructions a second");
}

fn main() -> ExitCode {
    let args = Args::parse();
    let asked = |info: &&KernelInfo| args.kernel == "all" || args.kernel == info.name;
    let of_table_1 = || KERNELS.iter().filter(|info| info.published.is_some());
    let kernels: Vec<_> = of_table_1().filter(asked).collect();
    if kernels.is_empty() {
        let names: Vec<_> = of_table_1().map(|info| info.name).collect();
        eprintln!(
            "kernel = {}: want one of all, {}",
            args.kernel,
            names.join(", ")
        );
        return ExitCode::FAILURE;
    }
    for info in kernels {
        measure(info, &args);
    }
    ExitCode::SUCCESS
}
