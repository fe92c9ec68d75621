//! What kernels take of the machine that runs them, against what they say of it.

use sluice_host::Step;
use sluice_kernels::{KERNELS, KernelOptions, KernelSpec, parse_kernel};
use sluice_testkit::alloc::CountingAlloc;
use sluice_units::Bytes;

#[global_allocator]
static ALLOC: CountingAlloc = CountingAlloc;

/// The most memory that a kernel had at once, made and in its first stretches.
fn taken(spec: &KernelSpec, scale: u32, threads: u32) -> u64 {
    let options = KernelOptions {
        threads,
        scale,
        seed: 1,
        rounds: 0,
        given: spec.given.clone(),
    };
    let make = spec.info.make;
    // A thread has counts of its own, which begin at zero.
    let run = move || {
        let (mut kernel, mut out) = (make(&options), Vec::new());
        for thread in 0..threads {
            for _ in 0..50 {
                out.clear();
                if kernel.fill(thread, &mut out) != Step::More {
                    break;
                }
            }
        }
        ALLOC.counts().most_bytes
    };
    std::thread::spawn(run).join().expect("it runs")
}

/// Within what a vector has room for that grows: the next power of two.
#[test]
fn kernels_take_what_they_say() {
    let sized = |name: &str, more: &str| (format!("{name}:bytes=640MB{more}"), 20);
    let mut asked: Vec<(String, u32)> = ["", ",value=8", ",value=2000"]
        .map(|more| sized("redis", more))
        .to_vec();
    asked.push(("viper:records=200000,ops=100000".to_owned(), 1));
    asked.push(("viper:records=2000000,ops=1000000,value=8".to_owned(), 10));
    for info in KERNELS {
        match info.params.iter().any(|param| param.key == "bytes") {
            true => asked.push(sized(info.name, "")),
            false if info.published.is_some() => asked.push((info.name.to_owned(), 200)),
            false => assert_eq!(info.name, "viper", "what does it take?"),
        }
    }
    let asked = asked
        .into_iter()
        .flat_map(|(text, scale)| [1, 8].map(|n| (text.clone(), scale, n)));
    for (text, scale, threads) in asked {
        let spec = parse_kernel(KERNELS, &text, 1).expect("a kernel");
        let (Bytes(said), taken) = (spec.own(scale, threads), taken(&spec, scale, threads));
        let ratio = taken as f64 / said as f64;
        assert!(
            (0.7..1.7).contains(&ratio),
            "{text}, {threads}: {taken}, {said}"
        );
    }
}
