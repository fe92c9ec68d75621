//! `libsluice_qemu.so`: a TCG plugin for QEMU, for programs (`qemu-x86_64`) and whole guests
//! (`qemu-system-x86_64`).
//!
//! It hears of every load and store that QEMU executes. The thread of a CPU counts, filters, and
//! gathers what is left in a buffer of its own; another thread writes the trace. Nothing is
//! allocated or locked for an access.

mod access;
mod api;
mod barrier;
mod callbacks;
mod cpus;
mod error;
mod options;
mod pipe;
mod record;
mod simulate;
mod thread;

use api::{Id, Info};
use error::Error;
use options::{Argument, Options};
use sluice_units::printable;
use std::ffi::{CStr, c_char, c_int};

/// QEMU calls it when it has loaded the plugin.
///
/// # Safety
/// As QEMU calls it: `info` is live, and `arguments` are `count` strings that end in a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: as the caller says.
    let (info, arguments) = unsafe {
        let bytes = |place| CStr::from_ptr(*arguments.add(place)).to_bytes();
        let list: Vec<Argument> = (0..count.max(0) as usize)
            .map(|place| Argument::new(bytes(place)))
            .collect();
        (&*info, list)
    };
    match install(id, info, &arguments) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("sluice: {}", printable(&error.to_string()));
            1
        }
    }
}

fn install(id: Id, info: &Info, arguments: &[Argument]) -> Result<(), Error> {
    let options = Options::parse(arguments)?;
    api::find()?;
    pipe::watch_forks();
    match options {
        Options::Record(options) => record::install(id, info, options),
        Options::Simulate(options) => simulate::install(id, info, options),
    }
}
