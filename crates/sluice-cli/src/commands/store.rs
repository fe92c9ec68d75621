//! `sluice store`: the stores of persistent devices.

use crate::error::Error;
use crate::output::Rows;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use sluice_store::{Report, VERSION, check, open_to_look};
use sluice_units::{Bytes, PAGE_BYTES};
use std::path::PathBuf;
use std::process::ExitCode;

/// Version of the fields.
const SCHEMA: &str = "sluice.store-check/1";
/// What can be checked.
const STORE: &str = "give the file or block device that `sluice run --store file:STORE` kept a \
                     persistent device in";
/// Damaged pages of which a line is printed.
const SHOWN: usize = 20;

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Read all of a store, and say whether it is whole
    Check(CheckArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "The exit status is 0 if the store is whole, also if a write was cut off before \
                  it was flushed; 1 if it is damaged; 2 if it cannot be read, or is in use. See \
                  docs/store-format.md."
)]
pub struct CheckArgs {
    /// The store
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Print one JSON object, `sluice.store-check/1`
    #[arg(long)]
    pub json: bool,
}

pub fn run(command: &StoreCommand) -> Result<ExitCode, Error> {
    let StoreCommand::Check(args) = command;
    let why_not = |why: sluice_store::Error| match why {
        sluice_store::Error::NoStore if args.path.is_dir() => {
            Error::unfit(args.path.display(), format!("it is a folder; {STORE}"))
        }
        sluice_store::Error::NoStore => {
            let why = format!("not a store of Sluice: it does not begin as one; {STORE}");
            Error::unfit(args.path.display(), why)
        }
        why => Error::unfit(args.path.display(), why),
    };
    if let Some(path) = args
        .path
        .to_str()
        .and_then(|path| path.strip_prefix("file:"))
    {
        let why = format!("a path is expected here; give {path}");
        return Err(Error::unfit(args.path.display(), why));
    }
    let file = open_to_look(&args.path).map_err(why_not)?;
    let found = check(&file);
    let is_whole = found.as_ref().is_ok_and(|report| report.damaged == 0);
    let is_damage = |why: &sluice_store::Error| {
        use sluice_store::Error::{Header, Length};
        matches!(why, Header | Length { .. })
    };
    match found {
        Ok(report) if args.json => outln!("{}", object(args, &report))?,
        Ok(report) => tell(&report)?,
        // It is a store, and damaged as a whole.
        Err(why) if is_damage(&why) && args.json => {
            let (path, why) = (args.path.display().to_string(), why.to_string());
            outln!(
                "{}",
                json!({ "schema": SCHEMA, "path": path, "whole": false, "error": why })
            )?;
        }
        Err(why) if is_damage(&why) => errln!("sluice: {}: {why}", args.path.display()),
        Err(why) => return Err(why_not(why)),
    }
    Ok(ExitCode::from(u8::from(!is_whole)))
}

fn object(args: &CheckArgs, report: &Report) -> Value {
    let damaged = report.first_damaged.iter();
    let damaged: Vec<Value> = damaged
        .map(|(page, why)| json!({ "page": page, "why": why }))
        .collect();
    json!({
        "schema": SCHEMA,
        "path": args.path.display().to_string(),
        "whole": report.damaged == 0,
        "error": Value::Null,
        "version": VERSION,
        "device": report.shape.device,
        "identity": format!("{:016x}", report.shape.identity),
        "pages": report.shape.pages,
        "stored": report.stored,
        "cut_off": report.torn,
        "damaged": report.damaged,
        "first_damaged": damaged,
        "writes": report.writes,
        "flushed": report.flushed,
    })
}

fn tell(report: &Report) -> Result<(), Error> {
    let shape = &report.shape;
    let mut rows = Rows::new(12);
    rows.row("version", VERSION);
    // Who has written the store may be anybody.
    rows.row("device", shape.device.escape_debug());
    rows.row("identity", format_args!("{:016x}", shape.identity));
    rows.row("capacity", Bytes(shape.pages * PAGE_BYTES));
    rows.row("stored", format_args!("{} pages", report.stored));
    rows.row("last write", report.writes);
    rows.row("last flushed", report.flushed);
    rows.row(
        "cut off",
        format_args!("{} writes that were not flushed", report.torn),
    );
    rows.row("damaged", format_args!("{} pages", report.damaged));
    rows.print()?;
    for (page, why) in report.first_damaged.iter().take(SHOWN) {
        outln!("page {page} at {:#x}: wrong: {why}", page * PAGE_BYTES)?;
    }
    if report.first_damaged.len() > SHOWN {
        outln!(
            "and more; --json lists the first {}",
            report.first_damaged.len()
        )?;
    }
    Ok(())
}
