//! The flash array and the translation layer, which bound each other.

use super::PPN_MAX;
use super::nand::{self, NandTiming, WearSettings};
use super::take::{choice, count, impossible, share, time};
use crate::config::error::ConfigError;
use crate::config::raw::RawConfig;
use crate::config::value::Value;
use sluice_units::Ps;

/// Spare blocks that a plane has however small its share of over-provisioning is: one to write, one
/// to collect into, a few free. Without them a small device could not collect garbage.
const SPARE_BLOCKS_MIN: u64 = 8;

/// Free blocks that garbage collection keeps if its threshold is a share.
const GC_BLOCKS_MIN: u64 = 2;

/// Blocks that a plane needs beyond its valid pages and the threshold: the open one of the host and
/// that of the collector.
const OPEN_BLOCKS: u64 = 2;

/// The flash array's checked values.
#[derive(Clone, Debug)]
pub struct NandSettings {
    /// Time of a page read.
    pub read: Ps,
    /// Time of a page program.
    pub program: Ps,
    /// Time of a block erase.
    pub erase: Ps,
    /// Time of a page on its channel.
    pub transfer: Ps,
    /// How commands follow each other.
    pub timing: NandTiming,
    /// What use does to the cells, if anything.
    pub wear: Option<WearSettings>,
    /// Channels.
    pub channels: u32,
    /// Chips on each channel.
    pub chips: u32,
    /// Dies on each chip.
    pub dies: u32,
    /// Planes of each die.
    pub planes: u32,
    /// Pages in a block.
    pub pages_per_block: u32,
    /// Blocks on a plane, over-provisioning included.
    pub blocks_per_plane: u32,
}

impl NandSettings {
    /// Dies on all channels together.
    pub fn die_count(&self) -> u32 {
        self.channels * self.chips * self.dies
    }

    /// Planes of all dies together.
    pub fn plane_count(&self) -> u32 {
        self.die_count() * self.planes
    }
}

/// The translation layer's checked values.
#[derive(Clone, Debug)]
pub struct FtlSettings {
    /// Free blocks of a plane at or below which it collects garbage.
    pub gc_threshold_blocks: u32,
    /// Valid pages that a plane can hold so that garbage collection always finds a stale one.
    pub valid_pages_per_plane_max: u32,
    /// Whether every page starts out written.
    pub preconditioned: bool,
}

pub(super) fn flash(
    raw: &RawConfig,
    device_pages: u32,
    page_bytes: u64,
) -> Result<(NandSettings, FtlSettings), ConfigError> {
    let parts = ["nand.channels", "nand.chips", "nand.dies", "nand.planes"];
    let planes: u64 = parts.iter().map(|key| count(raw, key)).product();
    let pages_per_block = count(raw, "nand.pages_per_block");
    let home = u64::from(device_pages)
        .div_ceil(planes)
        .div_ceil(pages_per_block);
    let spare = share(raw, "ftl.overprovision")
        .ceil_of(home)
        .max(SPARE_BLOCKS_MIN);
    let gc_threshold = match raw.value("ftl.gc_threshold") {
        Value::Share(share) => share.ceil_of(home).max(GC_BLOCKS_MIN),
        Value::Count(blocks) => blocks,
        _ => unreachable!("ftl.gc_threshold is a count or a share"),
    };
    if gc_threshold + OPEN_BLOCKS > spare {
        let most = spare - OPEN_BLOCKS;
        let message = format!(
            "a plane has {spare} spare blocks, of which garbage collection needs {OPEN_BLOCKS} to \
             write to: over-provision more, or set a threshold of at most {most} blocks"
        );
        return Err(impossible(
            raw,
            &["ftl.overprovision", "ftl.gc_threshold"],
            message,
        ));
    }
    let ppns = u128::from(planes) * u128::from(home + spare) * u128::from(pages_per_block);
    if ppns > u128::from(PPN_MAX) {
        let keys = [
            "device.capacity",
            "ftl.overprovision",
            "nand.channels",
            "nand.chips",
            "nand.dies",
            "nand.planes",
            "nand.pages_per_block",
        ];
        let message = format!("{ppns} physical pages; at most {PPN_MAX} are accepted");
        return Err(impossible(raw, &keys, message));
    }
    let nand = NandSettings {
        read: time(raw, "nand.read"),
        program: time(raw, "nand.program"),
        erase: time(raw, "nand.erase"),
        transfer: nand::transfer(raw, page_bytes),
        timing: NandTiming::new(raw)?,
        wear: WearSettings::new(raw)?,
        channels: count(raw, "nand.channels") as u32,
        chips: count(raw, "nand.chips") as u32,
        dies: count(raw, "nand.dies") as u32,
        planes: count(raw, "nand.planes") as u32,
        pages_per_block: pages_per_block as u32,
        blocks_per_plane: (home + spare) as u32,
    };
    let ftl = FtlSettings {
        gc_threshold_blocks: gc_threshold as u32,
        valid_pages_per_plane_max: ((home + spare - gc_threshold - OPEN_BLOCKS) * pages_per_block)
            as u32,
        preconditioned: choice(raw, "ftl.precondition") == "sequential",
    };
    Ok((nand, ftl))
}
