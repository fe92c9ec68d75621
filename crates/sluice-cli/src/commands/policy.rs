//! `sluice policy`: the policies that there are.

use crate::error::Error;
use clap::Subcommand;
use sluice_model::{EVICTIONS, GC_VICTIMS, PREFETCHES};
use sluice_results::{NamedPolicy, Policies, to_json};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// List the policies, with what they do and where they come from
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(command: &PolicyCommand) -> Result<ExitCode, Error> {
    let PolicyCommand::List { json } = command;
    let evictions = EVICTIONS.iter().map(|e| {
        let i = e.info;
        (
            "eviction",
            i.name,
            i.meaning,
            i.source,
            if i.uses_hits { "hits" } else { "misses" },
        )
    });
    let prefetches = PREFETCHES.iter().map(|e| {
        (
            "prefetch",
            e.info.name,
            e.info.meaning,
            e.info.source,
            "misses",
        )
    });
    let victims = GC_VICTIMS.iter().map(|e| {
        (
            "gc",
            e.info.name,
            e.info.meaning,
            e.info.source,
            "stale pages",
        )
    });
    let rows = evictions.chain(prefetches).chain(victims);
    if *json {
        let all = rows.map(|(kind, name, meaning, source, decides_by)| NamedPolicy {
            kind: kind.to_owned(),
            name: name.to_owned(),
            meaning: meaning.to_owned(),
            source: source.to_owned(),
            decides_by: decides_by.to_owned(),
        });
        outln!("{}", to_json(&Policies(all.collect())))?;
    } else {
        for (kind, name, meaning, source, by) in rows {
            outln!("{kind:<9} {name:<15} by {by:<11} {meaning}")?;
            outln!("{:<40} from {source}", "")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
