//! The write log: how large, in how many parts.

use super::take::{choice, count, impossible, time};
use crate::config::error::ConfigError;
use crate::config::raw::RawConfig;
use crate::config::value::Value;
use crate::write_log::{LINES_PER_BUFFER_MAX, LINES_PER_PAGE_MAX};
use sluice_units::{Bytes, LINE_BYTES, Ps};

/// The write log's checked values.
#[derive(Clone, Debug)]
pub struct WriteLogSettings {
    /// Buffers that take turns, those of the backlog too.
    pub buffers: u32,
    /// Lines that a buffer takes before it is compacted.
    pub lines_per_buffer: u32,
    /// Time to look a line up, or to enter it.
    pub index_latency: Ps,
    /// Whether a store is answered before the index has its line.
    pub indexes_behind: bool,
    /// Pages that compaction works on at once.
    pub coalescing_buffers: u32,
}

impl WriteLogSettings {
    /// The log, or `None` if there is none.
    pub(super) fn new(
        raw: &RawConfig,
        page_bytes: u64,
    ) -> Result<Option<WriteLogSettings>, ConfigError> {
        let Value::Size(capacity) = raw.value("write_log.capacity") else {
            return Ok(None);
        };
        let most = u64::from(LINES_PER_PAGE_MAX) * LINE_BYTES;
        if page_bytes > most {
            let message = format!(
                "the log's index counts {LINES_PER_PAGE_MAX} lines of a page; take pages of \
                 {most} bytes at most, or no log"
            );
            let keys = ["write_log.capacity", "device.page"];
            return Err(impossible(raw, &keys, message));
        }
        if choice(raw, "cache.write") == "through" {
            let message = "the log takes every store, to be programmed later; write back, or have \
                           no log";
            let keys = ["write_log.capacity", "cache.write"];
            return Err(impossible(raw, &keys, message.to_owned()));
        }
        let buffers = count(raw, "write_log.buffers");
        Ok(Some(WriteLogSettings {
            buffers: (buffers + count(raw, "write_log.backlog")) as u32,
            lines_per_buffer: lines_per_buffer(raw, capacity, buffers)?,
            index_latency: time(raw, "write_log.index_latency"),
            indexes_behind: choice(raw, "write_log.store_index") == "behind",
            coalescing_buffers: count(raw, "write_log.coalescing_buffers") as u32,
        }))
    }
}

fn lines_per_buffer(raw: &RawConfig, capacity: Bytes, buffers: u64) -> Result<u32, ConfigError> {
    let keys = ["write_log.capacity", "write_log.buffers"];
    let unit = buffers * LINE_BYTES;
    if !capacity.0.is_multiple_of(unit) {
        let message = format!(
            "the log is not a whole number of {LINE_BYTES}-byte lines in each buffer; give it \
             a multiple of {unit} bytes"
        );
        return Err(impossible(raw, &keys, message));
    }
    let lines = capacity.0 / unit;
    if lines > u64::from(LINES_PER_BUFFER_MAX) {
        let most = Bytes(u64::from(LINES_PER_BUFFER_MAX) * LINE_BYTES);
        let message = format!("a buffer of the log has {most} at most");
        return Err(impossible(raw, &keys, message));
    }
    Ok(lines as u32)
}
