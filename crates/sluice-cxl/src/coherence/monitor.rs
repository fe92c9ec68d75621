//! Checks coherence from outside: one writer or many readers, and every load the last store.

use super::message::State;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// What the caches of hosts must never come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Incoherence {
    /// Two hosts may write a line.
    #[error("line {line:#x}: hosts {first} and {second} may write")]
    Writers {
        /// Which line, by its number.
        line: u64,
        /// The host that could write it before.
        first: u32,
        /// The host that can write it too.
        second: u32,
    },
    /// A host may read a line that another one may write.
    #[error("line {line:#x}: host {writer} may write while host {reader} may read")]
    WriterBesideReader {
        /// Which line, by its number.
        line: u64,
        /// The host that may write it.
        writer: u32,
        /// The host that may read it.
        reader: u32,
    },
    /// A load did not see the last store.
    #[error("line {line:#x}: host {host} read {read} after {stored} was stored")]
    OldData {
        /// Which line, by its number.
        line: u64,
        /// The host that loaded.
        host: u32,
        /// The data that it saw.
        read: u64,
        /// The data of the last store.
        stored: u64,
    },
}

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
    pub fn changed(&mut self, host: u32, line: u64, state: State) -> Result<(), Incoherence> {
        let it = self.lines.entry(line).or_default();
        it.readers.remove(&host);
        if it.writer == Some(host) {
            it.writer = None;
        }
        match state {
            State::Invalid => {}
            State::Shared => _ = it.readers.insert(host),
            State::Exclusive | State::Modified => {
                if let Some(first) = it.writer {
                    let second = host;
                    return Err(Incoherence::Writers {
                        line,
                        first,
                        second,
                    });
                }
                it.writer = Some(host);
            }
        }
        self.checked += 1;
        match (it.writer, it.readers.first().copied()) {
            (Some(writer), Some(reader)) => Err(Incoherence::WriterBesideReader {
                line,
                writer,
                reader,
            }),
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
    pub fn loaded(&mut self, host: u32, line: u64, data: u64) -> Result<(), Incoherence> {
        self.checked += 1;
        match self.lines.get(&line).map_or(0, |it| it.data) {
            last if last == data => Ok(()),
            last => Err(Incoherence::OldData {
                line,
                host,
                read: data,
                stored: last,
            }),
        }
    }

    /// Checks made so far.
    pub fn checked(&self) -> u64 {
        self.checked
    }
}
