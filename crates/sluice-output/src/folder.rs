//! The files of an output folder: everything a run needs to be repeated and drawn.

use crate::latency::Latencies;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use serde_json::Value;
use sluice_config::System;
use sluice_model::DeviceConfig;
use sluice_units::bucket_middle;
use std::fmt::Write;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest latency the HDR files hold, ns: an hour.
const HDR_MAX_NS: u64 = 3_600_000_000_000;

/// An output folder, of one run at a time.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The folder itself, locked: of two runs each would overwrite some of the other's files.
    _lock: Arc<File>,
}

impl Folder {
    /// Makes the folder, with those above it, and removes what an earlier run left of ours. That it
    /// can be written to is found now, not at the end of a long run.
    pub fn create(path: &Path) -> io::Result<Folder> {
        fs::create_dir_all(path)?;
        let lock = File::open(path)?;
        // A file system may have no locks.
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(io::Error::other("another run writes there"));
        }
        fs::write(path.join(OURS[0]), "")?;
        for name in OURS {
            match fs::remove_file(path.join(name)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        Ok(Folder {
            path: path.to_path_buf(),
            _lock: Arc::new(lock),
        })
    }

    /// Writes a file whole.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> io::Result<()> {
        fs::write(self.path.join(name), contents)
    }

    /// Writes the object.
    pub fn write_stats(&self, object: &Value) -> io::Result<()> {
        self.write("stats.json", format!("{object:#}\n"))
    }

    /// Writes a distribution as CSV, from the pairs of a value and its count.
    pub fn write_distribution(&self, name: &str, pairs: &[Value]) -> io::Result<()> {
        let mut text = String::from("latency_ns,count\n");
        for pair in pairs {
            let _ = writeln!(text, "{},{}", pair[0], pair[1]);
        }
        self.write(name, text)
    }

    /// Writes objects with equal fields as CSV.
    pub fn write_rows(&self, name: &str, rows: &[Value]) -> io::Result<()> {
        let fields = |row: &Value| row.as_object().cloned().unwrap_or_default();
        let head = rows.first().map(fields).unwrap_or_default();
        let mut names: Vec<&str> = head.keys().map(String::as_str).collect();
        names.sort_by_key(|name| *name != "t_s");
        let mut text = names.join(",") + "\n";
        for row in rows {
            let cells: Vec<String> = names.iter().map(|name| row[name].to_string()).collect();
            text += &(cells.join(",") + "\n");
        }
        self.write(name, text)
    }

    /// Writes both distributions: as CSV for people, as HDR histograms for tools.
    pub fn write_latencies(&self, modelled: &Latencies, achieved: &Latencies) -> io::Result<()> {
        let mut text = String::from("latency_ns,modelled,achieved\n");
        for bucket in 0..sluice_abi::BUCKETS {
            let (m, a) = (modelled.at(bucket), achieved.at(bucket));
            if m + a > 0 {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{},{m},{a}", bucket_middle(bucket));
            }
        }
        self.write("latency.csv", text)?;
        self.write("latency_modelled.hdr", hdr(modelled)?)?;
        self.write("latency_achieved.hdr", hdr(achieved)?)
    }
}

/// Files that a run makes.
const OURS: &[&str] = &[
    "stats.json",
    "config.toml",
    "latency.csv",
    "latency_modelled.hdr",
    "latency_achieved.hdr",
    "timeline.csv",
    "traps.bin",
    "flash_read.csv",
];

fn hdr(latencies: &Latencies) -> io::Result<Vec<u8>> {
    let mut histogram = Histogram::<u64>::new_with_max(HDR_MAX_NS, 3).map_err(io::Error::other)?;
    for (value, count) in latencies.buckets() {
        histogram
            .record_n(value.clamp(1, HDR_MAX_NS), count)
            .map_err(io::Error::other)?;
    }
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(&histogram, &mut bytes)
        .map_err(io::Error::other)?;
    Ok(bytes)
}

/// The settings as a device file that `--device` reads back.
pub fn write_config(config: &DeviceConfig, seed: u64) -> String {
    let first = format!("# Device as resolved; run it again with `--device FILE --seed {seed}`.\n");
    first + &tables(&config.raw().to_pairs())
}

/// A system's settings at full size, as a file that `--system` reads back.
pub fn write_system(system: &System, scale: u32, seed: u64) -> String {
    let first = format!(
        "# System as resolved, at full size; run it again with `--system FILE --scale {scale} \
         --seed {seed}`.\n"
    );
    first + &tables(&system.to_pairs())
}

fn tables(pairs: &[(&str, String)]) -> String {
    let (mut text, mut table) = (String::new(), "");
    for (key, value) in pairs {
        let (group, name) = key.split_once('.').unwrap_or(("", key));
        if group != table {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n[{group}]\n");
            table = group;
        }
        let plain = value.parse::<u64>().is_ok();
        let _ = if plain {
            writeln!(text, "{name} = {value}")
        } else {
            writeln!(text, "{name} = {value:?}")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_device_reads_back_the_same() {
        for preset in sluice_config::presets() {
            let raw = sluice_config::load(preset.name).unwrap();
            let config = raw.check().unwrap();
            let text = write_config(&config, 7);
            let back = sluice_config::parse(&text, "config.toml").unwrap();
            assert_eq!(back.to_pairs(), config.raw().to_pairs(), "{text}");
        }
    }

    #[test]
    fn a_written_system_reads_back_the_same() {
        for preset in sluice_config::systems() {
            let system = sluice_config::load_system(preset.name).unwrap();
            let text = write_system(&system, 8, 7);
            let back = sluice_config::parse_system(&text, "config.toml").unwrap();
            assert_eq!(back, system, "{text}");
        }
    }
}
