//! `sluice` on programs that QEMU executes: what it records.

mod fidelity;
mod guest;
mod record;
mod rig;
mod simulate;
