//! `sluice fabric`: the command as one uses it.

use crate::sluice;
use serde_json::Value;

fn run(words: &[&str]) -> Value {
    let short = ["--warmup", "2k", "--requests", "8k", "--json"];
    let output = sluice(&[&["fabric", "run"], words, &short].concat());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    crate::schema::checked(&output.stdout)
}

fn number(object: &Value, place: &str) -> f64 {
    let value = object.pointer(place).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no {place} in {object}"))
}

#[test]
fn a_run_is_the_same_twice_and_another_seed_another() {
    let first = run(&["esf"]);
    assert_eq!(first, run(&["esf"]));
    assert_ne!(first["hash"], run(&["esf", "--seed", "2"])["hash"]);
}

#[test]
fn the_object_adds_up() {
    let object = run(&[
        "esf",
        "--set",
        "topology.kind=spine-leaf",
        "--set",
        "requester.reads=50%",
    ]);
    assert_eq!(object["kind"], "fabric");
    assert_eq!(
        number(&object, "/reads") + number(&object, "/writes"),
        8_000.0
    );
    let parts = object["latency_parts_ns"].as_object().unwrap();
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    assert!((sum - number(&object, "/latency_mean_ns")).abs() < 0.01);
    let by_hops = object["hops"]["requests"].as_array().unwrap();
    assert_eq!(by_hops.len(), 17);
    assert_eq!(by_hops[3], 8_000);
    let each = object["requesters"].as_array().unwrap().iter();
    assert_eq!(
        each.filter_map(|one| one["requests"].as_u64()).sum::<u64>(),
        8_000
    );
    assert_eq!(object["bottleneck"]["kind"], "switch");
}

#[test]
fn a_bus_with_one_request_at_a_time_is_bound_by_its_requester() {
    let object = run(&["esf-validation"]);
    assert_eq!(object["bottleneck"]["kind"], "requester");
    assert_eq!(number(&object, "/latency_parts_ns/port"), 100.0);
}

#[test]
fn every_endpoint_type_serves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ssds.toml");
    let text = "base = \"esf\"\n[[endpoints]]\nname = \"ssd\"\ncount = 2\ndevice = \"cylon\"\n\
                [[endpoints]]\nname = \"dram\"\ncount = 1\ntype = \"dram\"\n\
                capacity = \"8GiB\"\n[requester]\ndepth = 4\n";
    std::fs::write(&path, text).unwrap();
    let object = run(&[path.to_str().unwrap()]);
    // A third of the memory is no third of the addresses: nearly all are the flash's.
    assert!(number(&object, "/latency_mean_ns") > 10_000.0);
}

#[test]
fn hosts_share_a_pooled_device_by_their_hierarchies() {
    let output = sluice(&["fabric", "check", "cxl2-pool"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        told.contains("vcs vcs1 of sw: host1 reaches dram1, ssd.1"),
        "{told}"
    );
    let object = run(&["cxl2-pool"]);
    let hierarchies = object["vcs"].as_array().unwrap();
    assert_eq!(hierarchies.len(), 2);
    let mut served = 0.0;
    for (index, vcs) in hierarchies.iter().enumerate() {
        assert_eq!(vcs["host"], format!("host{index}"));
        let devices = [format!("dram{index}"), format!("ssd.{index}")];
        for (at, device) in devices.iter().enumerate() {
            assert_eq!(vcs["vppbs"][at]["device"], *device);
            assert!(number(vcs, &format!("/vppbs/{at}/requests")) > 0.0);
        }
        served += number(vcs, "/requests");
    }
    // What the devices served is what came back, but for requests under way.
    assert!((served - 8_000.0).abs() <= 2.0 * 16.0, "{served}");
}

/// One line that says this, and status 2.
fn refused(words: &[&str], said: &str) {
    let output = sluice(words);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {message}");
    assert!(message.contains(said), "{words:?}: {message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn bad_input_is_one_line_and_status_2() {
    refused(&["fabric", "run", "esff"], "unknown fabric `esff`");
    refused(
        &["fabric", "show", "nowhere.toml"],
        "cannot read fabric file `nowhere.toml`",
    );
    refused(
        &["fabric", "run", "esf", "--set", "x"],
        "expected KEY=VALUE",
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool.toml");
    for (tables, said) in [
        (
            "[[vcs]]\nname = \"a\"\nhost = \"host0\"\n",
            "`host`: expected no such key",
        ),
        (
            "[[vcs]]\nname = \"a\"\nswitch = \"sw\"\nupstream = \"host0\"\nvppbs = \"ssd\"\n",
            "vcs `a`: there is no device `ssd`; there are ssd.0, ssd.1, dram0, dram1",
        ),
        (
            "[[requesters]]\nname = \"host\"\nlink = { bandwidht = 1 }\n",
            "did you mean `link.bandwidth`?",
        ),
    ] {
        std::fs::write(&path, format!("base = \"cxl2-pool\"\n{tables}")).unwrap();
        refused(&["fabric", "check", path.to_str().unwrap()], said);
    }
}

#[test]
fn bad_settings_are_one_line_and_status_2() {
    for (settings, said) in [
        (
            "topology.kind=star switch.ports=3",
            "`s0` has 3 ports, but link r3-s0 needs port 3",
        ),
        (
            "endpoint.type=tape",
            "bad value for `endpoint.type`: \"tape\"",
        ),
        (
            "endpoint.type=external",
            "`m0` is of type external and has no model; give library",
        ),
        (
            "requester.pattern=external",
            "no request was counted: the requesters have none (requester.pattern)",
        ),
        ("map.granularity=100B", "granules of 100 B"),
        ("requester.footprint=64GiB", "are mapped without a"),
        (
            "topology.kind=ring topology.placement=alternate link.credits=1",
            "deadlock after",
        ),
    ] {
        let sets = settings.split(' ').flat_map(|pair| ["--set", pair]);
        let words: Vec<&str> = ["fabric", "run", "esf"].into_iter().chain(sets).collect();
        refused(&words, said);
    }
}

#[test]
fn lists_and_tables_are_shown() {
    for words in [
        &["fabric", "list"][..],
        &["fabric", "choices"],
        &["fabric", "show"],
        &["fabric", "check", "esf-duplex"],
        &["fabric", "run", "esf", "--requests", "1k", "--warmup", "1k"],
    ] {
        let output = sluice(words);
        assert!(
            output.status.success() && output.stdout.len() > 30,
            "{words:?}"
        );
    }
}

/// A check counted the ends of a bus as switches.
#[test]
fn a_check_counts_switches_alone() {
    for (fabric, switches) in [("esf-validation", "0 switches"), ("esf", "8 switches")] {
        let output = sluice(&["fabric", "check", fabric]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(switches), "{said}");
    }
}

/// Parameters of the whole fabric alone were shown.
#[test]
fn groups_are_shown_by_the_keys_that_set_takes() {
    let output = sluice(&["fabric", "show", "skybyte-pool", "--json"]);
    let rows = serde_json::from_slice::<Value>(&output.stdout).expect("a list");
    let rows = rows.as_array().expect("rows");
    let value = |key: &str| {
        let row = rows.iter().find(|row| row["key"] == key);
        row.map(|row| row["value"].as_str().expect("a text").to_owned())
    };
    assert_eq!(value("ssd.count").as_deref(), Some("4"));
    assert_eq!(value("ssd.write_log.capacity").as_deref(), Some("64MiB"));
    let set = format!("ssd.write_log.capacity={}", "32MiB");
    let check = sluice(&["fabric", "check", "skybyte-pool", "--set", &set]);
    assert!(check.status.success());
    let hosts = sluice(&["fabric", "show", "skybyte-hosts-64th"]);
    let text = String::from_utf8_lossy(&hosts.stdout).into_owned();
    for key in [".system ", ".workload ", ".scale ", ".cpu."] {
        assert!(text.contains(key), "{key}: {text}");
    }
}
