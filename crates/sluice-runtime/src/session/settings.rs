//! Settings of live runs that are no parameters of the device, each declared once.

use sluice_model::DeviceConfig;
use sluice_params::{ConfigError, Kind, Param, RawConfig, choices};
use sluice_region::NODE_MAX;
use sluice_units::{Bytes, Ps};

choices! {
    /// What the CPU of a thread that misses does until its page is there.
    pub enum OnLongDelay {
        Spin = "spin": "it stays busy, as a core that stalls on a load: nobody gets it but by the \
                        scheduler's own slices",
        Switch = "switch": "it is given away at every wait",
        Threshold = "threshold": "it is given away if the device says that the wait is longer than \
                                  host.switch_threshold",
    }
}

impl OnLongDelay {
    /// Whether a wait gives the CPU away, of which the device says whether it is a long one.
    pub fn gives_away(self, is_long: bool) -> bool {
        match self {
            OnLongDelay::Spin => false,
            OnLongDelay::Switch => true,
            OnLongDelay::Threshold => is_long,
        }
    }
}

choices! {
    /// How pages of the heap move to host memory, live.
    pub enum MigrationPolicy {
        None = "none": "pages stay on the device",
        Adaptive = "adaptive": "a page moves after host.migration.threshold accesses that trap, \
                                of which half are forgotten in each host.migration.decay",
        Tpp = "tpp": "a page moves if it traps twice within host.migration.tpp_window",
    }
}

sluice_params::params! {
    /// The host of a live run.
    pub struct LiveParams {
        on_long_delay: OnLongDelay {
            key: "host.on_long_delay",
            default: "threshold",
            meaning: "what the CPU of a thread that misses does meanwhile",
            source: "SkyByte section III-A: a switch above a threshold",
        }
        switch_threshold: Ps {
            key: "host.switch_threshold",
            default: "240us",
            meaning: "threshold: a wait that the device (device.hint) announces as longer than \
                      this gives the CPU away. Live, it takes the place of device.hint_threshold",
            source: "measured: twice 120 us, by which a sleep in a virtual machine may end late; \
                     SkyByte section III-A sets it by what a switch costs, 2 us on its host",
        }
        migration_policy: MigrationPolicy {
            key: "host.migration.policy",
            default: "none",
            meaning: "live, how pages of the heap move to host memory. Misses trap, and of the \
                      cached pages those that --sample-hits takes",
            source: "SkyByte sections III-C and VI-H",
        }
        migration_capacity: Bytes {
            key: "host.migration.capacity",
            default: "2GiB",
            meaning: "live, bytes of host memory for the device's pages. For one that comes in \
                      leaves one that was not used since it became inactive",
            source: "SkyByte Table II: 2 GB",
        }
        migration_threshold: u32 {
            key: "host.migration.threshold",
            kind: Kind::Count { min: 1, max: u16::MAX as u64 },
            default: "3",
            meaning: "live, adaptive: traps of a page that make it hot",
            source: "assumed: SkyByte counts all accesses of a cached page, of which traps are few",
        }
        migration_decay: Ps {
            key: "host.migration.decay",
            default: "10s",
            meaning: "live, adaptive: counts are halved once in this time; 0: never",
            source: "assumed: not stated",
        }
        migration_tpp_window: Ps {
            key: "host.migration.tpp_window",
            default: "1s",
            meaning: "live, tpp: a page that traps again within this time moves",
            source: "assumed: Linux's threshold for hot pages",
        }
        numa_node: Option<u64> {
            key: "cache.numa_node",
            kind: Kind::Or("none", &Kind::Count { min: 0, max: NODE_MAX }),
            default: "none",
            meaning: "live, the NUMA node of this host that the heap's cached pages are on; none: \
                      that of the thread that brings them in",
            source: "Cylon section 5.1: its cache is on a node of its own",
        }
    }
}

/// The threshold as the device has it.
const HINT_THRESHOLD: &str = "device.hint_threshold";

/// Checked settings of a live run.
#[derive(Clone, Debug)]
pub struct LiveSettings {
    raw: RawConfig,
    /// The values of the live parameters.
    pub params: LiveParams,
}

impl Default for LiveSettings {
    fn default() -> LiveSettings {
        LiveSettings::new(RawConfig::of(LiveParams::PARAMS))
    }
}

impl LiveSettings {
    /// Every parameter that only a live run has.
    pub const PARAMS: &[Param] = LiveParams::PARAMS;

    /// Reads values that were given.
    pub fn new(raw: RawConfig) -> LiveSettings {
        let params = LiveParams::new(&raw);
        LiveSettings { raw, params }
    }

    /// Whether a key is one of theirs.
    pub fn has(key: &str) -> bool {
        LiveParams::PARAMS.iter().any(|param| param.key == key)
    }

    /// Every key with its value.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        self.raw.to_pairs()
    }

    /// The device that announces as long what this host takes for long.
    ///
    /// # Errors
    /// If the device cannot be.
    pub fn of_device(&self, device: &DeviceConfig) -> Result<DeviceConfig, ConfigError> {
        let mut raw = device.raw().clone();
        raw.set(HINT_THRESHOLD, &self.params.switch_threshold.to_string())?;
        DeviceConfig::new(&raw)
    }

    /// Whether the CPU is never given away.
    pub fn spins(&self) -> bool {
        self.params.on_long_delay == OnLongDelay::Spin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::rig;
    use sluice_region::{PAGE, raw_mmap};

    fn settings(pairs: &[(&str, &str)]) -> LiveSettings {
        let mut raw = RawConfig::of(LiveSettings::PARAMS);
        for (key, value) in pairs {
            raw.set(key, value).expect("a value of its kind");
        }
        LiveSettings::new(raw)
    }

    #[test]
    fn the_threshold_decides_only_where_it_is_asked_for() {
        let gives = |rule| {
            let settings = settings(&[("host.on_long_delay", rule)]);
            let rule = settings.params.on_long_delay;
            [false, true].map(|is_long| rule.gives_away(is_long))
        };
        assert_eq!(gives("spin"), [false, false]);
        assert_eq!(gives("switch"), [true, true]);
        assert_eq!(gives("threshold"), [false, true]);
        let default = LiveSettings::default();
        assert_eq!(default.params.on_long_delay, OnLongDelay::Threshold);
    }

    #[test]
    fn the_device_announces_what_the_host_takes_for_long() {
        let device = DeviceConfig::new(&DeviceConfig::builder()).expect("defaults");
        let told = settings(&[("host.switch_threshold", "37us")]);
        let device = told.of_device(&device).expect("a device");
        assert_eq!(device.raw().get(HINT_THRESHOLD).as_deref(), Some("37us"));
    }

    /// What the kernel says of the arena's memory.
    fn policies(engine: &Engine) -> Vec<String> {
        let (start, len) = engine.arena();
        let maps = std::fs::read_to_string("/proc/self/numa_maps").expect("a kernel with NUMA");
        let of_arena = |line: &&str| {
            let addr = line
                .split(' ')
                .next()
                .map(|text| usize::from_str_radix(text, 16));
            addr.is_some_and(|addr| (start..start + len).contains(&addr.expect("an address")))
        };
        let found = maps.lines().filter(of_arena);
        found
            .map(|line| line.split_once(' ').expect("a policy").1.to_owned())
            .collect()
    }

    /// Node 0 is the only one that every host has. Memory that was off the device meanwhile is
    /// mapped afresh.
    #[test]
    fn the_cache_is_on_the_node_that_was_asked_for() {
        let engine = rig::engine(&[("cache.numa_node", "0")]);
        rig::touch(engine, 1, 3, true);
        let (first, len) = (rig::page(engine, 8), 4 * PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: pages of the arena that nobody uses.
        unsafe { raw_mmap(first, len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) }.unwrap();
        let afresh = policies(engine);
        assert!(
            afresh.iter().any(|of| of.starts_with("default")),
            "{afresh:?}"
        );
        engine.rejoin_device(first, len);
        rig::touch(engine, 2, 9, true);
        let found = policies(engine);
        assert!(found.iter().all(|of| of.starts_with("bind:0")), "{found:?}");
        assert!(found.iter().any(|of| of.contains(" N0=")), "{found:?}");
        let free = policies(rig::engine(&[]));
        assert!(free.iter().all(|of| of.starts_with("default")), "{free:?}");
    }
}
