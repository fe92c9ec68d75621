//! The command line of `sluice trace`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use sluice_trace::convert::{FORMATS, Format};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Run a program under QEMU and write down what it does with memory
    Record(super::record::RecordArgs),
    /// Say what is in a trace: counts, footprint, mix, how soon pages are used again
    Info(InfoArgs),
    /// Print accesses of a trace as text, one a line
    Dump(DumpArgs),
    /// Convert a trace from one format to another, and say what is lost
    Convert(ConvertArgs),
}

#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Also tell how many other pages are touched before one is again, and so the misses of LRU at
    /// every size; takes several times as long
    #[arg(long)]
    pub reuse: bool,
    /// Print one JSON object, `sluice.trace-info/1`
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Columns: number of the access, CPU, instructions that it had executed \
                        before, kind (L, S, or F for an instruction fetch), address, size."
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

#[derive(Debug, Args)]
#[command(after_help = convert_help())]
pub struct ConvertArgs {
    /// The trace to read; - is standard input. One compressed by gzip, zstd or xz is decompressed
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The trace to write; - is standard output. It has this name only once it is whole
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Format of IN [default: what its name says]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub from: Option<String>,
    /// Format of OUT [default: what its name says]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub to: Option<String>,
    /// Keep instruction fetches
    #[arg(long)]
    pub fetches: bool,
    /// Only the accesses of this CPU
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u32>,
    /// Size of an object of oracle-general: object N is the memory from N times that on
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub object: sluice_units::Bytes,
    /// Number the objects of oracle-general as they come first, and put them next to each other:
    /// identifiers that are hashes are no addresses
    #[arg(long)]
    pub number_objects: bool,
    /// Instructions that stand for a second, where one format counts and the other has times
    #[arg(long, value_name = "I", default_value = "1G", value_parser = sluice_units::parse_count)]
    pub instructions_per_second: u64,
    /// Most instructions without memory for each access in a trace of champsim, of which each takes
    /// 64 bytes; more than that is refused once they are over a million
    #[arg(long, value_name = "N", default_value = "1000", value_parser = sluice_units::parse_count)]
    pub max_fill: u64,
    /// Print the report as one JSON object, `sluice.trace-convert/1`
    #[arg(long)]
    pub json: bool,
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
}

/// Every format.
fn convert_help() -> String {
    let rows = FORMATS.iter().map(|format| {
        let (name, meaning) = (format.name, format.meaning);
        format!("\n  {name:<14} {meaning}: {}", endings(format))
    });
    let rows: String = rows.collect();
    format!(
        "Formats:{rows}\n\nWhat the result cannot hold is told on standard error. Of valgrind's \
         trace:\n  valgrind --log-fd=9 --tool=lackey --trace-mem=yes PROG 9>&1 >/dev/null |\n    \
         sluice trace convert --from lackey - prog.trace"
    )
}

/// How names of a format end, as they are written.
pub fn endings(format: &Format) -> String {
    let all = format.endings.iter().map(|ending| format!(".{ending}"));
    all.collect::<Vec<_>>().join(", ")
}
