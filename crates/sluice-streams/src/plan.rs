//! The checked parameters of a pointer chase, for the program and for its access stream.

use sluice_units::Bytes;

use crate::error::BadValue;
use crate::order::ChaseOrder;

/// Most passes of one run: each has a histogram in static memory.
pub const PASSES_MAX: usize = 64;
/// Most threads of one run, for the same reason.
pub const THREADS_MAX: usize = 64;
/// Most threads of a stream of accesses that no program runs.
pub const STREAMS_MAX: u64 = 4_096;
const WORD: u64 = 8;

/// The parameters of a chase, before they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Bytes of one thread's buffer.
    pub size: u64,
    /// Bytes from one node to the next in memory.
    pub stride: u64,
    /// Order of the visits.
    pub order: ChaseOrder,
    /// Whether each visit also stores to the node.
    pub write: bool,
    /// Passes after the one that builds the chain.
    pub passes: u64,
    /// Threads, each with a buffer of its own.
    pub threads: u64,
    /// Seed of the random orders.
    pub seed: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            size: 64 << 20,
            stride: 64,
            order: ChaseOrder::Sequential,
            write: false,
            passes: 4,
            threads: 1,
            seed: 1,
        }
    }
}

/// Checked parameters of a chase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    parameters: Parameters,
    nodes: u64,
}

impl Plan {
    /// Checks the parameters; nothing else does.
    ///
    /// # Errors
    /// The first parameter that is out of range, with what would be accepted.
    pub fn new(parameters: Parameters) -> Result<Self, BadValue> {
        let Parameters {
            size,
            stride,
            write,
            passes,
            threads,
            ..
        } = parameters;
        if !stride.is_power_of_two() || stride < WORD {
            return Err(BadValue::new(
                "stride",
                stride,
                "a power of two of at least 8 bytes",
            ));
        }
        if write && stride < 2 * WORD {
            let expected = "at least 16 bytes with write: a counter stands beside the pointer";
            return Err(BadValue::new("stride", stride, expected));
        }
        if size < stride || !size.is_multiple_of(stride) {
            let expected = format!("a positive multiple of the stride, {}", Bytes(stride));
            return Err(BadValue::new("size", Bytes(size), expected));
        }
        let nodes = size / stride;
        if nodes > u64::from(u32::MAX) {
            let expected = format!("at most {} strides", u32::MAX);
            return Err(BadValue::new("size", Bytes(size), expected));
        }
        within("passes", passes, PASSES_MAX as u64)?;
        within("threads", threads, THREADS_MAX as u64)?;
        if size
            .checked_mul(threads)
            .is_none_or(|total| total > isize::MAX as u64)
        {
            return Err(BadValue::new(
                "size",
                Bytes(size),
                "less than 8 EiB over all threads",
            ));
        }
        Ok(Self { parameters, nodes })
    }

    /// What the plan was made from.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Nodes in one thread's buffer, and visits of one thread in one pass.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Bytes over all threads.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.parameters.size * self.parameters.threads
    }
}

/// A number from 1 to `most`.
///
/// # Errors
/// If it is another.
pub fn within(key: &'static str, value: u64, most: u64) -> Result<(), BadValue> {
    if value == 0 || value > most {
        return Err(BadValue::new(
            key,
            value,
            format!("a number from 1 to {most}"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl Fn(&mut Parameters)) -> BadValue {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        Plan::new(parameters).unwrap_err()
    }

    #[test]
    fn each_bad_parameter_is_named() {
        assert_eq!(refusal(|p| p.stride = 96).key, "stride");
        assert_eq!(refusal(|p| p.stride = 4).key, "stride");
        assert_eq!(refusal(|p| (p.stride, p.write) = (8, true)).key, "stride");
        assert_eq!(refusal(|p| p.size = 100).key, "size");
        assert_eq!(refusal(|p| p.size = 0).key, "size");
        assert_eq!(refusal(|p| (p.size, p.stride) = (1 << 36, 8)).key, "size");
        assert_eq!(
            refusal(|p| (p.size, p.stride, p.threads) = (1 << 62, 1 << 40, 2)).key,
            "size"
        );
        assert_eq!(refusal(|p| p.passes = 0).key, "passes");
        assert_eq!(refusal(|p| p.passes = 65).key, "passes");
        assert_eq!(refusal(|p| p.threads = 65).key, "threads");
    }

    #[test]
    fn the_whole_buffer_may_be_one_node() {
        let one = Parameters {
            size: 4096,
            stride: 4096,
            ..Parameters::default()
        };
        assert_eq!(Plan::new(one).unwrap().nodes(), 1);
    }
}
