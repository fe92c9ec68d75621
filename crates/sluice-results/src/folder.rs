//! The files of an output folder: everything a run needs to be repeated and drawn.

use crate::{KeptCommand, Moment, to_json};
use hdrhistogram::serialization::{Serializer, V2Serializer};
use serde::Serialize;
use serde_json::Value;
use sluice_config::System;
use sluice_model::DeviceConfig;
use sluice_region::open_regular;
use sluice_stats::Histogram;
use sluice_units::bucket_middle;
use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest latency the HDR files hold, ns: an hour.
const HDR_MAX_NS: u64 = 3_600_000_000_000;

/// An output folder, of one run at a time. It stays as it was until the first file of the result is
/// written, so a command that is refused leaves nothing there and takes nothing away.
#[derive(Clone, Debug)]
pub struct Folder(Arc<Place>);

#[derive(Debug)]
struct Place {
    path: PathBuf,
    /// Folders that were made for it, the deepest first.
    made: Vec<PathBuf>,
    /// What is written before all else; nothing once it is there.
    command: Mutex<Option<String>>,
    /// The folder itself, locked: of two runs each would overwrite some of the other's files.
    lock: File,
}

impl Folder {
    /// Makes the folder, with those above it, for the result of a command. What an earlier run left
    /// of ours will go if this one `replaces` it. That it can be written to is found now, not at
    /// the end of a long run.
    ///
    /// # Errors
    /// If it cannot be written to, holds a file of a result's name that no run of ours made, or an
    /// earlier result that is not to be replaced.
    pub fn create(path: &Path, replaces: bool, command: &KeptCommand) -> io::Result<Folder> {
        let is_missing = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
        let made = path.ancestors().take_while(is_missing);
        let made = made.map(Path::to_path_buf).collect();
        fs::create_dir_all(path)?;
        let place = Place {
            path: path.to_path_buf(),
            made,
            command: Mutex::new(Some(format!("{:#}\n", to_json(command)))),
            lock: File::open(path)?,
        };
        // A file system may have no locks.
        if let Err(TryLockError::WouldBlock) = place.lock.try_lock() {
            return Err(io::Error::other("another run writes there"));
        }
        place.check_owner()?;
        if !replaces && fs::symlink_metadata(path.join(STATS)).is_ok() {
            return Err(io::Error::other(
                "it holds the result of an earlier run; name another folder, or replace it with \
                 --force",
            ));
        }
        remove(&path.join(PART))?;
        create_new(&path.join(PART))?;
        fs::remove_file(path.join(PART))?;
        Ok(Folder(Arc::new(place)))
    }

    /// Writes a file whole or not at all, however this process ends. There is none of that name,
    /// unless somebody made it since the first one; it stays then.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> io::Result<()> {
        self.0.begin()?;
        self.0.write(name, contents.as_ref())
    }

    /// Writes a result.
    pub fn write_stats(&self, result: &impl Serialize) -> io::Result<()> {
        self.write(STATS, format!("{:#}\n", to_json(result)))
    }

    /// Writes a distribution as CSV, from the pairs of a value and its count.
    pub fn write_distribution(&self, name: &str, pairs: &[(u64, u64)]) -> io::Result<()> {
        let mut text = String::from("latency_ns,count\n");
        for (value, count) in pairs {
            let _ = writeln!(text, "{value},{count}");
        }
        self.write(name, text)
    }

    /// Writes a timeline as CSV: the time, then the other columns in the order of the alphabet.
    pub fn write_timeline(&self, name: &str, rows: &[Moment]) -> io::Result<()> {
        let rows: Vec<Value> = rows.iter().map(to_json).collect();
        let fields = |row: &Value| row.as_object().cloned().unwrap_or_default();
        let head = rows.first().map(fields).unwrap_or_default();
        let mut names: Vec<&str> = head.keys().map(String::as_str).collect();
        names.sort_by_key(|name| *name != "t_s");
        let mut text = names.join(",") + "\n";
        for row in &rows {
            let cells: Vec<String> = names.iter().map(|name| row[name].to_string()).collect();
            text += &(cells.join(",") + "\n");
        }
        self.write(name, text)
    }

    /// Writes both distributions: as CSV for people, as HDR histograms for tools.
    pub fn write_latencies(&self, modelled: &Histogram, achieved: &Histogram) -> io::Result<()> {
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

impl Place {
    /// Removes the files of the earlier result and writes the command, unless that is done.
    fn begin(&self) -> io::Result<()> {
        let mut command = self.command.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(text) = &*command else {
            return Ok(());
        };
        // Somebody may have put a file there meanwhile.
        self.check_owner()?;
        for name in OURS {
            remove(&self.path.join(name))?;
        }
        self.write(COMMAND, text.as_bytes())?;
        *command = None;
        Ok(())
    }

    fn check_owner(&self) -> io::Result<()> {
        of_somebody_else(&self.path).map_or(Ok(()), |name| {
            Err(io::Error::other(format!(
                "it holds {name}, which is not the result of a run; name another folder, or move \
                 the file"
            )))
        })
    }

    fn write(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("{name}: {e}"));
        let (part, path) = (self.path.join(PART), self.path.join(name));
        let write = || {
            create_new(&part)?.write_all(contents)?;
            match fs::hard_link(&part, &path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(e),
                Ok(()) => fs::remove_file(&part),
                // A file system without hard links.
                Err(_) => fs::rename(&part, &path),
            }
        };
        let written = write();
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written.map_err(named)
    }
}

impl Drop for Place {
    /// Without a result, what was made for it goes.
    fn drop(&mut self) {
        let command = self.command.get_mut();
        if command.unwrap_or_else(PoisonError::into_inner).is_some() {
            // One that is not empty stays, with those above it.
            let _ = self.made.iter().try_for_each(fs::remove_dir);
        }
    }
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Makes a file that is not there: neither a file of somebody else is opened nor a link followed.
fn create_new(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// A file in a folder that has the name of one of ours and is not ours. Results and settings say
/// what they are; the others are ours if one of those is.
fn of_somebody_else(path: &Path) -> Option<&'static str> {
    let is_there = |name: &&str| fs::symlink_metadata(path.join(name)).is_ok();
    let is_ours = |name: &str| {
        let begins = |part: &[u8], beginnings: &[&str]| {
            beginnings
                .iter()
                .any(|one| part.starts_with(one.as_bytes()))
        };
        read_regular(&path.join(name)).is_some_and(|text| match name {
            STATS | COMMAND => text
                .windows(SCHEMA.len())
                .any(|part| part == SCHEMA.as_bytes()),
            _ => begins(&text, &[DEVICE_HEAD, SYSTEM_HEAD]),
        })
    };
    let told = [STATS, CONFIG, COMMAND].into_iter().filter(is_there);
    let mut is_result = false;
    for name in told {
        if !is_ours(name) {
            return Some(name);
        }
        is_result = true;
    }
    // A part of a file has a name that nobody else gives.
    let others = OURS.iter().copied().filter(|name| *name != PART);
    let mut others = others.filter(is_there);
    others.find(|name| !is_result || read_regular(&path.join(name)).is_none())
}

/// The contents of a regular file, as far as they could be a result's.
fn read_regular(path: &Path) -> Option<Vec<u8>> {
    let file = open_regular(path, false, None).ok()?;
    let mut bytes = Vec::new();
    file.take(STATS_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

const STATS: &str = "stats.json";
const CONFIG: &str = "config.toml";
/// A file on its way.
const PART: &str = ".sluice.part";
/// The command and where it ran.
const COMMAND: &str = "command.json";
/// No object of a run is longer.
const STATS_MAX: u64 = 256 << 20;
/// What every object of a run has in it, indented as it is in a folder.
const SCHEMA: &str = "\"schema\": \"sluice.";
/// How the settings of a device and of a system begin.
const DEVICE_HEAD: &str = "# Device as resolved; run it again with ";
const SYSTEM_HEAD: &str = "# System as resolved, at full size; run it again with ";

/// Files that a run makes.
const OURS: &[&str] = &[
    STATS,
    CONFIG,
    COMMAND,
    "latency.csv",
    "latency_modelled.hdr",
    "latency_achieved.hdr",
    "timeline.csv",
    "heat.csv",
    "traps.bin",
    "flash_read.csv",
    "console.log",
    "guest.out",
    PART,
];

fn hdr(latencies: &Histogram) -> io::Result<Vec<u8>> {
    let mut histogram =
        hdrhistogram::Histogram::<u64>::new_with_max(HDR_MAX_NS, 3).map_err(io::Error::other)?;
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
    let first = format!("{DEVICE_HEAD}`--device FILE --seed {seed}`.\n");
    first + &tables(&config.raw().to_pairs())
}

/// A system's settings at full size, as a file that `--system` reads back.
pub fn write_system(system: &System, scale: u32, seed: u64) -> String {
    let first = format!("{SYSTEM_HEAD}`--system FILE --scale {scale} --seed {seed}`.\n");
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
            let config = DeviceConfig::new(&raw).unwrap();
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

    /// `--out DIR` replaced a user's own `config.toml`, and truncated a file through a link that
    /// was called `stats.json`.
    #[test]
    fn what_is_not_a_result_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let create = |replaces| Folder::create(folder.path(), replaces, &KeptCommand::default());
        let refused = |name: &str| {
            let why = create(true).unwrap_err().to_string();
            assert!(why.contains(&format!("it holds {name},")), "{name}: {why}");
        };
        std::fs::write(at("notes.txt"), "mine").unwrap();
        std::fs::write(at("config.toml"), "[mine]\n").unwrap();
        refused("config.toml");
        assert_eq!(
            std::fs::read_to_string(at("config.toml")).unwrap(),
            "[mine]\n"
        );
        std::fs::remove_file(at("config.toml")).unwrap();
        std::fs::write(at("traps.bin"), "mine").unwrap();
        refused("traps.bin");
        std::fs::remove_file(at("traps.bin")).unwrap();
        std::os::unix::fs::symlink(at("notes.txt"), at("stats.json")).unwrap();
        refused("stats.json");
        std::fs::remove_file(at("stats.json")).unwrap();
        let object = serde_json::json!({ "a": 1, "schema": "sluice.run/1" });
        let run = create(false).unwrap();
        run.write_stats(&object).unwrap();
        run.write("traps.bin", "ours").unwrap();
        drop(run);
        let kept = create(false).unwrap_err();
        assert!(
            kept.to_string().ends_with("replace it with --force"),
            "{kept}"
        );
        assert!(at("stats.json").exists() && at("traps.bin").exists());
        let run = create(true).unwrap();
        assert!(
            at("stats.json").exists(),
            "it is replaced by a result alone"
        );
        run.write("config.toml", "ours").unwrap();
        assert!(!at("stats.json").exists() && !at("traps.bin").exists());
        // Somebody is faster than the end of the run.
        std::os::unix::fs::symlink(at("notes.txt"), at("stats.json")).unwrap();
        assert!(run.write_stats(&object).is_err());
        assert_eq!(std::fs::read_to_string(at("notes.txt")).unwrap(), "mine");
    }
}
