//! Which part of what QEMU executes counts: between marks of the program or guest.

use crate::error::{ArgumentError, Error};
use crate::live::count::CountAfter;
use clap::Args;
use sluice_results::SystemResult;
use sluice_simulation::Part;

/// The part that counts.
#[derive(Clone, Debug, Args)]
pub struct PartArgs {
    /// Simulated, count from the first mark of this name that the program or guest sets
    /// (sluice_mark, `sluice-guest mark`). What comes before fills the caches
    #[arg(long, value_name = "MARK", value_parser = mark_name)]
    from: Option<String>,
    /// Simulated, count until this mark
    #[arg(long, value_name = "MARK", value_parser = mark_name)]
    to: Option<String>,
}

/// A name that a mark can have.
pub fn mark_name(name: &str) -> Result<String, ArgumentError> {
    match sluice_abi::is_mark_name(name) {
        true => Ok(name.to_owned()),
        false => Err(ArgumentError::Expected(
            "1 to 64 letters, digits, `-`, `_` or `.`".to_owned(),
        )),
    }
}

impl PartArgs {
    /// The part, which `--count-after` may begin as well.
    pub fn part(&self, after: &Option<CountAfter>) -> Result<Part, Error> {
        let from = match (after, &self.from) {
            (Some(after), Some(_)) => {
                let why = "--from says it already; leave one of the two out";
                return Err(Error::value("--count-after", after, why));
            }
            (Some(CountAfter::Marker(name)), None) => Some(name.clone()),
            (Some(after), None) => {
                let why =
                    "with --simulate there is no time but the simulated: expected marker:NAME";
                return Err(Error::value("--count-after", after, why));
            }
            (None, from) => from.clone(),
        };
        let to = self.to.clone();
        Ok(Part { from, to })
    }
}

/// Says which parts there were, and what counts.
pub fn print(result: &SystemResult) {
    for (at, region) in result.regions.iter().enumerate() {
        let next = result.regions.get(at + 1);
        let next = next.and_then(|next| next.from.as_deref());
        let (figures, cache) = (&region.figures, &region.figures.cache);
        errln!(
            "sluice: from {} to {}: {} instructions, {} misses of the device, {} of them the first \
             of their page; {:.3} ms",
            region.from.as_deref().unwrap_or("the start"),
            next.unwrap_or("the end"),
            figures.instructions,
            cache.misses,
            cache.counts.first_misses,
            figures.time_s * 1e3,
        );
    }
    let counted = result.counted.as_ref();
    if let Some(of) = counted.filter(|of| of.from_s.is_some()) {
        errln!(
            "sluice: what follows counts from {} to {}",
            of.from.as_deref().unwrap_or("the start"),
            of.to.as_deref().unwrap_or("the end"),
        );
    }
}

/// The marks that were asked for must have come.
pub fn check(result: &SystemResult) -> Result<(), Error> {
    let Some(of) = result.counted.as_ref().filter(|of| of.from_s.is_none()) else {
        return Ok(());
    };
    let wanted: Vec<&str> = [&of.from, &of.to]
        .into_iter()
        .filter_map(|name| name.as_deref())
        .collect();
    let wanted = format!("count by the marks {}", wanted.join(", "));
    let names: Vec<&str> = result
        .regions
        .iter()
        .filter_map(|region| region.from.as_deref())
        .collect();
    let found = match names[..] {
        [] => "it set no mark".to_owned(),
        _ => format!("it set the marks {} in this order", names.join(", ")),
    };
    Err(Error::NotCounted { wanted, found })
}
