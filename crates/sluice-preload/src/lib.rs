//! `libsluice_preload.so`: places a program's memory on the emulated device.
//!
//! Loaded by `LD_PRELOAD` (see `sluice run`). Without a session in the environment it does nothing.
//! Hooks allocate nothing and print nothing; what they need is resolved in the constructor.

mod aliases;
mod allocator;
mod bytes;
mod device;
mod exports;
mod init;
mod internal;
mod jump;
mod libraries;
mod marks;
mod memory;
mod next;
mod processes;
mod shared;
mod signal_mode;
mod signals;
mod syscall;
mod threads;
mod words;

#[global_allocator]
static INTERNAL: internal::Internal = internal::Internal;
