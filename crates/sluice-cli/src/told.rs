//! The command line of a run and where it ran, in its output folder: what it takes to run it again.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the file in an output folder.
pub const FILE: &str = "command.json";

/// Beginnings of the names of variables by which a run may differ.
const VARIABLES: [&str; 12] = [
    "SLUICE_",
    "LD_",
    "GLIBC_",
    "MALLOC_",
    "OMP_",
    "GOMP_",
    "KMP_",
    "OPENBLAS_",
    "MKL_",
    "PYTHON",
    "LC_",
    "LANG",
];

/// Version of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Schema {
    #[default]
    #[serde(rename = "sluice.command/1")]
    Command1,
}

/// A command and where it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    schema: Schema,
    /// Every argument, those of a program among them.
    pub arguments: Vec<String>,
    /// The folder that it was given in.
    pub directory: String,
    /// Variables by which it may differ.
    pub environment: BTreeMap<String, String>,
    /// Version of Sluice.
    pub version: String,
    /// What it ran on.
    pub host: BTreeMap<String, String>,
}

impl Told {
    /// The command that runs now. What is not UTF-8 is told with replacements.
    pub fn now() -> Told {
        let plain = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let directory = std::env::current_dir().unwrap_or_default();
        let environment = std::env::vars_os()
            .map(|(name, value)| (plain(name), plain(value)))
            .filter(|(name, _)| is_told(name));
        Told {
            schema: Schema::default(),
            arguments: std::env::args_os().skip(1).map(plain).collect(),
            directory: plain(directory.into_os_string()),
            environment: environment.collect(),
            version: sluice_results::version(),
            host: host(),
        }
    }

    /// That of an output folder.
    pub fn read(folder: &Path) -> std::io::Result<Told> {
        let text = std::fs::read(folder.join(FILE))?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// Whether a variable is one by which a run may differ. That of a session names what is gone.
pub fn is_told(name: &str) -> bool {
    name != sluice_abi::SESSION_VAR && VARIABLES.iter().any(|start| name.starts_with(start))
}

/// What of this host may change the figures.
fn host() -> BTreeMap<String, String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let line = |path: &str, name: &str| {
        let text = read(path);
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default()
            .trim_matches([' ', '\t', ':'])
            .to_owned()
    };
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let known = [
        (
            "kernel",
            read("/proc/sys/kernel/osrelease").trim().to_owned(),
        ),
        ("processor", line("/proc/cpuinfo", "model name")),
        ("cpus", cpus.to_string()),
        ("memory", line("/proc/meminfo", "MemTotal")),
        (
            "system",
            line("/etc/os-release", "PRETTY_NAME=").replace('"', ""),
        ),
    ];
    let known = known.into_iter().filter(|(_, value)| !value.is_empty());
    known
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
