//! `sluice trace`, `sim` and `size` on traces and patterns, as a user runs them.

mod answers;
mod replay;
mod rig;
#[path = "../schema/mod.rs"]
mod schema;
