//! Why a disk cannot be served.

use std::path::PathBuf;

/// Why a disk cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its socket cannot be made.
    #[error("the disk's socket {path}: {why}")]
    Socket {
        /// Where.
        path: PathBuf,
        /// The error's words.
        why: String,
    },
    /// A thread or an event cannot be made.
    #[error("a thread for the disk: {0}")]
    Thread(#[from] std::io::Error),
    /// QEMU and this side do not understand each other.
    #[error("the disk's connection to QEMU: {0}")]
    Protocol(String),
    /// Its thread has ended by a panic.
    #[error("the disk's thread has failed")]
    Panicked,
}
