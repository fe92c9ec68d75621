//! The simulated hosts of a fabric, from its description to their results.

use crate::error::{FabricRunError, SIMULATOR, SystemError};
use crate::host_programs::{HostError, Source, Traces};
use crate::system::{amat, bound, level, requests, seconds};
use sluice_config::{CheckedSystem, System};
use sluice_host::{Host, HostConfig, HostStats, MEMORY_MAX, Migration, Program, Start};
use sluice_model::{ConfigError, RawConfig};
use sluice_net::{Fabric, FabricConfig, FabricSpec, HostGroup, HostProgram, Hosts, RequesterId};
use sluice_results::{FabricHost, Levels, settings};
use sluice_skybyte_artifact::SkyByte;
use sluice_stats::share;
use sluice_units::{Bytes, seed_of};

/// Programs begin at multiples of this, so that interleaving deals out each alike.
const APART: u64 = 1 << 20;

/// The seed does not matter where nothing runs.
const ANY_SEED: u64 = 1;

/// A host that has not run yet.
pub(crate) struct Prepared<'a> {
    requester: RequesterId,
    name: String,
    group: &'a HostGroup,
    group_name: String,
    /// Its values, at the sizes that are simulated.
    raw: RawConfig,
    config: HostConfig,
    program: Box<dyn Program>,
    seed: u64,
    base: u64,
}

/// Makes the hosts of a fabric and their programs. Those with the same address map share its memory
/// if that is coherent; if not, they have their memory one after the other.
pub(crate) fn prepare<'a>(
    spec: &'a FabricSpec,
    config: &FabricConfig,
    seed: u64,
    traces: &mut Traces,
) -> Result<Vec<Prepared<'a>>, FabricRunError> {
    let mut hosts = Vec::new();
    // What the programs take of this machine's memory.
    let mut own = Bytes(0);
    // By address map: where the next program begins.
    let mut next: Vec<u64> = Vec::new();
    for number in 0..config.requesters.len() {
        let requester = RequesterId(number as u32);
        let name = config.graph.name(requester.node());
        let group = spec.requesters.get(config.group(requester));
        let Some((group, host)) = group.and_then(|group| Some((group, group.host.as_ref()?)))
        else {
            continue;
        };
        let seed = seed_of(seed, number as u64);
        let in_group = |source| FabricRunError::Host {
            group: group.name.clone(),
            source,
        };
        let read = settings_of(host, seed, traces).map_err(in_group)?;
        let map = config.address_map(requester) as usize;
        next.resize(next.len().max(map + 1), 0);
        let reach = config.reach(requester);
        let too_large = |needed| too_large(config, requester, host, needed, next[map]);
        // One that is too large by far is not made first: that takes as much memory of ours.
        let about = read.0.about(host.scale);
        if about.0 / 2 > reach {
            return Err(too_large(about));
        }
        if about > MEMORY_MAX {
            return Err(in_group(Box::new(beyond_the_simulator(host, about))));
        }
        let threads = read.2.threads;
        own = read.0.fits_machine(host, threads, own).map_err(in_group)?;
        let mut made = make(host, requester, name, seed, read).map_err(in_group)?;
        made.base = next[map];
        made.group_name.clone_from(&group.name);
        let needed = made.program.footprint();
        if made.base + needed.0 > reach {
            return Err(too_large(needed));
        }
        if needed > MEMORY_MAX {
            return Err(in_group(Box::new(beyond_the_simulator(host, needed))));
        }
        if !config.is_coherent() {
            next[map] = (made.base + needed.0).next_multiple_of(APART);
        } else if made.config.cpu.l3.lines == 0 {
            return Err(FabricRunError::Host {
                group: group.name.clone(),
                source: Box::new(without_l3(&made.raw)),
            });
        }
        hosts.push(made);
    }
    somebody_asks(&hosts, config.requesters.len())?;
    Ok(hosts)
}

/// A run ends after so many requests: if all memory is the hosts' own, there is none.
fn somebody_asks(hosts: &[Prepared<'_>], requesters: usize) -> Result<(), FabricRunError> {
    let is_own = |host: &&Prepared<'_>| host.config.migration == Migration::AllHost;
    if hosts.is_empty() || hosts.iter().filter(is_own).count() < requesters {
        return Ok(());
    }
    let first = &hosts[0];
    let message = "all memory is the hosts' own, so nothing asks the fabric; give none to a group";
    Err(FabricRunError::Host {
        group: first.group_name.clone(),
        source: Box::new(first.raw.impossible(&["migration.policy"], message)),
    })
}

/// A snoop looks into the L3, which has what the caches above have.
fn without_l3(raw: &RawConfig) -> ConfigError {
    let message = "coherent memory (coherence.filter) needs an L3; give it a capacity";
    raw.impossible(&["l3.capacity"], message)
}

/// Checks what the hosts of a fabric are and run, without making their programs.
///
/// # Errors
/// [`FabricRunError::Host`], for the first that cannot be.
pub fn check_hosts(spec: &FabricSpec) -> Result<(), FabricRunError> {
    let mut traces = Traces::default();
    for group in &spec.requesters {
        let Some(host) = &group.host else {
            continue;
        };
        settings_of(host, ANY_SEED, &mut traces).map_err(|source| FabricRunError::Host {
            group: group.name.clone(),
            source,
        })?;
    }
    Ok(())
}

fn too_large(
    config: &FabricConfig,
    requester: RequesterId,
    host: &HostGroup,
    needed: Bytes,
    base: u64,
) -> FabricRunError {
    FabricRunError::HostTooLarge {
        requester: config.requester_name(requester),
        workload: host.runs.name(),
        needed,
        base,
        reach: Bytes(config.reach(requester)),
        or_scale: match host.runs {
            HostProgram::Kernel(_) => ", or a larger scale",
            HostProgram::Trace(_) => "",
        },
    }
}

fn beyond_the_simulator(host: &HostGroup, footprint: Bytes) -> SystemError {
    SystemError::TooLarge {
        kernel: host.runs.name(),
        scale: host.scale,
        footprint,
        key: SIMULATOR,
        room: MEMORY_MAX,
    }
}

fn make<'a>(
    host: &'a HostGroup,
    requester: RequesterId,
    name: &str,
    seed: u64,
    (source, raw, config): (Source, RawConfig, HostConfig),
) -> Result<Prepared<'a>, HostError> {
    Ok(Prepared {
        requester,
        name: name.to_owned(),
        group: host,
        group_name: String::new(),
        raw,
        program: source.program(config.threads, host.scale)?,
        config,
        seed: source.seed(seed),
        base: 0,
    })
}

/// The program, the host's values for its scale, and what the host is built from.
fn settings_of(
    host: &HostGroup,
    seed: u64,
    traces: &mut Traces,
) -> Result<(Source, RawConfig, HostConfig), HostError> {
    let source = Source::read(host, seed, traces)?;
    let (raw, host) = host_of(host, &source, seed)?;
    Ok((source, raw, host))
}

fn host_of(
    host: &HostGroup,
    source: &Source,
    seed: u64,
) -> Result<(RawConfig, HostConfig), ConfigError> {
    let mut system = System {
        host: host.raw.clone(),
        ..System::default()
    };
    // Its devices are the fabric's; this one is only scaled with it.
    system.device.set("device.kind", "memory")?;
    source.set_threads(&mut system.host)?;
    let system = system.scaled_with(host.scale, source.thread_bytes())?;
    let CheckedSystem { host, artifact, .. } = system.check(seed)?;
    let raw = system.host;
    if !matches!(host.migration, Migration::None | Migration::AllHost) {
        let message = "pages do not move between a fabric's devices and its hosts; give none or \
                       host";
        return Err(raw.impossible(&["migration.policy"], message));
    }
    if host.start != Start::Empty {
        let message = "a fabric begins with nothing in its caches; give empty, and warm it up";
        return Err(raw.impossible(&["host.start"], message));
    }
    if artifact.is_some() {
        let message = "hosts on fabrics have no departures of SkyByte's artifact; give each its \
                       default";
        return Err(raw.impossible(&SkyByte::departures(&raw), message));
    }
    Ok((raw, host))
}

/// Puts hosts on a fabric.
pub(crate) fn seat<'h>(fabric: Fabric, hosts: &'h mut [Prepared<'_>]) -> Hosts<'h> {
    let mut seated = Hosts::new(fabric);
    for host in hosts {
        let machine = Host::with_port(&host.config, &mut *host.program);
        seated.seat(host.requester, host.base, machine);
    }
    seated
}

/// What a host did.
pub(crate) fn result(host: &Prepared<'_>, stats: &HostStats) -> FabricHost {
    let [l1, l2, l3] = stats
        .levels
        .each_ref()
        .map(|of| level(of, stats.instructions));
    let core_time = stats.time * u64::from(host.config.cpu.cores);
    FabricHost {
        name: host.name.clone(),
        system: host.group.system.clone(),
        config: settings(host.raw.to_pairs()),
        workload: host.group.runs.name(),
        scale: host.group.scale,
        seed: host.seed,
        footprint_bytes: host.program.footprint().0,
        base: host.base,
        instructions: stats.instructions,
        loads: stats.loads,
        stores: stats.stores,
        time_s: seconds(stats.time),
        ipc: share(stats.instructions * host.config.cpu.cycle.0, core_time.0),
        bound: bound(stats),
        levels: Levels { l1, l2, l3 },
        requests: requests(&stats.memory.requests),
        amat_ns: amat(stats),
        switches: stats.switches,
        long_delays: stats.memory.long_delays,
        hash: format!("{:016x}", stats.hash),
    }
}
