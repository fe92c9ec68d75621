//! This crate's own format.

use super::{Format, Input, Options, Output, Part, Sink, Source};
use crate::{Access, Error, Header, Reader, Writer};
use std::fs::File;
use std::io::BufReader;

pub const FORMAT: Format = Format {
    name: "sluice",
    meaning: "Sluice's own (docs/trace-format.md)",
    endings: &["trace", "sluice"],
    parts: &[
        Part::Cpus,
        Part::Instructions,
        Part::Kinds,
        Part::Sizes,
        Part::Bytes,
        Part::Fetches,
    ],
    open,
    create,
};

fn open(input: Input, _: &Options) -> Result<Box<dyn Source>, Error> {
    let path = input.path().ok_or_else(|| Error::Input {
        place: "-".to_owned(),
        what: "a Sluice trace cannot be read from a pipe; name a file".to_owned(),
    })?;
    Ok(Box::new(Native(Reader::open(path)?)))
}

struct Native(Reader<BufReader<File>>);

impl Source for Native {
    fn read(&mut self, out: &mut Vec<Access>) -> Result<bool, Error> {
        let block = self.0.next_block()?;
        out.extend(block.unwrap_or_default());
        Ok(block.is_some())
    }

    fn header(&self) -> Option<&Header> {
        Some(self.0.header())
    }

    fn executed(&self) -> &[u64] {
        self.0.cpus()
    }

    fn notes(&self) -> Vec<String> {
        let unfinished = self.0.unfinished();
        unfinished.iter().map(ToString::to_string).collect()
    }
}

fn create(output: Output, header: &Header, _: &Options) -> Result<Box<dyn Sink>, Error> {
    let (file, _) = output.file(FORMAT.name)?;
    Ok(Box::new(Made {
        writer: Writer::new(file, header)?,
        executed: Vec::new(),
    }))
}

struct Made {
    writer: Writer<File>,
    executed: Vec<u64>,
}

impl Sink for Made {
    fn push(&mut self, access: &Access) -> Result<bool, Error> {
        self.writer.push(access)?;
        Ok(true)
    }

    fn executed(&mut self, cpus: &[u64]) {
        self.executed = cpus.to_vec();
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, Error> {
        self.writer.finish(&self.executed)?;
        Ok(Vec::new())
    }
}
