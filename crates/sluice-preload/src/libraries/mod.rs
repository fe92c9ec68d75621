//! Libraries that the program loads, and functions that it looks up by name.

pub mod libc_names;
pub mod load;
pub mod other_libc;
pub mod symbols;
