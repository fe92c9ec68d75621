//! The devices that come with the program.

/// A device that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name to load it by.
    pub name: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// Its file, with the source of every value.
    pub toml: &'static str,
}

/// What makes a device: every preset states these. What else it leaves out keeps its default,
/// which has a source of its own.
pub const REQUIRED: &[&str] = &[
    "device.capacity",
    "device.protocol_latency",
    "device.hint_threshold",
    "cache.capacity",
    "cache.policy",
    "cache.ways",
    "cache.index_latency",
    "cache.hit_latency",
    "prefetch.policy",
    "mshr.entries",
    "nand.read",
    "nand.program",
    "nand.erase",
    "nand.transfer",
    "nand.channels",
    "nand.dies",
    "nand.pages_per_block",
    "ftl.overprovision",
    "ftl.gc_threshold",
    "ftl.precondition",
];

/// What makes a memory expander: every preset of that kind states these instead.
pub const REQUIRED_OF_MEMORY: &[&str] = &[
    "device.kind",
    "device.capacity",
    "device.protocol_latency",
    "device.hint_threshold",
    "memory.read",
    "memory.write",
    "memory.transfer",
    "dram.model",
];

/// Every preset, in a fixed order.
pub fn presets() -> &'static [Preset] {
    PRESETS
}

/// The device of a command that names none.
pub const DEFAULT: &str = "cxl-ssd";

const PRESETS: &[Preset] = &[
    Preset {
        name: DEFAULT,
        meaning: "cylon with a controller as it is built: reads first, writes to idle dies",
        toml: include_str!("../../../presets/devices/cxl-ssd.toml"),
    },
    Preset {
        name: "cylon",
        meaning: "the device of the Cylon paper: 96 GiB of 40 us flash, 5 % FIFO cache, FEMU's \
                  striping: slow behind caches of whole stripes, such as powers of two",
        toml: include_str!("../../../presets/devices/cylon.toml"),
    },
    Preset {
        name: "cmm-h",
        meaning: "Samsung CMM-H as measured: 1 TiB, 48 GiB cache, 0.6 us hits, 79 us misses",
        toml: include_str!("../../../presets/devices/cmm-h.toml"),
    },
    Preset {
        name: "cxl-ssd-sim",
        meaning: "the device of CXL-SSD-Sim: 16 GiB behind a 16 MiB LRU cache, 100 ns hits",
        toml: include_str!("../../../presets/devices/cxl-ssd-sim.toml"),
    },
    Preset {
        name: "skybyte-base",
        meaning: "Base-CSSD of the SkyByte paper: 96 GiB of 3 us flash, 512 MiB LRU cache",
        toml: include_str!("../../../presets/devices/skybyte-base.toml"),
    },
    Preset {
        name: "skybyte",
        meaning: "SkyByte-W of its paper: 64 MiB of write log and 448 MiB of cache",
        toml: include_str!("../../../presets/devices/skybyte.toml"),
    },
    Preset {
        name: "skybyte-64th",
        meaning: "SkyByte-W's device at a 64th of its capacities and dies, for fabrics of several",
        toml: include_str!("../../../presets/devices/skybyte-64th.toml"),
    },
    Preset {
        name: "z-nand",
        meaning: "skybyte with Samsung Z-NAND: 3, 100 and 1000 us",
        toml: include_str!("../../../presets/devices/z-nand.toml"),
    },
    Preset {
        name: "xl-flash",
        meaning: "skybyte with Toshiba XL-Flash: 4, 75 and 850 us",
        toml: include_str!("../../../presets/devices/xl-flash.toml"),
    },
    Preset {
        name: "slc",
        meaning: "skybyte with SLC flash: 25, 200 and 1500 us",
        toml: include_str!("../../../presets/devices/slc.toml"),
    },
    Preset {
        name: "mlc",
        meaning: "skybyte with MLC flash: 50, 600 and 3000 us",
        toml: include_str!("../../../presets/devices/mlc.toml"),
    },
    Preset {
        name: "cxl-dram",
        meaning: "memory expander: Micron CZ120, 256 GiB of DRAM behind CXL, 0.4 us",
        toml: include_str!("../../../presets/devices/cxl-dram.toml"),
    },
    Preset {
        name: "cxl-dram-sim",
        meaning: "memory expander: the CXL-DRAM of CXL-SSD-Sim, 16 GiB, 0.1 us",
        toml: include_str!("../../../presets/devices/cxl-dram-sim.toml"),
    },
    Preset {
        name: "pmem",
        meaning: "memory: persistent, 150 ns to read, 500 ns to write",
        toml: include_str!("../../../presets/devices/pmem.toml"),
    },
    Preset {
        name: "dram-local",
        meaning: "memory: DRAM of the own socket, 95 ns",
        toml: include_str!("../../../presets/devices/dram-local.toml"),
    },
    Preset {
        name: "dram-remote",
        meaning: "memory: DRAM of the other socket, 139.3 ns",
        toml: include_str!("../../../presets/devices/dram-remote.toml"),
    },
];
