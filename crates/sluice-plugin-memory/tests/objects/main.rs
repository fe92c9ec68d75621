//! Shared objects in C do what the built-in memory of their kind does, and a file that is no such
//! object is refused in one line.

mod adapter;
mod dramsim3;
mod memory;
mod ramulator2;
