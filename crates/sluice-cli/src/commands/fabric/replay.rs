//! `sluice fabric run --workload` and `--trace`: what the requesters replay.

use super::one_at_least;
use crate::error::{ArgumentError, Error};
use crate::traces;
use clap::Args;
use sluice_driver::recording::{FitsCaches, Recorder, Recording, SPREADS, SpreadInfo};
use sluice_host::CacheSize;
use sluice_host::Program;
use sluice_kernels::KernelOptions;
use sluice_replay::Placement;
use sluice_simulation::{Recorded, fits_machine};
use sluice_skybyte_artifact::parse_kernel;
use sluice_units::{Bytes, LINE_BYTES, Ps};
use std::path::PathBuf;

/// Caches between a program and its memory by default.
const CACHES: &str = "32KiB:8,1MiB:16";

/// Instructions of a kernel without an access behind its caches, after which none is waited for.
const PATIENCE: u64 = 100_000_000;

/// The longest that an instruction may take.
const LONGEST_INSTRUCTION: Ps = Ps::from_us(1);

/// What the requesters ask for, instead of `requester.pattern`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Replay what a kernel asks memory for, such as silo:start=empty (see `sluice sim --help`)
    #[arg(long, value_name = "KERNEL", conflicts_with = "trace")]
    workload: Option<String>,
    /// Replay a trace of `sluice trace`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Divide the memory of the kernel
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    scale: u32,
    /// Threads of the kernel
    #[arg(long, value_name = "T", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1_024))]
    threads: u32,
    /// Accesses to memory that are recorded and replayed, fewer if the program ends
    #[arg(long, value_name = "N", default_value = "1M", value_parser = one_at_least)]
    accesses: u64,
    /// Caches of each CPU, size:ways from the first level on, or none; by default
    /// 32KiB:8,1MiB:16, and none if a trace was filtered already
    #[arg(long, value_name = "LIST")]
    caches: Option<String>,
    /// How the accesses go to the requesters: each (all of them, in memory of its own), dealt (one
    /// after the other to the next) or cpus (those of a CPU or thread to one)
    #[arg(long, value_name = "WAY", default_value = "each", value_parser = spread)]
    spread: &'static SpreadInfo,
    /// Time of an instruction between two accesses, such as 250ps
    #[arg(long, value_name = "TIME", default_value = "0ns", value_parser = short_time)]
    instruction: Ps,
}

fn spread(text: &str) -> Result<&'static SpreadInfo, ArgumentError> {
    let known = SPREADS.iter().find(|one| one.name == text);
    known.ok_or_else(|| {
        let names: Vec<&str> = SPREADS.iter().map(|one| one.name).collect();
        ArgumentError::Expected(format!("one of {}", names.join(", ")))
    })
}

fn short_time(text: &str) -> Result<Ps, ArgumentError> {
    let time: Ps = text.parse()?;
    let wrong = || ArgumentError::Expected(format!("{LONGEST_INSTRUCTION} at most"));
    (time <= LONGEST_INSTRUCTION)
        .then_some(time)
        .ok_or_else(wrong)
}

impl ReplayArgs {
    /// Records what was asked for; nothing if the requesters have patterns of their own.
    pub fn record(&self, seed: u64) -> Result<Option<Recorded>, Error> {
        let (workload, recording) = if let Some(text) = &self.workload {
            let spec = parse_kernel(text, seed)?;
            fits_machine(text, &spec, self.scale, self.threads, Bytes(0))?;
            let mut kernel = (spec.info.make)(&KernelOptions {
                threads: self.threads,
                scale: self.scale,
                seed: spec.seed,
                rounds: spec.rounds,
                given: spec.given,
            });
            (text.clone(), self.recording(&mut *kernel, text)?)
        } else if let Some(path) = &self.trace {
            let replay = traces::open_replay(path, Placement::Touch)?;
            let default = if replay.header().filter.is_some() {
                "none"
            } else {
                CACHES
            };
            let name = path.display().to_string();
            let caches = self.caches(default, replay.footprint(), &name)?;
            let lines = replay.in_order();
            let lines = lines.map_err(|error| traces::at(path, error))?;
            let mut recorder = Recorder::new(replay.cpus(), &caches, self.accesses);
            for (cpu, line) in lines {
                recorder.reaches(cpu, line.instructions.saturating_add(1));
                recorder.access(cpu, (line.addr / LINE_BYTES) as u32, line.write);
                if recorder.is_full() {
                    break;
                }
            }
            let recording = recorder.end(replay.footprint());
            traces::failed(path, &replay)?;
            (name, recording)
        } else {
            return Ok(None);
        };
        if recording.is_empty() {
            return Err(Error::unfit(
                workload,
                "asks memory for nothing behind these caches",
            ));
        }
        Ok(Some(Recorded {
            workload,
            recording,
            spread: self.spread,
            instruction: self.instruction,
        }))
    }

    /// The caches of a program with so much memory.
    fn caches(&self, default: &str, footprint: Bytes, name: &str) -> Result<Vec<CacheSize>, Error> {
        let caches = caches(self.caches.as_deref().unwrap_or(default))?;
        check_room(&caches, footprint, name)?;
        Ok(caches)
    }

    /// What a kernel asks for.
    fn recording(&self, program: &mut dyn Program, name: &str) -> Result<Recording, Error> {
        let list = self.caches.as_deref().unwrap_or(CACHES);
        let caches = self.caches(CACHES, program.footprint(), name)?;
        let recorded = Recording::of(program, &caches, self.accesses, PATIENCE);
        recorded.map_err(|FitsCaches { accesses }| {
            let why = format!(
                "fits the caches {list}: after {accesses} accesses it asks memory for nothing; \
                 give it more memory, smaller --caches, or --accesses {accesses}"
            );
            Error::unfit(name, why)
        })
    }
}

/// An error if a program has more memory than a recording has addresses for.
fn check_room(caches: &[CacheSize], footprint: Bytes, name: &str) -> Result<(), Error> {
    let (room, alone) = (Recording::room(caches), Recording::room(&[]));
    if footprint <= room {
        return Ok(());
    }
    let why =
        format!("has {footprint} of memory; expected {room} at most, {alone} with --caches none");
    Err(Error::unfit(name, why))
}

/// Reads `32KiB:8,1MiB:16`.
fn caches(text: &str) -> Result<Vec<CacheSize>, Error> {
    if text == "none" {
        return Ok(Vec::new());
    }
    text.split(',').map(cache).collect()
}

fn cache(text: &str) -> Result<CacheSize, Error> {
    let wrong = || {
        let why = format!(
            "\"{text}\" is not accepted; expected size:ways such as 32KiB:8, with a power of two \
             of sets of lines of {LINE_BYTES} B, or none"
        );
        Error::unfit("--caches", why)
    };
    let (size, ways) = text.split_once(':').ok_or_else(wrong)?;
    let bytes: Bytes = size.parse().map_err(|_| wrong())?;
    let ways: u32 = ways.parse().map_err(|_| wrong())?;
    let lines = u32::try_from(bytes.0 / LINE_BYTES).map_err(|_| wrong())?;
    let set = LINE_BYTES * u64::from(ways);
    let is_whole = ways > 0 && lines > 0 && bytes.0.is_multiple_of(set);
    if !is_whole || !(lines / ways).is_power_of_two() || lines >= 1 << 26 {
        return Err(wrong());
    }
    Ok(CacheSize { lines, ways })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_have_sizes_and_ways() {
        let due = [(512, 8), (16_384, 16)].map(|(lines, ways)| CacheSize { lines, ways });
        assert_eq!(caches(CACHES).ok(), Some(due.to_vec()));
        assert_eq!(caches("none").ok(), Some(Vec::new()));
        for wrong in [
            "", "32KiB", "32KiB:0", "32KiB:5", "33:1", "x:8", "32KiB:8,", "1TiB:16",
        ] {
            let message = caches(wrong).expect_err(wrong).to_string();
            assert!(message.contains("expected size:ways"), "{message}");
        }
    }

    #[test]
    fn a_program_with_more_memory_than_addresses_is_refused() {
        let small = caches("32KiB:8").expect("a cache");
        let (gib, tib) = (Bytes(1 << 30).0, Bytes(1 << 40));
        for (caches, most) in [(&small[..], 63), (&[], 256)] {
            assert!(check_room(caches, Bytes(most * gib), "bfs").is_ok());
            for more in [Bytes((most + 1) * gib + 1), tib] {
                let refused = check_room(caches, more, "bfs").expect_err("too much");
                let message = refused.to_string();
                assert!(message.contains("256GiB with --caches none"), "{message}");
            }
        }
    }
}
