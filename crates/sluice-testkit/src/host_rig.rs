//! A small host in front of a small SkyByte device, to try things on.

use sluice_host::{
    Cpu, HostBanks, HostConfig, HostDram, Level, Link, Memory, Migration, Scheduling, Start,
    Switching, Tlb,
};
use sluice_model::dram::{DramLayout, STANDARDS};
use sluice_model::{Device, DeviceConfig};
use sluice_units::Ps;

/// Table II of SkyByte: link, index and DRAM of the device, a threshold of 2 us, flash of 3 us.
const SKYBYTE: &[(&str, &str)] = &[
    ("device.capacity", "16MiB"),
    ("device.protocol_latency", "40ns"),
    ("device.hint_threshold", "2us"),
    ("cache.capacity", "1MiB"),
    ("cache.index_latency", "49ns"),
    ("cache.hit_latency", "46ns"),
    ("nand.read", "3us"),
];

/// A hit of the device when nothing else goes on (SkyByte section VI-D).
pub const HIT: Ps = Ps::from_ns(40 + 49 + 46);

/// A line on the link: 16 GB/s.
pub const LINE: Ps = Ps::from_ns(4);

/// Host memory of DDR5 behind 30 ns of controller, one core.
///
/// # Panics
/// If there is no DDR5.
pub fn host(migration: Migration) -> HostConfig {
    let ns = Ps::from_ns;
    let level = Level {
        lines: 512,
        ways: 8,
        latency: ns(1),
        mshrs: 8,
    };
    let standard = STANDARDS.iter().find(|s| s.name == "ddr5-4800").unwrap();
    HostConfig {
        cpu: Cpu {
            cores: 1,
            cycle: Ps(250),
            width: 4,
            window: 256,
            scheduler: 256,
            store_buffer: 64,
            l1: level,
            l2: level,
            l2_rules: true,
            l3: level,
            tlb: Tlb {
                entries: 64,
                ways: 4,
                walk: ns(20),
                shootdown: ns(1_000),
            },
        },
        threads: 1,
        scheduling: Scheduling::Fair,
        switching: Switching {
            cost: Ps::from_us(2),
            mispredicts: Ps::ZERO,
            flushes_l1: false,
        },
        coordinated: true,
        slice: Ps::from_ms(1),
        dram: HostDram::Banks(HostBanks {
            layout: DramLayout {
                standard,
                channels: 8,
                ranks: 1,
                mapping: [0, 1, 3, 2, 4, 5],
                hashes_banks: false,
                closes_rows: false,
            },
            overhead: ns(30),
            write_buffer: 0,
        }),
        local_in_host: true,
        migration,
        start: Start::Empty,
        is_checked: true,
        link: Link {
            line: LINE,
            messages: None,
        },
        seed: 1,
    }
}

/// The host's memory, with a device of 16 MiB behind a cache of 1 MiB, the rest as in SkyByte's
/// Table II unless given.
///
/// # Panics
/// If the values are refused.
pub fn memory(migration: Migration, pairs: &[(&str, &str)]) -> Memory {
    memory_of(&host(migration), pairs)
}

/// The memory of this host, with these values set.
///
/// # Panics
/// If the values are refused.
pub fn memory_of(host: &HostConfig, pairs: &[(&str, &str)]) -> Memory {
    Memory::new(host, device(pairs))
}

/// Its device.
///
/// # Panics
/// If the values are refused.
pub fn device(pairs: &[(&str, &str)]) -> Device {
    let mut raw = DeviceConfig::builder();
    for (key, value) in SKYBYTE.iter().chain(pairs) {
        raw.set(key, value).unwrap();
    }
    Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap()
}
