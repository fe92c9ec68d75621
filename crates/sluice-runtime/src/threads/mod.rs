//! The runtime's own threads, and work of the runtime in threads of the program's.

pub mod affinity;
pub mod calm;
pub mod gone;
pub mod hired;
pub mod leader;
pub mod thread;
