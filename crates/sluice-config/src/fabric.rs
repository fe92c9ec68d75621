//! A fabric of requesters, switches and memory endpoints, from TOML.

use crate::described::{Describe, Described};
use crate::error::Error;
use crate::fabrics::fabrics;
use crate::file::Source;
use crate::in_line::begin_from_nothing;
use crate::shelf::Shelf;
use crate::system::beside;
use sluice_model::DeviceConfig;
use sluice_net::{
    DeviceGroup, FABRIC_PARAMS, FabricSpec, Group, HostGroup, HostProgram, Library, LinkSpec,
    RangeSpec, RouteSpec, VcsSpec,
};
use sluice_params::{ConfigError, Param, RawConfig};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Lists of tables at the top of a file.
const LISTS: [&str; 7] = [
    "requesters",
    "endpoints",
    "switches",
    "links",
    "routes",
    "ranges",
    "vcs",
];

/// Keys of a group that are no parameters.
const OWN: &[&str] = &[
    "name", "device", "library", "argument", "link", "socket", "system", "workload", "trace",
    "scale",
];

/// Of a group of endpoints with `device`, the device's own.
const CAPACITY: &str = "capacity";

impl Describe for FabricSpec {
    const SHELF: Shelf = Shelf {
        what: "fabric",
        presets: fabrics,
        unknown: |name, fabrics| Error::UnknownFabric { name, fabrics },
    };

    const BLANK: fn() -> FabricSpec = FabricSpec::default;

    fn param(key: &str) -> Option<&'static Param> {
        FABRIC_PARAMS.iter().find(|param| param.key == key)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        self.raw.set(key, value)
    }

    /// The lists; each takes the place of the base's.
    fn take(
        described: &mut Described<FabricSpec>,
        source: &Source<'_>,
        root: &mut Spanned<DeTable<'_>>,
    ) -> Result<(), Error> {
        for list in LISTS {
            let is_list =
                |value: &Spanned<DeValue<'_>>| matches!(value.get_ref(), DeValue::Array(_));
            if root.get_ref().get(list).is_some_and(is_list)
                && let Some(value) = root.get_mut().remove(list)
                && let DeValue::Array(tables) = value.get_ref()
            {
                take_list(&mut described.given, source, list, tables)?;
            }
        }
        Ok(())
    }
}

/// Reads a fabric: the name of one that comes with the program, or a path that ends in `.toml`.
/// It is not yet checked, so that single values can still be set.
///
/// # Errors
/// See [`Error`].
pub fn describe_fabric(fabric: &str) -> Result<Described<FabricSpec>, Error> {
    Described::read(&FabricSpec::SHELF.text(fabric)?, fabric)
}

/// Reads a fabric from the text of the file called `file`.
///
/// # Errors
/// All of [`Error`] but [`Error::UnknownFabric`].
pub fn parse_fabric(text: &str, file: &str) -> Result<FabricSpec, Error> {
    Ok(Described::read(text, file)?.given)
}

/// Reads a list in the place of the one that `spec` has.
fn take_list(
    spec: &mut FabricSpec,
    source: &Source<'_>,
    list: &str,
    tables: &[Spanned<DeValue<'_>>],
) -> Result<(), Error> {
    let reader = Reader {
        source,
        raw: &spec.raw,
    };
    let groups = |table: &'static str| reader.each(tables, |t| reader.group(table, t));
    match list {
        "requesters" => spec.requesters = groups("requester")?,
        "endpoints" => spec.endpoints = groups("endpoint")?,
        "switches" => spec.switches = groups("switch")?,
        "links" => spec.links = reader.each(tables, |t| reader.link(t))?,
        "routes" => spec.routes = reader.each(tables, |t| reader.route(t))?,
        "ranges" => spec.ranges = reader.each(tables, |t| reader.range(t))?,
        _ => spec.vcs = reader.each(tables, |t| reader.vcs(t))?,
    }
    Ok(())
}

struct Reader<'a> {
    source: &'a Source<'a>,
    /// What came before, against which keys and values are checked.
    raw: &'a RawConfig,
}

impl Reader<'_> {
    fn each<T>(
        &self,
        tables: &[Spanned<DeValue<'_>>],
        read: impl Fn(&Table<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let one = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::Table(table) => read(&Table {
                source: self.source,
                table,
                at: value.span().start,
            }),
            _ => Err(self.bad(value, "a table, such as { name = \"host\" }")),
        };
        tables.iter().map(one).collect()
    }

    fn bad(&self, value: &Spanned<DeValue<'_>>, expected: &'static str) -> Error {
        Error::Element {
            place: self.source.place(value.span()),
            value: self.source.plain(value),
            expected,
        }
    }

    fn group(&self, table: &str, from: &Table<'_>) -> Result<Group, Error> {
        let mut group = Group {
            name: from.text("name")?,
            ..Group::default()
        };
        let element = format!("{table} group `{}`", group.name);
        let is_endpoint = table == "endpoint";
        let is_host = table == "requester" && from.table.contains_key("system");
        self.check_keys(table, from)?;
        group.socket = from.table.get("socket").map(|home| self.source.plain(home));
        let is_device = is_endpoint && from.table.contains_key("device");
        for (key, value) in from.others(OWN) {
            if is_device && key == CAPACITY {
                // The device has it.
            } else if !matches!(value.get_ref(), DeValue::Table(_)) {
                group.set.push(self.setting(&element, table, key, value)?);
            } else if !(is_host || is_device) {
                return Err(self.bad(
                    value,
                    "no table but `link`; only endpoints with `device` have a device's, and \
                     requesters with `system` a host's",
                ));
            }
        }
        if let Some(link) = from.table.get("link") {
            let DeValue::Table(set) = link.get_ref() else {
                return Err(self.bad(link, "a table, such as { bandwidth = 16000 }"));
            };
            if table == "switch" {
                return Err(self.bad(link, "no such table; a switch's links are [[links]]"));
            }
            let link = Table {
                source: self.source,
                table: set,
                at: link.span().start,
            };
            for (key, value) in link.others(&[]) {
                group.link.push(self.setting(&element, "link", key, value)?);
            }
        }
        if let Some(name) = from.table.get("device").filter(|_| is_endpoint) {
            group.device = Some(DeviceGroup {
                name: self.source.plain(name),
                config: self.device(from, name)?,
            });
            group.set.push(("type".to_owned(), "device".to_owned()));
        }
        if let Some(name) = from.table.get("system").filter(|_| is_host) {
            group.host = Some(self.host(from, name)?);
        }
        if let Some(path) = from.table.get("library").filter(|_| is_endpoint) {
            group.library = Some(Library {
                path: beside(self.source, &self.source.plain(path)),
                argument: from.text("argument").unwrap_or_default(),
            });
            group.set.push(("type".to_owned(), "external".to_owned()));
        }
        Ok(group)
    }

    /// Refuses keys that would do nothing in a group of this table.
    fn check_keys(&self, table: &str, from: &Table<'_>) -> Result<(), Error> {
        let has = |key: &str| from.table.contains_key(key);
        let is_requester = table == "requester";
        let is_host = is_requester && has("system");
        let is_endpoint = table == "endpoint";
        let (device, library) = (has("device"), has("library"));
        let host = "no such key; only requesters have hosts";
        let wrong = [
            ("system", !is_host, host),
            ("workload", !is_host, host),
            ("trace", !is_host, host),
            ("scale", !is_host, host),
            (
                "socket",
                !is_requester,
                "no such key; only requesters are sockets of servers",
            ),
            (
                "device",
                !is_endpoint,
                "no such key; only endpoints are devices",
            ),
            (
                "library",
                !is_endpoint,
                "no such key; only endpoints have a memory model of yours",
            ),
            (
                "library",
                device,
                "no library beside device; an endpoint is one of them",
            ),
            (
                "argument",
                !is_endpoint || !library,
                "no such key without library, which gets it",
            ),
            (
                "type",
                is_endpoint && (device || library),
                "no type beside device or library, which say it",
            ),
        ];
        let mut wrong = wrong
            .iter()
            .filter(|(key, is_wrong, _)| *is_wrong && has(key));
        match wrong.next() {
            None => Ok(()),
            Some((key, _, expected)) => Err(self.bad(&from.table[*key], expected)),
        }
    }

    /// The device of a group of endpoints, changed by the group's tables.
    fn device(&self, from: &Table<'_>, name: &Spanned<DeValue<'_>>) -> Result<DeviceConfig, Error> {
        let (source, given) = (self.source, self.source.plain(name));
        let place = || source.place(name.span());
        let mut raw = crate::load(&beside(source, &given)).map_err(|error| Error::Device {
            place: place(),
            source: Box::new(error),
        })?;
        for (key, value) in from.others(OWN) {
            if let DeValue::Table(table) = value.get_ref() {
                let mut set = |inner: &str, value: &str| raw.set(&format!("{key}.{inner}"), value);
                source.read_table(table, &mut set)?;
            } else if key == CAPACITY {
                let set = raw.set("device.capacity", &source.plain(value));
                set.map_err(|error| Error::Config {
                    place: source.place(value.span()),
                    source: error,
                })?;
            }
        }
        DeviceConfig::simulated(&raw).map_err(|source| Error::Config {
            place: place(),
            source,
        })
    }

    /// The hosts of a group of requesters, of a system that is changed by the group's tables.
    fn host(&self, from: &Table<'_>, name: &Spanned<DeValue<'_>>) -> Result<HostGroup, Error> {
        let (source, system) = (self.source, self.source.plain(name));
        let loaded = crate::load_system(&beside(source, &system));
        let mut loaded = loaded.map_err(|error| Error::Device {
            place: source.place(name.span()),
            source: Box::new(error),
        })?;
        let runs = self.host_program(from)?;
        if let HostProgram::Trace(_) = runs {
            begin_from_nothing(&mut loaded);
        }
        let mut raw = loaded.host;
        for (key, value) in from.others(OWN) {
            if let DeValue::Table(table) = value.get_ref() {
                let threads = table.get("threads").filter(|_| key == "cpu");
                if let (HostProgram::Trace(_), Some(threads)) = (&runs, threads) {
                    return Err(self.bad(threads, "no cpu.threads; a trace has threads of its own"));
                }
                let mut set = |inner: &str, value: &str| raw.set(&format!("{key}.{inner}"), value);
                source.read_table(table, &mut set)?;
            }
        }
        let scale = match from.table.get("scale") {
            None => 1,
            Some(value) => {
                let scale = source.plain(value).parse::<u32>().ok();
                let scale = scale.filter(|scale| (1..=65_536).contains(scale));
                scale.ok_or_else(|| self.bad(value, "a number from 1 to 65536"))?
            }
        };
        Ok(HostGroup {
            system,
            raw,
            runs,
            scale,
        })
    }

    /// What the hosts of a group run: one of two keys says it.
    fn host_program(&self, from: &Table<'_>) -> Result<HostProgram, Error> {
        let Some(trace) = from.table.get("trace") else {
            let expected = "it to be there, or trace";
            let missing = || from.error(from.at..from.at, "workload".to_owned(), expected);
            let text = from.table.get("workload").ok_or_else(missing)?;
            return Ok(HostProgram::Kernel(self.source.plain(text)));
        };
        if from.table.contains_key("workload") {
            return Err(self.bad(trace, "no trace beside workload; a host runs one of them"));
        }
        let folder = Path::new(self.source.file).parent();
        let path = folder
            .unwrap_or(Path::new(""))
            .join(self.source.plain(trace));
        Ok(HostProgram::Trace(path))
    }

    /// A parameter of a group or a link, checked for itself.
    fn setting(
        &self,
        element: &str,
        table: &str,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(String, String), Error> {
        let text = self.source.plain(value);
        let set = self.raw.clone().set(&format!("{table}.{key}"), &text);
        set.map_err(|source| Error::Of {
            place: self.source.place(value.span()),
            element: element.to_owned(),
            source: Box::new(source),
        })?;
        Ok((key.to_owned(), text))
    }

    fn link(&self, from: &Table<'_>) -> Result<LinkSpec, Error> {
        let ends = from.texts("ends")?;
        let ends = <[String; 2]>::try_from(ends).map_err(|_| Error::Element {
            place: self.source.place(from.at..from.at),
            value: "ends".to_owned(),
            expected: "two names, such as ends = [\"host0\", \"sw0:3\"]",
        })?;
        let element = format!("link {}-{}", ends[0], ends[1]);
        let set = from.others(&["ends"]);
        let set: Result<_, Error> = set
            .map(|(key, value)| self.setting(&element, "link", key, value))
            .collect();
        Ok(LinkSpec { ends, set: set? })
    }

    fn route(&self, from: &Table<'_>) -> Result<RouteSpec, Error> {
        from.only(&["at", "to", "via"])?;
        Ok(RouteSpec {
            at: from.text("at")?,
            to: from.text("to")?,
            via: from.texts("via")?,
        })
    }

    fn range(&self, from: &Table<'_>) -> Result<RangeSpec, Error> {
        from.only(&["name", "base", "size", "targets", "hosts"])?;
        Ok(RangeSpec {
            name: from.text("name")?,
            base: from.size("base")?,
            size: from.size("size")?,
            targets: from.texts("targets")?,
            hosts: match from.table.contains_key("hosts") {
                true => from.texts("hosts")?,
                false => Vec::new(),
            },
        })
    }

    fn vcs(&self, from: &Table<'_>) -> Result<VcsSpec, Error> {
        from.only(&["name", "switch", "upstream", "vppbs"])?;
        Ok(VcsSpec {
            name: from.text("name")?,
            switch: from.text("switch")?,
            upstream: from.text("upstream")?,
            vppbs: from.texts("vppbs")?,
        })
    }
}

/// A table of a list.
struct Table<'a> {
    source: &'a Source<'a>,
    table: &'a DeTable<'a>,
    /// Where it begins.
    at: usize,
}

impl Table<'_> {
    fn error(&self, at: std::ops::Range<usize>, value: String, expected: &'static str) -> Error {
        Error::Element {
            place: self.source.place(at),
            value,
            expected,
        }
    }

    fn missing(&self, key: &str) -> Error {
        self.error(self.at..self.at, key.to_owned(), "it to be there")
    }

    fn text(&self, key: &str) -> Result<String, Error> {
        let value = self.table.get(key).ok_or_else(|| self.missing(key))?;
        Ok(self.source.plain(value))
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, Error> {
        let value = self.table.get(key).ok_or_else(|| self.missing(key))?;
        match value.get_ref() {
            DeValue::Array(values) => Ok(values.iter().map(|v| self.source.plain(v)).collect()),
            _ => Ok(vec![self.source.plain(value)]),
        }
    }

    fn size(&self, key: &str) -> Result<u64, Error> {
        let value = self.table.get(key).ok_or_else(|| self.missing(key))?;
        let text = self.source.plain(value);
        let size = text.parse::<sluice_units::Bytes>().map(|bytes| bytes.0);
        size.map_err(|_| self.error(value.span(), text, "a size, such as 0 or \"1GiB\""))
    }

    /// What else there is, in the file's order.
    fn others<'b>(
        &'b self,
        known: &'b [&str],
    ) -> impl Iterator<Item = (&'b str, &'b Spanned<DeValue<'b>>)> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entries = entries
            .into_iter()
            .map(|(key, value)| (&**key.get_ref(), value));
        entries.filter(move |(key, _)| !known.contains(key))
    }

    fn only(&self, known: &[&str]) -> Result<(), Error> {
        match self.others(known).next() {
            None => Ok(()),
            Some((key, value)) => {
                Err(self.error(value.span(), key.to_owned(), "no such key in this table"))
            }
        }
    }
}
