//! The translation layer, and how many blocks it needs.

use super::take::{choice, count, impossible, named, share};
use crate::config::error::ConfigError;
use crate::config::raw::RawConfig;
use crate::config::value::Value;
use crate::ftl::victim::{GC_VICTIMS, GcVictimEntry};
use sluice_units::Ratio;

/// Spare blocks that a plane has however small its share of over-provisioning is, beyond those of
/// the open lines: without a few free ones a small device could not collect garbage.
const FREE_BLOCKS_MIN: u64 = 6;

/// Free blocks that garbage collection keeps if its threshold is a share.
const GC_BLOCKS_MIN: u64 = 2;

/// Free blocks that the collection of translation pages keeps.
const TRANSLATION_GC_BLOCKS: u64 = 2;

/// Bytes of an entry of the map, in flash and in memory.
const ENTRY_BYTES: u64 = 4;

/// The translation layer's checked values.
#[derive(Clone, Debug)]
pub struct FtlSettings {
    /// Good blocks of a plane for the host's data, at most; the rest is for translation pages.
    pub data_blocks_per_plane: u32,
    /// Pages that dftl keeps in memory, or `None` if the whole map is there.
    pub mapping_cache_pages: Option<u32>,
    /// Pages that the map takes in flash.
    pub translation_pages: u32,
    /// Entries of one of them.
    pub entries_per_translation_page: u32,
    /// Free blocks of a plane at or below which translation pages are collected.
    pub translation_threshold_blocks: u32,
    /// The order of channel (c), way (w), die (d) and plane (p), the fastest first.
    pub allocation: &'static str,
    /// Whether a write may name its plane.
    pub placement_by_host: bool,
    /// Planes whose blocks make a line. Divides their number.
    pub superblock_planes: u32,
    /// Which line is collected.
    pub gc: &'static GcVictimEntry,
    /// Lines that windowed-greedy looks at.
    pub gc_window: u32,
    /// Lines that d-choices draws.
    pub gc_choices: u32,
    /// Free blocks of a plane at or below which it collects garbage.
    pub gc_threshold_blocks: u32,
    /// Free blocks of a plane at or below which it collects while it is idle. 0 is never.
    pub gc_background_blocks: u32,
    /// Pages moved at once, or `None` for whole lines.
    pub gc_step: Option<u32>,
    /// Write streams.
    pub streams: u32,
    /// Whether a page's past, not the host, chooses its stream.
    pub streams_by_heat: bool,
    /// Wear levelling.
    pub wear: Wear,
    /// Erases by which a line falls behind before static levelling moves its data.
    pub wear_spread: u32,
    /// Valid pages that a plane can hold so that garbage collection always finds a stale one.
    pub valid_pages_per_plane_max: u32,
    /// What the device holds at the start.
    pub precondition: Precondition,
    /// Pages that a random precondition overwrites.
    pub precondition_writes: u64,
    /// Whether blocks can fail, so that others must be able to stand in.
    pub may_fail: bool,
}

/// What evens out the wear of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wear {
    /// Nothing: freed blocks are used in turn.
    None,
    /// The least worn free block is used first.
    Dynamic,
    /// So it is, and data on blocks that fell behind is moved.
    Static,
}

/// What a device holds at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    None,
    /// Every page, written once in order.
    Sequential,
    /// Every page, and overwritten at random after that.
    Random,
}

/// The device's pages.
pub(super) struct Pages {
    pub count: u32,
    pub bytes: u64,
}

/// Blocks of each plane.
pub(super) struct Blocks {
    home: u64,
    spare: u64,
    threshold: u64,
    /// Lines open at once: of each stream one for the host and one for the collector.
    open: u64,
    pages_per_block: u64,
    translation: u64,
    planes: u64,
    /// Bad blocks of all planes.
    bad: u64,
}

impl Blocks {
    pub fn new(
        raw: &RawConfig,
        pages: &Pages,
        planes: u64,
        pages_per_block: u64,
    ) -> Result<Blocks, ConfigError> {
        let home_of = |count: u64| count.div_ceil(planes).div_ceil(pages_per_block);
        let home = home_of(u64::from(pages.count));
        let overprovision = share(raw, "ftl.overprovision");
        let open = 2 * count(raw, "ftl.streams");
        let spare = overprovision.ceil_of(home).max(FREE_BLOCKS_MIN + open);
        let threshold = match raw.value("ftl.gc_threshold") {
            Value::Share(share) => share.ceil_of(home).max(GC_BLOCKS_MIN),
            Value::Count(blocks) => blocks,
            _ => unreachable!("ftl.gc_threshold is a count or a share"),
        };
        let translation = match choice(raw, "ftl.mapping") {
            "dftl" => {
                let home = home_of(translation_pages(pages));
                let least = FREE_BLOCKS_MIN + TRANSLATION_GC_BLOCKS;
                home + overprovision.ceil_of(home).max(least)
            }
            _ => 0,
        };
        let blocks = Blocks {
            home,
            spare,
            threshold,
            open,
            pages_per_block,
            translation,
            planes,
            bad: 0,
        };
        let blocks = Blocks {
            bad: bad_share(raw).floor_of(blocks.per_plane() * planes),
            ..blocks
        };
        blocks.check(raw)?;
        Ok(blocks)
    }

    /// Whether what the thresholds keep free fits into the spare blocks.
    fn check(&self, raw: &RawConfig) -> Result<(), ConfigError> {
        let Blocks {
            spare,
            open,
            threshold,
            ..
        } = *self;
        if threshold + open > spare {
            let most = spare - open;
            let message = format!(
                "a plane has {spare} spare blocks, of which garbage collection needs {open} to \
                 write to: over-provision more, or set a threshold of at most {most} blocks"
            );
            return Err(impossible(
                raw,
                &["ftl.overprovision", "ftl.gc_threshold"],
                message,
            ));
        }
        // Planes differ by one bad block at most.
        let bad = self.bad.div_ceil(self.planes);
        if threshold + open + bad > spare {
            let most = spare - open - threshold;
            let message = format!(
                "{bad} bad blocks of a plane and the {} that garbage collection needs are more \
                 than its {spare} spare ones: over-provision more, or let at most {most} be bad",
                open + threshold
            );
            let keys = ["nand.bad_blocks", "ftl.overprovision", "ftl.gc_threshold"];
            return Err(impossible(raw, &keys, message));
        }
        let spare = spare - bad;
        let background = number(raw, "ftl.gc_background").unwrap_or(threshold);
        if background < threshold || background + open > spare {
            let most = spare - open;
            let message = format!(
                "collection while idle must start between ftl.gc_threshold, {threshold} blocks \
                 here, and {most}, the spare blocks that are not being written"
            );
            return Err(impossible(
                raw,
                &["ftl.gc_background", "ftl.gc_threshold"],
                message,
            ));
        }
        Ok(())
    }

    pub fn per_plane(&self) -> u64 {
        self.home + self.spare + self.translation
    }

    /// Bad blocks of all planes.
    pub fn bad(&self) -> u64 {
        self.bad
    }
}

impl FtlSettings {
    pub(super) fn new(
        raw: &RawConfig,
        pages: &Pages,
        blocks: &Blocks,
        planes: u64,
    ) -> Result<FtlSettings, ConfigError> {
        // As many lines as the planes with the fewest bad blocks have.
        let data = blocks.home + blocks.spare - blocks.bad / planes;
        let least = blocks.home + blocks.spare - blocks.bad.div_ceil(planes);
        let valid_blocks = least - blocks.threshold - blocks.open;
        let writes = share(raw, "ftl.precondition_writes");
        Ok(FtlSettings {
            data_blocks_per_plane: data as u32,
            mapping_cache_pages: mapping_cache(raw, pages)?,
            translation_pages: translation_pages(pages) as u32,
            entries_per_translation_page: (pages.bytes / ENTRY_BYTES) as u32,
            translation_threshold_blocks: TRANSLATION_GC_BLOCKS as u32,
            allocation: choice(raw, "ftl.allocation"),
            placement_by_host: choice(raw, "ftl.placement") == "host",
            superblock_planes: superblock(raw, planes)?,
            gc: named(raw, "ftl.gc_policy", GC_VICTIMS, |entry| entry.info.name),
            gc_window: count(raw, "ftl.gc_window") as u32,
            gc_choices: count(raw, "ftl.gc_choices") as u32,
            gc_threshold_blocks: blocks.threshold as u32,
            gc_background_blocks: number(raw, "ftl.gc_background").unwrap_or(0) as u32,
            gc_step: number(raw, "ftl.gc_step").map(|pages| pages as u32),
            streams: count(raw, "ftl.streams") as u32,
            streams_by_heat: choice(raw, "ftl.stream_by") == "heat",
            wear: match choice(raw, "ftl.wear_levelling") {
                "none" => Wear::None,
                "dynamic" => Wear::Dynamic,
                _ => Wear::Static,
            },
            wear_spread: count(raw, "ftl.wear_spread") as u32,
            valid_pages_per_plane_max: (valid_blocks * blocks.pages_per_block) as u32,
            precondition: match choice(raw, "ftl.precondition") {
                "none" => Precondition::None,
                "random" => Precondition::Random,
                _ => Precondition::Sequential,
            },
            precondition_writes: writes.floor_of(u64::from(pages.count)),
            may_fail: ["nand.endurance", "nand.program_failure"]
                .iter()
                .any(|key| number(raw, key).is_some()),
        })
    }
}

fn bad_share(raw: &RawConfig) -> Ratio {
    match raw.value("nand.bad_blocks") {
        Value::Share(share) => share,
        _ => Ratio::ZERO,
    }
}

/// Pages that the map takes in flash.
fn translation_pages(pages: &Pages) -> u64 {
    u64::from(pages.count).div_ceil(pages.bytes / ENTRY_BYTES)
}

/// A number, or `None` for the word that stands in its place.
fn number(raw: &RawConfig, key: &'static str) -> Option<u64> {
    match raw.value(key) {
        Value::Count(count) => Some(count),
        _ => None,
    }
}

fn mapping_cache(raw: &RawConfig, pages: &Pages) -> Result<Option<u32>, ConfigError> {
    if choice(raw, "ftl.mapping") == "page" {
        return Ok(None);
    }
    let Value::Size(size) = raw.value("ftl.mapping_cache") else {
        unreachable!("ftl.mapping_cache is a size")
    };
    let held = size.0 / pages.bytes;
    if held == 0 {
        let message = format!("smaller than a translation page, {} bytes", pages.bytes);
        return Err(impossible(raw, &["ftl.mapping_cache"], message));
    }
    Ok(Some(held.min(translation_pages(pages)) as u32))
}

fn superblock(raw: &RawConfig, planes: u64) -> Result<u32, ConfigError> {
    let width = number(raw, "ftl.superblock").unwrap_or(planes);
    if !planes.is_multiple_of(width) {
        let keys = ["ftl.superblock"];
        let message = format!("not a divisor of {planes}, the number of planes");
        return Err(impossible(raw, &keys, message));
    }
    if width > 1 && choice(raw, "ftl.placement") == "host" {
        let message = "a superblock spans planes, so a write cannot name one; set one of them to \
                       its default";
        let keys = ["ftl.superblock", "ftl.placement"];
        return Err(impossible(raw, &keys, message.to_owned()));
    }
    Ok(width as u32)
}
