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

/// Every preset, in a fixed order.
pub fn presets() -> &'static [Preset] {
    &[
        Preset {
            name: "cylon",
            meaning: "the device of the Cylon paper: 96 GiB of 40 us flash, 5 % FIFO cache",
            toml: include_str!("../../../presets/devices/cylon.toml"),
        },
        Preset {
            name: "cmm-h",
            meaning: "Samsung CMM-H as measured: 1 TiB, 48 GiB cache, 0.6 us hits, 60 us misses",
            toml: include_str!("../../../presets/devices/cmm-h.toml"),
        },
    ]
}
