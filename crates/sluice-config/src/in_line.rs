//! The system that a program or guest runs on while it is executed elsewhere.

use crate::error::Error;
use crate::read::load;
use crate::system::{System, load_system};

/// The host, when only a device was named: SkyByte's server.
pub const IN_LINE_HOST: &str = "base-cssd";
/// Threads that a program can have at a time, unless `cpu.threads` says otherwise.
const THREADS: u32 = 64;

/// Loads a system, or a device behind the host of [`IN_LINE_HOST`], for what begins on it from
/// nothing: one core, room for threads, empty memory and no warm-up to come to rest from. Values
/// can be set afterwards.
///
/// # Errors
/// See [`Error`].
pub fn load_in_line(system: Option<&str>, device: Option<&str>) -> Result<System, Error> {
    let mut loaded = load_system(system.unwrap_or(IN_LINE_HOST))?;
    if let Some(device) = device {
        loaded.device = load(device)?;
    }
    let threads = THREADS.to_string();
    set(
        &mut loaded,
        &[("cpu.threads", threads.as_str()), ("cpu.cores", "1")],
    );
    begin_from_nothing(&mut loaded);
    Ok(loaded)
}

/// Makes memory empty at the start, with no warm-up to come to rest from: for a program, or a trace
/// of one, that is all there is. What systems begin with otherwise is what their kernels leave.
pub fn begin_from_nothing(system: &mut System) {
    set(system, &[("host.start", "empty"), ("host.rest", "no")]);
}

fn set(system: &mut System, values: &[(&str, &str)]) {
    for (key, value) in values {
        system
            .set(key, value)
            .expect("parameters of the host, with values that they have");
    }
}
