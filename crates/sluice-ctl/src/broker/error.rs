//! What can go wrong between a client, its broker and their socket.

use crate::error::CtlError;
use sluice_units::Bytes;
use std::io;
use std::path::PathBuf;

/// Why there is no broker, or no answer of it. Each message is one line.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The socket's path has something else.
    #[error("{}: there, and no socket; remove it, or name another path by --socket", .0.display())]
    NoSocket(PathBuf),
    /// Another broker answers there.
    #[error("{}: another broker answers there; end it, or name another path by --socket",
            .0.display())]
    Served(PathBuf),
    /// A broker has been there, and has ended.
    #[error("{}: no broker answers there; root starts one by `sluice-guest serve`", .0.display())]
    NoBroker(PathBuf),
    /// Neither root nor this user listens.
    #[error("{}: user {owner} listens there, and neither root nor this user", path.display())]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// Whose broker it is.
        owner: u32,
    },
    /// The system refuses something of the socket.
    #[error("{}: {why}", path.display())]
    System {
        /// The socket, or the file of groups.
        path: PathBuf,
        /// What it says.
        why: io::Error,
    },
    /// No group of this name.
    #[error("bad value for --group: {0:?}; expected the name or number of a group of /etc/group")]
    Group(String),
    /// Names no kind of command.
    #[error("bad value for --allow: {given:?}; expected a list of {valid}")]
    Allow {
        /// What was given.
        given: String,
        /// What can be.
        valid: String,
    },
    /// The mode of the socket is no octal number, or nobody could connect by it.
    #[error("bad value for --mode: {0:?}; expected three octal digits such as 0660")]
    Mode(String),
    /// More words than a message has room for.
    #[error("{0} bytes of arguments; {1} can be sent at once")]
    TooLong(usize, usize),
    /// What the broker says against a command.
    #[error("{0}")]
    Refused(String),
    /// The broker did not do its part in time.
    #[error("no answer of the broker within {0} s")]
    Silent(u64),
    /// The broker went away, or said what makes no sense.
    #[error("the broker ended before it answered")]
    Gone,
}

/// Why the broker does not carry a command out. Each message is one line.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The words are no command: what the parser says first.
    #[error("{0}")]
    Words(String),
    /// Root has not allowed this kind of command.
    #[error("the broker does not allow {0}: root chooses by `sluice-guest serve --allow`")]
    Kind(&'static str),
    /// A command that only the host can give.
    #[error("the broker does not allow {0}: it is given on the host, by `sluice ctl PID {0}`")]
    OnTheHost(&'static str),
    /// More pages than a client may have brought in at once.
    #[error("expected at most {ranges} ranges of {bytes} together by way of the broker")]
    Size {
        /// Ranges, at most.
        ranges: usize,
        /// Bytes of all, at most.
        bytes: Bytes,
    },
    /// Commands of others take too long.
    #[error("the broker is busy with commands of others")]
    Busy,
    /// The device, or the way to it.
    #[error(transparent)]
    Command(#[from] CtlError),
}
