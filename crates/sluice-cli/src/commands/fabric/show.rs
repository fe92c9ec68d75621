//! `sluice fabric show`: a fabric's parameters, and what differs in its groups.

use crate::error::Error;
use crate::listing::{parameter, show};
use sluice_config::{Described, HOST_PARAMS};
use sluice_model::{PARAMS, Param};
use sluice_net::{FABRIC_PARAMS, FabricSpec, Group, HostGroup, HostProgram};
use sluice_results::Parameter;
use std::collections::BTreeMap;

/// Prints them.
pub fn run(fabric: &str, described: &Described<FabricSpec>, as_json: bool) -> Result<(), Error> {
    let (spec, mut rows) = (&described.given, Vec::new());
    let values = spec.raw.to_pairs();
    for p in FABRIC_PARAMS.iter() {
        let value = values.iter().find(|(key, _)| *key == p.key);
        let value = value.map_or("", |(_, value)| value);
        rows.push(parameter(p, p.key, value, described.source_of(p.key)));
    }
    for (table, groups) in [
        ("requester", &spec.requesters),
        ("endpoint", &spec.endpoints),
        ("switch", &spec.switches),
    ] {
        for group in groups {
            let of = Of { fabric, group };
            let count = format!("{table}.count");
            of.add(table, spec.raw.get(&count).unwrap_or_default(), &mut rows);
        }
    }
    show(rows, as_json)
}

/// A group of a fabric.
struct Of<'a> {
    fabric: &'a str,
    group: &'a Group,
}

impl Of<'_> {
    /// Adds what differs in the group, by the keys that `--set` takes.
    fn add(&self, table: &str, usual_count: String, rows: &mut Vec<Parameter>) {
        let group = self.group;
        let mut set = BTreeMap::from([("count".to_owned(), usual_count)]);
        // What was given last counts.
        set.extend(group.set.iter().cloned());
        let links: BTreeMap<String, String> = group.link.iter().cloned().collect();
        for (table, inner, set) in [(table, "", set), ("link", "link.", links)] {
            for (key, value) in set {
                let param = FABRIC_PARAMS
                    .iter()
                    .find(|p| p.key == format!("{table}.{key}"));
                rows.push(self.row(param, &format!("{inner}{key}"), &value, ""));
            }
        }
        if let Some(socket) = &group.socket {
            let meaning = "the group of requesters whose ports these use";
            rows.push(self.row(None, "socket", socket, meaning));
        }
        if let Some(library) = &group.library {
            let meaning = "the shared object with its memory model";
            rows.push(self.row(None, "library", &library.path, meaning));
        }
        if let Some(device) = &group.device {
            self.differing(PARAMS.iter(), &device.config.raw().to_pairs(), rows);
        }
        if let Some(host) = &group.host {
            self.host(host, rows);
        }
    }

    fn host(&self, host: &HostGroup, rows: &mut Vec<Parameter>) {
        let key = match host.runs {
            HostProgram::Kernel(_) => "workload",
            HostProgram::Trace(_) => "trace",
        };
        let scale = host.scale.to_string();
        for (key, value, meaning) in [
            ("system", &host.system, "the system that its hosts are of"),
            (key, &host.runs.name(), "what they run"),
            ("scale", &scale, "what their capacities are divided by"),
        ] {
            rows.push(self.row(None, key, value, meaning));
        }
        self.differing(HOST_PARAMS.iter(), &host.raw.to_pairs(), rows);
    }

    /// Adds the values of its device or hosts that are not a parameter's default.
    fn differing(
        &self,
        params: impl Iterator<Item = &'static Param>,
        values: &[(&'static str, String)],
        rows: &mut Vec<Parameter>,
    ) {
        for p in params {
            let value = values.iter().find(|(key, _)| *key == p.key);
            let default = p.kind.parse(p.default).map(|default| default.to_string());
            if let Some((_, value)) = value.filter(|(_, value)| Some(value) != default.as_ref()) {
                rows.push(self.row(Some(p), p.key, value, ""));
            }
        }
    }

    fn row(&self, param: Option<&Param>, key: &str, value: &str, meaning: &str) -> Parameter {
        let (fabric, name) = (self.fabric, &self.group.name);
        let (key, source) = (
            format!("{name}.{key}"),
            format!("group `{name}` of {fabric}"),
        );
        match param {
            Some(p) => parameter(p, &key, value, source),
            None => Parameter {
                key,
                value: value.to_owned(),
                default: String::new(),
                expected: String::new(),
                meaning: meaning.to_owned(),
                source,
                default_source: String::new(),
            },
        }
    }
}
