//! The order in which consecutive writes visit the planes.

use crate::config::Settings;

/// Every order of channel, way (a chip on its channel), die and plane. The first letter runs
/// fastest.
pub static ALLOCATIONS: [&str; 24] = [
    "cwdp", "cwpd", "cdwp", "cdpw", "cpwd", "cpdw", "wcdp", "wcpd", "wdcp", "wdpc", "wpcd", "wpdc",
    "dcwp", "dcpw", "dwcp", "dwpc", "dpcw", "dpwc", "pcwd", "pcdw", "pwcd", "pwdc", "pdcw", "pdwc",
];

/// The planes, by their number in the layout, in the order in which writes visit them.
pub(super) fn planes_in_order(settings: &Settings) -> Vec<u32> {
    let nand = &settings.nand;
    let count = |letter| match letter {
        'c' => nand.channels,
        'w' => nand.chips,
        'd' => nand.dies,
        _ => nand.planes,
    };
    // The layout numbers planes fastest, then channels, chips and dies.
    let step = |letter| match letter {
        'p' => 1,
        'c' => nand.planes,
        'w' => nand.planes * nand.channels,
        _ => nand.planes * nand.channels * nand.chips,
    };
    let mut planes = vec![0];
    for letter in settings.ftl.allocation.chars() {
        let before = std::mem::take(&mut planes);
        for turn in 0..count(letter) {
            planes.extend(before.iter().map(|plane| plane + turn * step(letter)));
        }
    }
    planes
}
