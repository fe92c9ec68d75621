//! System calls in signal mode, where the kernel fails at a missing page instead of waiting for it.

pub mod aio;
pub mod calls;
pub mod helpers;
pub mod io;
pub mod many;
pub mod names;
pub mod numbered;
pub mod numbers;
pub mod queues;
pub mod resolver;
pub mod streams;
pub mod taken;
pub mod vm_copies;
pub mod waits;
