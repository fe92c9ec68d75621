//! The files of an output folder: everything a run needs to be repeated and drawn.

use crate::latency::Latencies;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use serde_json::Value;
use sluice_model::DeviceConfig;
use sluice_units::bucket_middle;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Largest latency the HDR files hold, ns: an hour.
const HDR_MAX_NS: u64 = 3_600_000_000_000;

/// An output folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder, with those above it, and removes what an earlier run left of ours.
    pub fn create(path: &Path) -> io::Result<Folder> {
        fs::create_dir_all(path)?;
        for name in OURS {
            match fs::remove_file(path.join(name)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        Ok(Folder {
            path: path.to_path_buf(),
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
    let mut text =
        format!("# Device as resolved; run it again with `--device FILE --seed {seed}`.\n");
    let mut table = "";
    for (key, value) in config.raw().to_pairs() {
        let (group, name) = key.split_once('.').unwrap_or(("", key));
        if group != table {
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
}
