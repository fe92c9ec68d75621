//! Every parameter of a host, declared once, as those of a device are.

mod cpu;
mod memory;
mod migration;
mod os;

pub(crate) use cpu::Inclusion;
pub(crate) use memory::Local;
pub(crate) use migration::PageSize;

use sluice_params::{Kind, Param, count, in_order};
use sluice_units::Ps;

const TIME: Kind = Kind::Time {
    max: Ps::from_ms(10_000),
};

/// The tables, in the order in which they are shown.
const GROUPS: &[&[Param]] = &[cpu::PARAMS, memory::PARAMS, os::PARAMS, migration::PARAMS];

static ALL: [Param; count(GROUPS)] = in_order(GROUPS);

/// Every parameter of a host, grouped by table, in a fixed order. The defaults are SkyByte's
/// Table II without any of its mechanisms.
pub static HOST_PARAMS: &[Param] = &ALL;
