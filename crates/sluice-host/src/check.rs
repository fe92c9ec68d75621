//! The one constructor that turns a host's raw values into a configuration that can be.

use super::config::{
    Adaptive, AstriFlash, Cpu, HostBanks, HostConfig, HostDram, Level, Link, LinkModel, Messages,
    Migration, MigrationPolicy, Switching, Tlb, Tpp,
};
use super::params::{
    CpuParams, Inclusion, L1Params, L2Params, L3Params, LinkParams, Local, MemoryParams,
    MigrationParams, OsParams, PageSize, TlbParams,
};
use sluice_model::dram::DramLayout;
use sluice_params::{ConfigError, RawConfig};
use sluice_units::{Bytes, LINE_BYTES, PAGE_BYTES, Ps};

/// Pages of 4 KiB in a huge page.
const HUGE: u32 = 512;

/// Lines of a cache, and pages of host memory, are numbered in 31 bits.
const NUMBERED_MAX: u64 = 1 << 31;

impl HostConfig {
    /// Checks the values of [`super::HOST_PARAMS`] against each other. Nothing else validates.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`].
    pub fn new(raw: &RawConfig, seed: u64) -> Result<HostConfig, ConfigError> {
        let (given, os) = (CpuParams::new(raw), OsParams::new(raw));
        let memory = MemoryParams::new(raw);
        let cpu = cpu(raw, &given)?;
        if given.threads < cpu.cores {
            let message = format!("a core without a thread; at least {} threads", cpu.cores);
            return Err(raw.impossible(&["cpu.threads", "cpu.cores"], message));
        }
        Ok(HostConfig {
            cpu,
            threads: given.threads,
            scheduling: os.scheduler,
            switching: Switching {
                cost: os.switch_cost,
                mispredicts: os.mispredict_cost,
                flushes_l1: os.switch_flush_l1,
            },
            coordinated: os.switching,
            slice: positive(raw, "os.slice", os.slice)?,
            dram: dram(raw, &memory)?,
            local_in_host: memory.local == Local::Host,
            migration: migration(raw, memory.memory)?,
            is_checked: cfg!(debug_assertions),
            start: memory.start,
            link: link(raw)?,
            seed,
        })
    }
}

fn link(raw: &RawConfig) -> Result<Link, ConfigError> {
    let given = LinkParams::new(raw);
    let stays = matches!(
        MigrationParams::new(raw).policy,
        MigrationPolicy::None | MigrationPolicy::AllHost
    );
    let has_messages = given.model == LinkModel::Protocol;
    if has_messages && !stays {
        let message = "pages that move need link.model = constant; give migration.policy none or \
                       host";
        return Err(raw.impossible(&["link.model", "migration.policy"], message));
    }
    Ok(Link {
        line: Ps((LINE_BYTES * 1_000_000).div_ceil(given.bandwidth)),
        messages: has_messages.then_some(Messages {
            bandwidth: given.bandwidth,
            flits: given.flits,
        }),
    })
}

/// A time that must pass.
fn positive(raw: &RawConfig, key: &'static str, time: Ps) -> Result<Ps, ConfigError> {
    if time == Ps::ZERO {
        return Err(raw.impossible(&[key], "no time would pass; give it 1ps at least"));
    }
    Ok(time)
}

fn cpu(raw: &RawConfig, given: &CpuParams) -> Result<Cpu, ConfigError> {
    let [l1, l2, l3] = levels(raw)?;
    for (low, high, keys) in [
        (l1, l2, ["l1.latency", "l2.latency"]),
        (l2, l3, ["l2.latency", "l3.latency"]),
    ] {
        if low.latency > high.latency {
            let message = "a level's latency has that of the levels above in it; give the lower \
                           level the longer one";
            return Err(raw.impossible(&keys, message));
        }
    }
    Ok(Cpu {
        cores: given.cores,
        cycle: positive(raw, "cpu.cycle", given.cycle)?,
        width: given.width,
        window: given.window,
        scheduler: given.scheduler,
        store_buffer: given.store_buffer,
        l1,
        l2,
        l2_rules: L2Params::new(raw).inclusion == Inclusion::L1,
        l3,
        tlb: tlb(raw)?,
    })
}

/// The three levels of caches. Without an L3, what misses the L2 goes to memory at once.
fn levels(raw: &RawConfig) -> Result<[Level; 3], ConfigError> {
    let (l1, l2, l3) = (L1Params::new(raw), L2Params::new(raw), L3Params::new(raw));
    let l1 = Level {
        lines: lines(raw, ["l1.capacity", "l1.ways"], l1.capacity, l1.ways)?,
        ways: l1.ways,
        latency: l1.latency,
        mshrs: some_mshrs(raw, "l1.mshrs", l1.mshrs)?,
    };
    let l2 = Level {
        lines: lines(raw, ["l2.capacity", "l2.ways"], l2.capacity, l2.ways)?,
        ways: l2.ways,
        latency: l2.latency,
        mshrs: some_mshrs(raw, "l2.mshrs", l2.mshrs)?,
    };
    let mshrs = |l3: &L3Params| some_mshrs(raw, "l3.mshrs", l3.mshrs);
    let l3 = match l3.capacity {
        Some(capacity) => Level {
            lines: lines(raw, ["l3.capacity", "l3.ways"], capacity, l3.ways)?,
            ways: l3.ways,
            latency: l3.latency,
            mshrs: mshrs(&l3)?,
        },
        None => Level {
            lines: 0,
            ways: 1,
            latency: l2.latency,
            mshrs: mshrs(&l3)?,
        },
    };
    Ok([l1, l2, l3])
}

/// Lines of a cache of so many bytes and ways, whose keys are these.
fn lines(
    raw: &RawConfig,
    keys: [&'static str; 2],
    Bytes(bytes): Bytes,
    ways: u32,
) -> Result<u32, ConfigError> {
    let set = u64::from(ways) * LINE_BYTES;
    let whole = bytes.is_multiple_of(set) && (bytes / set).is_power_of_two();
    if !whole || bytes / LINE_BYTES > NUMBERED_MAX {
        let message = format!(
            "not a power of two of sets of {ways} lines of {LINE_BYTES} bytes; give it {set}B \
             times a power of two"
        );
        return Err(raw.impossible(&keys, message));
    }
    Ok((bytes / LINE_BYTES) as u32)
}

fn some_mshrs(raw: &RawConfig, key: &'static str, mshrs: u32) -> Result<u32, ConfigError> {
    if mshrs == 0 {
        let message = "a cache without MSHRs could not miss; give it 1 at least";
        return Err(raw.impossible(&[key], message));
    }
    Ok(mshrs)
}

fn tlb(raw: &RawConfig) -> Result<Tlb, ConfigError> {
    let given = TlbParams::new(raw);
    let TlbParams { entries, ways, .. } = given;
    if !entries.is_multiple_of(ways) || !(entries / ways).is_power_of_two() {
        let message = format!(
            "not a power of two of sets of {ways} entries; give {ways} times a power of two"
        );
        return Err(raw.impossible(&["tlb.entries", "tlb.ways"], message));
    }
    Ok(Tlb {
        entries,
        ways,
        walk: given.walk,
        shootdown: given.shootdown,
    })
}

fn dram(raw: &RawConfig, given: &MemoryParams) -> Result<HostDram, ConfigError> {
    for (key, value) in [
        ("host.dram_channels", given.dram_channels),
        ("host.dram_ranks", given.dram_ranks),
    ] {
        if !value.is_power_of_two() {
            let next = value.next_power_of_two();
            let message = format!("not a power of two; {next} is the next");
            return Err(raw.impossible(&[key], message));
        }
    }
    let Some(standard) = given.dram else {
        return Ok(HostDram::Fixed(given.dram_latency));
    };
    Ok(HostDram::Banks(HostBanks {
        layout: DramLayout {
            standard,
            channels: given.dram_channels,
            ranks: given.dram_ranks,
            mapping: given.dram_mapping,
            hashes_banks: given.dram_hash,
            closes_rows: given.dram_rows,
        },
        overhead: given.dram_overhead,
        write_buffer: given.dram_write_buffer,
    }))
}

fn migration(raw: &RawConfig, memory: Bytes) -> Result<Migration, ConfigError> {
    let checker = MigrationChecker {
        raw,
        given: &MigrationParams::new(raw),
        memory,
    };
    Ok(match checker.given.policy {
        MigrationPolicy::None => Migration::None,
        MigrationPolicy::AllHost => Migration::AllHost,
        MigrationPolicy::Adaptive => Migration::Adaptive(checker.adaptive()?),
        MigrationPolicy::Tpp => Migration::Tpp(checker.tpp()?),
        MigrationPolicy::AstriFlash => Migration::AstriFlash(checker.astriflash()?),
    })
}

struct MigrationChecker<'a> {
    raw: &'a RawConfig,
    given: &'a MigrationParams,
    /// All of host memory.
    memory: Bytes,
}

impl MigrationChecker<'_> {
    /// Host memory for the device's pages, in pages of 4 KiB, a multiple of `unit` of them.
    fn budget(&self, unit: u32) -> Result<u32, ConfigError> {
        if self.given.capacity > self.memory {
            let message = "more than host memory has; give migration.capacity as much at most";
            let keys = ["migration.capacity", "host.memory"];
            return Err(self.raw.impossible(&keys, message));
        }
        self.pages("migration.capacity", self.given.capacity, unit)
    }

    fn pages(&self, key: &'static str, size: Bytes, unit: u32) -> Result<u32, ConfigError> {
        let unit_bytes = u64::from(unit) * PAGE_BYTES;
        if !size.0.is_multiple_of(unit_bytes) || size.0 / PAGE_BYTES > NUMBERED_MAX {
            let message = format!("not a multiple of {unit_bytes} bytes up to 8TiB");
            return Err(self.raw.impossible(&[key], message));
        }
        Ok((size.0 / PAGE_BYTES) as u32)
    }

    /// Pages that reclaim keeps free, a multiple of `unit`.
    fn spare(&self, budget: u32, unit: u32) -> u32 {
        self.given.spare.map_or(0, |share| {
            let pages = share.ceil_of(u64::from(budget));
            pages.next_multiple_of(u64::from(unit)) as u32
        })
    }

    fn adaptive(&self) -> Result<Adaptive, ConfigError> {
        let given = self.given;
        let huge = match given.page {
            PageSize::Small => 1,
            PageSize::Huge => HUGE,
        };
        let pages = self.budget(huge)?;
        let spare = self.spare(pages, huge);
        if spare >= pages {
            let message = "all of it would be kept free; give the capacity more pages";
            let keys = ["migration.capacity", "migration.spare", "migration.page"];
            return Err(self.raw.impossible(&keys, message));
        }
        let remote = given.remote_capacity.unwrap_or(Bytes(0));
        Ok(Adaptive {
            pages,
            threshold: given.threshold,
            decay: given.decay,
            buffer: given.buffer,
            interrupt: given.interrupt,
            line: given.line,
            huge,
            spare,
            remote_pages: self.pages("migration.remote_capacity", remote, huge)?,
            remote_latency: given.remote_latency,
            ways: self.ways(pages / huge)?,
        })
    }

    /// Frames of a set, 0 if there are none, where host memory has so many.
    fn ways(&self, frames: u32) -> Result<u32, ConfigError> {
        let raw = self.raw;
        let (key, of) = match (self.given.ways, self.given.sets) {
            (None, None) => return Ok(0),
            (Some(ways), None) => ("migration.ways", ways),
            (None, Some(sets)) => ("migration.sets", sets),
            (Some(_), Some(_)) => {
                let message = "one follows from the other; give migration.ways all, or \
                               migration.sets none";
                return Err(raw.impossible(&["migration.ways", "migration.sets"], message));
            }
        };
        if self.given.remote_capacity.is_some() {
            let message = "sets are of one node; give migration.remote_capacity none";
            return Err(raw.impossible(&[key, "migration.remote_capacity"], message));
        }
        if !frames.is_multiple_of(of) {
            let message = match self.given.ways {
                Some(of) => format!("{frames} frames are not sets of {of}; give a divisor, or all"),
                None => format!("{frames} frames are not {of} sets; give a divisor, or none"),
            };
            return Err(raw.impossible(&["migration.capacity", key], message));
        }
        Ok(self.given.ways.unwrap_or(frames / of))
    }

    fn tpp(&self) -> Result<Tpp, ConfigError> {
        let (given, pages) = (self.given, self.budget(1)?);
        Ok(Tpp {
            pages,
            sampling: given.tpp_sampling,
            period: positive(self.raw, "migration.tpp_period", given.tpp_period)?,
            batch: given.tpp_batch,
            fault: given.tpp_fault,
            window: given.tpp_window,
            line: given.line,
            spare: self.spare(pages, 1).min(pages - 1),
            ways: self.ways(pages)?,
        })
    }

    fn astriflash(&self) -> Result<AstriFlash, ConfigError> {
        let (pages, ways) = (self.budget(1)?, self.given.astriflash_ways);
        if !pages.is_multiple_of(ways) || !(pages / ways).is_power_of_two() {
            let set = u64::from(ways) * PAGE_BYTES;
            let message = format!(
                "not a power of two of sets of {ways} pages; give {set}B times a power of two"
            );
            let keys = ["migration.capacity", "migration.astriflash_ways"];
            return Err(self.raw.impossible(&keys, message));
        }
        Ok(AstriFlash {
            pages,
            ways,
            lookup: self.given.astriflash_lookup,
        })
    }
}
