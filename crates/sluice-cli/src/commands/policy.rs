//! `sluice policy`: the policies that there are.

use crate::error::Error;
use clap::Subcommand;
use serde_json::{Value, json};
use sluice_model::{EVICTIONS, GC_VICTIMS, PREFETCHES};
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
        let all: Vec<Value> = rows
            .map(|(kind, name, meaning, source, decides_by)| {
                json!({
                    "kind": kind, "name": name, "meaning": meaning, "source": source,
                    "decides_by": decides_by,
                })
            })
            .collect();
        outln!("{}", json!(all))?;
    } else {
        for (kind, name, meaning, source, by) in rows {
            outln!("{kind:<9} {name:<15} by {by:<11} {meaning}")?;
            outln!("{:<40} from {source}", "")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
