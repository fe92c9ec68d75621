//! The program's threads: their CPUs, their priorities, and how they end.

pub mod affinity;
pub mod asked;
pub mod cancelled;
pub mod own_threads;
pub mod real_time;
pub mod static_tls;
