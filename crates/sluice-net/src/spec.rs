//! A fabric as it was described: parameters, groups of nodes, links, routes, address ranges.

use super::endpoint::Library;
use super::params::FABRIC_PARAMS;
use sluice_host::HOST_PARAMS;
use sluice_model::DeviceConfig;
use sluice_params::{ConfigError, RawConfig};
use std::path::PathBuf;

/// A group of nodes of one kind, with parameters of its own.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The name of a node, followed by its number if the group has more than one.
    pub name: String,
    /// Parameters that differ, without their table, such as `depth`.
    pub set: Vec<(String, String)>,
    /// Parameters of the links of its requesters or endpoints that differ, without their table.
    pub link: Vec<(String, String)>,
    /// The device of endpoints of type `device`.
    pub device: Option<DeviceGroup>,
    /// The memory model of endpoints of type `external`.
    pub library: Option<Library>,
    /// The simulated hosts at its requesters.
    pub host: Option<HostGroup>,
    /// The group of requesters whose ports these use, as a socket of the same servers.
    pub socket: Option<String>,
}

/// What the devices of a group are.
#[derive(Clone, Debug)]
pub struct DeviceGroup {
    /// What the description calls the device, for the record.
    pub name: String,
    /// The device, changed by the group.
    pub config: DeviceConfig,
}

/// What the hosts of a group are.
#[derive(Clone, Debug)]
pub struct HostGroup {
    /// The system that they are of, for the record.
    pub system: String,
    /// Values of its host's parameters.
    pub raw: RawConfig,
    /// What they run.
    pub runs: HostProgram,
    /// What the memory of that and the hosts' capacities are divided by.
    pub scale: u32,
}

/// What the hosts of a group run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostProgram {
    /// A kernel with its parameters, as they were given.
    Kernel(String),
    /// A recorded trace, by its file.
    Trace(PathBuf),
}

impl HostProgram {
    /// What the record calls it.
    pub fn name(&self) -> String {
        match self {
            HostProgram::Kernel(text) => text.clone(),
            HostProgram::Trace(path) => format!("trace:{}", path.display()),
        }
    }
}

impl HostGroup {
    /// Gives a parameter of the hosts a value, or what they run another name.
    fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let other = |key, message: &str| ConfigError::Impossible {
            settings: vec![(key, value.to_owned())],
            message: message.to_owned(),
        };
        match (key, &mut self.runs) {
            ("workload", HostProgram::Kernel(text)) => value.clone_into(text),
            ("trace", HostProgram::Trace(path)) => *path = value.into(),
            ("workload", HostProgram::Trace(_)) => {
                return Err(other("workload", "these hosts replay a trace; set that"));
            }
            ("trace", HostProgram::Kernel(_)) => {
                let message = "these hosts run a kernel; give their group a trace in the file";
                return Err(other("trace", message));
            }
            ("cpu.threads", HostProgram::Trace(_)) => {
                let message = "a trace has threads of its own; leave it out";
                return Err(other("cpu.threads", message));
            }
            _ => self.raw.set(key, value)?,
        }
        Ok(())
    }
}

impl Default for HostGroup {
    /// Every parameter at its default, and nothing to run.
    fn default() -> HostGroup {
        HostGroup {
            system: String::new(),
            raw: RawConfig::of(HOST_PARAMS).shown_by("sluice system show"),
            runs: HostProgram::Kernel(String::new()),
            scale: 1,
        }
    }
}

/// A link of a topology that is a list, or changes of one that a topology makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSpec {
    /// Names of the nodes that it joins; a switch may have a port behind a colon.
    pub ends: [String; 2],
    /// Parameters that differ, without their table.
    pub set: Vec<(String, String)>,
}

/// What a switch does with packets for a node, other than what it would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteSpec {
    /// The switch that sends them on, by name.
    pub at: String,
    /// The requester or endpoint that the packets are for.
    pub to: String,
    /// The neighbours that they may go to.
    pub via: Vec<String>,
}

/// A range of host addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSpec {
    /// What messages call it.
    pub name: String,
    /// Its first address.
    pub base: u64,
    /// Bytes of the window.
    pub size: u64,
    /// The endpoints that it is dealt out over, in order.
    pub targets: Vec<String>,
    /// The requesters whose address map has it; none for all.
    pub hosts: Vec<String>,
}

/// A virtual switch within a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VcsSpec {
    /// What messages and reports call it.
    pub name: String,
    /// The switch that the ports belong to, by name.
    pub switch: String,
    /// The requester on its upstream port.
    pub upstream: String,
    /// What its vPPBs are bound to: endpoints, logical devices, or ports of the switch behind a
    /// colon.
    pub vppbs: Vec<String>,
}

/// A fabric, not yet checked.
#[derive(Clone, Debug)]
pub struct FabricSpec {
    /// Values of [`FABRIC_PARAMS`].
    pub raw: RawConfig,
    /// Those that [`FabricSpec::set`] has set: each must be used by something.
    pub given: Vec<&'static str>,
    /// Groups of requesters; none for one group.
    pub requesters: Vec<Group>,
    /// Groups of endpoints; none for one group.
    pub endpoints: Vec<Group>,
    /// Groups of switches, for a topology that is a list.
    pub switches: Vec<Group>,
    /// Its links; of another topology, changes of those that it makes.
    pub links: Vec<LinkSpec>,
    /// Changes of the routing tables.
    pub routes: Vec<RouteSpec>,
    /// Address ranges; none for one after the other over all endpoints.
    pub ranges: Vec<RangeSpec>,
    /// Virtual switches; their switches are divided, others route by port.
    pub vcs: Vec<VcsSpec>,
}

impl Default for FabricSpec {
    /// Every parameter at its default.
    fn default() -> FabricSpec {
        FabricSpec {
            raw: RawConfig::of(FABRIC_PARAMS).shown_by("sluice fabric show"),
            given: Vec::new(),
            requesters: Vec::new(),
            endpoints: Vec::new(),
            switches: Vec::new(),
            links: Vec::new(),
            routes: Vec::new(),
            ranges: Vec::new(),
            vcs: Vec::new(),
        }
    }
}

impl FabricSpec {
    /// Gives a parameter a value: `TABLE.KEY` of the whole fabric, `GROUP.KEY` of a group,
    /// `GROUP.link.KEY` of its links, or `GROUP.TABLE.KEY` of its device, whose capacity is
    /// `GROUP.capacity` too, or of its hosts, whose program is `GROUP.workload`.
    ///
    /// # Errors
    /// [`ConfigError::UnknownKey`], with the key as given, [`ConfigError::BadValue`], and
    /// [`ConfigError::Impossible`] of a device. Nothing is changed then.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let (name, inner) = key.split_once('.').unwrap_or((key, ""));
        let kinds = [
            ("requester", &mut self.requesters),
            ("endpoint", &mut self.endpoints),
            ("switch", &mut self.switches),
        ];
        for (table, groups) in kinds {
            if let Some(group) = groups.iter_mut().find(|group| group.name == name) {
                if let Some(link) = inner.strip_prefix("link.").filter(|_| table != "switch") {
                    self.raw.clone().set(inner, value)?;
                    group.link.push((link.to_owned(), value.to_owned()));
                    return Ok(());
                }
                let of_device = match inner {
                    "capacity" => Some("device.capacity"),
                    _ => Some(inner).filter(|key| key.contains('.')),
                };
                if let (Some(device), Some(of_device)) = (&mut group.device, of_device) {
                    let mut raw = device.config.raw().clone();
                    raw.set(of_device, value)
                        .map_err(|error| as_given(error, key))?;
                    device.config = DeviceConfig::simulated(&raw)?;
                    return Ok(());
                }
                if let Some(host) = group.host.as_mut()
                    && (inner.contains('.') || ["workload", "trace"].contains(&inner))
                {
                    let set = host.set(inner, value);
                    return set.map_err(|error| as_given(error, key));
                }
                let set = self.raw.clone().set(&format!("{table}.{inner}"), value);
                set.map_err(|error| as_given(error, key))?;
                group.set.push((inner.to_owned(), value.to_owned()));
                return Ok(());
            }
        }
        self.raw.set(key, value)?;
        let param = FABRIC_PARAMS.iter().find(|param| param.key == key);
        self.given.extend(param.map(|param| param.key));
        Ok(())
    }
}

/// An error that names the key as it was given, and not as it is called in a table.
fn as_given(error: ConfigError, given: &str) -> ConfigError {
    match error {
        ConfigError::UnknownKey { hint, valid, .. } => ConfigError::UnknownKey {
            key: given.to_owned(),
            hint,
            valid,
        },
        other => other,
    }
}

/// The values of a group or a link: those of the fabric, with what differs.
pub(super) fn with(
    raw: &RawConfig,
    table: &str,
    set: &[(String, String)],
) -> Result<RawConfig, ConfigError> {
    let mut raw = raw.clone();
    for (key, value) in set {
        raw.set(&format!("{table}.{key}"), value)?;
    }
    Ok(raw)
}
