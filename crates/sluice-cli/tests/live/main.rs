//! The `sluice` command on real programs: what a user is promised of a live run.

mod abuse;
mod bad_input;
mod build;
mod commons;
mod control;
mod cpus;
mod exec;
mod explicit;
mod files;
mod fork;
mod graph;
mod hints;
mod kept;
mod lossless;
mod memory;
mod metrics;
mod output;
mod outside;
mod parity;
mod persist;
mod prefetch;
mod real_programs;
mod regions;
mod results;
mod sampling;
#[path = "../schema/mod.rs"]
mod schema;
mod sessions;
mod signals;
mod size;
mod sluice;
mod soak;
mod store;
mod switch;
mod table3;
mod vm;
