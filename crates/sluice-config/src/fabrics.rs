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
    ]
}
