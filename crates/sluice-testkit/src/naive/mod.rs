//! Caches as plain lists of page numbers, one for each deterministic policy.

mod adaptive;
mod plain;
mod queues;

pub use adaptive::arc_target;

/// A fully associative cache, or one set of it. No time: every fill is complete at once.
pub trait Naive {
    /// Accesses a page. Returns whether it was there, and the page that had to leave.
    fn access(&mut self, page: u64) -> (bool, Option<u64>);

    /// Drops a page.
    fn discard(&mut self, page: u64);
}

/// The plain cache of a policy, or `None` if there is none (a random policy).
///
/// Parameters have their defaults, but for S3-FIFO's small queue, which has so many percent of the
/// cache. A variant follows its policy's name after a space.
pub fn cache(policy: &str, capacity: usize, s3fifo_small: usize) -> Option<Box<dyn Naive>> {
    plain::cache(policy, capacity, s3fifo_small)
        .or_else(|| queues::cache(policy, capacity))
        .or_else(|| adaptive::cache(policy, capacity))
}
