//! What the published simulator of SkyByte (doi:10.5281/zenodo.14660184) does otherwise than
//! processors, operating systems and devices do.
//!
//! SkyByte's published results have these departures in them, so the experiments that repeat those
//! results have them too. Each departure is one type in one file, with the parameters that turn it
//! on. By default all are off. `sections` has the parts of programs that its traces are of.
#![forbid(unsafe_code)]

mod device;
mod long_delay;
mod pages;
mod ring;
mod sections;
mod start;
mod store_miss;
mod victims;

pub use sections::{KERNELS, parse_kernel};

use device::OfDevice;
use long_delay::{LongDelay, LongDelayParams};
use pages::Pages;
use ring::{Ring, RingParams};
use sluice_host::{
    Artifact, Before, HostConfig, HostStats, MissNumber, Program, RunLength, simulate_artifact,
};
use sluice_model::{Device, DeviceConfig};
use sluice_params::{ConfigError, Param, RawConfig, count, in_order};
use sluice_units::{Lpn, Ps};
use start::{Start, StartParams};
use store_miss::{StoreMiss, StoreMissParams};
use victims::Victims;

const GROUPS: &[&[Param]] = &[
    RingParams::PARAMS,
    StoreMissParams::PARAMS,
    Victims::PARAMS,
    LongDelayParams::PARAMS,
    StartParams::PARAMS,
    Pages::PARAMS,
    OfDevice::PARAMS,
];

static ALL: [Param; count(GROUPS)] = in_order(GROUPS);

/// The parameters of all departures. They belong to the host's tables.
pub static PARAMS: &[Param] = &ALL;

/// The departures of one system.
#[derive(Clone, Debug)]
pub struct SkyByte {
    ring: Ring,
    store_miss: StoreMiss,
    victims: Victims,
    long_delay: LongDelay,
    start: Start,
    pages: Pages,
    device: OfDevice,
}

impl SkyByte {
    /// The departures that a host's values ask for; `None` if all are off. The values are those of
    /// the host's own parameters and of [`PARAMS`].
    ///
    /// # Errors
    /// [`ConfigError::Impossible`] if departures contradict each other.
    pub fn new(raw: &RawConfig) -> Result<Option<SkyByte>, ConfigError> {
        if SkyByte::departures(raw).is_empty() {
            return Ok(None);
        }
        Ok(Some(SkyByte {
            ring: Ring::new(raw),
            store_miss: StoreMiss::new(raw),
            victims: Victims::new(raw),
            long_delay: LongDelay::new(raw)?,
            start: Start::new(raw),
            pages: Pages::new(raw),
            device: OfDevice::new(raw),
        }))
    }

    /// The parameters that ask for departures.
    pub fn departures(raw: &RawConfig) -> Vec<&'static str> {
        let defaults = RawConfig::of(PARAMS).to_pairs();
        let is_on = |(key, value): &(&str, String)| raw.get(key).as_ref() != Some(value);
        let on = defaults.into_iter().filter(is_on);
        on.map(|(key, _)| key).collect()
    }

    /// The device as the artifact has it.
    pub fn device(&self, config: DeviceConfig) -> DeviceConfig {
        config.with_more_buffers(self.device.backlog)
    }

    /// What DRAM holds before the first instruction, where `artifact` may be none.
    pub fn before(artifact: Option<&SkyByte>) -> Before {
        artifact.map_or_else(Before::default, Artifact::before)
    }
}

/// Runs a program as [`sluice_host::simulate`] does, on a host with an artifact's departures if
/// there are any.
///
/// # Panics
/// As [`sluice_host::simulate`].
pub fn simulate(
    config: &HostConfig,
    artifact: Option<SkyByte>,
    device: Device,
    program: &mut dyn Program,
    length: RunLength,
    watch: &mut dyn FnMut(u64) -> bool,
) -> (HostStats, Device) {
    match artifact {
        None => sluice_host::simulate(config, device, program, length, watch),
        Some(artifact) => simulate_artifact(config, artifact, device, program, length, watch),
    }
}

impl Artifact for SkyByte {
    fn before(&self) -> Before {
        self.start.before
    }

    fn rests_after(&self, length: &RunLength) -> Option<u64> {
        self.start.rests_after(length)
    }

    fn compacts_first(&self) -> bool {
        self.start.compacts_first()
    }

    fn distance(&self, core: u32) -> Ps {
        self.ring.distance(core)
    }

    fn loses_l2_victims(&self) -> bool {
        self.victims.are_lost
    }

    fn fills_delayed(&self) -> bool {
        self.long_delay.fills
    }

    fn resumes_at(&self, data_at: Ps) -> Ps {
        self.long_delay.resumes_at(data_at)
    }

    fn writes_store_misses(&self) -> bool {
        self.store_miss.is_on()
    }

    fn misses(&mut self, miss: MissNumber, writes: bool) {
        self.store_miss.misses(miss, writes);
    }

    fn writes(&self, miss: MissNumber) -> bool {
        self.store_miss.writes(miss)
    }

    fn joins_write(&self, last: impl FnOnce() -> Option<MissNumber>) -> bool {
        self.store_miss.joins_write(last)
    }

    fn leaves_l1(&mut self, last: impl FnOnce() -> Option<MissNumber>) {
        self.store_miss.leaves_l1(last);
    }

    fn found_in_l3(&mut self, miss: MissNumber) -> bool {
        self.store_miss.found_in_l3(miss)
    }

    fn counts_logged_stores(&self) -> bool {
        self.pages.counts_logged_stores()
    }

    fn copies_pages_back(&self) -> bool {
        self.pages.are_copied_back()
    }

    fn programs_clean(&self) -> bool {
        self.device.programs_clean
    }

    fn indexes_behind(&self) -> bool {
        self.device.indexes_behind
    }

    fn returns(&self, device: &mut Device, now: Ps, page: Lpn) {
        self.pages.returns(device, now, page);
    }
}
