//! What the hosts of a fabric run, and which of them share a server.

use sluice_config::parse_fabric;

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
