//! The order in which consecutive writes visit the planes.

use crate::config::{Part, Settings};
use crate::layout::Plane;

/// The planes, by their number in the layout, in the order in which writes visit them.
pub(super) fn planes_in_order(settings: &Settings) -> Vec<Plane> {
    let nand = &settings.nand;
    let count = |part| match part {
        Part::Channel => nand.channels,
        Part::Way => nand.chips,
        Part::Die => nand.dies,
        Part::Plane => nand.planes,
    };
    // The layout numbers planes fastest, then channels, chips and dies.
    let step = |part| match part {
        Part::Plane => 1,
        Part::Channel => nand.planes,
        Part::Way => nand.planes * nand.channels,
        Part::Die => nand.planes * nand.channels * nand.chips,
    };
    let mut planes = vec![0];
    for part in settings.ftl.allocation.order {
        let before = std::mem::take(&mut planes);
        for turn in 0..count(part) {
            planes.extend(before.iter().map(|plane| plane + turn * step(part)));
        }
    }
    planes.into_iter().map(Plane).collect()
}
