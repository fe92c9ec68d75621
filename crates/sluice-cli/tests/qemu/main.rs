//! `sluice` on programs that QEMU executes: what it records.

mod fidelity;
mod guest;
mod record;
mod rig;
#[path = "../schema/mod.rs"]
mod schema;
mod simulate;
