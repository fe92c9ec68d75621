//! The write log: how large, in how many parts.

use super::{WritePolicy, deref_to_given};
use sluice_params::{ConfigError, Declared, Kind, RawConfig, choices};
use sluice_units::{Bytes, LINE_BYTES, Ps};

/// Lines of one buffer at most, so that numbers of pages and of tables fit the bits that the log's
/// index has for them.
pub(crate) const LINES_PER_BUFFER_MAX: u32 = 1 << 22;

/// Lines of a page at most: the page offset of an entry has six bits (SkyByte section III-B).
pub(crate) const LINES_PER_PAGE_MAX: u32 = 64;

sluice_params::params! {
    /// The write log.
    pub struct WriteLogParams {
        capacity: Option<Bytes> {
            key: "write_log.capacity",
            kind: Kind::Or("none", &Kind::Size),
            default: "none",
            meaning: "bytes of DRAM that log stores by lines of 64 bytes, all buffers together; \
                      none: stores fetch their page into the cache",
            source: "Cylon has no write log; SkyByte Table II: 64 MB",
        }
        buffers: u64 {
            key: "write_log.buffers",
            kind: Kind::Count { min: 1, max: 8 },
            default: "2",
            meaning: "equal parts of the log that take turns: one is filled, the full ones \
                      compacted",
            source: "SkyByte section III-B: double-buffered",
        }
        index_latency: Ps {
            key: "write_log.index_latency",
            default: "72ns",
            meaning: "time to look a line up in the log's index, or to enter it there",
            source: "SkyByte section V: 72 ns for a 64 MB log",
        }
        coalescing_buffers: u32 {
            key: "write_log.coalescing_buffers",
            kind: Kind::Count { min: 1, max: 65_536 },
            default: "256",
            meaning: "pages that compaction works on at once, each read, merged and programmed",
            source: "assumed: four for each die, as mshr.entries; SkyByte does not say",
        }
        demoted: Demoted {
            key: "write_log.demoted",
            kind: Demoted::KIND,
            default: "lines",
            meaning: "where a written page goes that the host gives back to a device with a log",
            source: "SkyByte section III-C: it is copied to the SSD; to which part of its DRAM is \
                     not stated",
        }
    }
}

choices! {
    /// Where a page goes that the host gives back.
    pub enum Demoted {
        Lines = "lines": "into the log, each of its lines as a store",
        Page = "page": "into the cache as a whole; it is programmed once, when it leaves that",
    }
}

/// The write log's checked values.
#[derive(Clone, Debug)]
pub struct WriteLogSettings {
    /// The parameters as they were given.
    pub given: WriteLogParams,
    /// Buffers that take turns.
    pub buffers: u32,
    /// Lines that a buffer takes before it is compacted.
    pub lines_per_buffer: u32,
}

deref_to_given!(WriteLogSettings, WriteLogParams);

impl WriteLogSettings {
    /// The log, or `None` if there is none.
    pub(super) fn new(
        raw: &RawConfig,
        page_bytes: u64,
        write: WritePolicy,
    ) -> Result<Option<WriteLogSettings>, ConfigError> {
        let given = WriteLogParams::new(raw);
        let Some(capacity) = given.capacity else {
            return Ok(None);
        };
        let most = u64::from(LINES_PER_PAGE_MAX) * LINE_BYTES;
        if page_bytes > most {
            let message = format!(
                "the log's index counts {LINES_PER_PAGE_MAX} lines of a page; take pages of \
                 {most} bytes at most, or no log"
            );
            return Err(raw.impossible(&["write_log.capacity", "device.page"], message));
        }
        match write {
            WritePolicy::Back => {}
            WritePolicy::Through => {
                let message = "the log takes every store, to be programmed later; write back, or \
                               have no log";
                return Err(raw.impossible(&["write_log.capacity", "cache.write"], message));
            }
        }
        Ok(Some(WriteLogSettings {
            buffers: given.buffers as u32,
            lines_per_buffer: lines_per_buffer(raw, capacity, given.buffers)?,
            given,
        }))
    }
}

fn lines_per_buffer(raw: &RawConfig, capacity: Bytes, buffers: u64) -> Result<u32, ConfigError> {
    let keys = ["write_log.capacity", "write_log.buffers"];
    let unit = buffers * LINE_BYTES;
    if capacity.0 < unit {
        let message = format!(
            "the log has no {LINE_BYTES}-byte line in each buffer; give it {unit} bytes at least"
        );
        return Err(raw.impossible(&keys, message));
    }
    let lines = capacity.0 / unit;
    if lines > u64::from(LINES_PER_BUFFER_MAX) {
        let most = Bytes(u64::from(LINES_PER_BUFFER_MAX) * LINE_BYTES);
        let message = format!("a buffer of the log has {most} at most");
        return Err(raw.impossible(&keys, message));
    }
    Ok(lines as u32)
}
