//! A write log as a map from pages to their lines.

use sluice_model::DeviceConfig;
use std::collections::{BTreeMap, BTreeSet};

/// Lines by page.
type Buffer = BTreeMap<u32, BTreeSet<u64>>;

/// The buffer that takes lines, and those that are to be compacted. One that is full is in flash
/// before the next request, so how many there are does not matter.
pub struct Log {
    pub lines: u64,
    pub open: Buffer,
    appended: u64,
    pub full: Vec<Buffer>,
}

impl Log {
    pub fn new(config: &DeviceConfig) -> Option<Log> {
        let log = config.write_log.as_ref()?;
        let capacity = log.capacity.expect("a log").0;
        Some(Log {
            lines: capacity / 64 / u64::from(log.buffers),
            open: Buffer::new(),
            appended: 0,
            full: Vec::new(),
        })
    }

    /// Says whether the buffer had the line already.
    pub fn append(&mut self, lpn: u32, line: u64) -> bool {
        let is_new = self.open.entry(lpn).or_default().insert(line);
        self.appended += 1;
        if self.appended == self.lines {
            self.close();
        }
        !is_new
    }

    pub fn close(&mut self) {
        if self.appended > 0 {
            self.full.push(std::mem::take(&mut self.open));
        }
        self.appended = 0;
    }

    pub fn has(&self, lpn: u32, line: u64) -> bool {
        self.open
            .get(&lpn)
            .is_some_and(|lines| lines.contains(&line))
    }

    /// How many lines of the page there are.
    pub fn count(&self, lpn: u32) -> u64 {
        self.open.get(&lpn).map_or(0, |lines| lines.len() as u64)
    }
}
