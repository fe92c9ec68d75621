//! Memories from outside: what they are asked, and when.

use super::ids::PacketId;
use sluice_units::Ps;

/// A request as it comes to a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRequest {
    /// What the answer is called that comes later.
    pub id: PacketId,
    /// Byte address in the memory, below its capacity.
    pub addr: u64,
    /// Whether it is a write.
    pub is_write: bool,
}

/// What a memory answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done at that time, which is not before the request.
    At(Ps),
    /// [`ExternalMemory::advance`] will report it.
    Later,
}

/// A memory from outside.
///
/// The caller gives requests and advances in the order of time. The implementor names with
/// `next_at` the next time at which it wants to be advanced. In `advance` it reports each request
/// that is done by then, once.
pub trait ExternalMemory {
    /// A request comes in.
    fn request(&mut self, now: Ps, request: MemoryRequest) -> Answer;

    /// When it wants to be advanced, if ever.
    fn next_at(&self) -> Option<Ps>;

    /// Time goes on to `now`; `done` gets the id of each request that is done.
    fn advance(&mut self, now: Ps, done: &mut dyn FnMut(PacketId));

    /// Whether it always answers at once and so never needs to be advanced. Then requests are all
    /// that it sees of time.
    fn answers_at_once(&self) -> bool {
        false
    }

    /// Answers that could not be, and in whose place something else was taken.
    fn refused(&self) -> u64 {
        0
    }

    /// Counting begins.
    fn begin(&mut self, _now: Ps) {}

    /// How long something waited for it since then, if it knows.
    fn waited(&self, _until: Ps) -> Option<Ps> {
        None
    }
}
