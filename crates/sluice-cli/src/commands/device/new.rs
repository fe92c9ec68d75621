//! `sluice device new`: a device file from the figures of a data sheet.

use crate::error::{ArgumentError, Error};
use clap::Args;
use sluice_config::{describe, parse};
use sluice_model::{DeviceConfig, RawConfig};
use sluice_region::open_regular;
use sluice_units::{Bytes, Ps, parse_bandwidth};
use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;

/// What a data sheet has.
#[derive(Debug, Args)]
#[command(
    after_help = "What is left out is asked for on a terminal. What stays open is that of the \
                  device it is built on; `sluice device check` says which that is."
)]
pub struct NewArgs {
    /// The device: NAME.toml is written
    pub name: String,
    /// The preset that the device is built on
    #[arg(long, value_name = "PRESET", default_value = sluice_config::DEFAULT)]
    pub base: String,
    /// Bytes that the host can address, such as 1TB
    #[arg(long, value_name = "SIZE")]
    pub capacity: Option<Bytes>,
    /// Bytes of the DRAM cache, such as 16GiB
    #[arg(long, value_name = "SIZE")]
    pub cache: Option<Bytes>,
    /// Time to read a page from flash, such as 5us
    #[arg(long, value_name = "TIME")]
    pub read_latency: Option<Ps>,
    /// Time to program a page, such as 100us
    #[arg(long, value_name = "TIME")]
    pub program_latency: Option<Ps>,
    /// Time to erase a block, such as 3ms
    #[arg(long, value_name = "TIME")]
    pub erase_latency: Option<Ps>,
    /// Channels
    #[arg(long, value_name = "N")]
    pub channels: Option<u64>,
    /// Dies on all channels together
    #[arg(long, value_name = "N")]
    pub dies: Option<u64>,
    /// Bandwidth of the link each way, such as 8GB/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub link: Option<u64>,
    /// Replace NAME.toml
    #[arg(long)]
    pub force: bool,
}

/// MB/s of `8GB/s`.
fn rate(text: &str) -> Result<u64, ArgumentError> {
    let expected = || ArgumentError::Expected("a size a second, such as 8GB/s".to_owned());
    parse_bandwidth(text)
        .filter(|mb| *mb > 0)
        .ok_or_else(expected)
}

/// A value as it was typed, in the unit of its parameter.
fn value<T: std::str::FromStr + ToString>(text: &str) -> Result<String, ArgumentError>
where
    ArgumentError: From<T::Err>,
{
    Ok(text.parse::<T>()?.to_string())
}

/// A number of channels or dies.
fn count(text: &str) -> Result<String, ArgumentError> {
    match text.parse::<u64>() {
        Ok(number) if number > 0 => Ok(number.to_string()),
        _ => Err(ArgumentError::Expected("a number from 1 up".to_owned())),
    }
}

/// The parameter that counts the dies of a chip.
const DIES: &str = "nand.dies";

/// A figure: its parameter, what a terminal is asked, and how the answer is read.
struct Figure {
    key: &'static str,
    question: &'static str,
    read: fn(&str) -> Result<String, ArgumentError>,
}

const FIGURES: &[Figure] = &[
    Figure {
        key: "device.capacity",
        question: "bytes that the host can address",
        read: value::<Bytes>,
    },
    Figure {
        key: "device.link_bandwidth",
        question: "bandwidth of the link each way, such as 8GB/s",
        read: |text| Ok(rate(text)?.to_string()),
    },
    Figure {
        key: "cache.capacity",
        question: "bytes of the DRAM cache",
        read: value::<Bytes>,
    },
    Figure {
        key: "nand.read",
        question: "time to read a page from flash",
        read: value::<Ps>,
    },
    Figure {
        key: "nand.program",
        question: "time to program a page",
        read: value::<Ps>,
    },
    Figure {
        key: "nand.erase",
        question: "time to erase a block",
        read: value::<Ps>,
    },
    Figure {
        key: "nand.channels",
        question: "channels",
        read: count,
    },
    Figure {
        key: DIES,
        question: "dies on all channels together",
        read: count,
    },
];

impl NewArgs {
    /// What the command line has of a figure.
    fn given(&self, key: &str) -> Option<String> {
        let size = |size: &Option<Bytes>| size.map(|size| size.to_string());
        let time = |time: &Option<Ps>| time.map(|time| time.to_string());
        let count = |count: &Option<u64>| count.map(|count| count.to_string());
        match key {
            "device.capacity" => size(&self.capacity),
            "device.link_bandwidth" => count(&self.link),
            "cache.capacity" => size(&self.cache),
            "nand.read" => time(&self.read_latency),
            "nand.program" => time(&self.program_latency),
            "nand.erase" => time(&self.erase_latency),
            "nand.channels" => count(&self.channels),
            _ => count(&self.dies),
        }
    }
}

/// Makes the file.
pub fn run(args: &NewArgs) -> Result<(), Error> {
    let path = path(&args.name)?;
    let base = describe(&args.base)?.given;
    let asks = stdin().is_terminal() && stdout().is_terminal();
    let mut raw = base.clone();
    let mut stated = Vec::new();
    for figure in FIGURES {
        let default = match figure.key {
            DIES => (chips(&raw) * number(&raw, DIES)).to_string(),
            key => base.get(key).unwrap_or_default().to_string(),
        };
        let mut answer = args.given(figure.key);
        if answer.is_none() && asks {
            answer = ask(figure, &default)?;
        }
        if let Some(answer) = answer {
            raw.set(figure.key, &answer)?;
            stated.push((figure.key, answer));
        }
    }
    per_chip(&mut stated, &raw)?;
    let text = file(&args.base, &stated);
    // What contradicts is found before anything is written.
    DeviceConfig::new(&parse(&text, &path.display().to_string())?)?;
    write(&path, &text, args.force)?;
    outln!("{}", path.display())?;
    Ok(())
}

/// A name of a file beside others, or a path that ends in `.toml`.
fn path(name: &str) -> Result<PathBuf, Error> {
    let stem = name.strip_suffix(".toml").unwrap_or(name);
    if stem.is_empty()
        || sluice_config::presets()
            .iter()
            .any(|preset| preset.name == stem)
    {
        let why = "expected a name that no preset has (`sluice device list`)";
        return Err(Error::value("NAME", name, why));
    }
    Ok(PathBuf::from(format!("{stem}.toml")))
}

/// Asks until the answer can be read; an empty one leaves the base's.
fn ask(figure: &Figure, default: &str) -> Result<Option<String>, Error> {
    let failed = |e| Error::system("the terminal")(e);
    loop {
        let mut out = stdout();
        write!(out, "{} [{default}]: ", figure.question).map_err(failed)?;
        out.flush().map_err(failed)?;
        let mut line = String::new();
        if stdin().read_line(&mut line).map_err(failed)? == 0 || line.trim().is_empty() {
            return Ok(None);
        }
        match (figure.read)(line.trim()) {
            Ok(answer) => return Ok(Some(answer)),
            Err(why) => errln!("{why}"),
        }
    }
}

/// A number of a device; 1 if the value is no number.
fn number(raw: &RawConfig, key: &str) -> u64 {
    let text = raw.get(key).map(|value| value.to_string());
    text.and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn chips(raw: &RawConfig) -> u64 {
    number(raw, "nand.channels") * number(raw, "nand.chips")
}

/// Data sheets count all dies, and the parameter those of a chip.
fn per_chip(stated: &mut [(&str, String)], raw: &RawConfig) -> Result<(), Error> {
    let (chips, dies) = (chips(raw), number(raw, DIES));
    let Some(own) = stated.iter_mut().find(|(key, _)| *key == DIES) else {
        return Ok(());
    };
    if dies == 0 || !dies.is_multiple_of(chips) {
        let why = format!("expected a multiple of the {chips} chips (--channels)");
        return Err(Error::value("--dies", dies.to_string(), why));
    }
    own.1 = (dies / chips).to_string();
    Ok(())
}

/// The file's text.
fn file(base: &str, stated: &[(&str, String)]) -> String {
    let mut text = format!("base = {base:?}\n");
    let mut table = "";
    for (key, value) in stated {
        let (group, name) = key.split_once('.').unwrap_or(("", key));
        if group != table {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n[{group}]\n");
            table = group;
        }
        let _ = match value.parse::<u64>() {
            Ok(number) => writeln!(text, "# source: its data sheet.\n{name} = {number}"),
            Err(_) => writeln!(text, "# source: its data sheet.\n{name} = {value:?}"),
        };
    }
    text
}

/// Writes it whole or not at all.
fn write(path: &std::path::Path, text: &str, replaces: bool) -> Result<(), Error> {
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::AlreadyExists => Error::unfit(
            path.display(),
            "it is there already; replace it with --force",
        ),
        _ => Error::system(path.display())(e),
    };
    if replaces && path.exists() {
        // A link to something else is not followed.
        open_regular(path, true, None).map_err(failed)?;
        std::fs::remove_file(path).map_err(failed)?;
    }
    let mut file = std::fs::File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}
