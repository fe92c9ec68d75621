//! ChampSim's instruction traces: 64 bytes for each instruction.
//!
//! `ip` (8), `is_branch` (1), `branch_taken` (1), registers written (2) and read (4), two addresses
//! that are written (8 each), four that are read (8 each); an address of 0 is none.

use super::{Format, Input, Options, Output, Part, Sink, Source, input::Text};
use crate::header::u64_at;
use crate::{Access, Error, Header, Kind};
use std::io::Write;

pub const FORMAT: Format = Format {
    name: "champsim",
    meaning: "ChampSim: 64 bytes an instruction, one CPU",
    endings: &["champsim", "champsimtrace"],
    parts: &[
        Part::Instructions,
        Part::Kinds,
        Part::Bytes,
        Part::Fetches,
        Part::Registers,
    ],
    open,
    create,
};

const RECORD_BYTES: usize = 64;
const STORES_AT: usize = 16;
const LOADS_AT: usize = 32;
const STORES_MAX: usize = 2;
const LOADS_MAX: usize = 4;
/// The format has no sizes.
const DATA_BYTES: u16 = 8;
const FETCH_BYTES: u16 = 4;
/// Where made-up instructions are: a loop of so many, of four bytes each.
const LOOP_START: u64 = 0x40_0000;
const LOOP_LENGTH: u64 = 1024;
/// Instructions without memory that are always written: 64 MiB.
const FILL_FREE: u64 = 1 << 20;
/// Instructions read at a time.
const BATCH: usize = 4096;

fn open(input: Input, _: &Options) -> Result<Box<dyn Source>, Error> {
    let instructions = 0;
    let text = input.open()?;
    Ok(Box::new(Read { text, instructions }))
}

struct Read {
    text: Text,
    instructions: u64,
}

impl Source for Read {
    fn read(&mut self, out: &mut Vec<Access>) -> Result<bool, Error> {
        let mut record = [0; RECORD_BYTES];
        for _ in 0..BATCH {
            if !self.text.record(&mut record)? {
                return Ok(false);
            }
            if record[8] > 1 || record[9] > 1 {
                let what = "is_branch and branch_taken are neither 0 nor 1 (records of 64 bytes \
                            are read, not CloudSuite's)";
                return Err(self.text.wrong("instruction", what));
            }
            let mut add = |kind, address, size| {
                out.push(Access {
                    cpu: 0,
                    instructions: self.instructions,
                    address,
                    size,
                    kind,
                });
            };
            add(Kind::Fetch, u64_at(&record, 0), FETCH_BYTES);
            for (kind, start, count) in [
                (Kind::Load, LOADS_AT, LOADS_MAX),
                (Kind::Store, STORES_AT, STORES_MAX),
            ] {
                let addresses = (0..count).map(|n| u64_at(&record, start + 8 * n));
                addresses
                    .filter(|address| *address != 0)
                    .for_each(|address| add(kind, address, DATA_BYTES));
            }
            self.instructions += 1;
        }
        Ok(true)
    }

    fn executed(&self) -> &[u64] {
        core::slice::from_ref(&self.instructions)
    }

    fn notes(&self) -> Vec<String> {
        vec![format!(
            "{} instructions; sizes are made up: {DATA_BYTES} bytes, {FETCH_BYTES} of a fetch",
            self.instructions
        )]
    }
}

fn create(output: Output, _: &Header, options: &Options) -> Result<Box<dyn Sink>, Error> {
    Ok(Box::new(Made {
        max_fill: options.max_fill,
        accesses: 0,
        filled: 0,
        out: output.stream(),
        counts: Vec::new(),
        executed: Vec::new(),
        open: None,
        written: 0,
        split: 0,
        at_zero: 0,
        fetches: 0,
    }))
}

/// An instruction that is being put together.
struct Instruction {
    cpu: u32,
    number: u64,
    ip: Option<u64>,
    loads: [u64; LOADS_MAX],
    stores: [u64; STORES_MAX],
    /// Whether a part of it is written.
    goes_on: bool,
}

impl Instruction {
    fn new(cpu: u32, number: u64) -> Instruction {
        Instruction {
            cpu,
            number,
            ip: None,
            loads: [0; LOADS_MAX],
            stores: [0; STORES_MAX],
            goes_on: false,
        }
    }

    /// Whether there was a place for an access.
    fn add(&mut self, access: &Access) -> bool {
        let places = match access.kind {
            Kind::Load => &mut self.loads[..],
            Kind::Store => &mut self.stores[..],
            Kind::Fetch if self.ip.is_some() => return false,
            Kind::Fetch => {
                self.ip = Some(access.address);
                return true;
            }
            // `Format::takes` lets none through.
            _ => return true,
        };
        let free = places.iter_mut().find(|place| **place == 0);
        free.map(|place| *place = access.address).is_some()
    }
}

struct Made {
    /// Most instructions without memory for each access.
    max_fill: u64,
    accesses: u64,
    /// Instructions without memory.
    filled: u64,
    out: Box<dyn Write>,
    /// Instructions of each CPU that were written.
    counts: Vec<u64>,
    /// What each CPU has executed at its end.
    executed: Vec<u64>,
    open: Option<Instruction>,
    written: u64,
    /// Instructions that became several.
    split: u64,
    /// Accesses at address 0.
    at_zero: u64,
    fetches: u64,
}

impl Made {
    fn write(&mut self, instruction: &Instruction) -> Result<(), Error> {
        let mut record = [0; RECORD_BYTES];
        let made_up = LOOP_START + 4 * (self.written % LOOP_LENGTH);
        let ip = instruction.ip.unwrap_or(made_up);
        record[..8].copy_from_slice(&ip.to_le_bytes());
        let stores = (STORES_AT..).step_by(8).zip(instruction.stores);
        let loads = (LOADS_AT..).step_by(8).zip(instruction.loads);
        for (at, address) in stores.chain(loads) {
            record[at..at + 8].copy_from_slice(&address.to_le_bytes());
        }
        self.written += 1;
        let done = self.out.write_all(&record);
        done.map_err(Error::io("writing a trace"))
    }

    /// Refuses a result that would be next to nothing but instructions without memory: a second of
    /// a trace with times is a billion of them, which are 64 GB.
    fn check_fill(&self, more: u64) -> Result<(), Error> {
        let all = self.filled.saturating_add(more);
        let most = self.accesses.saturating_mul(self.max_fill);
        if all <= most.max(FILL_FREE) {
            return Ok(());
        }
        Err(Error::Output(format!(
            "champsim: {} accesses would need {all} instructions without memory between them, more \
             than {} for each: {} bytes; lower --instructions-per-second if the trace has times, \
             or raise --max-fill",
            self.accesses,
            self.max_fill,
            u128::from(all) * RECORD_BYTES as u128
        )))
    }

    /// Writes the instruction that is open, and those without memory before it.
    fn close(&mut self) -> Result<(), Error> {
        let Some(instruction) = self.open.take() else {
            return Ok(());
        };
        self.fill(instruction.cpu, instruction.number)?;
        let count = &mut self.counts[instruction.cpu as usize];
        *count = (*count).max(instruction.number + 1);
        self.write(&instruction)
    }

    /// Writes the instructions without memory that a CPU executes before the one of this number.
    fn fill(&mut self, cpu: u32, before: u64) -> Result<(), Error> {
        let at = cpu as usize;
        let cpus = self.counts.len().max(at + 1);
        self.counts.resize(cpus, 0);
        let filler = before.saturating_sub(self.counts[at]);
        self.check_fill(filler)?;
        self.filled += filler;
        for number in self.counts[at]..before {
            self.write(&Instruction::new(cpu, number))?;
        }
        self.counts[at] = self.counts[at].max(before);
        Ok(())
    }
}

impl Sink for Made {
    fn push(&mut self, access: &Access) -> Result<bool, Error> {
        // Where data is, 0 means none; an instruction may be there.
        if access.address == 0 && access.kind != Kind::Fetch {
            self.at_zero += 1;
            return Ok(false);
        }
        self.accesses += 1;
        self.fetches += u64::from(access.kind == Kind::Fetch);
        let same =
            |open: &Instruction| (open.cpu, open.number) == (access.cpu, access.instructions);
        let mut next = Instruction::new(access.cpu, access.instructions);
        if let Some(open) = self.open.as_mut().filter(|open| same(open)) {
            if open.add(access) {
                return Ok(true);
            }
            self.split += u64::from(!open.goes_on);
            next.goes_on = true;
        }
        self.close()?;
        next.add(access);
        self.open = Some(next);
        Ok(true)
    }

    fn executed(&mut self, cpus: &[u64]) {
        self.executed = cpus.to_vec();
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>, Error> {
        self.close()?;
        for (cpu, count) in (0..).zip(core::mem::take(&mut self.executed)) {
            self.fill(cpu, count)?;
        }
        self.out.flush().map_err(Error::io("writing a trace"))?;
        let mut notes = vec![format!(
            "{} instructions, none of them a branch, none with registers",
            self.written
        )];
        let mut note = |count, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        note(
            self.at_zero,
            "accesses at address 0 left out: there it means none",
        );
        note(
            self.split,
            "instructions with more than 4 loads, 2 stores or a fetch became several",
        );
        if self.fetches == 0 {
            notes.push("addresses of instructions are made up: a loop of 1024".to_owned());
        }
        Ok(notes)
    }
}
