//! Parameters: links, packets and routing. A file's [[links]] change them for one link.

use crate::routing::RoutingInfo;
use sluice_cxl::{Arithmetic, FlitMode};
use sluice_params::{Declared, Kind};
use sluice_units::{Bytes, Ps};

sluice_params::params! {
    /// A link.
    pub(crate) struct LinkParams {
        bandwidth: Option<u64> {
            key: "link.bandwidth",
            kind: Kind::Or("none", &Kind::Bandwidth { max: 100_000_000 }),
            default: "64000",
            meaning: "bandwidth in each direction, or of both together if half duplex; none: \
                      no limit",
            source: "PCIe 6.0: 64 GT/s on 8 lanes, without coding (ESF sections I and II-A)",
        }
        width: u32 {
            key: "link.width",
            kind: Kind::Count { min: 1, max: 4_096 },
            default: "1",
            meaning: "bytes that move together: a packet takes up a whole number of them",
            source: "assumed: ESF section III-C has buses without a width",
        }
        latency: Ps {
            key: "link.latency",
            default: "1ns",
            meaning: "from the last bit sent to the last bit received",
            source: "ESF Table III, bus time",
        }
        port_latency: Ps {
            key: "link.port_latency",
            default: "25ns",
            meaning: "what the port at either end adds",
            source: "ESF Table III, PCIe port delay",
        }
        duplex: bool {
            key: "link.duplex",
            kind: Kind::Flag { off: "full", on: "half" },
            default: "full",
            meaning: "full: each direction has the bandwidth; half: they share it",
            source: "ESF section III-C",
        }
        turnaround: Ps {
            key: "link.turnaround",
            default: "0ns",
            meaning: "time in which a half-duplex link changes its direction",
            source: "assumed: ESF section III-C has it without a value",
        }
        burst: u32 {
            key: "link.burst",
            kind: Kind::Count { min: 1, max: 65_536 },
            default: "8",
            meaning: "packets that one direction of a half-duplex link sends while the other waits",
            source: "assumed: not stated",
        }
        credits: Option<u32> {
            key: "link.credits",
            kind: Kind::Or("none", &Kind::Count { min: 1, max: 65_536 }),
            default: "none",
            meaning: "packets of a channel that the receiver of a direction has room for; none: no \
                      limit",
            source: "assumed: ESF does not state its flow control; none never blocks",
        }
    }
}

sluice_params::params! {
    /// The link between the sockets of a server.
    pub(crate) struct SocketParams {
        latency: Ps {
            key: "socket.latency",
            default: "22ns",
            meaning: "from a socket to the home socket, whose port is the server's, and back: each \
                      way",
            source: "Cylon Figure 2: memory of the other socket takes 139.3 ns against 95; half of \
                     it each way is assumed",
        }
        bandwidth: Option<u64> {
            key: "socket.bandwidth",
            kind: Kind::Or("none", &Kind::Bandwidth { max: 100_000_000 }),
            default: "62400",
            meaning: "bandwidth between the sockets, each way, with a packet's bytes as on other \
                      links; none: no limit",
            source: "Intel Xeon Gold 6242, the host of Cylon section 5: three UPI links of \
                     10.4 GT/s with two bytes of data each",
        }
    }
}

sluice_params::params! {
    /// Bytes of packets.
    pub(crate) struct PacketParams {
        flits: Option<FlitMode> {
            key: "packet.flits",
            kind: Kind::Or("none", &FlitMode::KIND),
            default: "none",
            meaning: "sizes of all packets from these CXL flits, each message with its part of \
                      full ones; none: packet.payload and the headers give them",
            source: "CXL 3.1, 4.2 and 4.3; docs/cxl-mem.md has the bytes",
        }
        payload: u32 {
            key: "packet.payload",
            kind: Kind::Count { min: 64, max: 65_536 },
            default: "64",
            meaning: "bytes of data in a packet that carries data",
            source: "a line of CXL.mem",
        }
        header: u32 {
            key: "packet.header",
            kind: Kind::Count { min: 0, max: 65_536 },
            default: "16",
            meaning: "bytes of a packet without data: a request to read, a response to a write",
            source: "a slot of a CXL flit; ESF section V-D varies it from nothing to the payload",
        }
        data_header: u32 {
            key: "packet.data_header",
            kind: Kind::Count { min: 0, max: 65_536 },
            default: "0",
            meaning: "bytes of header in a packet with data",
            source: "ESF section V-D: no gain at a header of the payload's size needs none here",
        }
    }
}

sluice_params::params! {
    /// How addresses are dealt out over endpoints.
    pub(crate) struct MapParams {
        ways: u32 {
            key: "map.ways",
            kind: Kind::Count { min: 1, max: 16 },
            default: "16",
            meaning: "most endpoints that an HDM range is dealt out over, in their order",
            source: "CXL 3.1: 16 ways at most",
        }
        granularity: Bytes {
            key: "map.granularity",
            default: "256B",
            meaning: "bytes in a row on one endpoint: 64 to 16384, a power of two; decoders of CXL \
                      have 256 at least",
            source: "assumed: the least of CXL 3.1; ESF's code deals out lines",
        }
        arithmetic: Arithmetic {
            key: "map.arithmetic",
            default: "modulo",
            meaning: "which endpoint of an HDM range has which granule",
            source: "CXL 3.1, 9.18.1.4 (CXIMS); the maps of xor are those of Linux's CXL tests, \
                     and weighted is Linux's weighted interleave policy",
        }
    }
}

sluice_params::params! {
    /// Routing.
    pub(crate) struct RoutingParams {
        policy: &'static RoutingInfo {
            key: "routing.policy",
            default: "split",
            meaning: "which of several shortest ways a packet takes",
            source: "assumed: ESF section III-C does not state how ties are broken",
        }
    }
}
