//! `sluice trace dump`: accesses as text.

use crate::error::Error;
use crate::traces::{at, open};
use clap::Args;
use sluice_trace::Kind;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(
    after_help = "Columns: number of the access, CPU, instructions that it had executed \
                        before, kind (L, S, F for an instruction fetch; r, w, t or f for a read, \
                        write, trim or flush by the block door), address, size."
)]
pub struct DumpArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Begin at the access of this number, from 0
    #[arg(long, value_name = "N", default_value = "0", value_parser = sluice_units::parse_count)]
    pub from: u64,
    /// Begin where all CPUs together have executed so many instructions
    #[arg(long, value_name = "I", conflicts_with = "from",
          value_parser = sluice_units::parse_count)]
    pub from_instruction: Option<u64>,
    /// Print so many accesses [default: all]
    #[arg(short = 'n', long, value_name = "N", value_parser = sluice_units::parse_count)]
    pub count: Option<u64>,
}

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
            Kind::BlockRead => 'r',
            Kind::BlockWrite => 'w',
            Kind::BlockTrim => 't',
            Kind::BlockFlush => 'f',
        };
        writeln!(
            out,
            "{number} {} {} {kind} {:#x} {}",
            access.cpu, access.instructions, access.address, access.size
        )
        .map_err(Error::Output)?;
        (number, left) = (number + 1, left - 1);
    }
    out.flush().map_err(Error::Output)?;
    Ok(ExitCode::SUCCESS)
}
