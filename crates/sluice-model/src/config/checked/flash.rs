//! The flash array and the translation layer, which bound each other.

use super::PPN_MAX;
use super::ftl::{Blocks, FtlSettings, Pages};
use super::nand::{self, NandTiming, WearSettings};
use super::take::{count, impossible, time};
use crate::config::error::ConfigError;
use crate::config::raw::RawConfig;
use sluice_units::Ps;

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
    /// Blocks on a plane, over-provisioning and bad ones included.
    pub blocks_per_plane: u32,
    /// Blocks of all planes that are bad from the factory.
    pub bad_blocks: u32,
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

pub(super) fn flash(
    raw: &RawConfig,
    pages: &Pages,
) -> Result<(NandSettings, FtlSettings), ConfigError> {
    let parts = ["nand.channels", "nand.chips", "nand.dies", "nand.planes"];
    let planes: u64 = parts.iter().map(|key| count(raw, key)).product();
    let pages_per_block = count(raw, "nand.pages_per_block");
    let blocks = Blocks::new(raw, pages, planes, pages_per_block)?;
    let ppns = u128::from(planes) * u128::from(blocks.per_plane()) * u128::from(pages_per_block);
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
        transfer: nand::transfer(raw, pages.bytes),
        timing: NandTiming::new(raw)?,
        wear: WearSettings::new(raw)?,
        channels: count(raw, "nand.channels") as u32,
        chips: count(raw, "nand.chips") as u32,
        dies: count(raw, "nand.dies") as u32,
        planes: count(raw, "nand.planes") as u32,
        pages_per_block: pages_per_block as u32,
        blocks_per_plane: blocks.per_plane() as u32,
        bad_blocks: blocks.bad() as u32,
    };
    let ftl = FtlSettings::new(raw, pages, &blocks, planes)?;
    Ok((nand, ftl))
}
