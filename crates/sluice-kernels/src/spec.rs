//! Kernels as one line of text: `srad:seed=3,rounds=2`, `stream:bytes=8MB`.

use super::{KERNELS, KernelInfo};
use sluice_params::{ConfigError, RawConfig, nearest};
use sluice_streams::{Keys, Spec, SpecError, parse_spec};
use sluice_units::Bytes;

const KEYS: &[&str] = &["seed", "rounds"];

/// Why a text is not a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// Neither a kernel nor a stream takes it.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The part before the colon names a kernel, where there is no host to run it.
    #[error(
        "workload: {0:?} is a kernel, and needs a simulated host: --system names one; a device \
         alone takes chase, stream, uniform, zipf"
    )]
    NoHost(String),
    /// The part before the colon names no kernel.
    #[error("workload: {name:?} is not known{near}; a simulated host runs one of {kernels}")]
    Kernel {
        /// The name as given.
        name: String,
        /// Which of them is like it, for the message.
        near: String,
        /// The names of all kernels, for the message.
        kernels: String,
    },
    /// A value that a parameter of the kernel does not take.
    #[error("{kind}: {source}")]
    Parameter {
        /// The name of the kernel.
        kind: &'static str,
        /// Key, value and what was expected.
        source: Box<ConfigError>,
    },
}

/// Reads a stream for a device without a host, as [`parse_spec`].
///
/// # Errors
/// The first part that is wrong; a kernel's name is one that needs a host.
pub fn parse_stream(text: &str, seed: u64) -> Result<Spec, WorkloadError> {
    parse_spec(text, seed).map_err(|error| match error {
        SpecError::Kind(name) if KERNELS.iter().any(|kernel| kernel.name == name) => {
            WorkloadError::NoHost(name)
        }
        other => other.into(),
    })
}

/// A kernel as it was asked for.
#[derive(Clone)]
pub struct KernelSpec {
    /// Which kernel it is, as the registry has it.
    pub info: &'static KernelInfo,
    /// Seed of its data and choices.
    pub seed: u64,
    /// Ends after so many rounds; never, if 0.
    pub rounds: u64,
    /// A value for each of its own parameters.
    pub given: RawConfig,
}

impl KernelSpec {
    /// What each of its threads uses all the time.
    pub fn thread_bytes(&self) -> u64 {
        (self.info.thread_bytes)(&self.given)
    }

    /// Whether it can be asked for a size.
    pub fn has_size(&self) -> bool {
        self.info.params.iter().any(|param| param.key == "bytes")
    }

    /// What it takes, about, at a scale of the memory of the machine that runs it.
    pub fn own(&self, scale: u32, threads: u32) -> Bytes {
        let own = (self.info.own_bytes)(&self.given, self.about(1).0, threads);
        Bytes(own / u64::from(scale))
    }

    /// The memory that it has at a scale, as far as one can say before it is made.
    pub fn about(&self, scale: u32) -> Bytes {
        let bytes = match self.has_size() {
            true => self.given.read::<Bytes>("bytes").0,
            false => self.info.table_1_bytes(),
        };
        Bytes(bytes / u64::from(scale))
    }
}

/// Reads one of some kernels: its name, and what it takes after a colon. Its seed is `seed` if it
/// names none.
///
/// # Errors
/// The first part that is wrong, with what would be accepted.
pub fn parse_kernel(
    kernels: &'static [KernelInfo],
    text: &str,
    seed: u64,
) -> Result<KernelSpec, WorkloadError> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let known = kernels.iter().find(|kernel| kernel.name == name.trim());
    let info = known.ok_or_else(|| {
        let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name).collect();
        let near = nearest(name, names.iter().copied());
        WorkloadError::Kernel {
            name: name.to_owned(),
            near: near.map_or_else(String::new, |near| format!(" (did you mean {near}?)")),
            kernels: names.join(", "),
        }
    })?;
    let params = info.params.iter().map(|param| param.key);
    let known: Vec<&'static str> = KEYS.iter().copied().chain(params.clone()).collect();
    let keys = Keys::read(info.name, &known, rest)?;
    let mut given = RawConfig::of(info.params);
    for key in params {
        if let Some(value) = keys.text(key) {
            given
                .set(key, value)
                .map_err(|source| WorkloadError::Parameter {
                    kind: info.name,
                    source: Box::new(source),
                })?;
        }
    }
    Ok(KernelSpec {
        info,
        seed: keys.number("seed", seed)?,
        rounds: keys.number("rounds", 0)?,
        given,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse_kernel(KERNELS, text, 1).err().unwrap().to_string()
    }

    #[test]
    fn a_kernel_has_a_name_and_keys() {
        for kernel in KERNELS {
            let spec = parse_kernel(KERNELS, kernel.name, 7).unwrap();
            assert_eq!(
                (spec.info.name, spec.seed, spec.rounds),
                (kernel.name, 7, 0)
            );
            let spec =
                parse_kernel(KERNELS, &format!("{}: seed = 3,rounds=2", kernel.name), 7).unwrap();
            assert_eq!(
                (spec.info.name, spec.seed, spec.rounds),
                (kernel.name, 3, 2)
            );
        }
    }

    #[test]
    fn a_device_alone_runs_streams_and_no_kernel() {
        assert_eq!(
            parse_stream("chase", 1),
            Ok(parse_spec("chase", 1).unwrap())
        );
        let message = |text| parse_stream(text, 1).unwrap_err().to_string();
        assert!(message("srad:seed=1").contains("needs a simulated host: --system names one"));
        assert!(message("sradd").contains("choices: chase, stream, uniform, zipf"));
    }

    #[test]
    fn a_mistake_names_what_would_do() {
        let names: Vec<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
        assert_eq!(
            refusal("sradd:seed=1"),
            format!(
                "workload: \"sradd\" is not known (did you mean srad?); a simulated host runs \
                 one of {}",
                names.join(", ")
            )
        );
        let name = names[0];
        assert_eq!(
            refusal(&format!("{name}:sed=1")),
            format!("{name}: there is no key \"sed\"; keys: seed, rounds")
        );
        assert_eq!(
            refusal("stream:bytes=8x"),
            "stream: bad value for `bytes`: \"8x\"; expected a size above 0 in B, kB, KiB, MB, \
             MiB, GB, GiB, TB or TiB, such as 16MiB"
        );
        assert_eq!(
            refusal("stream:byte=8MB"),
            "stream: there is no key \"byte\"; keys: seed, rounds, bytes"
        );
        assert_eq!(
            refusal(&format!("{name}:seed=x")),
            format!(
                "{name}: seed: \"x\" is not accepted; expected a whole number, such as 250000 \
                 or 20M"
            )
        );
    }
}
