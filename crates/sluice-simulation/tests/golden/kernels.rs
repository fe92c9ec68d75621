//! The instructions of every kernel, by each of its parameters.

use crate::book::Book;
use crate::vary::variants;
use serde_json::{Value, json};
use sluice_host::{Instr, Step};
use sluice_kernels::{Kernel, KernelInfo, KernelOptions};
use sluice_model::RawConfig;
use sluice_skybyte_artifact::KERNELS;
use sluice_units::Fnv;

const SCALE: u32 = 512;
const THREADS: u32 = 8;
/// Entries of a kernel that does not end before.
const ENTRIES: usize = 150_000;
/// Entries of a kernel of a small size that does not end before.
const WHOLE: usize = 3_000_000;

#[test]
fn kernels_give_the_instructions_they_gave() {
    let mut book = Book::new("kernels.txt");
    for info in KERNELS.iter() {
        let plain = RawConfig::of(info.params);
        for (what, rounds) in [("", 0), (" for a round", 1), (" for three rounds", 3)] {
            let options = options(&plain, rounds);
            book.add(format!("{}{what}", info.name), Ok(run(info, &options)));
        }
        // Little memory, so that a round comes to its end.
        let small = KernelOptions {
            scale: SCALE * 64,
            ..options(&plain, 1)
        };
        let whole = run_for(info, &small, WHOLE);
        book.add(format!("{} for a whole round", info.name), Ok(whole));
        let one = KernelOptions {
            threads: 1,
            seed: 2,
            scale: SCALE * 4,
            ..options(&plain, 2)
        };
        book.add(format!("{} of one thread", info.name), Ok(run(info, &one)));
        for other in info.params.iter().flat_map(variants) {
            let name = format!("{} {}", info.name, other.row);
            let mut given = plain.clone();
            let set = given.set(other.key, &other.value);
            let result = set.map(|()| run(info, &options(&given, 1)));
            book.add(name, result.map_err(Into::into));
        }
    }
    book.close();
}

fn options(given: &RawConfig, rounds: u64) -> KernelOptions {
    KernelOptions {
        threads: THREADS,
        scale: SCALE,
        seed: 1,
        rounds,
        given: given.clone(),
    }
}

fn run(info: &KernelInfo, options: &KernelOptions) -> Value {
    run_for(info, options, ENTRIES)
}

/// Takes a stretch of each thread in turn, until the end or for so many entries.
fn run_for(info: &KernelInfo, options: &KernelOptions, most: usize) -> Value {
    let mut kernel = (info.make)(options);
    let mut steps = vec![Step::More; options.threads as usize];
    let mut out: Vec<Instr> = Vec::new();
    let (mut entries, mut sum) = (0, 0u64);
    let mut phases = vec![kernel.phase()];
    while entries < most && steps.iter().any(|step| *step != Step::End) {
        if steps.iter().all(|step| *step != Step::More) {
            let waiting = steps.iter_mut().filter(|step| **step == Step::Barrier);
            waiting.for_each(|step| *step = Step::More);
            phases.push(kernel.phase());
        }
        for (thread, step) in (0..).zip(&mut steps) {
            if *step == Step::More {
                out.clear();
                *step = kernel.fill(thread, &mut out);
                entries += out.len();
                sum = sum.rotate_left(9) ^ Fnv::of(&bytes(&out));
            }
        }
    }
    told(&*kernel, sum, entries, &phases)
}

fn bytes(out: &[Instr]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(out.len() * 16);
    for instr in out {
        bytes.extend(instr.addr.to_le_bytes());
        bytes.extend(instr.work.to_le_bytes());
        bytes.extend(instr.after.to_le_bytes());
        bytes.push(instr.op as u8);
    }
    bytes
}

fn told(kernel: &dyn Kernel, sum: u64, entries: usize, phases: &[usize]) -> Value {
    let places = (0..kernel.footprint().0).step_by(1 << 16);
    json!({
        "footprint": kernel.footprint().0,
        "local": kernel.local().0,
        "threads": kernel.threads(),
        "sleeps": (0..kernel.threads()).map(|it| kernel.sleeps_first(it).map(|time| time.0))
            .collect::<Vec<_>>(),
        "rewrites": places.map(|at| kernel.rewrites(at)).collect::<Vec<_>>(),
        "phases": kernel.phases(),
        "phase": phases,
        "rounds": kernel.rounds(),
        "check": kernel.check().is_ok(),
        "entries": entries,
        "stream": sum,
    })
}
