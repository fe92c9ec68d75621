//! Every parameter of a host, declared once, as those of a device are.

mod cpu;
mod memory;
mod migration;
mod os;

pub(crate) use cpu::{CpuParams, Inclusion, L1Params, L2Params, L3Params, TlbParams};
pub(crate) use memory::{LinkParams, Local, MemoryParams};
pub(crate) use migration::{MigrationParams, PageSize};
pub(crate) use os::OsParams;

use sluice_params::{Param, count, in_order};

/// The tables, in the order in which they are shown.
const GROUPS: &[&[Param]] = &[
    CpuParams::PARAMS,
    L1Params::PARAMS,
    L2Params::PARAMS,
    L3Params::PARAMS,
    TlbParams::PARAMS,
    MemoryParams::PARAMS,
    LinkParams::PARAMS,
    OsParams::PARAMS,
    MigrationParams::PARAMS,
];

static ALL: [Param; count(GROUPS)] = in_order(GROUPS);

/// Every parameter of a host, grouped by table, in a fixed order. The defaults are SkyByte's
/// Table II without any of its mechanisms.
pub static HOST_PARAMS: &[Param] = &ALL;
