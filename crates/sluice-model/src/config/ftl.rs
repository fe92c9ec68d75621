//! The translation layer, and how many blocks it needs.

use super::allocation::Allocation;
use super::deref_to_given;
use super::nand::NandParams;
use crate::contents::Contents;
use crate::victim::GcVictimEntry;
use sluice_params::{Amount, ConfigError, Kind, RawConfig, choices};
use sluice_units::{Bytes, Ratio};
use std::sync::Arc;

sluice_params::params! {
    /// The flash translation layer.
    pub struct FtlParams {
        overprovision: Ratio {
            key: "ftl.overprovision",
            kind: Kind::Share { max_percent: 1_000 },
            default: "7%",
            meaning: "flash beyond the capacity; of each plane this share of its blocks that the \
                      capacity takes, rounded up, and at least 6 blocks plus 2 for each of \
                      ftl.streams",
            source: "assumed: 7 %, the gap between a GB and a GiB",
        }
        mapping: Mapping {
            key: "ftl.mapping",
            default: "page",
            meaning: "where the map is",
            source: "FEMU's page-mapped FTL, which Cylon section 4.8 reuses",
        }
        mapping_cache: Bytes {
            key: "ftl.mapping_cache",
            default: "8MiB",
            meaning: "translation pages that dftl keeps in memory (LRU), 4 bytes for each entry",
            source: "assumed: a twelfth of the map of 96 GiB",
        }
        allocation: Allocation {
            key: "ftl.allocation",
            default: "cwdp",
            meaning: "where writes go: the order in which they go round channels, ways (chips), \
                      dies and planes, the fastest first",
            source: "assumed: channels first, so that consecutive pages are read together. Idle \
                     dies: dynamic allocation, as in Hu et al., ICS 2011. Home: MQSim's static \
                     allocation (FAST 2018)",
        }
        placement_by_host: bool {
            key: "ftl.placement",
            kind: Kind::Flag { off: "device", on: "host" },
            default: "device",
            meaning: "host: a write may name its plane",
            source: "Cylon section 4.6: host-managed flash is an option",
        }
        superblock: Option<u64> {
            key: "ftl.superblock",
            kind: Kind::Or("all", &Kind::Count { min: 1, max: 1 << 20 }),
            default: "1",
            meaning: "planes, neighbours in the order of allocation, whose blocks are filled and \
                      collected together",
            source: "assumed: each plane on its own",
        }
        write_buffer: Option<u32> {
            key: "ftl.write_buffer",
            kind: Kind::Or("none", &Kind::Count { min: 1, max: 4_096 }),
            default: "none",
            meaning: "superpages of a write buffer: pages that leave the cache wait there, and \
                      when it is full the oldest go to flash, one to each plane of a superblock. \
                      What waits can be read, and is rewritten in place",
            source: "assumed: each page is programmed when it leaves the cache, as in FEMU",
        }
        gc: &'static GcVictimEntry {
            key: "ftl.gc_policy",
            default: "greedy",
            meaning: "which block is collected",
            source: "FEMU's default: the fewest valid pages",
        }
        gc_window: u32 {
            key: "ftl.gc_window",
            kind: Kind::Count { min: 1, max: 4_096 },
            default: "64",
            meaning: "blocks that windowed-greedy looks at, those filled first",
            source: "assumed",
        }
        gc_choices: u32 {
            key: "ftl.gc_choices",
            kind: Kind::Count { min: 1, max: 1_024 },
            default: "10",
            meaning: "blocks that d-choices draws",
            source: "Van Houdt, SIGMETRICS 2013: with 10, close to greedy",
        }
        gc_threshold: Amount<u64> {
            key: "ftl.gc_threshold",
            kind: Kind::BlocksOrShare,
            default: "1%",
            meaning: "free blocks of a plane at which it collects; a share is of the plane's \
                      blocks that the capacity takes, rounded up, and 2 blocks at least",
            source: "assumed",
        }
        gc_blocks: Amount<u64> {
            key: "ftl.gc_blocks",
            kind: Kind::BlocksOrShare,
            default: "1",
            meaning: "blocks of a plane that one collection erases, and more if its free blocks \
                      are still at the threshold then; a share is of the blocks of the capacity",
            source: "assumed: as few as there have to be",
        }
        gc_background: Option<u64> {
            key: "ftl.gc_background",
            kind: Kind::Or("off", &Kind::Count { min: 1, max: 1 << 20 }),
            default: "off",
            meaning: "free blocks of a plane at which it collects while its die is idle",
            source: "assumed: collection when a write needs it",
        }
        gc_step: Option<u32> {
            key: "ftl.gc_step",
            kind: Kind::Or("all", &Kind::Count { min: 1, max: 1 << 20 }),
            default: "all",
            meaning: "pages moved at once; between steps the host comes first. A number also \
                      spreads collection over the writes before the threshold",
            source: "assumed: a whole block at once",
        }
        streams: u32 {
            key: "ftl.streams",
            kind: Kind::Count { min: 1, max: 8 },
            default: "1",
            meaning: "write streams, each with blocks of its own",
            source: "assumed: hot and cold pages share blocks",
        }
        streams_by_host: bool {
            key: "ftl.stream_by",
            kind: Kind::Flag { off: "heat", on: "host" },
            default: "heat",
            meaning: "heat: a rewritten page goes to the next hotter stream, a collected one to \
                      the next colder; host: the write names its stream",
            source: "Chiang et al., Software: Practice and Experience 1999 (DAC), for heat",
        }
        wear: Wear {
            key: "ftl.wear_levelling",
            default: "none",
            meaning: "what evens out the wear of blocks",
            source: "assumed: blocks are used in turn",
        }
        wear_spread: u32 {
            key: "ftl.wear_spread",
            kind: Kind::Count { min: 1, max: 1 << 20 },
            default: "64",
            meaning: "erases by which a block falls behind before static levelling moves its data",
            source: "assumed",
        }
        precondition: Precondition {
            key: "ftl.precondition",
            default: "sequential",
            meaning: "what the device holds at the start",
            source: "assumed: a device in use",
        }
        precondition_writes: Ratio {
            key: "ftl.precondition_writes",
            kind: Kind::Share { max_percent: 1_000 },
            default: "100%",
            meaning: "random overwrites of a random precondition, as a share of the capacity",
            source: "assumed: collection is in its steady state after one",
        }
    }
}

choices! {
    /// Where the map is.
    pub enum Mapping {
        Page = "page": "in memory",
        Dftl = "dftl": "in flash, behind ftl.mapping_cache",
    }
}

choices! {
    /// What evens out the wear of blocks.
    pub enum Wear {
        None = "none": "nothing, freed blocks are used in turn",
        Dynamic = "dynamic": "the least worn free block is used first",
        Static = "static": "cold data moves too",
    }
}

choices! {
    /// What a device holds at the start.
    pub enum Precondition {
        Sequential = "sequential": "every page, written once, in order",
        Random = "random": "every page, then overwritten at random",
        None = "none": "nothing, and reads cost no NAND time until a page is written",
    }
}

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
    /// The parameters as they were given.
    pub given: FtlParams,
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
    /// Planes whose blocks make a line. Divides their number.
    pub superblock_planes: u32,
    /// Free blocks of a plane at or below which it collects garbage.
    pub gc_threshold_blocks: u32,
    /// Free blocks of a plane at or below which it collects while it is idle. 0 is never.
    pub gc_background_blocks: u32,
    /// Blocks of a plane that one collection erases at least.
    pub gc_blocks_at_once: u32,
    /// Valid pages that a plane can hold so that garbage collection always finds a stale one.
    pub valid_pages_per_plane_max: u32,
    /// Pages that a random precondition overwrites.
    pub precondition_writes: u64,
    /// Whether blocks can fail, so that others must be able to stand in.
    pub may_fail: bool,
    /// Where a random precondition is taken from, if it need not be made.
    pub contents: Option<Arc<dyn Contents>>,
}

deref_to_given!(FtlSettings, FtlParams);

/// The device's pages.
pub(super) struct Pages {
    pub count: u32,
    pub bytes: u64,
}

impl Pages {
    /// Pages that the map takes in flash.
    fn of_map(&self) -> u64 {
        u64::from(self.count).div_ceil(self.bytes / ENTRY_BYTES)
    }
}

/// Blocks of each plane.
pub(super) struct Blocks {
    given: FtlParams,
    home: u64,
    spare: u64,
    threshold: u64,
    /// Free blocks at which collection begins while the plane is idle, if it does.
    background: Option<u64>,
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
        nand: &NandParams,
    ) -> Result<Blocks, ConfigError> {
        let given = FtlParams::new(raw);
        let pages_per_block = u64::from(nand.pages_per_block);
        let home_of = |count: u64| count.div_ceil(planes).div_ceil(pages_per_block);
        let home = home_of(u64::from(pages.count));
        let overprovision = given.overprovision;
        let open = 2 * u64::from(given.streams);
        let threshold = match given.gc_threshold {
            Amount::Share(share) => share.ceil_of(home).max(GC_BLOCKS_MIN),
            Amount::Absolute(blocks) => blocks,
        };
        let translation = match given.mapping {
            Mapping::Page => 0,
            Mapping::Dftl => {
                let home = home_of(pages.of_map());
                let least = FREE_BLOCKS_MIN + TRANSLATION_GC_BLOCKS;
                home + overprovision.ceil_of(home).max(least)
            }
        };
        let blocks = Blocks {
            home,
            spare: overprovision.ceil_of(home).max(FREE_BLOCKS_MIN + open),
            threshold,
            background: given.gc_background,
            open,
            pages_per_block,
            translation,
            planes,
            bad: 0,
            given,
        };
        let bad_share = nand.bad_blocks.unwrap_or(Ratio::ZERO);
        let blocks = Blocks {
            bad: bad_share.floor_of(blocks.per_plane() * planes),
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
            return Err(raw.impossible(&["ftl.overprovision", "ftl.gc_threshold"], message));
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
            return Err(raw.impossible(&keys, message));
        }
        let spare = spare - bad;
        let background = self.background.unwrap_or(threshold);
        if background < threshold || background + open > spare {
            let most = spare - open;
            let message = format!(
                "collection while idle must start between ftl.gc_threshold, {threshold} blocks \
                 here, and {most}, the spare blocks that are not being written"
            );
            return Err(raw.impossible(&["ftl.gc_background", "ftl.gc_threshold"], message));
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
        blocks: Blocks,
        planes: u64,
        may_fail: bool,
    ) -> Result<FtlSettings, ConfigError> {
        // There are as many lines as the planes with the fewest bad blocks have.
        let data = blocks.home + blocks.spare - blocks.bad / planes;
        let least = blocks.home + blocks.spare - blocks.bad.div_ceil(planes);
        let valid_blocks = least - blocks.threshold - blocks.open;
        let given = blocks.given;
        let precondition_writes = given.precondition_writes;
        Ok(FtlSettings {
            data_blocks_per_plane: data as u32,
            mapping_cache_pages: given.mapping_cache_pages(raw, pages)?,
            translation_pages: pages.of_map() as u32,
            entries_per_translation_page: (pages.bytes / ENTRY_BYTES) as u32,
            translation_threshold_blocks: TRANSLATION_GC_BLOCKS as u32,
            superblock_planes: given.superblock_planes(raw, pages, planes)?,
            gc_threshold_blocks: blocks.threshold as u32,
            gc_background_blocks: blocks.background.unwrap_or(0) as u32,
            gc_blocks_at_once: match given.gc_blocks {
                Amount::Share(share) => share.ceil_of(blocks.home).max(1),
                Amount::Absolute(count) => count,
            } as u32,
            valid_pages_per_plane_max: (valid_blocks * blocks.pages_per_block) as u32,
            precondition_writes: precondition_writes.floor_of(u64::from(pages.count)),
            may_fail,
            contents: None,
            given,
        })
    }
}

impl FtlParams {
    fn mapping_cache_pages(
        &self,
        raw: &RawConfig,
        pages: &Pages,
    ) -> Result<Option<u32>, ConfigError> {
        match self.mapping {
            Mapping::Page => Ok(None),
            Mapping::Dftl => {
                let held = self.mapping_cache.0 / pages.bytes;
                if held == 0 {
                    let bytes = pages.bytes;
                    let message = format!("smaller than a translation page, {bytes} bytes");
                    return Err(raw.impossible(&["ftl.mapping_cache"], message));
                }
                Ok(Some(held.min(pages.of_map()) as u32))
            }
        }
    }

    fn superblock_planes(
        &self,
        raw: &RawConfig,
        pages: &Pages,
        planes: u64,
    ) -> Result<u32, ConfigError> {
        let width = self.superblock.unwrap_or(planes);
        let buffered = u64::from(self.write_buffer.unwrap_or(0)) * width;
        if buffered > u64::from(pages.count) {
            let message = format!(
                "a buffer of {buffered} pages; the device has {}",
                pages.count
            );
            return Err(raw.impossible(&["ftl.write_buffer", "ftl.superblock"], message));
        }
        if !planes.is_multiple_of(width) {
            let message = format!("not a divisor of {planes}, the number of planes");
            return Err(raw.impossible(&["ftl.superblock"], message));
        }
        if width > 1 && self.placement_by_host {
            let message = "a superblock spans planes, so a write cannot name one; set one of them \
                           to its default";
            return Err(raw.impossible(&["ftl.superblock", "ftl.placement"], message));
        }
        Ok(width as u32)
    }
}
