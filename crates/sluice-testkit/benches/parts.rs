//! How long single parts of the model take: a line of DRAM, an access with each prefetcher, an
//! address through an HDM decoder, a data response through a flit.
//!
//! `cargo bench -p sluice-testkit --bench parts` measures; `cargo test` runs a small size. The
//! hash says that two builds did the same thing: compare times only if it is equal.

use sluice_cxl::{
    Arithmetic, DECODER_ALIGNMENT, DevLoad, Direction, Drs, DrsOp, FlitMode, HomeAgent, Message,
    Meta, Packer, Unpacker, Window,
};
use sluice_model::dram::{Dram, DramLayout, STANDARDS};
use sluice_model::{Device, DeviceConfig, Op, PREFETCHES, Request};
use sluice_units::{Bytes, Fnv, Lpn, PAGE_BYTES, Ps, Rng};
use std::time::Instant;

const ROUNDS: usize = 5;

fn main() {
    let measure = std::env::args().any(|arg| arg == "--bench");
    let accesses = if measure { 1_000_000 } else { 5_000 };
    println!("{:24} {:>8}  hash", "part", "ns");
    for standard in STANDARDS {
        let layout = DramLayout {
            standard,
            channels: 1,
            ranks: 1,
            mapping: [0, 1, 3, 4, 2, 5],
            hashes_banks: false,
            closes_rows: false,
        };
        show(&format!("{} stream", standard.name), || {
            dram(&layout, accesses, |turn, _| turn * 64)
        });
        show(&format!("{} random", standard.name), || {
            dram(&layout, accesses, |_, rng| rng.below(1 << 32))
        });
    }
    for model in ["fixed", "ddr4-2400"] {
        show(&format!("hit, dram.model {model}"), || {
            device(&[("dram.model", model)], accesses, 2_048)
        });
    }
    cxl(accesses);
    for entry in PREFETCHES {
        let name = entry.info.name;
        let degree = if name == "none" { "0" } else { "4" };
        let set = [("prefetch.policy", name), ("prefetch.degree", degree)];
        show(&format!("miss, {name}"), || {
            device(&set, accesses / 4, 16_384)
        });
    }
}

/// Addresses through HDM decoders, and data responses into flits and out again.
fn cxl(count: u64) {
    for ways in [1, 2, 16, 3, 12] {
        let windows = [Window {
            name: "all".to_owned(),
            base: 0,
            size: Bytes::from_gib(ways),
            granularity: 256,
            arithmetic: Arithmetic::Modulo,
            weights: Vec::new(),
            targets: (0..ways as u16).collect(),
        }];
        let devices = vec![Bytes::from_gib(1); ways as usize];
        let agent = HomeAgent::new(&windows, &devices, DECODER_ALIGNMENT).expect("a window");
        show(&format!("HDM decoder, {ways} ways"), || {
            // Each address depends on the one before, as nothing else would show the time.
            timed(count, |turn, now| {
                let hpa = (turn * 0x9E37_79B9 + now.0) & ((1 << 30) - 1);
                let home = agent.home(hpa).expect("all is mapped");
                Ps(home.dpa ^ u64::from(home.device))
            })
        });
    }
    let response = Message::Drs(Drs {
        opcode: DrsOp::MemData,
        meta: Meta::NONE,
        tag: 0,
        poison: false,
        load: DevLoad::Light,
        ld_id: 0,
        dpid: 0,
        data: [0; 64],
    });
    for &mode in FlitMode::ALL {
        show(&format!("a flit {} of data", mode.name()), || {
            let mut packer = Packer::new(mode, Direction::S2m, 16);
            let mut unpacker = Unpacker::new(mode, Direction::S2m);
            timed(count / 10, |_, now| {
                let mut come = 0;
                while come == 0 {
                    while packer.push(&response).is_ok() {}
                    let flit = packer.next_flit().expect("there is something to send");
                    let taken = unpacker.take(&flit, &mut |_| come += 1);
                    taken.expect("what is packed is right");
                }
                now + Ps(come)
            })
        });
    }
}

/// Runs several rounds and prints the median of their times.
fn show(part: &str, mut round: impl FnMut() -> (u64, u64)) {
    let mut runs: Vec<(u64, u64)> = (0..ROUNDS).map(|_| round()).collect();
    assert!(
        runs.iter().all(|run| run.1 == runs[0].1),
        "{part} differs from itself"
    );
    runs.sort_unstable();
    let (ps, hash) = runs[ROUNDS / 2];
    println!(
        "{part:24} {:>5}.{:02}  {hash:016x}",
        ps / 1_000,
        ps % 1_000 / 10
    );
}

/// Each access when the one before is done: picoseconds of one, and the hash of all times.
fn dram(layout: &DramLayout, count: u64, addr: impl Fn(u64, &mut Rng) -> u64) -> (u64, u64) {
    let mut dram = Dram::new(layout);
    let mut rng = Rng::stream(1, "bench");
    timed(count, |turn, now| {
        dram.access(now, addr(turn, &mut rng), Op::Read).done_at
    })
}

/// Random loads from so many pages over a cache of 4096.
fn device(pairs: &[(&str, &str)], count: u64, pages: u64) -> (u64, u64) {
    let mut raw = DeviceConfig::builder();
    let sizes = [("device.capacity", "1GiB"), ("cache.capacity", "16MiB")];
    for (key, value) in sizes.iter().chain(pairs) {
        raw.set(key, value).expect("a valid value");
    }
    let config = DeviceConfig::new(&raw).expect("a possible device");
    let mut device = Device::new(&config, 1).expect("addressable memory");
    let mut rng = Rng::stream(1, "bench");
    let order: Vec<u64> = (0..1 << 16)
        .map(|_| Lpn::of(rng.below(pages)).addr(PAGE_BYTES))
        .collect();
    let mut access = |turn: u64, now| {
        let req = Request {
            addr: order[turn as usize % order.len()],
            op: Op::Read,
        };
        device.access(now, req, &mut ()).done_at
    };
    let warm = (0..order.len() as u64).fold(Ps::ZERO, |now, turn| access(turn, now));
    timed(count, |turn, now| access(turn, warm.max(now)))
}

fn timed(count: u64, mut access: impl FnMut(u64, Ps) -> Ps) -> (u64, u64) {
    let (mut now, mut hash) = (Ps::ZERO, Fnv::default());
    let start = Instant::now();
    for turn in 0..count {
        now = access(turn, now);
        hash.word(now.0);
    }
    (
        start.elapsed().as_nanos() as u64 * 1_000 / count,
        hash.value(),
    )
}
