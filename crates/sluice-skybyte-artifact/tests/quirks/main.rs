//! What each departure of SkyByte's artifact does, beside a host that is as hardware is.

mod alone;
mod device;
mod one_bank;
mod pages;
mod parameters;
mod rest;
mod ring;
mod sections;
mod store_misses;
mod switches;

use sluice_config::HOST_PARAMS;
use sluice_host::{HostConfig, HostStats, RunLength};
use sluice_model::Device;
use sluice_params::RawConfig;
use sluice_skybyte_artifact::{SkyByte, simulate};
use sluice_testkit::core_rig::Loop;
use sluice_units::Ps;

fn values(pairs: &[(&str, &str)]) -> RawConfig {
    let mut raw = RawConfig::of(&HOST_PARAMS);
    for (key, value) in pairs {
        raw.set(key, value).expect("a value of the parameter");
    }
    raw
}

/// The departures that these values ask for.
fn artifact(pairs: &[(&str, &str)]) -> Option<SkyByte> {
    SkyByte::new(&values(pairs)).expect("departures that can be together")
}

/// Runs to the end of the program.
fn run(
    host: &HostConfig,
    artifact: Option<SkyByte>,
    device: Device,
    mut program: Loop,
) -> HostStats {
    let length = RunLength {
        warmup: 0,
        measured: u64::MAX,
        sample_every: Ps::ZERO,
    };
    simulate(host, artifact, device, &mut program, length, &mut |_| true).0
}
