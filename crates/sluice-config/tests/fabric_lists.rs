//! Every kind of table of a fabric's lists: what it says, and what it cannot say.

use sluice_config::{describe_fabric, describe_system, load, parse_fabric, parse_system};
use sluice_net::HostProgram;

/// One table of each list. An entry without `device`, `system` or `library` is plain.
const ALL: &str = r#"
topology = { kind = "list" }
[[requesters]]
name = "plain"
count = 1
depth = 3
link = { bandwidth = 8000, latency = "5ns" }
[[requesters]]
name = "host"
count = 1
system = "base-cssd"
workload = "bfs"
scale = 64
cpu = { threads = 3 }
[[endpoints]]
name = "ssd"
count = 1
device = "cylon"
cache = { capacity = "64MiB" }
[[endpoints]]
name = "other"
count = 1
library = "memory.so"
argument = "a=1"
[[switches]]
name = "sw"
[[links]]
ends = ["plain", "sw:7"]
bandwidth = 16000
[[ranges]]
name = "low"
base = "1GiB"
size = "2GiB"
targets = ["ssd.0"]
hosts = ["plain", "host"]
[[ranges]]
name = "high"
base = "4GiB"
size = "1GiB"
targets = "ssd.1"
[[routes]]
at = "sw"
to = "ssd"
via = ["ssd", "other"]
[[vcs]]
name = "v"
switch = "sw"
upstream = "plain"
vppbs = ["ssd"]
"#;

fn texts(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

fn pairs(values: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    values.iter().map(owned).collect()
}

#[test]
fn each_table_is_read_whole() {
    let spec = parse_fabric(ALL, "folder/all.toml").unwrap();
    let [plain, host] = &spec.requesters[..] else {
        panic!("two groups");
    };
    assert_eq!((&plain.name[..], &host.name[..]), ("plain", "host"));
    assert_eq!(plain.set, pairs(&[("count", "1"), ("depth", "3")]));
    assert_eq!(
        plain.link,
        pairs(&[("bandwidth", "8000"), ("latency", "5ns")])
    );
    assert!(plain.host.is_none() && plain.device.is_none() && plain.library.is_none());
    let of_host = host.host.as_ref().expect("a host");
    assert_eq!(
        (&of_host.system[..], &of_host.runs),
        ("base-cssd", &HostProgram::Kernel("bfs".to_owned()))
    );
    assert_eq!(
        (of_host.scale, of_host.raw.get("cpu.threads")),
        (64, Some("3".to_owned()))
    );
    let [ssd, other] = &spec.endpoints[..] else {
        panic!("two groups");
    };
    let device = ssd.device.as_ref().expect("a device");
    assert_eq!(device.config.cache.capacity().0, 64 << 20);
    assert_eq!(ssd.set, pairs(&[("count", "1"), ("type", "device")]));
    let library = other.library.as_ref().expect("a library");
    assert_eq!(
        (&library.path[..], &library.argument[..]),
        ("folder/memory.so", "a=1")
    );
    assert_eq!(other.set, pairs(&[("count", "1"), ("type", "external")]));
    let [link] = &spec.links[..] else {
        panic!("one link");
    };
    assert_eq!(link.ends, ["plain", "sw:7"]);
    assert_eq!(link.set, pairs(&[("bandwidth", "16000")]));
    let [low, high] = &spec.ranges[..] else {
        panic!("two ranges");
    };
    assert_eq!(
        (&low.name[..], low.base, low.size),
        ("low", 1 << 30, 2 << 30)
    );
    assert_eq!(
        (&low.targets, &low.hosts),
        (&texts(&["ssd.0"]), &texts(&["plain", "host"]))
    );
    assert_eq!(
        (&high.targets, &high.hosts),
        (&texts(&["ssd.1"]), &Vec::new())
    );
    let [route] = &spec.routes[..] else {
        panic!("one route");
    };
    assert_eq!((&route.at[..], &route.to[..]), ("sw", "ssd"));
    assert_eq!(route.via, ["ssd", "other"]);
    let [vcs] = &spec.vcs[..] else {
        panic!("one virtual switch");
    };
    assert_eq!(
        (&vcs.name[..], &vcs.switch[..], &vcs.upstream[..]),
        ("v", "sw", "plain")
    );
    assert_eq!(vcs.vppbs, ["ssd"]);
    assert_eq!(spec.switches[0].name, "sw");
}

/// A list takes the place of the base's, and what has no list is kept.
#[test]
fn a_list_replaces_that_of_the_base() {
    let base = describe_fabric("esf-neighbours").unwrap().given;
    let text = "base = \"esf-neighbours\"\n[[endpoints]]\nname = \"one\"\ncount = 1\n";
    let spec = parse_fabric(text, "mine.toml").unwrap();
    let names = |groups: &[sluice_net::Group]| -> Vec<String> {
        groups.iter().map(|group| group.name.clone()).collect()
    };
    assert_eq!(names(&spec.endpoints), ["one"]);
    assert_eq!(names(&spec.requesters), names(&base.requesters));
    assert!(!base.requesters.is_empty());
}

/// What stands in the file, what stands there instead, and what the message says then; nothing
/// where it is no mistake.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("name = \"plain\"\n", "", "`name`: expected it to be there"),
    (
        "name = \"plain\"\n",
        "name = \"plain\"\nsystem = \"none\"\n",
        "unknown system `none`",
    ),
    (
        "workload = \"bfs\"\n",
        "",
        "`workload`: expected it to be there",
    ),
    (
        "scale = 64",
        "scale = 0",
        "`0`: expected a number from 1 to 65536",
    ),
    (
        "scale = 64",
        "scale = 65537",
        "`65537`: expected a number from 1 to 65536",
    ),
    (
        "scale = 64",
        "scale = \"x\"",
        "`x`: expected a number from 1 to 65536",
    ),
    ("threads = 3", "threads = 0", "bad value for `cpu.threads`"),
    (
        "depth = 3\n",
        "scale = 3\n",
        "`3`: expected no such key; only requesters have hosts",
    ),
    (
        "library = \"memory.so\"\n",
        "system = \"base-cssd\"\n",
        "only requesters have hosts",
    ),
    (
        "depth = 3\n",
        "device = \"nonsense\"\n",
        "`nonsense`: expected no such key; only endpoints are devices",
    ),
    (
        "depth = 3\n",
        "library = \"nonsense\"\n",
        "`nonsense`: expected no such key; only endpoints have a memory model",
    ),
    (
        "depth = 3\n",
        "argument = \"x\"\n",
        "`x`: expected no such key without library",
    ),
    (
        "library = \"memory.so\"\n",
        "",
        "`a=1`: expected no such key without library",
    ),
    (
        "library = \"memory.so\"\nargument = \"a=1\"\n",
        "nand = { read = \"4us\", nonsense = 4 }\n",
        "no table but `link`; only endpoints with `device`",
    ),
    (
        "device = \"cylon\"\n",
        "device = \"cylon\"\ntype = \"fixed\"\n",
        "`fixed`: expected no type beside device",
    ),
    (
        "library = \"memory.so\"\n",
        "library = \"memory.so\"\ndevice = \"cylon\"\n",
        "`memory.so`: expected no library beside device",
    ),
    (
        "depth = 3\n",
        "cpu = { threads = 3 }\n",
        "expected no table but `link`",
    ),
    (
        "name = \"sw\"\n",
        "name = \"sw\"\ncpu = { threads = 3 }\n",
        "no table but `link`",
    ),
    (
        "name = \"sw\"\n",
        "name = \"sw\"\nlink = {}\n",
        "a switch's links are [[links]]",
    ),
    (
        "link = { bandwidth = 8000, latency = \"5ns\" }",
        "link = 3",
        "`3`: expected a table, such as { bandwidth = 16000 }",
    ),
    (
        "bandwidth = 8000",
        "wide = 8000",
        "requester group `plain`: unknown key `link.wide`",
    ),
    (
        "bandwidth = 16000",
        "wide = 16000",
        "link plain-sw:7: unknown key `link.wide`",
    ),
    (
        "[\"plain\", \"sw:7\"]",
        "[\"a\", \"b\", \"c\"]",
        "`ends`: expected two names",
    ),
    (
        "ends = [\"plain\", \"sw:7\"]\n",
        "",
        "`ends`: expected it to be there",
    ),
    (
        "capacity = \"64MiB\"",
        "capacity = \"x\"",
        "bad value for `cache.capacity`",
    ),
    (
        "base = \"1GiB\"",
        "base = \"low\"",
        "`low`: expected a size, such as 0 or \"1GiB\"",
    ),
    (
        "base = \"1GiB\"",
        "bass = \"1GiB\"",
        "`bass`: expected no such key in this table",
    ),
    (
        "hosts = [\"plain\", \"host\"]",
        "host = 1",
        "`host`: expected no such key in this table",
    ),
    (
        "targets = \"ssd.1\"\n",
        "",
        "`targets`: expected it to be there",
    ),
    (
        "via = [",
        "way = [",
        "`way`: expected no such key in this table",
    ),
    ("to = \"ssd\"\n", "", "`to`: expected it to be there"),
    (
        "upstream = \"plain\"",
        "up = \"plain\"",
        "`up`: expected no such key in this table",
    ),
    (
        "vppbs = [\"ssd\"]\n",
        "",
        "`vppbs`: expected it to be there",
    ),
    ("[[switches]]\nname = \"sw\"\n", "", ""),
];

#[test]
fn mistakes_of_every_table_are_named() {
    for (from, to, told) in MISTAKES {
        assert!(ALL.contains(from), "{from}");
        let text = ALL.replacen(from, to, 1);
        match parse_fabric(&text, "all.toml") {
            Ok(_) => assert!(told.is_empty(), "{from} as {to} was accepted"),
            Err(error) => {
                let message = error.to_string();
                assert!(message.starts_with("all.toml:"), "{message}");
                assert!(message.contains(told) && !told.is_empty(), "{message}");
            }
        }
    }
    let text = "requesters = [3]\n";
    let message = parse_fabric(text, "all.toml").unwrap_err().to_string();
    let due = "all.toml:1:15: `3`: expected a table, such as { name = \"host\" }";
    assert_eq!(message, due);
    for edge in ["scale = 1", "scale = 65536"] {
        parse_fabric(&ALL.replacen("scale = 64", edge, 1), "all.toml").unwrap();
    }
}

/// A name of another kind says which command has it.
#[test]
fn a_name_of_something_else_is_told_as_what_it_is() {
    let device = |name| load(name).unwrap_err().to_string();
    let system = |name| describe_system(name).unwrap_err().to_string();
    let fabric = |name| describe_fabric(name).unwrap_err().to_string();
    let (of_device, of_system, of_fabric) = (
        ", which is a device (--device): give a path",
        ", which is a system (--system): give a path",
        ", which is a fabric (sluice fabric): give a path",
    );
    for (told, name, due) in [
        (device("base-cssd"), "device `base-cssd`", of_system),
        (
            device("esf-neighbours"),
            "device `esf-neighbours`",
            of_fabric,
        ),
        (system("cylon"), "system `cylon`", of_device),
        (fabric("cylon"), "fabric `cylon`", of_device),
        (fabric("base-cssd"), "fabric `base-cssd`", of_system),
        (device("nothing"), "device `nothing`", ": give a path"),
    ] {
        assert!(told.starts_with(&format!("unknown {name}{due}")), "{told}");
    }
}

#[test]
fn a_file_says_what_it_states_and_what_its_base_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.toml");
    std::fs::write(&path, "base = \"base-cssd\"\n[cpu]\nthreads = 5\n").unwrap();
    let described = describe_system(path.to_str().unwrap()).unwrap();
    assert!(described.states("cpu.threads") && !described.states("cpu.cores"));
    let base = describe_system("base-cssd").unwrap();
    assert_eq!(
        described.source_of("cpu.cores"),
        base.source_of("cpu.cores")
    );
    let own = described.source_of("cpu.threads");
    assert_eq!(own, format!("no source given in {}", path.display()));
    assert_eq!(described.source_of("cpu.no"), "");
    // A parameter of host or device that nobody states.
    let blank = parse_system("", "blank.toml").unwrap();
    assert_eq!(blank, sluice_config::System::default());
}

/// A setting goes to the part of a group that it names: its host, its workload, its link, itself.
#[test]
fn a_setting_reaches_a_group_s_part() {
    let mut spec = parse_fabric(ALL, "folder/all.toml").unwrap();
    for (key, value) in [
        ("host.workload", "silo"),
        ("host.cpu.threads", "5"),
        ("host.count", "2"),
        ("plain.link.bandwidth", "32000"),
        ("plain.depth", "9"),
        ("routing.policy", "adaptive"),
    ] {
        spec.set(key, value).unwrap();
    }
    let [plain, host] = &spec.requesters[..] else {
        panic!("two groups");
    };
    let of_host = host.host.as_ref().expect("a host");
    assert_eq!(of_host.runs, HostProgram::Kernel("silo".to_owned()));
    assert_eq!(of_host.raw.get("cpu.threads").as_deref(), Some("5"));
    assert_eq!(host.set, pairs(&[("count", "1"), ("count", "2")]));
    let link = [
        ("bandwidth", "8000"),
        ("latency", "5ns"),
        ("bandwidth", "32000"),
    ];
    assert_eq!(plain.link, pairs(&link));
    assert_eq!(
        plain.set.last(),
        Some(&("depth".to_owned(), "9".to_owned()))
    );
    assert_eq!(spec.raw.get("routing.policy").as_deref(), Some("adaptive"));
    for (key, said) in [
        ("host.cpu.thraeds", "unknown key `host.cpu.thraeds`"),
        ("plain.link.bandwith", "unknown key"),
        ("sw.link.bandwidth", "unknown key `sw.link.bandwidth`"),
        ("plain.workload", "unknown key `plain.workload`"),
    ] {
        let told = spec.set(key, "1").unwrap_err().to_string();
        assert!(told.contains(said), "{told}");
    }
}
