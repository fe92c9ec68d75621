//! Data reached as a file, on a simulated device.

use crate::RunError;
use crate::units::{PS_PER_NS, PS_PER_S};
use sluice_driver::{Advice, Door, FileTraffic, TrafficResult, files};
use sluice_model::{Device, DeviceConfig};
use sluice_results::{
    CacheCounts, Distribution, FilesResult, FilesSchema, FilesTraffic, settings, version,
};
use sluice_units::{LINE_BYTES, Ps};

/// What to simulate.
pub struct FilesPlan<'a> {
    /// The device's name, for the record.
    pub device: &'a str,
    /// Its checked settings. No memory expander.
    pub config: &'a DeviceConfig,
    /// What the threads do.
    pub files: FileTraffic,
}

impl FilesPlan<'_> {
    /// Runs, or until `stop` says so: then there is no result.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run(&self, stop: impl Fn() -> bool) -> Result<Option<FilesResult>, RunError> {
        let mut device = sluice_plugin::device(self.config, self.files.seed)?;
        let run = files(&mut device, &self.files, stop)?;
        // Counters that contradict each other are a bug of ours, not of the input.
        device.balance().expect("the device's books balance");
        Ok(run.map(|run| self.result(&device, &run)))
    }

    fn result(&self, device: &Device, run: &TrafficResult) -> FilesResult {
        let stats = device.stats().since(&run.before);
        let seconds = run.time.0 as f64 / PS_PER_S;
        FilesResult {
            schema: FilesSchema::default(),
            device: self.device.to_owned(),
            config: settings(self.config.raw().to_pairs()),
            seed: self.files.seed,
            version: version(),
            files: traffic_of(&self.files),
            bytes_per_s: (run.accesses * LINE_BYTES) as f64 / seconds,
            requests: run.latency.count(),
            time_s: seconds,
            latency_ns: Distribution::from(&run.latency),
            block_reads: stats.block_reads,
            block_writes: stats.block_writes,
            misses: stats.misses,
            cache: CacheCounts::from(&stats),
            hash: format!("{:016x}", run.hash),
        }
    }
}

fn traffic_of(given: &FileTraffic) -> FilesTraffic {
    let ns = |time: Ps| time.0 as f64 / PS_PER_NS;
    let host = &given.host;
    FilesTraffic {
        through: match given.door {
            Door::Mmap => "mmap",
            Door::Read => "read",
            Door::Direct => "direct",
            Door::BlockCache => "block-cache",
            Door::File => "file",
        }
        .to_owned(),
        threads: given.threads.into(),
        cores: given.cores.into(),
        size_bytes: given.size,
        io_bytes: given.io,
        random: given.random,
        write: given.write,
        passes: given.passes,
        host_cache_bytes: given.cache,
        readahead_bytes: host.readahead,
        advice: match host.advice {
            Advice::Normal => "normal",
            Advice::Sequential => "sequential",
            Advice::Random => "random",
        }
        .to_owned(),
        request_ns: ns(host.request),
        minor_fault_ns: ns(host.minor_fault),
        lookup_ns: ns(host.lookup),
        switch_ns: ns(host.switch),
        copy_ns: ns(host.copy),
        depth: host.depth.into(),
    }
}
