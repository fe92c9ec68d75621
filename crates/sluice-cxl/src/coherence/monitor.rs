//! Checks coherence from outside: one writer or many readers, and every load the last store.

use super::message::State;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of one line.
#[derive(Clone, Debug, Default)]
struct Line {
    readers: BTreeSet<u32>,
    writer: Option<u32>,
    /// The data of the last store.
    data: u64,
}

/// Watches the caches of all hosts. For tests and for builds with debug assertions.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    lines: BTreeMap<u64, Line>,
    checked: u64,
}

impl Monitor {
    /// A host's cache has a line in a new state.
    ///
    /// # Errors
    /// If that leaves a writer beside another host.
    pub fn changed(&mut self, host: u32, line: u64, state: State) -> Result<(), String> {
        let it = self.lines.entry(line).or_default();
        it.readers.remove(&host);
        if it.writer == Some(host) {
            it.writer = None;
        }
        match state {
            State::Invalid => {}
            State::Shared => _ = it.readers.insert(host),
            State::Exclusive | State::Modified => {
                if let Some(other) = it.writer {
                    return Err(format!(
                        "line {line:#x}: hosts {other} and {host} may write"
                    ));
                }
                it.writer = Some(host);
            }
        }
        self.checked += 1;
        match (it.writer, it.readers.first()) {
            (Some(writer), Some(reader)) => Err(format!(
                "line {line:#x}: host {writer} may write while host {reader} may read"
            )),
            _ => Ok(()),
        }
    }

    /// A store was done.
    pub fn stored(&mut self, line: u64, data: u64) {
        self.lines.entry(line).or_default().data = data;
    }

    /// A load was done. A line that nobody stored to holds 0.
    ///
    /// # Errors
    /// If it did not see the last store.
    pub fn loaded(&mut self, host: u32, line: u64, data: u64) -> Result<(), String> {
        self.checked += 1;
        match self.lines.get(&line).map_or(0, |it| it.data) {
            last if last == data => Ok(()),
            last => Err(format!(
                "line {line:#x}: host {host} read {data} after {last} was stored"
            )),
        }
    }

    /// Checks made so far.
    pub fn checked(&self) -> u64 {
        self.checked
    }
}
