//! What a live run cannot give a program of its device: the time of hits.

use crate::process::Process;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_abi::Counter;
use sluice_model::{DeviceConfig, Op};

/// Host and device differ if they do by more than a part in so many of the device's time.
const NEAR: f64 = 5.0;

/// A parameter that a live run cannot apply to hits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotApplied {
    /// The parameter.
    pub key: String,
    /// Its value, as text.
    pub value: String,
    /// What comes of that.
    pub because: String,
}

/// What a load takes that finds its page in the device's cache, and is in no processor's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitTimes {
    /// On the device, by its parameters, ns.
    pub modelled_ns: f64,
    /// On this host, where the program ran, ns. `null` where it could not be measured.
    pub host_ns: Option<u64>,
    /// Whether they differ by more than a fifth of the device's time.
    pub differ: Option<bool>,
}

impl HitTimes {
    /// Of a device, and the process that the report is about.
    pub(crate) fn of(config: &DeviceConfig, main: Option<&Process>) -> HitTimes {
        let measured = main.map_or(0, |main| main.get(Counter::HitNs));
        let modelled_ns = config.hit_time(Op::Read).0 as f64 / 1e3;
        let host_ns = (measured > 0).then_some(measured);
        let differs = |host: u64| (host as f64 - modelled_ns).abs() > modelled_ns / NEAR;
        HitTimes {
            modelled_ns,
            host_ns,
            differ: host_ns.map(differs),
        }
    }
}

/// What a device's parameters ask of its hits, which run at this host's speed.
pub(crate) fn not_applied(config: &DeviceConfig) -> Vec<NotApplied> {
    const OF_HITS: &str = "misses take it, and hits this host's own time";
    let cache = &config.cache;
    let is_banked = config.dram.is_some();
    let all = [
        (
            "device.protocol_latency",
            config.protocol_latency.0 > 0,
            OF_HITS,
        ),
        (
            "device.link_bandwidth",
            config.link_bandwidth.is_some(),
            OF_HITS,
        ),
        ("cache.index_latency", cache.index_latency.0 > 0, OF_HITS),
        (
            "cache.hit_latency",
            !is_banked && cache.hit_latency.0 > 0,
            OF_HITS,
        ),
        (
            "dram.model",
            is_banked,
            "misses meet its banks, and hits neither wait for them nor keep them busy",
        ),
        (
            "cache.track_lines",
            cache.track_lines,
            "of a page that the program has mapped, lines are not seen",
        ),
    ];
    let all = all.into_iter().filter(|(_, is_set, _)| *is_set);
    all.map(|(key, _, because)| NotApplied {
        key: key.to_owned(),
        value: config.raw().get(key).unwrap_or_default().to_string(),
        because: because.to_owned(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, set: &[(&str, &str)]) -> DeviceConfig {
        let mut raw = sluice_config::load(name).unwrap();
        for (key, value) in set {
            raw.set(key, value).unwrap();
        }
        DeviceConfig::new(&raw).unwrap()
    }

    #[test]
    fn what_hits_do_not_take_is_named() {
        let none: [(&str, &str); 0] = [];
        for (name, set, keys) in [
            ("cylon", &none[..], &["cache.hit_latency"][..]),
            (
                "cmm-h",
                &none,
                &[
                    "device.protocol_latency",
                    "device.link_bandwidth",
                    "cache.index_latency",
                    "cache.hit_latency",
                ],
            ),
            ("cylon", &[("dram.model", "ddr5-4800")], &["dram.model"]),
            (
                "cylon",
                &[("cache.hit_latency", "0ns"), ("cache.track_lines", "yes")],
                &["cache.track_lines"],
            ),
        ] {
            let told = not_applied(&device(name, set));
            let told: Vec<&str> = told.iter().map(|of| of.key.as_str()).collect();
            assert_eq!(told, keys, "{name}");
        }
    }

    #[test]
    fn the_device_s_time_is_what_its_parameters_add_up_to() {
        // 600 ns and a line at 25 GB/s.
        let times = HitTimes::of(&device("cmm-h", &[]), None);
        assert_eq!((times.modelled_ns, times.differ), (602.56, None));
    }
}
