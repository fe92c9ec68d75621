//! Accesses a second of one CPU into a trace and out of it, and bytes that each takes in the file.
//!
//! Programs that compute, with all their accesses and with those that pass the caches of a host.
//! `cargo bench -p sluice-testkit --bench trace` measures; `cargo test` runs a small size. The hash
//! of the file says that two builds did the same thing: compare times only if it is equal.

use sluice_host::{Instr, MemOp, Step};
use sluice_kernels::KernelOptions;
use sluice_skybyte_artifact::parse_kernel;
use sluice_trace::filter::{Filter, Levels, Passed};
use sluice_trace::{Access, Header, Kind, Reader, Writer};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Cursor;

/// Accesses in and out for one figure, at least.
const MEASURED: usize = 10_000_000;
const KERNELS: &[&str] = &["radix", "srad", "bc", "tpcc", "ycsb", "dlrm"];
const CACHES: &str = "L1=32KiB/8,L2=512KiB/8";
const LINE_BYTES: u64 = 64;

fn main() {
    let measure = std::env::args().any(|arg| arg == "--bench");
    let (instructions, scale) = if measure {
        (20_000_000, 16)
    } else {
        (50_000, 256)
    };
    println!(
        "{:16} {:>10} {:>14} {:>14} {:>10}  hash",
        "program", "accesses", "million/s in", "million/s out", "bytes each"
    );
    for kernel in KERNELS {
        let all = accesses(kernel, instructions, scale);
        show(kernel, 1, &all, measure);
        show(
            &format!("{kernel}, misses"),
            LINE_BYTES as u32,
            &misses(&all),
            measure,
        );
    }
}

/// What a kernel's only thread does.
fn accesses(kernel: &str, instructions: usize, scale: u32) -> Vec<Access> {
    let spec = parse_kernel(kernel, 1).expect("a kernel");
    let mut kernel = (spec.info.make)(&KernelOptions {
        threads: 1,
        scale,
        seed: spec.seed,
        rounds: spec.rounds,
        given: spec.given.clone(),
    });
    let (mut all, mut count) = (Vec::new(), 0);
    let mut some: Vec<Instr> = Vec::new();
    let mut step = Step::More;
    while step != Step::End && count < instructions as u64 {
        some.clear();
        step = kernel.fill(0, &mut some);
        for instr in &some {
            count += u64::from(instr.work);
            let kind = match instr.op {
                MemOp::Load => Kind::Load,
                MemOp::Store => Kind::Store,
                _ => continue,
            };
            all.push(Access {
                cpu: 0,
                instructions: count,
                address: instr.addr,
                size: 8,
                kind,
            });
            count += 1;
        }
    }
    all
}

/// Accesses that pass the caches of a host, as `sluice trace record` has them.
fn misses(all: &[Access]) -> Vec<Access> {
    let mut filter = Filter::new(&Levels::parse(CACHES).expect("caches"));
    let mut passed = Vec::new();
    for access in all {
        let (line, store) = (access.address / LINE_BYTES, access.kind == Kind::Store);
        filter.access(line, store, &mut |pass| {
            let (line, kind) = match pass {
                Passed::Fill(line) => (line, Kind::Load),
                Passed::WriteBack(line) => (line, Kind::Store),
            };
            passed.push(Access {
                address: line * LINE_BYTES,
                size: LINE_BYTES as u16,
                kind,
                ..*access
            });
        });
    }
    passed
}

/// Seconds that this thread has had a CPU: other work on the machine does not count.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let ns: f64 = text
        .split(' ')
        .next()
        .and_then(|ns| ns.parse().ok())
        .expect("a number");
    ns / 1e9
}

/// Something of an access that depends on all of it that differs.
fn mixed(access: &Access) -> u64 {
    access.address ^ access.instructions
}

fn show(name: &str, granularity: u32, accesses: &[Access], measure: bool) {
    let header = Header {
        granularity,
        ..Header::new(name)
    };
    let due = accesses
        .iter()
        .fold(0u64, |sum, access| sum.wrapping_add(mixed(access)));
    let rounds = if measure {
        1 + MEASURED / accesses.len().max(1)
    } else {
        1
    };
    let (mut file, mut time_in, mut time_out) = (Vec::new(), 0.0, 0.0);
    for _ in 0..rounds {
        file.clear();
        let start = cpu_s();
        let mut writer = Writer::new(Cursor::new(&mut file), &header).expect("a writer");
        accesses
            .iter()
            .for_each(|access| writer.push(access).expect("an access"));
        writer.finish(&[]).expect("a file");
        let written = cpu_s();
        let mut reader = Reader::new(Cursor::new(&file)).expect("a reader");
        let mut sum = 0u64;
        while let Some(block) = reader.next_block().expect("a block") {
            sum = block
                .iter()
                .fold(sum, |sum, access| sum.wrapping_add(mixed(access)));
        }
        (time_in, time_out) = (time_in + written - start, time_out + cpu_s() - written);
        assert_eq!(sum, due);
    }
    let count = accesses.len() as f64;
    let speed = |time: f64| count * rounds as f64 / time.max(1e-6) / 1e6;
    let mut hash = DefaultHasher::new();
    file.hash(&mut hash);
    println!(
        "{name:16} {count:>10} {:>14.1} {:>14.1} {:>10.2}  {:016x}",
        speed(time_in),
        speed(time_out),
        file.len() as f64 / count,
        hash.finish()
    );
}
