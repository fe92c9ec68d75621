//! A host of one core, and programs that are simple enough to know what they must do.

use sluice_host::{
    Cpu, HostConfig, HostDram, HostStats, Instr, Level, Link, MemOp, Migration, Program, RunLength,
    Scheduling, Start, Step, Switching, Tlb, simulate,
};
use sluice_model::{Device, DeviceConfig};
use sluice_units::{Bytes, Ps};

/// Latency of the memory expander that stands behind most of these hosts.
pub const MEMORY: Ps = Ps::from_ns(200);
/// Latency of an L3 hit.
pub const L3: Ps = Ps::from_ns(10);
/// A cycle of its cores.
pub const CYCLE: Ps = Ps(250);
/// Instructions that a core issues in a cycle.
pub const WIDTH: u64 = 4;

fn level(kib: u32, ways: u32, ns: u64, mshrs: u32) -> Level {
    Level {
        lines: kib * 16,
        ways,
        latency: Ps::from_ns(ns),
        mshrs,
    }
}

/// One core of four instructions a cycle, whose limits are out of the way.
pub fn host() -> HostConfig {
    HostConfig {
        cpu: Cpu {
            cores: 1,
            cycle: CYCLE,
            width: WIDTH as u32,
            window: 256,
            scheduler: 1024,
            store_buffer: 64,
            l1: level(32, 8, 1, 512),
            l2: level(512, 32, 3, 512),
            l2_rules: true,
            l3: level(1024, 16, 10, 1024),
            tlb: Tlb {
                entries: 1 << 16,
                ways: 4,
                walk: Ps::ZERO,
                shootdown: Ps::ZERO,
            },
        },
        threads: 1,
        scheduling: Scheduling::RoundRobin,
        switching: Switching {
            cost: Ps::from_us(2),
            mispredicts: Ps::ZERO,
            flushes_l1: false,
        },
        coordinated: false,
        slice: Ps::from_ms(3),
        dram: HostDram::Fixed(Ps::ZERO),
        local_in_host: true,
        migration: Migration::None,
        start: Start::Empty,
        is_checked: true,
        link: Link {
            line: Ps(1),
            messages: None,
        },
        seed: 1,
    }
}

/// A device by its settings.
///
/// # Panics
/// If they are refused.
pub fn config(settings: &[(&str, &str)]) -> DeviceConfig {
    let mut raw = DeviceConfig::builder();
    for (key, value) in settings {
        raw.set(key, value).expect("a valid setting");
    }
    DeviceConfig::new(&raw).expect("a possible device")
}

/// Memory that always takes [`MEMORY`].
///
/// # Panics
/// Never: its settings are a device.
pub fn expander() -> Device {
    let settings = [
        ("device.kind", "memory"),
        ("device.capacity", "1GiB"),
        ("device.protocol_latency", "0ns"),
        ("memory.read", "200ns"),
        ("memory.write", "200ns"),
        ("memory.transfer", "0ns"),
    ];
    Device::new(&config(&settings), 1).expect("a device")
}

/// One list of instructions for every thread, over and over, each round `stride` further.
pub struct Loop {
    /// Threads, each in a part of the memory of its own.
    pub threads: u32,
    /// The list.
    pub body: Vec<Instr>,
    /// Bytes from one round to the next.
    pub stride: u64,
    /// Rounds of each thread.
    pub rounds: u64,
    /// A barrier after each so many rounds, if not 0.
    pub barrier: u64,
    /// Rounds that each thread has done.
    pub done: Vec<u64>,
}

impl Loop {
    /// One that has not begun, without barriers.
    pub fn new(threads: u32, body: Vec<Instr>, stride: u64, rounds: u64) -> Loop {
        Loop {
            threads,
            body,
            stride,
            rounds,
            barrier: 0,
            done: vec![0; threads as usize],
        }
    }
}

impl Program for Loop {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 30)
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let done = &mut self.done[thread as usize];
        if *done == self.rounds {
            return Step::End;
        }
        let space = (1 << 30) / u64::from(self.threads);
        let base = space * u64::from(thread);
        for entry in &self.body {
            let addr = base + (entry.addr + *done * self.stride) % space;
            out.push(Instr { addr, ..*entry });
        }
        *done += 1;
        match self.barrier > 0 && done.is_multiple_of(self.barrier) {
            true => Step::Barrier,
            false => Step::More,
        }
    }
}

/// Reads at an address that the load so many entries before gives, after so much computation.
pub fn load(addr: u64, work: u16, after: u16) -> Instr {
    Instr {
        addr,
        work,
        after,
        op: MemOp::Load,
    }
}

/// Writes at an address after so much computation.
pub fn store(addr: u64, work: u16) -> Instr {
    Instr {
        addr,
        work,
        after: 0,
        op: MemOp::Store,
    }
}

/// Computes so many instructions without memory.
pub fn work(count: u16) -> Instr {
    Instr {
        addr: 0,
        work: count,
        after: 0,
        op: MemOp::None,
    }
}

/// Runs to the end of the program.
///
/// # Panics
/// As [`simulate`].
pub fn run(host: &HostConfig, device: Device, mut program: impl Program) -> HostStats {
    let length = RunLength {
        warmup: 0,
        measured: u64::MAX,
        sample_every: Ps::ZERO,
    };
    simulate(host, device, &mut program, length, &mut |_| true).0
}
