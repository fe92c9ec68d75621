//! Readers that meet in one bank of host memory, as in SkyByte's radix. The pages that its artifact
//! lists (output/warmup_traces, doi:10.5281/zenodo.14660184) are three stretches of 43.6 MiB, 1 GiB
//! and 1.5 GiB apart, and each line of them is accessed once.

use crate::artifact;
use sluice_host::{HostBanks, HostDram, HostStats, Instr, Migration, Program, RunLength, Step};
use sluice_model::Device;
use sluice_model::dram::{DramLayout, STANDARDS};
use sluice_skybyte_artifact::simulate;
use sluice_testkit::core_rig::{config, host, load};
use sluice_units::{Bytes, Ps};

/// Instructions for a line: 20 million of each thread for 714,000 lines.
const FOR_A_LINE: u16 = 28;
const LINES: u64 = 20_000;
const GIB: u64 = 1 << 30;

/// A thread for each base reads from there on, line by line.
struct Readers {
    bases: Vec<u64>,
    read: Vec<u64>,
}

impl Program for Readers {
    fn footprint(&self) -> Bytes {
        Bytes(3 * GIB)
    }

    fn threads(&self) -> u32 {
        self.bases.len() as u32
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let read = &mut self.read[thread as usize];
        if *read == LINES {
            return Step::End;
        }
        out.push(load(
            self.bases[thread as usize] + *read * 64,
            FOR_A_LINE - 1,
            0,
        ));
        *read += 1;
        Step::More
    }
}

/// The artifact's memory and on-chip ring, with so much from core to core, and one miss a core.
fn read_all(bases: &[u64], stop: Ps) -> HostStats {
    let mut host = host();
    host.cpu.cores = bases.len() as u32;
    let cores = bases.len().to_string();
    let ring = artifact(&[("l3.stop", &stop.to_string()), ("cpu.cores", &cores)]);
    host.threads = bases.len() as u32;
    host.cpu.l1.mshrs = 1;
    host.cpu.l3.latency = Ps::from_ns(132);
    host.migration = Migration::AllHost;
    host.is_checked = false;
    host.dram = HostDram::Banks(HostBanks {
        layout: DramLayout {
            standard: STANDARDS
                .iter()
                .find(|standard| standard.name == "macsim-skybyte")
                .unwrap(),
            channels: 8,
            ranks: 1,
            mapping: [0, 1, 5, 2, 3, 4],
            hashes_banks: true,
            closes_rows: false,
        },
        overhead: Ps(3_750),
        write_buffer: 0,
    });
    let mut program = Readers {
        bases: bases.to_vec(),
        read: vec![0; bases.len()],
    };
    let length = RunLength {
        warmup: 0,
        measured: u64::MAX,
        sample_every: Ps::ZERO,
    };
    let device = [("device.kind", "memory"), ("device.capacity", "4GiB")];
    let device = Device::new(&config(&device), 1).expect("a device");
    simulate(&host, ring, device, &mut program, length, &mut |_| true).0
}

fn amat_ns(bases: &[u64]) -> f64 {
    apart_ns(bases, Ps::ZERO)
}

fn apart_ns(bases: &[u64], stop: Ps) -> f64 {
    let time = read_all(bases, stop).memory.access_time;
    assert_eq!(time.host_demands, LINES * bases.len() as u64);
    time.host_demand.0 as f64 / time.host_demands as f64 / 1e3
}

#[test]
fn one_reader_opens_a_row_for_thirty_two_lines() {
    let due = 27.5 + (73.75 - 27.5) / 32.0;
    let amat = amat_ns(&[0]);
    assert!((amat / due - 1.0).abs() < 0.01, "{amat} ns, not {due}");
}

/// Figure 17 has 79.474 ns, more than an access takes that opens a row.
#[test]
fn three_readers_in_one_bank_take_what_skybyte_publishes_for_radix() {
    let amat = amat_ns(&[0, GIB, GIB * 5 / 2]);
    assert!((amat / 79.474 - 1.0).abs() < 0.1, "{amat} ns");
    // Each row starts in a bank of its own.
    let apart = amat_ns(&[0, GIB + 2048, GIB * 5 / 2 + 3 * 2048]);
    assert!(apart < 40.0, "{apart} ns");
}

/// A core that is nearer to memory does not get away: it waits longer, so that all take as long.
#[test]
fn readers_at_different_distances_stay_in_one_bank() {
    let amat = apart_ns(&[0, GIB, GIB * 5 / 2], Ps::from_ns(30));
    let due = 73.75 + (30.0 + 60.0) / 3.0;
    assert!((amat / due - 1.0).abs() < 0.05, "{amat} ns, not {due}");
}
