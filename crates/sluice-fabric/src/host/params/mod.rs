//! Every parameter of a host, declared once, as those of a device are.

mod cpu;
mod memory;
mod migration;
mod os;

use sluice_model::{Kind, Param};
use sluice_units::Ps;

const TIME: Kind = Kind::Time {
    max: Ps::from_ms(10_000),
};

fn on_or_off() -> Vec<&'static str> {
    vec!["off", "on"]
}

/// The tables, in the order in which they are shown.
const GROUPS: &[&[Param]] = &[cpu::PARAMS, memory::PARAMS, os::PARAMS, migration::PARAMS];

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

/// Every parameter of a host, grouped by table, in a fixed order. The defaults are SkyByte's
/// Table II without any of its mechanisms.
pub static HOST_PARAMS: &[Param] = &ALL;
