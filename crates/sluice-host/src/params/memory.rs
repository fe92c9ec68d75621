//! Parameters: host memory, and the link to the device.

use crate::config::{LinkModel, Start};
use sluice_cxl::FlitMode;
use sluice_model::dram::{FIELDS, Standard};
use sluice_params::{Declared, Kind, choices};
use sluice_units::{Bytes, Ps};

choices! {
    /// Where a program's own memory is.
    pub(crate) enum Local {
        Host = "host": "in host memory",
        Device = "device": "on the device with the rest",
    }
}

sluice_params::params! {
    /// Host memory.
    pub(crate) struct MemoryParams {
        memory: Bytes {
            key: "host.memory",
            default: "64GiB",
            meaning: "bytes of host memory: the most that migration.capacity can be, and a program \
                      that is in host memory as a whole",
            source: "SkyByte section VI-A: servers have 64 GB or more",
        }
        start: Start {
            key: "host.start",
            default: "empty",
            meaning: "what host memory for pages and the device's cache hold at the start",
            source: "SkyByte section VI-A: host memory, cache and log are warm when measuring \
                     begins",
        }
        dram: Option<&'static Standard> {
            key: "host.dram",
            kind: Kind::Or("fixed", &<&Standard>::KIND),
            default: "ddr5-4800-36-38-38",
            meaning: "fixed: an access of host memory takes host.dram_latency; otherwise its time \
                      comes from banks, rows and refresh of a standard",
            source: "SkyByte Table II: DDR5 4800 MHz, 36-38-38",
        }
        dram_latency: Ps {
            key: "host.dram_latency",
            default: "46ns",
            meaning: "time of an access of host memory, with host.dram = fixed",
            source: "SkyByte's artifact: 46 ns in every design but DRAM-Only; Figure 17 shows it",
        }
        dram_channels: u64 {
            key: "host.dram_channels",
            kind: Kind::Count { min: 1, max: 64 },
            default: "16",
            meaning: "channels as the standard has them, a power of two: DDR5 has two on a module",
            source: "SkyByte Table II: 8 channels, each taken as both of a module",
        }
        dram_ranks: u64 {
            key: "host.dram_ranks",
            kind: Kind::Count { min: 1, max: 8 },
            default: "1",
            meaning: "ranks on each channel, a power of two",
            source: "assumed: not stated",
        }
        dram_mapping: [u8; 6] {
            key: "host.dram_mapping",
            kind: Kind::Order(&FIELDS),
            default: "RoRaBaCoBgCh",
            meaning: "fields of an address, most significant first, as dram.mapping",
            source: "assumed: neighbouring lines on different channels, as controllers do",
        }
        dram_hash: bool {
            key: "host.dram_hash",
            kind: Kind::Flag { off: "none", on: "row" },
            default: "none",
            meaning: "row: the numbers of channel, rank, bank group and bank are exclusively ored \
                      with the low bits of the row",
            source: "assumed: none. Zhang, Zhu and Zhang, MICRO 2000; MacSim's controller does it",
        }
        dram_rows: bool {
            key: "host.dram_rows",
            kind: Kind::Flag { off: "open", on: "closed" },
            default: "open",
            meaning: "open: a row stays open until another is needed; closed: it is closed after \
                      each access",
            source: "assumed: not stated",
        }
        dram_overhead: Ps {
            key: "host.dram_overhead",
            default: "0ps",
            meaning: "time that controller and on-chip network add to an access of host memory",
            source: "assumed: none. SkyByte's 46 ns are 36 + 38 + 38 cycles of its Table II, an \
                     access that closes a row: without a controller's time",
        }
        dram_write_buffer: u32 {
            key: "host.dram_write_buffer",
            kind: Kind::Count { min: 0, max: 1_024 },
            default: "0",
            meaning: "writes that the controller holds back, to write them in a row when there are \
                      so many; 0: none, a write goes when it comes",
            source: "assumed: the simplest controller",
        }
        local: Local {
            key: "host.local",
            default: "host",
            meaning: "where a program's own memory is that it does not place on the device \
                      (viper's index)",
            source: "Viper (VLDB 2021) keeps its index in DRAM",
        }
    }
}

sluice_params::params! {
    /// The link to the device.
    pub(crate) struct LinkParams {
        bandwidth: u64 {
            key: "link.bandwidth",
            kind: Kind::Bandwidth { max: 64_000_000 },
            default: "16000",
            meaning: "bandwidth of the link to the device, each way",
            source: "SkyByte Table II: 16 GB/s",
        }
        model: LinkModel {
            key: "link.model",
            default: "constant",
            meaning: "what takes time on the link. With protocol the device's answer is not known \
                      before it comes, and pages must not move",
            source: "SkyByte and CXL-SSD-Sim give their link a constant time; docs/hosts.md has \
                     the difference",
        }
        flits: FlitMode {
            key: "link.flits",
            default: "68b",
            meaning: "flits of link.model = protocol, each message with its part of full ones",
            source: "CXL 3.1, 4.2: links of up to 32 GT/s; SkyByte's is of PCIe 5.0",
        }
    }
}
