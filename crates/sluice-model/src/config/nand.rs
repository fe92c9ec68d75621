//! The flash array: its parts, its timing and its wear.

use super::deref_to_given;
use sluice_params::{ConfigError, Kind, RawConfig, TIME, choices};
use sluice_units::{Ps, Ratio};

const FEMU: &str = "FEMU's default geometry, which Cylon section 4.8 reuses";

const SAME: Kind = Kind::Or("same", &TIME);

const COUNT: Kind = Kind::Or(
    "none",
    &Kind::Count {
        min: 1,
        max: u32::MAX as u64,
    },
);

sluice_params::params! {
    /// The flash array.
    pub struct NandParams {
        read: Ps {
            key: "nand.read",
            default: "40us",
            meaning: "time from a read command to a page in the die's register",
            source: "Cylon section 5.1.1: 40 us",
        }
        program: Ps {
            key: "nand.program",
            default: "200us",
            meaning: "time to program a page",
            source: "Cylon section 5.1.1: 200 us",
        }
        erase: Ps {
            key: "nand.erase",
            default: "2ms",
            meaning: "time to erase a block",
            source: "Cylon section 5.1.1: 2000 us",
        }
        transfer: Option<Ps> {
            key: "nand.transfer",
            kind: Kind::Or("bus", &TIME),
            default: "0ns",
            meaning: "time a page takes on its channel; bus: from nand.bus_width and nand.bus_rate",
            source: "FEMU's default: no channel transfer time",
        }
        channels: u32 {
            key: "nand.channels",
            kind: Kind::Count { min: 1, max: 1_024 },
            default: "8",
            meaning: "channels, each with its own bus",
            source: FEMU,
        }
        chips: u32 {
            key: "nand.chips",
            kind: Kind::Count { min: 1, max: 256 },
            default: "1",
            meaning: "chips on each channel",
            source: "as in FEMU, which has dies on a channel only",
        }
        dies: u32 {
            key: "nand.dies",
            kind: Kind::Count { min: 1, max: 1_024 },
            default: "8",
            meaning: "dies on each chip, each busy with one operation at a time",
            source: FEMU,
        }
        planes: u32 {
            key: "nand.planes",
            kind: Kind::Count { min: 1, max: 16 },
            default: "1",
            meaning: "planes of each die, each with its own blocks",
            source: FEMU,
        }
        pages_per_block: u32 {
            key: "nand.pages_per_block",
            kind: Kind::Count { min: 2, max: 65_536 },
            default: "256",
            meaning: "pages erased together",
            source: FEMU,
        }
        bad_blocks: Option<Ratio> {
            key: "nand.bad_blocks",
            kind: Kind::Or("none", &Kind::Share { max_percent: 50 }),
            default: "none",
            meaning: "blocks that are bad from the factory, spread over the planes by the seed: \
                      spare blocks fewer",
            source: "assumed: none; data sheets allow up to 2 % over a device's life, such as \
                     Cypress KBA215722: 1004 to 1024 valid blocks",
        }
        cell: Cell {
            key: "nand.cell",
            default: "slc",
            meaning: "a cell's bits, and so the page types that follow each other in a block",
            source: "assumed: one time for every page, as in Cylon section 5.1.1",
        }
        read_csb: Option<Ps> {
            key: "nand.read_csb",
            kind: SAME,
            default: "same",
            meaning: "time to read a CSB page; same: as nand.read",
            source: "as nand.cell",
        }
        read_msb: Option<Ps> {
            key: "nand.read_msb",
            kind: SAME,
            default: "same",
            meaning: "time to read an MSB page; same: as nand.read",
            source: "as nand.cell",
        }
        read_tsb: Option<Ps> {
            key: "nand.read_tsb",
            kind: SAME,
            default: "same",
            meaning: "time to read a TSB page, a cell's fourth; same: as nand.read",
            source: "as nand.cell",
        }
        program_csb: Option<Ps> {
            key: "nand.program_csb",
            kind: SAME,
            default: "same",
            meaning: "time to program a CSB page; same: as nand.program",
            source: "as nand.cell",
        }
        program_msb: Option<Ps> {
            key: "nand.program_msb",
            kind: SAME,
            default: "same",
            meaning: "time to program an MSB page; same: as nand.program",
            source: "as nand.cell",
        }
        program_tsb: Option<Ps> {
            key: "nand.program_tsb",
            kind: SAME,
            default: "same",
            meaning: "time to program a TSB page; same: as nand.program",
            source: "as nand.cell",
        }
        bus_width: u64 {
            key: "nand.bus_width",
            kind: Kind::Count { min: 1, max: 64 },
            default: "8",
            meaning: "data lines of a channel, for nand.transfer = bus",
            source: "ONFI 5.1 section 2: an 8-bit data bus",
        }
        bus_rate: u64 {
            key: "nand.bus_rate",
            kind: Kind::Count { min: 1, max: 100_000 },
            default: "1200",
            meaning: "million transfers a second of a data line, for nand.transfer = bus",
            source: "assumed: ONFI 4.1's fastest mode, 1200 MT/s",
        }
        command: Ps {
            key: "nand.command",
            default: "0ns",
            meaning: "time of a command and its address cycles on the channel; it goes before \
                      transfers that wait",
            source: "FEMU's default: no channel time",
        }
        cache_read: bool {
            key: "nand.cache_read",
            kind: Kind::OFF_ON,
            default: "on",
            meaning: "on: a die senses a page while the one before it is transferred; off: it \
                      waits",
            source: "assumed: ONFI's read cache commands, which current dies have",
        }
        multi_plane: MultiPlane {
            key: "nand.multi_plane",
            default: "same_page",
            meaning: "operations of a die's planes that run together if asked for before the first \
                      begins",
            source: "ONFI's multi-plane commands, whose page addresses must agree",
        }
        priority: Priority {
            key: "nand.priority",
            default: "fifo",
            meaning: "what a die does first",
            source: "SkyByte section III-A: requests are served in FIFO order",
        }
        write_queue: u32 {
            key: "nand.write_queue",
            kind: Kind::Count { min: 2, max: 65_536 },
            default: "64",
            meaning: "programs, erases and moves that wait at a die. With more, a block write \
                      waits until one begins, and with read_first the oldest goes before later \
                      reads",
            source: "assumed",
        }
    }
}

sluice_params::params! {
    /// Read-first scheduling.
    pub struct ReadFirst {
        suspend: Suspend {
            key: "nand.suspend",
            default: "none",
            meaning: "with read_first: what a read may suspend",
            source: "assumed: the papers suspend nothing",
        }
        suspend_latency: Ps {
            key: "nand.suspend_latency",
            default: "5us",
            meaning: "time from a suspension to the read",
            source: "assumed: a fraction of a program",
        }
        resume_latency: Ps {
            key: "nand.resume_latency",
            default: "0ns",
            meaning: "time from the end of the reads to the work of the suspended operation going \
                      on",
            source: "assumed",
        }
        suspend_reads: u32 {
            key: "nand.suspend_reads",
            kind: Kind::Count { min: 1, max: 65_536 },
            default: "16",
            meaning: "reads that one operation, once it has begun, lets go before it",
            source: "assumed: bounds how long it can starve",
        }
    }
}

sluice_params::params! {
    /// What use does to the cells.
    pub struct WearSettings {
        retry_erases: Option<u64> {
            key: "nand.retry_erases",
            kind: COUNT,
            default: "none",
            meaning: "erases of a block that make each of its reads take one retry more; fractions \
                      fall on a share of the pages",
            source: "assumed: as a new device",
        }
        retry_reads: Option<u64> {
            key: "nand.retry_reads",
            kind: COUNT,
            default: "none",
            meaning: "reads of a block since its erase that make each of its reads take one retry \
                      more",
            source: "assumed: as a new device",
        }
        retries_max: u64 {
            key: "nand.retries_max",
            kind: Kind::Count { min: 1, max: 1_000 },
            default: "8",
            meaning: "retries of a read, at most",
            source: "assumed",
        }
        retry_latency: Option<Ps> {
            key: "nand.retry_latency",
            kind: SAME,
            default: "same",
            meaning: "time of a retry; same: that of the read",
            source: "assumed: a retry senses again",
        }
        endurance: Option<u64> {
            key: "nand.endurance",
            kind: COUNT,
            default: "none",
            meaning: "erases that a block stands before an erase fails and the block is bad",
            source: "assumed: as a new device",
        }
        endurance_spread: Option<Ratio> {
            key: "nand.endurance_spread",
            kind: Kind::Or("none", &Kind::Share { max_percent: 100 }),
            default: "none",
            meaning: "blocks fail within this share around nand.endurance, uniformly",
            source: "assumed: all alike",
        }
        program_failure: Option<u64> {
            key: "nand.program_failure",
            kind: COUNT,
            default: "none",
            meaning: "one program in so many fails, and its block is bad",
            source: "assumed: as a new device",
        }
    }
}

choices! {
    /// Bits of a cell.
    pub enum Cell {
        Slc = "slc": "LSB",
        Mlc = "mlc": "LSB, MSB",
        Tlc = "tlc": "LSB, CSB, MSB",
        Qlc = "qlc": "LSB, CSB, MSB, TSB",
    }
}

choices! {
    /// What a die does first.
    pub enum Priority {
        Fifo = "fifo": "it works in the order of requests",
        ReadFirst = "read_first": "reads go before programs, erases and moves that have not begun",
    }
}

choices! {
    /// What a read may suspend.
    pub enum Suspend {
        None = "none": "nothing",
        Program = "program": "a program",
        Erase = "erase": "an erase",
        Both = "both": "either",
    }
}

/// Bits of a cell, at most.
const TYPES_MAX: usize = 4;

impl Cell {
    /// The places, among the keys of LSB, CSB, MSB and TSB, of its page types.
    pub(super) fn types(self) -> &'static [usize] {
        match self {
            Cell::Slc => &[0],
            Cell::Mlc => &[0, 2],
            Cell::Tlc => &[0, 1, 2],
            Cell::Qlc => &[0, 1, 2, 3],
        }
    }
}

impl Suspend {
    /// Whether a read may suspend a program.
    pub fn programs(self) -> bool {
        match self {
            Suspend::Program | Suspend::Both => true,
            Suspend::None | Suspend::Erase => false,
        }
    }

    /// Whether a read may suspend an erase.
    pub fn erases(self) -> bool {
        match self {
            Suspend::Erase | Suspend::Both => true,
            Suspend::None | Suspend::Program => false,
        }
    }
}

/// The flash array's checked values.
#[derive(Clone, Debug)]
pub struct NandSettings {
    /// The parameters as they were given.
    pub given: NandParams,
    /// Time of a page on its channel.
    pub transfer: Ps,
    /// Time of a page read, by the page's number in its block modulo `pages_per_cell`.
    pub read_by_type: [Ps; TYPES_MAX],
    /// Time of a page program, likewise.
    pub program_by_type: [Ps; TYPES_MAX],
    /// Pages that share a cell: its bits.
    pub pages_per_cell: u32,
    /// How reads go before other work; in the order of requests if absent.
    pub read_first: Option<ReadFirst>,
    /// What use does to the cells, if anything.
    pub wear: Option<WearSettings>,
    /// Blocks on a plane, over-provisioning and bad ones included.
    pub blocks_per_plane: u32,
    /// Blocks of all planes that are bad from the factory.
    pub bad_blocks: u32,
}

deref_to_given!(NandSettings, NandParams);

impl NandParams {
    /// Dies on all channels together.
    pub fn die_count(&self) -> u32 {
        self.channels * self.chips * self.dies
    }

    /// Planes of all dies together.
    pub fn plane_count(&self) -> u32 {
        self.die_count() * self.planes
    }

    /// Time of a page on its channel.
    pub(super) fn page_transfer(&self, page_bytes: u64) -> Ps {
        self.transfer.unwrap_or_else(|| {
            let bits = u128::from(page_bytes) * 8;
            // A million transfers a second take a million picoseconds each.
            let wires = self.bus_width * self.bus_rate;
            Ps((bits * 1_000_000).div_ceil(u128::from(wires)) as u64)
        })
    }

    /// The times of the page types that there are, of the keys of LSB, CSB, MSB and TSB. One that
    /// is not given is the first one's.
    pub(super) fn by_type(
        &self,
        raw: &RawConfig,
        first: Ps,
        others: [(&'static str, Option<Ps>); TYPES_MAX - 1],
    ) -> Result<[Ps; TYPES_MAX], ConfigError> {
        let mut times = [first; TYPES_MAX];
        for (place, (key, time)) in (1..).zip(others) {
            let Some(time) = time else {
                continue;
            };
            let mut types = self.cell.types().iter();
            let Some(index) = types.position(|known| *known == place) else {
                let message = "such a cell has no page of this type: leave it at \"same\"";
                return Err(raw.impossible(&[key, "nand.cell"], message));
            };
            times[index] = time;
        }
        Ok(times)
    }

    pub(super) fn read_first(&self, raw: &RawConfig) -> Result<Option<ReadFirst>, ConfigError> {
        let rules = ReadFirst::new(raw);
        let dies = u64::from(self.die_count());
        let most = WAITING_MAX / dies;
        if u64::from(self.write_queue) > most {
            let message = format!("{dies} dies have room for at most {most} each");
            return Err(raw.impossible(&["nand.write_queue"], message));
        }
        match (self.priority, rules.suspend) {
            (Priority::ReadFirst, _) => Ok(Some(rules)),
            (Priority::Fifo, Suspend::None) => Ok(None),
            (Priority::Fifo, Suspend::Program | Suspend::Erase | Suspend::Both) => {
                let message = "a read suspends other work only where it goes first: set \
                               nand.priority to read_first, or nand.suspend to none";
                Err(raw.impossible(&["nand.suspend", "nand.priority"], message))
            }
        }
    }
}

/// Operations that may wait at all dies together: 3 GB.
const WAITING_MAX: u64 = 1 << 27;

impl WearSettings {
    /// Whether blocks can fail, so that others must be able to stand in.
    pub(super) fn may_fail(&self) -> bool {
        self.endurance.is_some() || self.program_failure.is_some()
    }

    /// What use does, or `None` if it does nothing.
    pub(super) fn any(raw: &RawConfig) -> Option<WearSettings> {
        let wear = WearSettings::new(raw);
        let wears = [
            wear.retry_erases,
            wear.retry_reads,
            wear.endurance,
            wear.program_failure,
        ];
        wears.iter().any(Option::is_some).then_some(wear)
    }
}

choices! {
    /// Which operations of different planes may share the cells' time.
    pub enum MultiPlane {
        Off = "off": "none",
        SamePage = "same_page": "those of pages with the same number in their blocks, and erases",
        Any = "any": "all of the same kind",
    }
}
