//! Shared objects in C do what the built-in memory of their kind does, and what is none is refused
//! in one line.

mod adapter;
mod dramsim3;
mod memory;
mod ramulator2;
