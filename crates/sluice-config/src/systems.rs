//! The systems that come with the program.

use crate::presets::Preset;

/// Every system, in a fixed order.
pub fn systems() -> &'static [Preset] {
    SYSTEMS
}

const SYSTEMS: &[Preset] = &[
    Preset {
        name: "base-cssd",
        meaning: "SkyByte's Base-CSSD: 8 cores and threads before skybyte-base",
        toml: include_str!("../../../presets/systems/base-cssd.toml"),
    },
    Preset {
        name: "skybyte-c",
        meaning: "Base-CSSD with coordinated context switches and 24 threads",
        toml: include_str!("../../../presets/systems/skybyte-c.toml"),
    },
    Preset {
        name: "skybyte-p",
        meaning: "Base-CSSD with adaptive page migration",
        toml: include_str!("../../../presets/systems/skybyte-p.toml"),
    },
    Preset {
        name: "skybyte-w",
        meaning: "Base-CSSD with the write log: the device skybyte",
        toml: include_str!("../../../presets/systems/skybyte-w.toml"),
    },
    Preset {
        name: "skybyte-cp",
        meaning: "context switches and page migration",
        toml: include_str!("../../../presets/systems/skybyte-cp.toml"),
    },
    Preset {
        name: "skybyte-wp",
        meaning: "write log and page migration",
        toml: include_str!("../../../presets/systems/skybyte-wp.toml"),
    },
    Preset {
        name: "skybyte-full",
        meaning: "write log, page migration and context switches",
        toml: include_str!("../../../presets/systems/skybyte-full.toml"),
    },
    Preset {
        name: "dram-only",
        meaning: "all of the program in host memory",
        toml: include_str!("../../../presets/systems/dram-only.toml"),
    },
    Preset {
        name: "skybyte-ct",
        meaning: "context switches, and pages migrated by sampling as TPP does",
        toml: include_str!("../../../presets/systems/skybyte-ct.toml"),
    },
    Preset {
        name: "skybyte-wct",
        meaning: "the same with the write log",
        toml: include_str!("../../../presets/systems/skybyte-wct.toml"),
    },
    Preset {
        name: "astriflash-cxl",
        meaning: "host memory as a set-associative cache of pages, switches on its misses",
        toml: include_str!("../../../presets/systems/astriflash-cxl.toml"),
    },
    Preset {
        name: "cxl-ssd-sim",
        meaning: "CXL-SSD-Sim's Table I: one core, no L3, before its CXL-SSD with a cache",
        toml: include_str!("../../../presets/systems/cxl-ssd-sim.toml"),
    },
    Preset {
        name: "cxl-ssd-sim-uncached",
        meaning: "the same before its CXL-SSD without a cache",
        toml: include_str!("../../../presets/systems/cxl-ssd-sim-uncached.toml"),
    },
    Preset {
        name: "cxl-ssd-sim-pmem",
        meaning: "the same with persistent memory",
        toml: include_str!("../../../presets/systems/cxl-ssd-sim-pmem.toml"),
    },
    Preset {
        name: "cxl-ssd-sim-cxl-dram",
        meaning: "the same with DRAM behind CXL",
        toml: include_str!("../../../presets/systems/cxl-ssd-sim-cxl-dram.toml"),
    },
    Preset {
        name: "cxl-ssd-sim-dram",
        meaning: "the same with all of the program in the host's own DDR4",
        toml: include_str!("../../../presets/systems/cxl-ssd-sim-dram.toml"),
    },
];
