//! Oracles and generators used by the tests: slow, plain, and written without a look at what
//! they check.

pub mod alloc;
pub mod belady;
pub mod host_rig;
pub mod naive;
pub mod naive_adaptive;
pub mod naive_queues;
pub mod parity;
pub mod rig;
pub mod traces;
