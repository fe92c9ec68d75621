//! Parameters that were given and that nothing looks at, which is a mistake. What a preset or a
//! file's tables say for all may be for what comes of them.

use super::is_coherent;
use crate::endpoint::{DramOrder, EndpointType};
use crate::error::FabricError;
use crate::params::{
    CacheParams, EndpointParams, LinkParams, PacketParams, RequesterParams, TopologyParams,
};
use crate::spec::{FabricSpec, Group, with};
use sluice_params::{ConfigError, RawConfig, Registered};

/// What looks at parameters.
struct Use {
    /// How their keys begin.
    keys: &'static [&'static str],
    /// Whether something does, with these values of a group or a link.
    is_used: fn(&RawConfig, &Group) -> bool,
    /// What to do if nothing does.
    otherwise: fn(&RawConfig) -> &'static str,
}

/// The first that fits a key.
const USES: &[Use] = &[
    Use {
        keys: &["topology.spines"],
        is_used: |raw, _| is_kind(raw, "spine-leaf"),
        otherwise: |_| "only spine-leaf has spines; leave it out",
    },
    Use {
        keys: &["topology.arity"],
        is_used: |raw, _| is_kind(raw, "tree"),
        otherwise: |_| "only a tree has an arity; leave it out",
    },
    Use {
        keys: &["topology.per_switch", "topology.placement"],
        is_used: |raw, _| {
            TopologyParams::new(raw)
                .kind
                .is_some_and(|kind| kind.has_leaves)
        },
        otherwise: |raw| match TopologyParams::new(raw).kind {
            Some(_) => "it has no leaves: everything is in one place; leave it out",
            None => "the links say what is on which switch; leave it out",
        },
    },
    Use {
        keys: &["link.turnaround", "link.burst"],
        is_used: |raw, _| LinkParams::new(raw).duplex,
        otherwise: |_| "both directions send at once; give duplex = \"half\", or leave it out",
    },
    Use {
        keys: &["coherence.filter"],
        is_used: |_, _| true,
        otherwise: |_| "",
    },
    Use {
        keys: &["coherence."],
        is_used: |raw, _| is_coherent(raw),
        otherwise: |_| "there is no filter; give coherence.filter, or leave it out",
    },
    Use {
        keys: &["requester.cache_ways", "requester.cache_replacement"],
        is_used: |raw, _| CacheParams::new(raw).cache_lines.is_some(),
        otherwise: |_| NO_CACHE,
    },
    Use {
        keys: &["requester.cache_clean"],
        is_used: |raw, group| {
            let is_host = group.host.is_some() && is_coherent(raw);
            is_host || CacheParams::new(raw).cache_lines.is_some()
        },
        otherwise: |_| NO_CACHE,
    },
    Use {
        keys: &["requester.hot_"],
        is_used: |raw, _| RequesterParams::new(raw).pattern.name() == "skewed",
        otherwise: |_| "only a skewed pattern has hot lines; leave it out",
    },
    Use {
        keys: &["endpoint.dram_queue"],
        is_used: |raw, _| {
            let given = EndpointParams::new(raw);
            given.kind == EndpointType::Dram && given.dram_order == DramOrder::RowHits
        },
        otherwise: |raw| match EndpointParams::new(raw).kind {
            EndpointType::Dram => {
                "accesses are served as they come; give dram_order = \"fr-fcfs\", or leave it out"
            }
            _ => another_memory(raw),
        },
    },
    Use {
        keys: &["endpoint.dram"],
        is_used: |raw, _| EndpointParams::new(raw).kind == EndpointType::Dram,
        otherwise: another_memory,
    },
    Use {
        keys: &["endpoint.read", "endpoint.write"],
        is_used: |raw, _| EndpointParams::new(raw).kind == EndpointType::Fixed,
        otherwise: another_memory,
    },
    Use {
        keys: &["switch.count"],
        is_used: |raw, _| TopologyParams::new(raw).kind.is_none(),
        otherwise: |_| "the topology makes its own switches; leave it out",
    },
    Use {
        keys: &["switch."],
        is_used: |raw, _| !is_kind(raw, "bus"),
        otherwise: |_| "a bus has no switches; leave it out",
    },
    Use {
        keys: &["packet.header", "packet.data_header"],
        is_used: |raw, _| PacketParams::new(raw).flits.is_none(),
        otherwise: |_| "flits give the sizes of packets; leave it out, or packet.flits",
    },
];

const NO_CACHE: &str = "there is no cache; give cache_lines, or leave it out";

fn is_kind(raw: &RawConfig, name: &str) -> bool {
    let kind = TopologyParams::new(raw).kind;
    kind.is_some_and(|kind| kind.name() == name)
}

fn another_memory(raw: &RawConfig) -> &'static str {
    match EndpointParams::new(raw).kind {
        EndpointType::Fixed => {
            "a fixed endpoint has no DRAM; give type = \"dram\", or leave it out"
        }
        EndpointType::Dram => "DRAM has times of its own; give type = \"fixed\", or leave it out",
        EndpointType::Device => {
            "a device has parameters of its own; give them in tables, such as \
             memory = { read = \"95ns\" }"
        }
        EndpointType::External => "a library has parameters of its own; give them by argument",
    }
}

/// # Errors
/// For the first parameter that is not used.
pub(super) fn refuse(spec: &FabricSpec) -> Result<(), FabricError> {
    let nobody = Group::default();
    for key in &spec.given {
        let (table, name) = key.split_once('.').unwrap_or((key, ""));
        let mut seen = Vec::new();
        let all = sets(spec, table);
        let gives = |(_, set): &Differs<'_>| set.iter().any(|(own, _)| own == name);
        if all.iter().all(gives) {
            return Err(overridden(spec, key).into());
        }
        for (group, set) in all {
            let raw = with(&spec.raw, table, set)?;
            seen.push((raw, group.unwrap_or(&nobody)));
        }
        unused(key, &seen)?;
    }
    let kinds = [
        ("requester", &spec.requesters),
        ("endpoint", &spec.endpoints),
        ("switch", &spec.switches),
    ];
    for (table, groups) in kinds {
        for group in groups {
            let of_group = |source| FabricError::Element {
                element: format!("{table} group `{}`", group.name),
                source,
            };
            let raw = with(&spec.raw, table, &group.set).map_err(of_group)?;
            for (key, _) in &group.set {
                let seen = [(raw.clone(), group)];
                unused(&format!("{table}.{key}"), &seen).map_err(of_group)?;
            }
        }
    }
    Ok(())
}

/// A group, or none, and what differs for it.
type Differs<'a> = (Option<&'a Group>, &'a [(String, String)]);

/// What differs for each group of a table, or each link: somewhere a parameter must be used. Where
/// nothing differs is one of them, unless groups stand for it.
fn sets<'a>(spec: &'a FabricSpec, table: &str) -> Vec<Differs<'a>> {
    let groups = match table {
        "requester" => &spec.requesters,
        "endpoint" => &spec.endpoints,
        "switch" => &spec.switches,
        "link" => {
            let ends = spec.requesters.iter().chain(&spec.endpoints);
            let ends = ends.map(|group| &group.link[..]);
            let links = spec.links.iter().map(|link| &link.set[..]);
            let all = ends.chain(links).map(|set| (None, set));
            return all.chain([(None, &[][..])]).collect();
        }
        _ => return vec![(None, &[])],
    };
    if groups.is_empty() {
        return vec![(None, &[])];
    }
    let of = |group: &'a Group| (Some(group), &group.set[..]);
    groups.iter().map(of).collect()
}

/// A value for all groups of a table, of which each has another one of its own.
fn overridden(spec: &FabricSpec, key: &str) -> ConfigError {
    let param = spec.raw.params().iter().find(|param| param.key == key);
    let key = param.expect("a key that was set").key;
    let (table, name) = key.split_once('.').unwrap_or((key, ""));
    let message = format!(
        "every {table} group has its own; give it to one, as GROUP.{name}, or leave it out"
    );
    spec.raw.impossible(&[key], message)
}

/// # Errors
/// If none of these uses a parameter.
fn unused(key: &str, seen: &[(RawConfig, &Group)]) -> Result<(), ConfigError> {
    let fits = |it: &&Use| it.keys.iter().any(|begin| key.starts_with(begin));
    let Some(it) = USES.iter().find(fits) else {
        return Ok(());
    };
    let Some((raw, _)) = seen.first() else {
        return Ok(());
    };
    if seen.iter().any(|(raw, group)| (it.is_used)(raw, group)) {
        return Ok(());
    }
    let param = raw.params().iter().find(|param| param.key == key);
    let param = param.expect("a key that was set");
    Err(raw.impossible(&[param.key], (it.otherwise)(raw)))
}
