//! The program's allocator, whose memory is pages of the arena.

pub mod deferred;
pub mod heap;
pub mod limit_calls;
pub mod limits;
pub mod malloc;
pub mod profile;
pub mod system;
