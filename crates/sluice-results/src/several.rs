//! The devices of a guest that has several.

use crate::{Commands, Counted, Figures, HitTimes, LiveRun, NotApplied, Settings, WorkloadFigures};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several devices of a guest. The output folder has a folder for each beside the first,
/// with a whole result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneOfSeveral {
    /// `first`, or the name in `--another NAME=DEVICE`.
    pub name: String,
    /// The guest's NUMA node that is the device.
    pub node: u64,
    /// The device's preset or file, as named on the command line.
    pub device: String,
    /// Every parameter of the device as resolved, by key, as text.
    pub config: Settings,
    /// What is set of the run beside the device, by key.
    pub live_config: Settings,
    /// What the device did.
    #[serde(flatten)]
    pub figures: Figures,
    /// The part of the run that these figures are of.
    pub counted: Counted,
    /// What a hit takes, on the device and on this host.
    pub hit_times: HitTimes,
    /// Parameters that hits do not take, because they run at this host's speed.
    pub not_applied: Vec<NotApplied>,
    /// What commands of the control ring did.
    pub commands: Commands,
    /// The figures of the guest's command alone, without the boot. Only with `--demo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadFigures>,
}

impl OneOfSeveral {
    /// From the whole result of one device.
    pub fn of(name: &str, node: u64, result: &LiveRun) -> OneOfSeveral {
        OneOfSeveral {
            name: name.to_owned(),
            node,
            device: result.device.clone(),
            config: result.config.clone(),
            live_config: result.live_config.clone(),
            figures: result.figures.clone(),
            counted: result.counted.clone(),
            hit_times: result.hit_times,
            not_applied: result.not_applied.clone(),
            commands: result.commands,
            workload: result.workload.clone(),
        }
    }
}
