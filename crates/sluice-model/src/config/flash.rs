//! The flash array and the translation layer, which bound each other.

use super::PPN_MAX;
use super::ftl::{Blocks, FtlSettings, Pages};
use super::nand::{NandParams, NandSettings, WearSettings};
use sluice_params::{ConfigError, RawConfig};

/// The checked values of both.
pub(super) fn flash(
    raw: &RawConfig,
    pages: &Pages,
) -> Result<(NandSettings, FtlSettings), ConfigError> {
    let given = NandParams::new(raw);
    let parts = [given.channels, given.chips, given.dies, given.planes];
    let planes: u64 = parts.map(u64::from).iter().product();
    let pages_per_block = u64::from(given.pages_per_block);
    let wear = WearSettings::any(raw);
    let blocks = Blocks::new(raw, pages, planes, &given)?;
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
        return Err(raw.impossible(&keys, message));
    }
    let reads = [
        ("nand.read_csb", given.read_csb),
        ("nand.read_msb", given.read_msb),
        ("nand.read_tsb", given.read_tsb),
    ];
    let programs = [
        ("nand.program_csb", given.program_csb),
        ("nand.program_msb", given.program_msb),
        ("nand.program_tsb", given.program_tsb),
    ];
    let may_fail = wear.as_ref().is_some_and(WearSettings::may_fail);
    let nand = NandSettings {
        transfer: given.page_transfer(pages.bytes),
        read_by_type: given.by_type(raw, given.read, reads)?,
        program_by_type: given.by_type(raw, given.program, programs)?,
        pages_per_cell: given.cell.types().len() as u32,
        read_first: given.read_first(raw)?,
        wear,
        blocks_per_plane: blocks.per_plane() as u32,
        bad_blocks: blocks.bad() as u32,
        given,
    };
    let ftl = FtlSettings::new(raw, pages, blocks, planes, may_fail)?;
    Ok((nand, ftl))
}
