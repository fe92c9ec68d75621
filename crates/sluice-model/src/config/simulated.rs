//! Parameters that have no effect in a simulation, or in a live run.

use super::{DeviceConfig, PARAMS};
use sluice_params::{ConfigError, Param, RawConfig};

/// Each with what a simulation lacks, and what honours it.
const UNUSED: [(&str, &str); 4] = [
    (
        "device.persistent",
        "a simulation holds no contents; `sluice run --place dax:PATH --store file:STORE` keeps \
         them",
    ),
    (
        "device.program_energy",
        "a simulation has no power to cut; `sluice ctl PID powercut` cuts that of a live \
         persistent device",
    ),
    (
        "cache.pin_max",
        "a simulation pins no page; live, programs do (mlock), and `sluice ctl PID pin`",
    ),
    (
        "prefetch.sequential",
        "a simulation has no hints; live, programs give them (madvise SEQUENTIAL), and `sluice \
         ctl PID sequential`",
    ),
];

/// What nobody names but a caller of the model, each with the parameter that lets the host name it.
const NAMED: [(&str, &str); 2] = [("ftl.placement", "plane"), ("ftl.stream_by", "stream")];

impl DeviceConfig {
    /// Checks the values of a device that will run live: as [`DeviceConfig::new`], and what no
    /// write of a live run names is not the host's to name.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`].
    pub fn live(raw: &RawConfig) -> Result<DeviceConfig, ConfigError> {
        check_named(raw, "a live run")?;
        DeviceConfig::new(raw)
    }

    /// Checks the values of a device that will be simulated: as [`DeviceConfig::new`], and what a
    /// simulation cannot honour has its default.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`].
    pub fn simulated(raw: &RawConfig) -> Result<DeviceConfig, ConfigError> {
        check_named(raw, "a simulation")?;
        for (key, why) in UNUSED {
            let param = param(key);
            if !raw.is_default(param) {
                let message = format!("{why}; expected {}", param.default);
                return Err(raw.impossible(&[param.key], message));
            }
        }
        DeviceConfig::new(raw)
    }
}

fn check_named(raw: &RawConfig, of: &str) -> Result<(), ConfigError> {
    for (key, what) in NAMED {
        let param = param(key);
        if !raw.is_default(param) {
            let message = format!(
                "no request of {of} names its {what}; BlockRequest of the crate sluice-model \
                 does; expected {}",
                param.default
            );
            return Err(raw.impossible(&[param.key], message));
        }
    }
    Ok(())
}

fn param(key: &str) -> &'static Param {
    let param = PARAMS.iter().find(|param| param.key == key);
    param.expect("a key of the list")
}

/// The energy of a program is asked for when the power of a persistent device is cut.
pub(super) fn check_energy(raw: &RawConfig, is_persistent: bool) -> Result<(), ConfigError> {
    const ENERGY: &str = "device.program_energy";
    let default = param(ENERGY);
    if is_persistent || raw.is_default(default) {
        return Ok(());
    }
    let message = format!(
        "only the power of a persistent device is cut; expected device.persistent=yes, or \
         {ENERGY}={}",
        default.default
    );
    Err(raw.impossible(&[ENERGY, "device.persistent"], message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_refused_with_its_value_and_what_honours_it() {
        for (key, value, honours) in [
            ("ftl.placement", "host", "BlockRequest"),
            ("ftl.stream_by", "host", "BlockRequest"),
            ("device.persistent", "yes", "--store file:STORE"),
            ("device.program_energy", "7", "powercut"),
            ("cache.pin_max", "10%", "mlock"),
            ("prefetch.sequential", "8", "madvise SEQUENTIAL"),
        ] {
            let mut raw = DeviceConfig::builder();
            assert!(DeviceConfig::simulated(&raw).is_ok());
            raw.set(key, value).unwrap();
            let told = DeviceConfig::simulated(&raw).unwrap_err().to_string();
            for word in [&format!("{key} = {value}: "), honours, "; expected "] {
                assert!(told.contains(word), "{told}");
            }
            assert_eq!(told.lines().count(), 1);
        }
    }

    /// Both were taken live, and did nothing.
    #[test]
    fn what_no_write_names_is_refused_live_too() {
        for (key, what) in NAMED {
            let mut raw = DeviceConfig::builder();
            assert!(DeviceConfig::live(&raw).is_ok());
            raw.set(key, "host").unwrap();
            let told = DeviceConfig::live(&raw).unwrap_err().to_string();
            let whole = format!("{key} = host: no request of a live run names its {what}; ");
            assert!(
                told.contains(&whole) && told.contains("; expected "),
                "{told}"
            );
        }
    }

    /// Live, its own switch has to be on.
    #[test]
    fn an_energy_that_nobody_spends_is_refused() {
        let mut raw = DeviceConfig::builder();
        raw.set("device.program_energy", "7").unwrap();
        let told = DeviceConfig::new(&raw).unwrap_err().to_string();
        assert!(
            told.contains("device.program_energy = 7, device.persistent = no: "),
            "{told}"
        );
        raw.set("device.persistent", "yes").unwrap();
        assert!(DeviceConfig::new(&raw).is_ok());
    }
}
