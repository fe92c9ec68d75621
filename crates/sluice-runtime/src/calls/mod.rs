//! What calls of the program do to the device's memory.

pub mod allocations;
pub mod durable;
pub mod file_ranges;
pub mod locked;
pub mod marks;
pub mod programs;
pub mod ranges;
pub mod single;
pub mod stay;
pub mod told;
pub mod withdraw;
