//! What comes after the plugin's name on QEMU's command line: `key=value`, separated by commas.

use crate::error::Error;
use serde::Serialize;
use sluice_abi::is_mark_name;
use sluice_config::{IN_LINE_HOST, System, load_in_line};
use sluice_results::{RecordedAccesses, SystemResult, to_json};
use sluice_simulation::{Part, SystemError};
use sluice_trace::filter::Levels;
use sluice_units::{Bytes, printable};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
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
#[derive(Clone, Debug)]
pub struct Record {
    /// The file that the trace goes to.
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
    /// Settings that were changed on the command line, key and value.
    set: Vec<(String, String)>,
    /// The seed of every random stream.
    pub seed: u64,
    /// What the system's capacities are divided by.
    pub scale: u32,
    /// What runs, for the record.
    pub command: String,
    /// Which of the guest's memory is on the device; by default all of it.
    pub range: Option<OnDevice>,
    /// Between which marks the result counts.
    pub part: Part,
    /// Where the result goes at the end, as a JSON object.
    result: Option<PathBuf>,
}

/// A part of a guest's memory that is on the device.
#[derive(Clone, Debug)]
pub struct OnDevice {
    /// Guest-physical addresses that are the device's.
    pub range: Range<u64>,
    /// Room for the rest.
    pub local: Bytes,
}

/// An argument as QEMU hands it on. The name of a file can have any bytes.
pub struct Argument {
    bytes: Vec<u8>,
    text: String,
}

impl Argument {
    /// Of its bytes.
    pub fn new(bytes: &[u8]) -> Argument {
        Argument {
            bytes: bytes.to_vec(),
            text: String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

/// Key, value, and the value's bytes.
type Pair<'a> = (&'a str, &'a str, &'a [u8]);

/// The arguments by their keys.
struct Given<'a>(Vec<Pair<'a>>);

impl<'a> Given<'a> {
    fn read(arguments: &'a [Argument]) -> Result<Given<'a>, Error> {
        let pair = |argument: &'a Argument| {
            let (key, value) = argument.text.split_once('=')?;
            let at = argument.bytes.iter().position(|byte| *byte == b'=')?;
            Some((key, value, &argument.bytes[at + 1..]))
        };
        let pairs = arguments
            .iter()
            .map(|argument| pair(argument).ok_or_else(|| Error::NotAPair(argument.text.clone())));
        Ok(Given(pairs.collect::<Result<_, _>>()?))
    }

    fn path(&mut self, key: &str) -> Option<PathBuf> {
        let all = self.take_pairs(key);
        all.last().map(|pair| OsStr::from_bytes(pair.2).into())
    }

    /// The last value of a key, which is taken out.
    fn take(&mut self, key: &str) -> Option<&'a str> {
        let all = self.take_all(key);
        all.last().copied()
    }

    fn take_all(&mut self, key: &str) -> Vec<&'a str> {
        let taken = self.take_pairs(key).into_iter();
        taken.map(|(_, value, _)| value).collect()
    }

    fn take_pairs(&mut self, key: &str) -> Vec<Pair<'a>> {
        let (taken, rest) = self.0.iter().partition(|pair| pair.0 == key);
        self.0 = rest;
        taken
    }

    fn number<T: FromStr>(&mut self, key: &'static str, usual: T) -> Result<T, Error> {
        let Some(text) = self.take(key) else {
            return Ok(usual);
        };
        text.parse().map_err(|_| bad(key, text, "a number"))
    }

    fn mark(&mut self, key: &'static str) -> Result<Option<String>, Error> {
        match self.take(key) {
            Some(name) if !is_mark_name(name) => Err(bad(key, name, "a mark's name")),
            name => Ok(name.map(str::to_owned)),
        }
    }

    /// Nothing may be left.
    fn end(self, mode: &'static str) -> Result<(), Error> {
        match self.0.first() {
            Some((key, ..)) => Err(Error::UnknownKey {
                key: (*key).to_owned(),
                mode,
            }),
            None => Ok(()),
        }
    }
}

fn bad(key: &'static str, given: &str, expected: impl Into<String>) -> Error {
    Error::Value {
        key,
        given: given.to_owned(),
        expected: expected.into(),
    }
}

impl Options {
    /// Reads the arguments that QEMU hands on.
    ///
    /// # Errors
    /// Names the key and what would be accepted.
    pub fn parse(arguments: &[Argument]) -> Result<Options, Error> {
        let mut given = Given::read(arguments)?;
        let options = match given.take("mode") {
            Some("record") => Options::Record(Record::parse(&mut given)?),
            Some("simulate") => Options::Simulate(Simulate::parse(&mut given)?),
            Some(other) => return Err(bad("mode", other, "record or simulate")),
            None => return Err(Error::NoMode),
        };
        given.end(match options {
            Options::Record(_) => "record",
            Options::Simulate(_) => "simulate",
        })?;
        Ok(options)
    }
}

impl Record {
    fn parse(given: &mut Given<'_>) -> Result<Record, Error> {
        Ok(Record {
            out: given.path("out").ok_or(Error::NoOut)?,
            filter: Levels::parse(given.take("filter").unwrap_or("none"))?,
            command: given.take("command").unwrap_or_default().to_owned(),
            result: given.path("result"),
        })
    }
}

impl Simulate {
    fn parse(given: &mut Given<'_>) -> Result<Simulate, Error> {
        let set = given.take_all("set").into_iter().map(|pair| {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| bad("set", pair, "KEY=VALUE"))?;
            Ok((key.to_owned(), value.to_owned()))
        });
        Ok(Simulate {
            set: set.collect::<Result<_, Error>>()?,
            system: given.take("system").map(str::to_owned),
            device: given.take("device").map(str::to_owned),
            seed: given.number("seed", 1)?,
            scale: given.number("scale", 1)?,
            command: given.take("command").unwrap_or_default().to_owned(),
            range: OnDevice::parse(given)?,
            part: Part {
                from: given.mark("from")?,
                to: given.mark("to")?,
            },
            result: given.path("result"),
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
    pub fn system(&self) -> Result<System, Error> {
        let mut system = load_in_line(self.system.as_deref(), self.device.as_deref())?;
        for (key, value) in &self.set {
            system.set(key, value).map_err(SystemError::from)?;
        }
        sluice_plugin::make_absolute(&mut system.device).map_err(SystemError::from)?;
        Ok(system)
    }

    /// Writes the result, where that is wanted.
    pub fn write(&self, result: &SystemResult) {
        match &self.result {
            Some(path) => write(path, result),
            None => eprintln!("{}", to_json(result)),
        }
    }

    /// Says why there is no result, and writes that where it would be.
    pub fn write_end(&self, why: &str) {
        eprintln!("sluice: {}", printable(why));
        if let Some(path) = &self.result {
            write(path, &why);
        }
    }
}

impl OnDevice {
    fn parse(given: &mut Given<'_>) -> Result<Option<OnDevice>, Error> {
        let size = |text: &str, key: &'static str| {
            text.parse::<Bytes>()
                .map_err(|e| bad(key, text, e.expected))
        };
        let Some(range) = given.take("range") else {
            return Ok(None);
        };
        let no_range = || bad("range", range, "0xADDRESS+SIZE");
        let (start, bytes) = range.split_once('+').ok_or_else(no_range)?;
        let start = start
            .strip_prefix("0x")
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
            .ok_or_else(no_range)?;
        let bytes = size(bytes, "range")?.0;
        let end = start.checked_add(bytes).ok_or_else(no_range)?;
        let local = given.take("local").ok_or(Error::NoLocal)?;
        Ok(Some(OnDevice {
            range: start..end,
            local: size(local, "local")?,
        }))
    }
}

fn write(path: &Path, result: &impl Serialize) {
    if let Err(error) = std::fs::write(path, to_json(result).to_string()) {
        let path = path.to_string_lossy();
        eprintln!("sluice: {}: {error}", printable(&path));
    }
}

impl Record {
    /// Writes what was recorded, where that is wanted.
    pub fn write(&self, result: &RecordedAccesses) {
        if let Some(path) = &self.result {
            write(path, result);
        }
    }

    /// Says why there is no whole trace: at once, for the program may go on for long, and where the
    /// result would be.
    pub fn write_end(&self, why: &str) {
        eprintln!("sluice: recording ended: {}", printable(why));
        if let Some(path) = &self.result {
            write(path, &why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, Error> {
        let words = text.split(' ').map(|word| Argument::new(word.as_bytes()));
        Options::parse(&words.collect::<Vec<_>>())
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
            ("mode=simulate to=a+b", "bad value for to"),
            ("mode=simulate range=0x10+1MiB", "range needs local=SIZE"),
            (
                "mode=simulate range=10+1MiB local=1MiB",
                "expected 0xADDRESS+SIZE",
            ),
            (
                "mode=simulate range=0x10+1Q local=1MiB",
                "bad value for range",
            ),
            (
                "mode=simulate range=0xffffffffffffffff+1MiB local=1MiB",
                "bad value",
            ),
        ];
        for (text, message) in cases {
            let error = parse(text).unwrap_err().to_string();
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
