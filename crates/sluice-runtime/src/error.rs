//! Why the runtime does not start, in words that say what to do.

use sluice_region::{OpenError, Told, text_of};
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Why a runtime cannot start.
#[derive(Debug)]
pub struct StartError(pub String);

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// For `map_err`: what was attempted when the system refused.
pub fn os(what: &str) -> impl Fn(i32) -> StartError + '_ {
    move |errno| {
        let text = Told::number(errno);
        StartError(format!("{what}: {text}"))
    }
}

/// Why this process gets no descriptor, where the command that made the session got one.
pub fn no_descriptor(e: OpenError) -> StartError {
    StartError(match e {
        OpenError::Permission => format!(
            "{e}, which event mode needs: a program that changes its user is to be started by \
             `sluice run` as that user (see `sluice doctor`)"
        ),
        _ => e.to_string(),
    })
}

/// Why there is no address space for the device.
pub fn no_room(errno: i32) -> StartError {
    let StartError(why) = os("reserving address space for the device")(errno);
    StartError(match errno {
        libc::ENOMEM => format!("{why}; raise `ulimit -v`, or lower device.capacity"),
        _ => why,
    })
}

/// Why a file of the session cannot be made or used.
pub fn failed(path: &Path, e: &Error) -> StartError {
    StartError(match e.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!(
            "{}: the file system of the session is full ({}); make room there",
            path.display(),
            text_of(e)
        ),
        _ => format!("{}: {}", path.display(), text_of(e)),
    })
}
