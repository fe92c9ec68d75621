//! Every parameter of a host, declared once, as those of a device are.

mod cpu;
mod memory;
mod migration;
mod os;

use sluice_model::{Kind, Param, params};
use sluice_units::Ps;

const TIME: Kind = Kind::Time {
    max: Ps::from_ms(10_000),
};

fn on_or_off() -> Vec<&'static str> {
    vec!["off", "on"]
}

fn no_or_yes() -> Vec<&'static str> {
    vec!["no", "yes"]
}

/// The tables, in the order in which they are shown.
const GROUPS: &[&[Param]] = &[cpu::PARAMS, memory::PARAMS, os::PARAMS, migration::PARAMS];

static ALL: [Param; params::count(GROUPS)] = params::in_order(GROUPS);

/// Every parameter of a host, grouped by table, in a fixed order. The defaults are SkyByte's
/// Table II without any of its mechanisms.
pub static HOST_PARAMS: &[Param] = &ALL;
