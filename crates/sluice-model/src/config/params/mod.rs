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

static ALL: [Param; count(GROUPS)] = in_order(GROUPS);

/// How many parameters the tables have.
pub const fn count(groups: &[&[Param]]) -> usize {
    let (mut count, mut group) = (0, 0);
    while group < groups.len() {
        count += groups[group].len();
        group += 1;
    }
    count
}

/// The tables one after the other. `N` is their [`count`]; anything else does not compile.
pub const fn in_order<const N: usize>(groups: &[&[Param]]) -> [Param; N] {
    assert!(count(groups) == N);
    let mut all = [groups[0][0]; N];
    let (mut next, mut group) = (0, 0);
    while group < groups.len() {
        let mut place = 0;
        while place < groups[group].len() {
            all[next] = groups[group][place];
            next += 1;
            place += 1;
        }
        group += 1;
    }
    all
}

/// Every parameter, grouped by table, in a fixed order. The defaults are those of `cylon`.
pub static PARAMS: &[Param] = &ALL;

/// The position of a key in [`PARAMS`].
pub(super) fn index_of(key: &str) -> Option<usize> {
    PARAMS.iter().position(|param| param.key == key)
}
