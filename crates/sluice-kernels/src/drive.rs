//! Runs kernels without a host, as tests of them do.

use super::{Kernel, KernelInfo, KernelOptions};
use sluice_host::{Instr, MemOp, Step};
use sluice_params::RawConfig;
use sluice_units::{Bytes, Fnv};

/// Options for a small kernel.
pub fn options(threads: u32, scale: u32, rounds: u64) -> KernelOptions {
    KernelOptions {
        threads,
        scale,
        seed: 7,
        rounds,
        given: RawConfig::of(&[]),
    }
}

/// Options with parameters of the kernel's own.
///
/// # Panics
/// If a value is refused.
pub fn given(
    info: &KernelInfo,
    threads: u32,
    rounds: u64,
    set: &[(&str, &str)],
    scale: u32,
) -> KernelOptions {
    let mut given = RawConfig::of(info.params);
    for (key, value) in set {
        given.set(key, value).expect("a value");
    }
    KernelOptions {
        given,
        ..options(threads, scale, rounds)
    }
}

/// What a run was.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Of the stream.
    pub hash: Fnv,
    /// Of all entries.
    pub instructions: u64,
    /// Loads among them.
    pub loads: u64,
    /// Stores among them.
    pub stores: u64,
}

/// Runs to the end, `stretches` stretches of a thread at a time, and checks every address.
///
/// # Panics
/// If an address is outside of the kernel's memory, or a stretch is too long.
pub fn run(kernel: &mut dyn Kernel, stretches: usize) -> Told {
    let threads = kernel.threads() as usize;
    let mut steps = vec![Step::More; threads];
    let mut told = Told::default();
    let mut out: Vec<Instr> = Vec::new();
    // What each thread has done: a load that an address comes from may be of an earlier stretch.
    let mut done: Vec<Vec<MemOp>> = vec![Vec::new(); threads];
    while steps.iter().any(|step| *step != Step::End) {
        if steps.iter().all(|step| *step != Step::More) {
            let barrier = steps.iter_mut().filter(|step| **step == Step::Barrier);
            barrier.for_each(|step| *step = Step::More);
        }
        for (thread, step) in (0..).zip(&mut steps) {
            for _ in 0..stretches {
                if *step != Step::More {
                    break;
                }
                out.clear();
                *step = kernel.fill(thread, &mut out);
                assert_eq!(*step == Step::More, !out.is_empty());
                assert!(out.len() < 20_000, "a stretch of {} entries", out.len());
                count(&mut told, &out, kernel.footprint().0);
                let done = &mut done[thread as usize];
                for instr in &out {
                    let at = usize::from(instr.after);
                    assert!(at == 0 || done[done.len() - at] == MemOp::Load);
                    done.push(instr.op);
                }
            }
        }
    }
    told
}

fn count(told: &mut Told, out: &[Instr], footprint: u64) {
    for instr in out {
        told.instructions += instr.count();
        told.loads += u64::from(instr.op == MemOp::Load);
        told.stores += u64::from(instr.op == MemOp::Store);
        let words = [
            instr.addr,
            u64::from(instr.work) << 16 | u64::from(instr.after),
            instr.op as u64,
        ];
        for word in words {
            told.hash.word(word);
        }
        assert!(instr.op == MemOp::None || instr.addr < footprint);
    }
}

/// Holds a kernel's memory to Table I within 5 %, at every scale that matters.
///
/// # Panics
/// If it is not.
pub fn assert_footprint(info: &KernelInfo, footprint: impl Fn(u32) -> Bytes) {
    for scale in [1, 8, 32, 64, 128] {
        let published = info.table_1_bytes() / u64::from(scale);
        let ours = footprint(scale).0;
        assert!(
            ours.abs_diff(published) * 20 <= published,
            "{} at 1:{scale}: {ours} bytes for {published}",
            info.name
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::KERNELS;
    use super::*;

    #[test]
    fn a_scale_beyond_all_sense_still_has_kernels() {
        for name in ["ycsb", "tpcc", "dlrm"] {
            let info = KERNELS.iter().find(|info| info.name == name);
            let info = info.expect("registered");
            let mut kernel = (info.make)(&given(info, 2, 1, &[], u32::MAX));
            run(kernel.as_mut(), 1);
            assert_eq!(kernel.check(), Ok(()), "{name}");
        }
    }

    /// A host keeps instructions that have not retired: they do not belong to the next stretch.
    #[test]
    fn a_stretch_does_not_depend_on_what_is_there_before_it() {
        for info in KERNELS {
            let options = KernelOptions {
                given: RawConfig::of(info.params),
                ..options(1, 32_768, 0)
            };
            let [mut alone, mut behind] = [0, 1].map(|_| (info.make)(&options));
            let (mut one, mut all) = (Vec::new(), Vec::new());
            for _ in 0..200 {
                one.clear();
                let before = all.len();
                let step = alone.fill(0, &mut one);
                assert_eq!(behind.fill(0, &mut all), step, "{}", info.name);
                assert_eq!(step == Step::More, !one.is_empty(), "{}", info.name);
                assert_eq!(all[before..], one, "{}", info.name);
            }
        }
    }
}
