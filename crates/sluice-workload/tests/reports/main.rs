//! Each program's whole report at a tiny size: every figure is held against the flags, against the
//! other figures and against the time that the run took from outside. The table is that of the
//! same run.

#[path = "../common/mod.rs"]
mod common;
mod figures;
mod memory;
mod redis;
mod server;
mod stores;
mod threads;
