//! `powercut`: the power of a persistent device goes.

use crate::error::CtlError;
use crate::outcome::{Outcome, SCHEMA};
use clap::Args;
use serde_json::{Value, json};
use sluice_control::{Budget, DeviceFiles, PowerCut, power_cut as cut};
use sluice_units::PAGE_BYTES;
use std::fmt::Write;

/// What the device can still program.
#[derive(Debug, Args)]
pub struct PowerCutArgs {
    /// Joules that it has left; device.program_energy says how many a page takes. Without this and
    /// --pages it has none
    #[arg(long, value_name = "JOULES", conflicts_with = "pages", value_parser = nanojoules)]
    energy: Option<u64>,
    /// Pages that it can still program
    #[arg(long, value_name = "N")]
    pages: Option<u64>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Why a text is no energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected joules, such as 0.25: of at most nine digits on each side of the point")]
struct BadEnergy;

/// Joules with up to nine digits behind the point, as nanojoules.
fn nanojoules(text: &str) -> Result<u64, BadEnergy> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = whole.len() <= 9 && rest.len() <= 9;
    if !is_number(whole) || !is_number(rest) || whole.is_empty() || !is_short {
        return Err(BadEnergy);
    }
    let number = |digits: &str| digits.parse::<u64>().map_err(|_| BadEnergy);
    Ok(number(whole)? * 1_000_000_000 + number(&format!("{rest:0<9}"))?)
}

/// Cuts the power, and prints what was lost.
///
/// # Errors
/// If the device is not persistent, or its command does not answer.
pub fn power_cut(place: &DeviceFiles, args: &PowerCutArgs) -> Result<Outcome, CtlError> {
    let budget = match (args.energy, args.pages) {
        (Some(energy), _) => Budget::Nanojoules(energy),
        (None, pages) => Budget::Pages(pages.unwrap_or(0)),
    };
    let found = cut(place, budget)?;
    let text = match args.json {
        true => format!("{}\n", object(place, &found)),
        false => lines(&found),
    };
    let is_done = true;
    Ok(Outcome { text, is_done })
}

fn runs(pages: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    let runs = pages.chunk_by(|a, b| a + 1 == *b);
    runs.map(|run| (run[0] * PAGE_BYTES, run.len() as u64 * PAGE_BYTES))
}

fn lines(found: &PowerCut) -> String {
    let mut text = format!(
        "the power is cut: {} written pages of the cache were programmed, {} were lost\n",
        found.written,
        found.lost.len()
    );
    for (start, len) in runs(&found.lost) {
        let _ = writeln!(text, "{start:#x}..{:#x} lost", start + len);
    }
    text
}

fn object(place: &DeviceFiles, found: &PowerCut) -> Value {
    let ranges = runs(&found.lost);
    let ranges: Vec<Value> = ranges
        .map(|(start, len)| json!({ "start": start, "length": len }))
        .collect();
    json!({
        "schema": SCHEMA,
        "command": "powercut",
        "pid": place.pid,
        "pages": found.pages,
        "most": found.most,
        "written": found.written,
        "lost": found.lost.len(),
        "lost_ranges": ranges,
    })
}

#[cfg(test)]
mod tests {
    use super::nanojoules;

    #[test]
    fn joules_are_exact() {
        for (text, expected) in [
            ("0", 0),
            ("1", 1_000_000_000),
            ("0.00005", 50_000),
            ("2.5", 2_500_000_000),
            ("999999999.999999999", 999_999_999_999_999_999),
        ] {
            assert_eq!(nanojoules(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "-1",
            "1e3",
            "0.0000000001",
            "1000000001",
            ".5",
            "1,5",
            "ä",
        ] {
            assert!(nanojoules(text).is_err(), "{text}");
        }
    }
}
