//! The fabrics that come with the program.

use crate::presets::Preset;

/// Every fabric, in a fixed order.
pub fn fabrics() -> &'static [Preset] {
    &[
        Preset {
            name: "esf",
            meaning: "ESF's N requesters and N memories on PBR switches, fully connected, N = 8",
            toml: include_str!("../../../presets/fabrics/esf.toml"),
        },
        Preset {
            name: "esf-validation",
            meaning: "ESF's validated system: one requester, a bus and four DRAM modules",
            toml: include_str!("../../../presets/fabrics/esf-validation.toml"),
        },
        Preset {
            name: "esf-neighbours",
            meaning: "ESF's host at a fixed rate among eight noisy neighbours, spine-leaf",
            toml: include_str!("../../../presets/fabrics/esf-neighbours.toml"),
        },
        Preset {
            name: "esf-duplex",
            meaning: "ESF's one requester and four memories on a bus with headers",
            toml: include_str!("../../../presets/fabrics/esf-duplex.toml"),
        },
        Preset {
            name: "esf-snoop",
            meaning: "ESF's requester with a cache and a snoop filter of its size, section V-B",
            toml: include_str!("../../../presets/fabrics/esf-snoop.toml"),
        },
        Preset {
            name: "esf-invblk",
            meaning: "ESF's two streaming requesters and block back-invalidation, section V-C",
            toml: include_str!("../../../presets/fabrics/esf-invblk.toml"),
        },
        Preset {
            name: "esf-host-snoop",
            meaning: "a simulated host instead of the requester of section V-B",
            toml: include_str!("../../../presets/fabrics/esf-host-snoop.toml"),
        },
        Preset {
            name: "esf-host-invblk",
            meaning: "two simulated hosts with STREAM on the same memory instead of section V-C's",
            toml: include_str!("../../../presets/fabrics/esf-host-invblk.toml"),
        },
        Preset {
            name: "skybyte-pool",
            meaning: "eight hosts, four CXL-SSDs with write logs, two levels of switches, coherent",
            toml: include_str!("../../../presets/fabrics/skybyte-pool.toml"),
        },
        Preset {
            name: "skybyte-pool-64th",
            meaning: "the same divided by 64, to be simulated in seconds",
            toml: include_str!("../../../presets/fabrics/skybyte-pool-64th.toml"),
        },
        Preset {
            name: "skybyte-hosts-64th",
            meaning: "two simulated hosts of eight cores and four CXL-SSDs on a spine-leaf, a 64th",
            toml: include_str!("../../../presets/fabrics/skybyte-hosts-64th.toml"),
        },
        Preset {
            name: "cxl2-pool",
            meaning: "two hosts share a pooled CXL-SSD through a switch of two virtual hierarchies",
            toml: include_str!("../../../presets/fabrics/cxl2-pool.toml"),
        },
    ]
}
