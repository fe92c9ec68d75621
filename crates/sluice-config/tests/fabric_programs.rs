//! What the hosts of a fabric run, and which of them share a server.

use sluice_config::parse_fabric;
use sluice_net::HostProgram;

/// Two hosts that replay a trace.
const TRACED: &str = r#"
[[requesters]]
name = "host"
count = 2
system = "base-cssd"
trace = "prog.trace"
[requesters.l2]
capacity = "256KiB"
"#;

#[test]
fn a_trace_is_beside_its_file_and_has_threads_of_its_own() {
    let mut spec = parse_fabric(TRACED, "folder/hosts.toml").unwrap();
    let host = |spec: &sluice_net::FabricSpec| spec.requesters[0].host.clone().expect("a host");
    let path = |spec: &sluice_net::FabricSpec| match host(spec).runs {
        HostProgram::Trace(path) => path.to_str().map(str::to_owned),
        HostProgram::Kernel(_) => None,
    };
    assert_eq!(path(&spec).as_deref(), Some("folder/prog.trace"));
    // Memory is empty at the start, as of a trace of a system without a fabric.
    for (key, value) in [("host.start", "empty"), ("host.rest", "no")] {
        assert_eq!(host(&spec).raw.get(key).as_deref(), Some(value), "{key}");
    }
    assert_eq!(
        host(&spec).raw.get("l2.capacity").as_deref(),
        Some("256KiB")
    );
    let absolute = TRACED.replace("prog.trace", "/tmp/prog.trace");
    let absolute = parse_fabric(&absolute, "folder/hosts.toml").unwrap();
    assert_eq!(path(&absolute).as_deref(), Some("/tmp/prog.trace"));
    // What is set on a command line counts from where the command is.
    spec.set("host.trace", "other.trace").unwrap();
    assert_eq!(path(&spec).as_deref(), Some("other.trace"));
    for (key, said) in [
        ("host.workload", "workload = 5: these hosts replay a trace"),
        ("host.cpu.threads", "cpu.threads = 5: a trace has threads"),
    ] {
        let told = spec.set(key, "5").unwrap_err().to_string();
        assert!(told.contains(said), "{told}");
    }
    let kernel = TRACED.replace("trace = \"prog.trace\"", "workload = \"bfs-dense\"");
    let mut kernel = parse_fabric(&kernel, "folder/all.toml").unwrap();
    let told = kernel.set("host.trace", "x.trace").unwrap_err().to_string();
    assert!(
        told.contains("trace = x.trace: these hosts run a kernel"),
        "{told}"
    );
}

#[test]
fn a_host_has_one_program() {
    for (from, to, said) in [
        (
            "trace = \"prog.trace\"",
            "trace = \"prog.trace\"\nworkload = \"bfs\"",
            "hosts.toml:6:9: `prog.trace`: expected no trace beside workload",
        ),
        (
            "trace = \"prog.trace\"",
            "",
            "hosts.toml:2:1: `workload`: expected it to be there, or trace",
        ),
        (
            "[requesters.l2]",
            "[requesters.cpu]\nthreads = 4\n[requesters.l2]",
            "hosts.toml:8:11: `4`: expected no cpu.threads",
        ),
        (
            "system = \"base-cssd\"",
            "",
            "`prog.trace`: expected no such key; only requesters have hosts",
        ),
    ] {
        let text = TRACED.replace(from, to);
        let told = parse_fabric(&text, "hosts.toml").unwrap_err().to_string();
        assert!(told.contains(said), "{told}");
    }
}

#[test]
fn requesters_are_sockets_of_servers() {
    let far = "[[requesters]]\nname = \"far\"\nsocket = \"host\"\n[socket]\nlatency = \"60ns\"\n";
    let spec = parse_fabric(&format!("{TRACED}{far}"), "hosts.toml").unwrap();
    let sockets = spec.requesters.iter().map(|group| group.socket.as_deref());
    assert_eq!(sockets.collect::<Vec<_>>(), [None, Some("host")]);
    assert_eq!(spec.raw.get("socket.latency").as_deref(), Some("60ns"));
    let endpoint = far.replace("requesters", "endpoints");
    let told = parse_fabric(&endpoint, "hosts.toml").unwrap_err();
    let said = "`host`: expected no such key; only requesters are sockets of servers";
    assert!(told.to_string().contains(said), "{told}");
}
