//! What a disk has done. A request counts once: as what was carried out, or as one that failed.

use hdrhistogram::Histogram;

/// What a disk has done.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// Requests that trimmed.
    pub trims: u64,
    /// Requests to make durable what was written.
    pub flushes: u64,
    /// Requests that ended with an error.
    pub failed: u64,
    /// Why the first of them did that the device could not serve.
    pub why: Option<String>,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    device: Histogram<u64>,
    answered: Histogram<u64>,
}

/// The latency at some quantiles, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Half of the requests took no longer.
    pub p50_ns: u64,
    /// Nine of ten.
    pub p90_ns: u64,
    /// Ninety-nine of a hundred.
    pub p99_ns: u64,
}

impl Default for Figures {
    fn default() -> Figures {
        // Three digits over all of u64: the numbers are valid ones.
        let empty = || Histogram::new(3).unwrap_or_else(|why| unreachable!("{why}"));
        Figures {
            reads: 0,
            writes: 0,
            trims: 0,
            flushes: 0,
            failed: 0,
            why: None,
            read_bytes: 0,
            written_bytes: 0,
            device: empty(),
            answered: empty(),
        }
    }
}

impl Figures {
    /// Counts a read or write: the times from the moment when it was taken from the queue until the
    /// device was done, and until the guest was notified.
    pub(crate) fn took(&mut self, device_ns: u64, answered_ns: u64) {
        // They grow to what they are given: only memory could be lacking.
        let _ = self.device.record(device_ns);
        let _ = self.answered.record(answered_ns);
    }

    /// From the moment at which reads and writes were taken from the guest's queue until the device
    /// was done with them.
    pub fn device(&self) -> Latency {
        quantiles(&self.device)
    }

    /// The times until the guest was notified.
    pub fn answered(&self) -> Latency {
        quantiles(&self.answered)
    }
}

fn quantiles(of: &Histogram<u64>) -> Latency {
    let at = |quantile| of.value_at_quantile(quantile);
    Latency {
        p50_ns: at(0.5),
        p90_ns: at(0.9),
        p99_ns: at(0.99),
    }
}
