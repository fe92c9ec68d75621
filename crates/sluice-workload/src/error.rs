//! What can go wrong, and what each case means for the exit status.

use sluice_streams::BadValue;
use std::io;
use std::path::PathBuf;

/// Why a workload ended without a clean result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Bad input: nothing was started.
    #[error(transparent)]
    Bad(#[from] BadValue),
    /// The system refused memory, a file or a connection.
    #[error("{what}: {source}")]
    System {
        /// What was being done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The server answered with something that is not an answer to the question.
    #[error("{0}")]
    Server(String),
    /// Memory or a server gave back something other than what was put there.
    #[error("{wrong}{}", lines(examples))]
    Mismatch {
        /// What is wrong, and how much of it.
        wrong: String,
        /// The first cases in words; none where there is one case, and `wrong` says it.
        examples: Vec<String>,
    },
}

/// Each on a line of its own.
fn lines(examples: &[String]) -> String {
    examples.iter().flat_map(|line| ["\n", line]).collect()
}

impl Error {
    /// An I/O error with what was being done. Allocates only when there is one.
    pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::System {
            what: what.into(),
            source,
        }
    }

    /// An I/O error about a file.
    pub fn file(path: &std::path::Path) -> impl FnOnce(io::Error) -> Error {
        let path: PathBuf = path.into();
        move |source| Error::System {
            what: path.display().to_string(),
            source,
        }
    }

    /// 1 for a wrong result, 2 for a run that could not be.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Mismatch { .. } | Error::Server(_) => 1,
            Error::Bad(_) | Error::System { .. } => 2,
        }
    }
}
