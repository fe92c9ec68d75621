//! What can be wrong with a trace, or with what is pushed into one.

use std::io;

/// Why a trace cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// It begins with other bytes.
    #[error("not a Sluice trace")]
    NotATrace,
    /// A later version of the format.
    #[error("trace format version {found} is not known; this reader knows version {known}")]
    Version {
        /// The file's.
        found: u32,
        /// The reader's.
        known: u32,
    },
    /// The bytes at a place contradict themselves or their checksum.
    #[error("damaged trace: byte {offset}: {what}")]
    Damaged {
        /// Where, in bytes from the start of the file.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// It was finished once, and now ends before its index does.
    #[error("truncated trace: the file ends at byte {end}, but its index is at byte {index}")]
    Truncated {
        /// Bytes of the file.
        end: u64,
        /// Where the index should be.
        index: u64,
    },
    /// A header that says what cannot be.
    #[error("trace header: {0}")]
    Header(String),
    /// An access that a trace cannot hold.
    #[error("access {number} cannot be recorded: {why}")]
    Access {
        /// Its number, from 0.
        number: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A file of another format that says what cannot be.
    #[error("{place}: {what}")]
    Input {
        /// The file and where in it.
        place: String,
        /// What is wrong there.
        what: String,
    },
    /// A place that a trace cannot be written to.
    #[error("{0}")]
    Output(String),
    /// A place behind the end.
    #[error("cannot seek to {what} {wanted}: the trace ends at {end}")]
    Seek {
        /// What was counted.
        what: &'static str,
        /// The number asked for.
        wanted: u64,
        /// The number of its end.
        end: u64,
    },
}

impl Error {
    /// For `map_err`: the operating system refused.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }

    pub(crate) fn damaged(offset: u64, what: impl Into<String>) -> Error {
        Error::Damaged {
            offset,
            what: what.into(),
        }
    }
}
