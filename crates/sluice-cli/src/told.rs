//! The command line of a run and where it ran, in its output folder: what it takes to run it again.

use sluice_results::{CommandSchema, KeptCommand};
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

/// The command that runs now. Characters that are not UTF-8 are replaced.
pub fn now() -> KeptCommand {
    let plain = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let directory = std::env::current_dir().unwrap_or_default();
    let environment = std::env::vars_os()
        .map(|(name, value)| (plain(name), plain(value)))
        .filter(|(name, _)| is_told(name));
    KeptCommand {
        schema: CommandSchema::default(),
        arguments: std::env::args_os().skip(1).map(plain).collect(),
        directory: plain(directory.into_os_string()),
        environment: environment.collect(),
        version: sluice_results::version(),
        host: host(),
    }
}

/// The command of an output folder.
pub fn read(folder: &Path) -> std::io::Result<KeptCommand> {
    let text = std::fs::read(folder.join(FILE))?;
    Ok(serde_json::from_slice(&text)?)
}

/// Whether a variable is one by which a run may differ. Those of sessions name what is gone.
fn is_told(name: &str) -> bool {
    !name.starts_with(sluice_abi::SESSION_VAR)
        && VARIABLES.iter().any(|start| name.starts_with(start))
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
