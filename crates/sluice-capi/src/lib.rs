//! `libsluice.so`: simulated fabrics for programs in C, C++ and others.
//!
//! A program that has a clock of its own, such as gem5, SST or ChampSim, puts a fabric behind its
//! caches. It sends one request at a time, and moves the fabric's time on as its own goes on. The
//! fabric calls it back when a request is done. `include/sluice.h` is made from [`api`];
//! docs/library.md says how to use it.

pub mod api;
mod fabric;
mod seats;
