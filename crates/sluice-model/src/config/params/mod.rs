//! Every parameter, declared once. The TOML reader, the command line, Python and the reference
//! documentation all come from here.

mod cache;
mod device;
mod dram;
mod ftl;
mod memory;
mod nand;
mod prefetch;
mod write_log;

use super::value::Kind;
use sluice_units::Ps;

/// One parameter of a device or a host.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The key: a table and a name, such as `nand.read`.
    pub key: &'static str,
    /// The kind of value, with its unit and range.
    pub kind: Kind,
    /// The value if none is given.
    pub default: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

const TIME: Kind = Kind::Time {
    max: Ps::from_ms(10_000),
};

/// The tables, in the order in which they are shown.
const GROUPS: &[&[Param]] = &[
    device::PARAMS,
    memory::PARAMS,
    dram::PARAMS,
    cache::PARAMS,
    prefetch::PARAMS,
    write_log::PARAMS,
    nand::PARAMS,
    ftl::PARAMS,
];

const COUNT: usize = {
    let (mut count, mut group) = (0, 0);
    while group < GROUPS.len() {
        count += GROUPS[group].len();
        group += 1;
    }
    count
};

static ALL: [Param; COUNT] = {
    let mut all = [GROUPS[0][0]; COUNT];
    let (mut next, mut group) = (0, 0);
    while group < GROUPS.len() {
        let mut place = 0;
        while place < GROUPS[group].len() {
            all[next] = GROUPS[group][place];
            next += 1;
            place += 1;
        }
        group += 1;
    }
    all
};

/// Every parameter, grouped by table, in a fixed order. The defaults are those of `cylon`.
pub static PARAMS: &[Param] = &ALL;

/// The position of a key in [`PARAMS`].
pub(super) fn index_of(key: &str) -> Option<usize> {
    PARAMS.iter().position(|param| param.key == key)
}
