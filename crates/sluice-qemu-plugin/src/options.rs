//! What comes after the plugin's name on QEMU's command line: `key=value`, separated by commas.

use serde_json::Value;
use sluice_config::{IN_LINE_HOST, System, load_in_line};
use sluice_trace::Summary;
use sluice_trace::filter::Levels;
use sluice_units::Bytes;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What the plugin is to do.
#[derive(Debug)]
pub enum Options {
    /// Write a trace.
    Record(Record),
    /// Simulate a host with its device.
    Simulate(Simulate),
}

/// How to record.
#[derive(Debug)]
pub struct Record {
    /// The trace.
    pub out: PathBuf,
    /// What the host's caches keep out of it.
    pub filter: Levels,
    /// What is recorded, for the trace's header.
    pub command: String,
    /// Where counts go at the end, as a JSON object.
    pub result: Option<PathBuf>,
}

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Simulate {
    /// The system's name or file.
    system: Option<String>,
    /// The device's, instead of the system's own.
    device: Option<String>,
    /// Changed settings.
    set: Vec<(String, String)>,
    /// The seed of every random stream.
    pub seed: u64,
    /// What the system's capacities are divided by.
    pub scale: u32,
    /// What runs, for the record.
    pub command: String,
    /// Which of the guest's memory is on the device; all of it, if nothing is said.
    pub range: Option<OnDevice>,
    /// Where the result goes at the end, as a JSON object.
    result: Option<PathBuf>,
}

/// A part of a guest's memory that is on the device.
#[derive(Clone, Debug)]
pub struct OnDevice {
    /// Its addresses.
    pub range: Range<u64>,
    /// Room for the rest.
    pub local: Bytes,
}

/// Every key, with what it is for.
const KEYS: &str = "mode, out, filter, system, device, set, seed, scale, range, local, command or \
                    result";

/// The arguments by their keys.
struct Given<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Given<'a> {
    fn read(arguments: &'a [String]) -> Result<Given<'a>, String> {
        let pairs = arguments.iter().map(|argument| {
            let pair = argument.split_once('=');
            pair.ok_or_else(|| format!("\"{argument}\" is not key=value"))
        });
        Ok(Given(pairs.collect::<Result<_, _>>()?))
    }

    /// The last value of a key, which is taken out.
    fn take(&mut self, key: &str) -> Option<&'a str> {
        let all = self.take_all(key);
        all.last().copied()
    }

    fn take_all(&mut self, key: &str) -> Vec<&'a str> {
        let (taken, rest) = self.0.iter().partition(|pair| pair.0 == key);
        self.0 = rest;
        let taken: Vec<(&str, &str)> = taken;
        taken.into_iter().map(|(_, value)| value).collect()
    }

    fn number<T: FromStr>(&mut self, key: &str, usual: T) -> Result<T, String> {
        let Some(text) = self.take(key) else {
            return Ok(usual);
        };
        text.parse()
            .map_err(|_| format!("bad value for {key}: \"{text}\"; expected a number"))
    }

    /// Nothing may be left.
    fn end(self, mode: &str) -> Result<(), String> {
        match self.0.first() {
            Some((key, _)) => Err(format!(
                "unknown key `{key}` for mode={mode}; the plugin knows {KEYS}"
            )),
            None => Ok(()),
        }
    }
}

impl Options {
    /// Reads the arguments that QEMU hands on.
    ///
    /// # Errors
    /// Names the key and what would be accepted.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut given = Given::read(arguments)?;
        let options = match given.take("mode") {
            Some("record") => Options::Record(Record::parse(&mut given)?),
            Some("simulate") => Options::Simulate(Simulate::parse(&mut given)?),
            Some(other) => {
                let expected = "expected record or simulate";
                return Err(format!("bad value for mode: \"{other}\"; {expected}"));
            }
            None => return Err("mode is missing; expected record or simulate".to_owned()),
        };
        given.end(match options {
            Options::Record(_) => "record",
            Options::Simulate(_) => "simulate",
        })?;
        Ok(options)
    }
}

impl Record {
    fn parse(given: &mut Given<'_>) -> Result<Record, String> {
        Ok(Record {
            out: given
                .take("out")
                .ok_or("mode=record needs out=FILE")?
                .into(),
            filter: Levels::parse(given.take("filter").unwrap_or("none"))
                .map_err(|error| error.to_string())?,
            command: given.take("command").unwrap_or_default().to_owned(),
            result: given.take("result").map(PathBuf::from),
        })
    }
}

impl Simulate {
    fn parse(given: &mut Given<'_>) -> Result<Simulate, String> {
        let set = given.take_all("set").into_iter().map(|pair| {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("bad value for set: \"{pair}\"; expected KEY=VALUE"))?;
            Ok((key.to_owned(), value.to_owned()))
        });
        Ok(Simulate {
            set: set.collect::<Result<_, String>>()?,
            system: given.take("system").map(str::to_owned),
            device: given.take("device").map(str::to_owned),
            seed: given.number("seed", 1)?,
            scale: given.number("scale", 1)?,
            command: given.take("command").unwrap_or_default().to_owned(),
            range: OnDevice::parse(given)?,
            result: given.take("result").map(PathBuf::from),
        })
    }

    /// What the record calls the system.
    pub fn name(&self) -> String {
        let system = self.system.as_deref().unwrap_or(IN_LINE_HOST);
        match &self.device {
            Some(device) => format!("{system} with {device}"),
            None => system.to_owned(),
        }
    }

    /// The system, with its changed settings.
    ///
    /// # Errors
    /// When there is none, or a setting cannot be.
    pub fn system(&self) -> Result<System, String> {
        let loaded = load_in_line(self.system.as_deref(), self.device.as_deref());
        let mut system = loaded.map_err(|e| e.to_string())?;
        for (key, value) in &self.set {
            system.set(key, value).map_err(|e| e.to_string())?;
        }
        sluice_plugin::make_absolute(&mut system.device).map_err(|e| e.to_string())?;
        Ok(system)
    }

    /// Tells the result, where that is wanted.
    pub fn tell(&self, object: &Value) {
        match &self.result {
            Some(path) => write(path, object),
            None => eprintln!("{object}"),
        }
    }
}

impl OnDevice {
    fn parse(given: &mut Given<'_>) -> Result<Option<OnDevice>, String> {
        let size = |text: &str, key: &str| {
            text.parse::<Bytes>()
                .map_err(|e| format!("bad value for {key}: \"{text}\"; expected {}", e.expected))
        };
        let Some(range) = given.take("range") else {
            return Ok(None);
        };
        let bad = || format!("bad value for range: \"{range}\"; expected 0xADDRESS+SIZE");
        let (start, bytes) = range.split_once('+').ok_or_else(bad)?;
        let start = start
            .strip_prefix("0x")
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
            .ok_or_else(bad)?;
        let end = start.checked_add(size(bytes, "range")?.0).ok_or_else(bad)?;
        let local = given.take("local").ok_or("range needs local=SIZE")?;
        Ok(Some(OnDevice {
            range: start..end,
            local: size(local, "local")?,
        }))
    }
}

fn write(path: &Path, object: &Value) {
    if let Err(error) = std::fs::write(path, object.to_string()) {
        eprintln!("sluice: {}: {error}", path.display());
    }
}

impl Record {
    /// Tells what was recorded, where that is wanted.
    pub fn tell(&self, seen: u64, summary: &Summary) {
        let Some(path) = &self.result else {
            return;
        };
        let object = serde_json::json!({
            "accesses_seen": seen,
            "accesses": summary.accesses,
            "instructions": summary.cpus,
            "bytes": summary.bytes,
        });
        write(path, &object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("out=t", "mode is missing"),
            ("mode=watch", "expected record or simulate"),
            ("mode=record", "needs out=FILE"),
            ("mode=record out", "\"out\" is not key=value"),
            ("mode=record out=t filter=L1", "bad value for filter"),
            (
                "mode=record out=t seed=1",
                "unknown key `seed` for mode=record",
            ),
            ("mode=simulate out=t", "unknown key `out` for mode=simulate"),
            ("mode=simulate seed=x", "bad value for seed"),
            ("mode=simulate set=cpu.cores", "expected KEY=VALUE"),
            ("mode=simulate range=0x10+1MiB", "range needs local=SIZE"),
            (
                "mode=simulate range=10+1MiB local=1MiB",
                "expected 0xADDRESS+SIZE",
            ),
            (
                "mode=simulate range=0x10+1M local=1MiB",
                "bad value for range",
            ),
            (
                "mode=simulate range=0xffffffffffffffff+1MiB local=1MiB",
                "bad value",
            ),
        ];
        for (text, message) in cases {
            let error = parse(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn settings_come_in_their_order() {
        let text = "mode=simulate set=cpu.cores=2 device=cylon set=cpu.cores=4 \
                    range=0x100000000+1MiB local=2MiB";
        let Ok(Options::Simulate(simulate)) = parse(text) else {
            panic!("{text}");
        };
        assert_eq!(simulate.name(), "base-cssd with cylon");
        assert_eq!(
            simulate.system().unwrap().get("cpu.cores").as_deref(),
            Some("4")
        );
        let range = simulate.range.unwrap();
        assert_eq!(range.range, 1 << 32..(1 << 32) + (1 << 20));
        assert_eq!(range.local, Bytes(2 << 20));
    }
}
