//! Why a store cannot be used.

use crate::format::VERSION;
use std::io;
use std::path::PathBuf;

/// Why a store cannot be used. The message does not name the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is another file.
    #[error(
        "not a store of Sluice: it does not begin as one; give a store, or to a run the name of \
         one that is to be made"
    )]
    NoStore,
    /// It is a device that holds something else.
    #[error(
        "not a store of Sluice, and not blank: a store is made on a device whose first MiB is \
         zeros; `blkdiscard -z --length 1MiB DEVICE` makes it so, and what it holds is lost"
    )]
    NotBlank,
    /// It is a device that is too small.
    #[error(
        "the device has {found} bytes, and the store of device.capacity={capacity} takes {wanted}; \
         name a larger one, or set a smaller device.capacity"
    )]
    Small {
        /// Of the device that keeps the store.
        found: u64,
        /// Of the store.
        wanted: u64,
        /// Of the device that is kept.
        capacity: u64,
    },
    /// It is a device that is mounted, or part of another one.
    #[error("in use by this host, which has it mounted or as part of another device")]
    InUse,
    /// It is of another version.
    #[error("a store of version {0}; this Sluice reads and writes version {VERSION}")]
    Version(u32),
    /// It begins as a store, and goes on otherwise.
    #[error("the store's header is damaged: its checksum or its sizes are wrong")]
    Header,
    /// It is of a device of another size.
    #[error(
        "a store of a device of {found} bytes, and device.capacity is {wanted}; run with `--set \
         device.capacity={found}`, or name another store"
    )]
    Capacity {
        /// Of the store.
        found: u64,
        /// Of the device.
        wanted: u64,
    },
    /// It is of another device.
    #[error(
        "a store of device \"{0}\", and this one is \"{1}\"; run with `--device {0}`, or name \
         another store",
        found.escape_debug(),
        wanted.escape_debug()
    )]
    Device {
        /// Of the store.
        found: String,
        /// What is run.
        wanted: String,
    },
    /// Bytes are missing, or there are too many.
    #[error("the store has {found} bytes and should have {wanted}: it was cut, or added to")]
    Length {
        /// Of the file.
        found: u64,
        /// By its header.
        wanted: u64,
    },
    /// Contents are lost.
    #[error(
        "{count} pages of the store are damaged, the first is page {first}; `sluice store check` \
         lists them"
    )]
    Damaged {
        /// How many.
        count: u64,
        /// The first.
        first: u64,
    },
    /// The name under which it is to be made has something else.
    #[error(
        "it is made under the name {}, and what is there is no store; move that, or name another \
         store",
        .0.display()
    )]
    Taken(PathBuf),
    /// Somebody has it.
    #[error("in use by process {0}")]
    Held(i32),
    /// Somebody has it of whom nothing is known.
    #[error("in use by a process that is not visible from here, as in another container")]
    HeldByUnknown,
    /// The system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    /// The system's error at an attempt.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::System { what, source }
    }
}
