//! `sluice trace dump`: accesses as text.

use super::{args::DumpArgs, at, open};
use crate::error::Error;
use sluice_trace::Kind;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

pub fn run(args: &DumpArgs) -> Result<ExitCode, Error> {
    let mut reader = open(&args.file)?;
    let of = |error| at(&args.file, error);
    let mut number = args.from;
    match args.from_instruction {
        Some(instructions) => number = reader.seek_instructions(instructions).map_err(of)?,
        None => reader.seek_access(number).map_err(of)?,
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut left = args.count.unwrap_or(u64::MAX);
    while left > 0 {
        let Some(access) = reader.next() else { break };
        let access = access.map_err(of)?;
        let kind = match access.kind {
            Kind::Load => 'L',
            Kind::Store => 'S',
            Kind::Fetch => 'F',
        };
        writeln!(
            out,
            "{number} {} {} {kind} {:#x} {}",
            access.cpu, access.instructions, access.address, access.size
        )
        .map_err(|error| Error::at("standard output", error))?;
        (number, left) = (number + 1, left - 1);
    }
    out.flush()
        .map_err(|error| Error::at("standard output", error))?;
    Ok(ExitCode::SUCCESS)
}
