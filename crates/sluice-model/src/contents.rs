//! What a device holds at its start, made once and taken up by others that are like it.
//!
//! Making a random precondition takes as long as it is large. Devices of the same configuration and
//! seed start out the same, so the tables of one can be kept, and the next take them up.

use std::fmt::Debug;

/// There are no contents to be taken up, or nowhere to keep them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoContents;

/// Is shown the tables of a device's contents, always in the same order, to keep them or to fill
/// them with what was kept.
///
/// A table that is to be filled consists of zeros.
pub trait Tables {
    /// Keeps or fills one.
    ///
    /// # Errors
    /// [`NoContents`]: nothing is shown after that.
    fn bytes(&mut self, table: &mut [u8]) -> Result<(), NoContents>;

    /// Keeps or fills one.
    ///
    /// # Errors
    /// As above.
    fn words(&mut self, table: &mut [u32]) -> Result<(), NoContents>;

    /// Keeps or fills one.
    ///
    /// # Errors
    /// As above.
    fn longs(&mut self, table: &mut [u64]) -> Result<(), NoContents>;
}

/// Contents that were kept of a device of the same configuration and seed, before its first
/// request.
pub trait Contents: Debug + Send + Sync {
    /// Begins to fill tables, from the first on.
    ///
    /// # Errors
    /// [`NoContents`]: the device makes its own.
    fn open(&self) -> Result<Box<dyn Tables + '_>, NoContents>;
}
