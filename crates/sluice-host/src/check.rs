//! The one constructor that turns a host's raw values into a configuration that can be.

use super::config::{
    Adaptive, AstriFlash, Cpu, HostBanks, HostConfig, HostDram, Level, Link, Migration,
    MigrationPolicy, Switching, Tlb, Tpp,
};
use super::params::{Inclusion, Local, PageSize};
use sluice_model::dram::{DramLayout, Standard};
use sluice_params::{ConfigError, RawConfig};
use sluice_units::{LINE_BYTES, PAGE_BYTES, Ps};

/// Pages of 4 KiB in a huge page.
const HUGE: u64 = 512;

/// Lines of a cache, and pages of host memory, are numbered in 31 bits.
const NUMBERED_MAX: u64 = 1 << 31;

impl HostConfig {
    /// Checks the values of [`super::HOST_PARAMS`] against each other. Nothing else validates.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`].
    pub fn new(raw: &RawConfig, seed: u64) -> Result<HostConfig, ConfigError> {
        let cpu = cpu(raw)?;
        let threads = number(raw, "cpu.threads");
        if threads < cpu.cores {
            let message = format!("a core without a thread; at least {} threads", cpu.cores);
            return Err(raw.impossible(&["cpu.threads", "cpu.cores"], message));
        }
        let link = Link {
            line: Ps((LINE_BYTES * 1_000_000).div_ceil(raw.count("link.bandwidth"))),
        };
        Ok(HostConfig {
            cpu,
            threads,
            scheduling: raw.read("os.scheduler"),
            switching: Switching {
                cost: raw.time("os.switch_cost"),
                mispredicts: raw.time("os.mispredict_cost"),
                flushes_l1: raw.read("os.switch_flush_l1"),
            },
            coordinated: raw.read("os.switching"),
            slice: positive(raw, "os.slice")?,
            dram: dram(raw)?,
            local_in_host: raw.read::<Local>("host.local") == Local::Host,
            migration: migration(raw)?,
            is_checked: cfg!(debug_assertions),
            start: raw.read("host.start"),
            link,
            seed,
        })
    }
}

/// A count whose declared range fits.
fn number(raw: &RawConfig, key: &'static str) -> u32 {
    raw.count(key) as u32
}

/// A time that must pass.
fn positive(raw: &RawConfig, key: &'static str) -> Result<Ps, ConfigError> {
    match raw.time(key) {
        Ps::ZERO => {
            let message = "no time would pass; give it 1ps at least".to_owned();
            Err(raw.impossible(&[key], message))
        }
        time => Ok(time),
    }
}

fn cpu(raw: &RawConfig) -> Result<Cpu, ConfigError> {
    let l1 = level(raw, ["l1.capacity", "l1.ways", "l1.latency", "l1.mshrs"])?;
    let l2 = level(raw, ["l2.capacity", "l2.ways", "l2.latency", "l2.mshrs"])?;
    let l3 = match raw.bytes("l3.capacity") {
        Some(_) => level(raw, ["l3.capacity", "l3.ways", "l3.latency", "l3.mshrs"])?,
        None => no_level(raw, l2.latency)?,
    };
    for (low, high, keys) in [
        (l1, l2, ["l1.latency", "l2.latency"]),
        (l2, l3, ["l2.latency", "l3.latency"]),
    ] {
        if low.latency > high.latency {
            let message = "a level's latency has that of the levels above in it; give the lower \
                           level the longer one";
            return Err(raw.impossible(&keys, message.to_owned()));
        }
    }
    Ok(Cpu {
        cores: number(raw, "cpu.cores"),
        cycle: positive(raw, "cpu.cycle")?,
        width: number(raw, "cpu.width"),
        window: number(raw, "cpu.window"),
        scheduler: number(raw, "cpu.scheduler"),
        store_buffer: number(raw, "cpu.store_buffer"),
        l1,
        l2,
        l2_rules: raw.read::<Inclusion>("l2.inclusion") == Inclusion::L1,
        l3,
        tlb: tlb(raw)?,
    })
}

/// A level of caches, from its keys for capacity, ways, latency and MSHRs.
fn level(raw: &RawConfig, keys: [&'static str; 4]) -> Result<Level, ConfigError> {
    let [capacity, ways, latency, mshrs] = keys;
    let bytes = raw.bytes(capacity).map_or(0, |bytes| bytes.0);
    let set = raw.count(ways) * LINE_BYTES;
    let whole = bytes.is_multiple_of(set) && (bytes / set).is_power_of_two();
    if !whole || bytes / LINE_BYTES > NUMBERED_MAX {
        let message = format!(
            "not a power of two of sets of {} lines of {LINE_BYTES} bytes; give it {set}B times \
             a power of two",
            raw.count(ways)
        );
        return Err(raw.impossible(&[capacity, ways], message));
    }
    Ok(Level {
        lines: (bytes / LINE_BYTES) as u32,
        ways: number(raw, ways),
        latency: raw.time(latency),
        mshrs: some_mshrs(raw, mshrs)?,
    })
}

/// The place of an L3 that there is not: it takes no time.
fn no_level(raw: &RawConfig, above: Ps) -> Result<Level, ConfigError> {
    Ok(Level {
        lines: 0,
        ways: 1,
        latency: above,
        mshrs: some_mshrs(raw, "l3.mshrs")?,
    })
}

fn some_mshrs(raw: &RawConfig, key: &'static str) -> Result<u32, ConfigError> {
    match number(raw, key) {
        0 => {
            let message = "a cache without MSHRs could not miss; give it 1 at least".to_owned();
            Err(raw.impossible(&[key], message))
        }
        mshrs => Ok(mshrs),
    }
}

fn tlb(raw: &RawConfig) -> Result<Tlb, ConfigError> {
    let (entries, ways) = (number(raw, "tlb.entries"), number(raw, "tlb.ways"));
    if !entries.is_multiple_of(ways) || !(entries / ways).is_power_of_two() {
        let message = format!("not a power of two of sets of {ways} entries");
        return Err(raw.impossible(&["tlb.entries", "tlb.ways"], message));
    }
    Ok(Tlb {
        entries,
        ways,
        walk: raw.time("tlb.walk"),
        shootdown: raw.time("tlb.shootdown"),
    })
}

fn dram(raw: &RawConfig) -> Result<HostDram, ConfigError> {
    for key in ["host.dram_channels", "host.dram_ranks"] {
        let value = raw.count(key);
        if !value.is_power_of_two() {
            let next = value.next_power_of_two();
            let message = format!("not a power of two; {next} is the next");
            return Err(raw.impossible(&[key], message));
        }
    }
    let Some(standard) = raw.read::<Option<&Standard>>("host.dram") else {
        return Ok(HostDram::Fixed(raw.time("host.dram_latency")));
    };
    let layout = DramLayout {
        standard,
        channels: raw.count("host.dram_channels"),
        ranks: raw.count("host.dram_ranks"),
        mapping: raw.order("host.dram_mapping"),
        hashes_banks: raw.read("host.dram_hash"),
        closes_rows: raw.read("host.dram_rows"),
    };
    Ok(HostDram::Banks(HostBanks {
        layout,
        overhead: raw.time("host.dram_overhead"),
        write_buffer: number(raw, "host.dram_write_buffer"),
    }))
}

fn migration(raw: &RawConfig) -> Result<Migration, ConfigError> {
    Ok(match raw.read("migration.policy") {
        MigrationPolicy::None => Migration::None,
        MigrationPolicy::AllHost => Migration::AllHost,
        MigrationPolicy::Adaptive => Migration::Adaptive(adaptive(raw)?),
        MigrationPolicy::Tpp => Migration::Tpp(tpp(raw)?),
        MigrationPolicy::AstriFlash => Migration::AstriFlash(astriflash(raw)?),
    })
}

/// Host memory for the device's pages, in pages of 4 KiB, a multiple of `unit` of them.
fn budget(raw: &RawConfig, unit: u64) -> Result<u32, ConfigError> {
    let keys = ["migration.capacity", "host.memory"];
    let [capacity, memory] = keys.map(|key| raw.bytes(key).map_or(0, |bytes| bytes.0));
    if capacity > memory {
        let message = "more than host memory has; give migration.capacity as much at most";
        return Err(raw.impossible(&keys, message.to_owned()));
    }
    pages(raw, "migration.capacity", unit)
}

fn pages(raw: &RawConfig, key: &'static str, unit: u64) -> Result<u32, ConfigError> {
    let bytes = raw.bytes(key).map_or(0, |bytes| bytes.0);
    let unit_bytes = unit * PAGE_BYTES;
    if !bytes.is_multiple_of(unit_bytes) || bytes / PAGE_BYTES > NUMBERED_MAX {
        let message = format!("not a multiple of {unit_bytes} bytes up to 8TiB");
        return Err(raw.impossible(&[key], message));
    }
    Ok((bytes / PAGE_BYTES) as u32)
}

/// Pages that reclaim keeps free, a multiple of `unit`.
fn spare(raw: &RawConfig, budget: u32, unit: u64) -> u32 {
    let share = raw.share("migration.spare");
    share.map_or(0, |share| {
        (share.ceil_of(u64::from(budget)).next_multiple_of(unit)) as u32
    })
}

fn adaptive(raw: &RawConfig) -> Result<Adaptive, ConfigError> {
    let huge = match raw.read("migration.page") {
        PageSize::Small => 1,
        PageSize::Huge => HUGE,
    };
    let pages_at_home = budget(raw, huge)?;
    let spare = spare(raw, pages_at_home, huge);
    if spare >= pages_at_home {
        let message = "all of it would be kept free; give the capacity more pages".to_owned();
        let keys = ["migration.capacity", "migration.spare", "migration.page"];
        return Err(raw.impossible(&keys, message));
    }
    Ok(Adaptive {
        pages: pages_at_home,
        threshold: number(raw, "migration.threshold"),
        decay: raw.time("migration.decay"),
        buffer: number(raw, "migration.buffer"),
        interrupt: raw.time("migration.interrupt"),
        line: raw.time("migration.line"),
        huge: huge as u32,
        spare,
        remote_pages: pages(raw, "migration.remote_capacity", huge)?,
        remote_latency: raw.time("migration.remote_latency"),
        ways: ways(raw, pages_at_home / huge as u32)?,
    })
}

/// Frames of a set, 0 if there are none, where host memory has so many.
fn ways(raw: &RawConfig, frames: u32) -> Result<u32, ConfigError> {
    let ways = raw.count_or_word("migration.ways");
    let sets = raw.count_or_word("migration.sets");
    let (key, of) = match (ways, sets) {
        (None, None) => return Ok(0),
        (Some(ways), None) => ("migration.ways", ways),
        (None, Some(sets)) => ("migration.sets", sets),
        (Some(_), Some(_)) => {
            let message = "one follows from the other; give migration.ways all, or \
                           migration.sets none";
            let keys = ["migration.ways", "migration.sets"];
            return Err(raw.impossible(&keys, message.to_owned()));
        }
    };
    if raw.bytes("migration.remote_capacity").is_some() {
        let message = "sets are of one node; give migration.remote_capacity none".to_owned();
        return Err(raw.impossible(&[key, "migration.remote_capacity"], message));
    }
    if !u64::from(frames).is_multiple_of(of) {
        let message = match ways {
            Some(of) => format!("{frames} frames are not sets of {of}; give a divisor, or all"),
            None => format!("{frames} frames are not {of} sets; give a divisor, or none"),
        };
        return Err(raw.impossible(&["migration.capacity", key], message));
    }
    Ok(match ways {
        Some(ways) => ways as u32,
        None => (u64::from(frames) / of) as u32,
    })
}

fn tpp(raw: &RawConfig) -> Result<Tpp, ConfigError> {
    let pages = budget(raw, 1)?;
    Ok(Tpp {
        pages,
        sampling: raw.read("migration.tpp_sampling"),
        period: positive(raw, "migration.tpp_period")?,
        batch: number(raw, "migration.tpp_batch"),
        fault: raw.time("migration.tpp_fault"),
        window: raw.time("migration.tpp_window"),
        line: raw.time("migration.line"),
        spare: spare(raw, pages, 1).min(pages - 1),
        ways: ways(raw, pages)?,
    })
}

fn astriflash(raw: &RawConfig) -> Result<AstriFlash, ConfigError> {
    let pages = budget(raw, 1)?;
    let ways = number(raw, "migration.astriflash_ways");
    if !pages.is_multiple_of(ways) || !(pages / ways).is_power_of_two() {
        let message = format!("not a power of two of sets of {ways} pages of {PAGE_BYTES} bytes");
        let keys = ["migration.capacity", "migration.astriflash_ways"];
        return Err(raw.impossible(&keys, message));
    }
    Ok(AstriFlash {
        pages,
        ways,
        lookup: raw.time("migration.astriflash_lookup"),
    })
}
