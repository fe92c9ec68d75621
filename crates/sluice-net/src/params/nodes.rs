//! Parameters: requesters, endpoints and switches. A file's [[requesters]], [[endpoints]] and
//! [[switches]] change them for a group of nodes.

use crate::endpoint::{DramOrder, EndpointType};
use crate::pattern::PatternInfo;
use sluice_model::dram::{FIELDS, Standard};
use sluice_params::Kind;
use sluice_units::{Bytes, Ps, Ratio};

const SHARE: Kind = Kind::Share { max_percent: 100 };

sluice_params::params! {
    /// A group of requesters.
    pub(crate) struct RequesterParams {
        count: u32 {
            key: "requester.count",
            kind: Kind::Count { min: 1, max: 4095 },
            default: "8",
            meaning: "requesters",
            source: "ESF section V-A: N requesters, 8 in Figure 11",
        }
        depth: u32 {
            key: "requester.depth",
            kind: Kind::Count { min: 1, max: 65_536 },
            default: "64",
            meaning: "queue capacity: requests under way at once",
            source: "assumed: not stated",
        }
        interval: Ps {
            key: "requester.interval",
            default: "0ns",
            meaning: "least time between two requests",
            source: "assumed: not stated",
        }
        process: Ps {
            key: "requester.process",
            default: "10ns",
            meaning: "from a request to its port",
            source: "ESF Table III, requester process time",
        }
        cache_access: Ps {
            key: "requester.cache_access",
            default: "12ns",
            meaning: "looking for the line in the local cache, before a request leaves",
            source: "ESF Table III, cache access time",
        }
        reads: Option<Ratio> {
            key: "requester.reads",
            kind: Kind::Or("none", &SHARE),
            default: "100%",
            meaning: "share of reads among the requests",
            source: "assumed: not stated; one-way data gives ESF's ceiling of the fully connected",
        }
        pattern: &'static PatternInfo {
            key: "requester.pattern",
            default: "random",
            meaning: "which addresses it asks for",
            source: "ESF section V-A: random",
        }
        footprint: Option<Bytes> {
            key: "requester.footprint",
            kind: Kind::Or("all", &Kind::Size),
            default: "all",
            meaning: "memory that it uses, from address 0 up",
            source: "ESF section V-A: all memory devices",
        }
        hot_requests: Ratio {
            key: "requester.hot_requests",
            kind: SHARE,
            default: "90%",
            meaning: "share of the requests of a skewed pattern that go to hot lines",
            source: "ESF section V-B",
        }
        hot_lines: Ratio {
            key: "requester.hot_lines",
            kind: SHARE,
            default: "10%",
            meaning: "share of the footprint's lines that are hot, the first of it",
            source: "ESF section V-B",
        }
    }
}

sluice_params::params! {
    /// A group of memory endpoints.
    pub(crate) struct EndpointParams {
        count: u32 {
            key: "endpoint.count",
            kind: Kind::Count { min: 1, max: 4095 },
            default: "8",
            meaning: "memory endpoints",
            source: "ESF section V-A: N memories, 8 in Figure 11",
        }
        kind: EndpointType {
            key: "endpoint.type",
            default: "fixed",
            meaning: "what is behind the controller",
            source: "ESF section III-B",
        }
        capacity: Bytes {
            key: "endpoint.capacity",
            default: "1GiB",
            meaning: "size of a fixed or dram endpoint; a device has its own",
            source: "assumed: not stated",
        }
        controller: Ps {
            key: "endpoint.controller",
            default: "40ns",
            meaning: "from the port to the memory",
            source: "ESF Table III, device controller process time",
        }
        read: Ps {
            key: "endpoint.read",
            default: "50ns",
            meaning: "time of a read of a fixed endpoint",
            source: "assumed: a row miss of DDR5-4800",
        }
        write: Ps {
            key: "endpoint.write",
            default: "50ns",
            meaning: "time of a write of a fixed endpoint",
            source: "assumed: as a read",
        }
        bandwidth: Option<u64> {
            key: "endpoint.bandwidth",
            kind: Kind::Or("none", &Kind::Bandwidth { max: 100_000_000 }),
            default: "none",
            meaning: "bandwidth of data that the controller hands on; each logical device has \
                      its share",
            source: "assumed: ESF has no such limit",
        }
        logical_devices: u32 {
            key: "endpoint.logical_devices",
            kind: Kind::Count { min: 1, max: 16 },
            default: "1",
            meaning: "logical devices of a pooled device (MLD), each with its share of the \
                      capacity",
            source: "CXL 3.1: 16 LD-IDs at most; ESF section II-B",
        }
        weight: u32 {
            key: "endpoint.weight",
            kind: Kind::Count { min: 1, max: 255 },
            default: "1",
            meaning: "granules in a row that each of its logical devices takes in a round of \
                      map.arithmetic = weighted",
            source: "the weights of Linux's weighted interleave policy",
        }
        dram: &'static Standard {
            key: "endpoint.dram",
            default: "ddr5-4800",
            meaning: "standard of a dram endpoint",
            source: "ESF section IV: DDR5-4800 modules",
        }
        dram_channels: u64 {
            key: "endpoint.dram_channels",
            kind: Kind::Count { min: 1, max: 64 },
            default: "2",
            meaning: "channels as the standard has them, a power of two: DDR5 has two on a module",
            source: "ESF section IV: a module for each endpoint",
        }
        dram_ranks: u64 {
            key: "endpoint.dram_ranks",
            kind: Kind::Count { min: 1, max: 8 },
            default: "1",
            meaning: "ranks on each channel, a power of two",
            source: "assumed: not stated",
        }
        dram_mapping: [u8; 6] {
            key: "endpoint.dram_mapping",
            kind: Kind::Order(&FIELDS),
            default: "RoRaBaCoBgCh",
            meaning: "fields of an address, most significant first, as dram.mapping",
            source: "assumed: neighbouring lines on different channels, as controllers do",
        }
        dram_rows: bool {
            key: "endpoint.dram_rows",
            kind: Kind::Flag { off: "open", on: "closed" },
            default: "open",
            meaning: "open: a row stays open until another is needed; closed: it is closed after \
                      each access",
            source: "assumed: not stated",
        }
        dram_order: DramOrder {
            key: "endpoint.dram_order",
            default: "arrival",
            meaning: "which of the accesses that wait is served next",
            source: "assumed: not stated; DRAMsim3, which ESF's code calls, has fr-fcfs",
        }
        dram_queue: u32 {
            key: "endpoint.dram_queue",
            kind: Kind::Count { min: 1, max: 1024 },
            default: "32",
            meaning: "accesses of a channel among which fr-fcfs chooses; what comes later waits",
            source: "DRAMsim3 (IEEE CAL 2020): a queue of 32 transactions in its configurations",
        }
    }
}

sluice_params::params! {
    /// A group of switches.
    pub(crate) struct SwitchParams {
        count: u32 {
            key: "switch.count",
            kind: Kind::Count { min: 1, max: 4096 },
            default: "1",
            meaning: "switches of a topology that is a list; others make their own",
            source: "assumed: a list says how many it needs",
        }
        latency: Ps {
            key: "switch.latency",
            default: "20ns",
            meaning: "from a port that receives to the queue of the port that sends",
            source: "ESF Table III, switching time",
        }
        ports: u32 {
            key: "switch.ports",
            kind: Kind::Count { min: 1, max: 4096 },
            default: "256",
            meaning: "ports that a switch has",
            source: "assumed: not stated; a port's number has 8 bits in CXL 3.x",
        }
    }
}
