//! Redis: the report, what the server was asked for it, and what goes wrong.

use serde_json::{Value, json};

use crate::common::{json as object, text, workload};
use crate::figures::{Run, float, number, run};
use crate::server::{Server, State, bulk, truth};
use crate::stores::{check_operations, count};

const FLAGS: &str = "--records 100 --ops 301 --value-size 40 --connections 3 --seed 2";

fn report(server: &Server, mix: &str, phase: &str, flags: &str) -> Run {
    let port = server.port;
    let run = run(&format!(
        "redis --port {port} --mix {mix} --phase {phase} {FLAGS} {flags}"
    ));
    let distribution = if mix == "D" { "latest" } else { "zipfian" };
    let params = json!({
        "server": format!("127.0.0.1:{port}"), "mix": mix, "distribution": distribution,
        "records": 100, "ops": 301, "value_bytes": 40, "connections": 3, "phase": phase, "seed": 2,
    });
    assert_eq!(run.report["params"], params);
    assert_eq!(
        run.heading,
        format!(
            "redis at 127.0.0.1:{port}: YCSB-{mix}, 100 records of 40B, 301 operations, \
             3 connections, seed 2"
        )
    );
    let figure = |name: &str| number(&run.report[name]);
    assert_eq!((figure("errors"), figure("mismatches")), (0, 0));
    let requests: u64 = run.phases().iter().map(|(_, requests)| requests).sum();
    assert_eq!(figure("requests"), requests);
    run
}

/// What stands below the operations where nothing was saved.
fn checked(run: &Run) -> String {
    let checked = number(&run.report["values_checked"]);
    format!("{checked} values checked, 0 wrong, 0 requests failed")
}

#[test]
fn each_phase_asks_the_server_for_what_it_reports() {
    for (mix, written) in [
        ("A", "update"),
        ("C", "none"),
        ("D", "insert"),
        ("F", "rmw"),
    ] {
        let server = Server::start(truth);
        for (phase, load, ops, verify) in [
            ("load", true, false, false),
            ("run", false, true, false),
            ("verify", false, false, true),
            ("both", true, true, false),
            ("all", true, true, true),
        ] {
            // Each run knows of the records that it has at the start.
            server.with(|state| state.records.retain(|key, _| key.len() <= "user99".len()));
            let run = report(&server, mix, phase, "");
            let wrote = count(&run.report, written);
            let read = count(&run.report, "read") + count(&run.report, "rmw");
            let at_end = 100 + count(&run.report, "insert");
            let mut phases = Vec::new();
            phases.extend(load.then_some(("load", 100)));
            phases.extend(ops.then_some(("run", 301)));
            phases.extend(verify.then_some(("verify", at_end)));
            assert_eq!(run.phases(), phases, "{mix} {phase}");
            let due = read + u64::from(verify) * at_end;
            assert_eq!(number(&run.report["values_checked"]), due, "{mix} {phase}");
            assert_eq!(server.take_asked("PING"), 1);
            assert_eq!(server.take_asked("GET"), due, "{mix} {phase}");
            assert_eq!(server.take_asked("SET"), wrote + u64::from(load) * 100);
            assert_eq!(server.take_asked("BGSAVE"), 0);
            assert!(run.report["bgsave"].is_null());
            assert_eq!(check_operations(&run), checked(&run));
            let records = server.with(|state| state.records.len() as u64);
            assert_eq!(records, at_end, "{mix} {phase}");
        }
        let values = server.with(|state| state.records.clone());
        for (key, value) in values {
            assert!(key.starts_with("user") && value.len() == 40, "{key}");
        }
    }
}

#[test]
fn a_save_reports_when_it_began_and_what_came_meanwhile() {
    for (share, least) in [("0", 0), ("0.5", 150), ("1", 301)] {
        let server = Server::start(truth);
        let run = report(&server, "A", "both", &format!("--bgsave-at {share}"));
        let save = &run.report["bgsave"];
        let (at, meanwhile) = (
            number(&save["at_request"]),
            number(&save["requests_meanwhile"]),
        );
        assert!(at >= least && at + meanwhile <= 301, "{save}");
        // Three answers that it is under way, 20 ms of waiting after each.
        let seconds = float(&save["seconds"]);
        assert!((0.06..10.0).contains(&seconds), "{seconds}");
        assert_eq!(save["status"], "ok");
        assert_eq!(server.take_asked("BGSAVE"), 1);
        assert_eq!(server.take_asked("INFO"), 1 + 4);
        let told = format!(
            "BGSAVE after {at} requests: ok in {seconds:.2} s, {meanwhile} requests meanwhile\n{}",
            checked(&run)
        );
        assert_eq!(check_operations(&run), told);
    }
}

/// A run that fails: its status, its object and its message.
fn failing(server: &Server, flags: &str) -> (Option<i32>, Value, String) {
    let output = workload(&format!(
        "redis --json --port {} {FLAGS} {flags}",
        server.port
    ));
    let object = match output.stdout.is_empty() {
        true => Value::Null,
        false => object(&output),
    };
    (output.status.code(), object, text(&output.stderr))
}

fn is(command: &[Vec<u8>], name: &[u8]) -> bool {
    command[0] == name
}

#[test]
fn a_store_that_is_refused_is_counted_and_the_first_ten_are_told() {
    let server =
        Server::start(|_, command| is(command, b"SET").then(|| b"-ERR no room\r\n".to_vec()));
    let (status, object, told) = failing(&server, "--phase load");
    assert_eq!((status, number(&object["errors"])), (Some(1), 100));
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 11, "{told}");
    assert_eq!(lines[0], "redis: 100 requests failed");
    for line in &lines[1..] {
        assert!(line.starts_with("SET user") && line.ends_with("answered Error(\"ERR no room\")"));
    }
    // A record that was not added does not count as there: the next one has its number.
    let server = Server::start(|_, command| {
        let is_new = is(command, b"SET") && command[1].len() > "user99".len();
        is_new.then(|| b"-ERR no room\r\n".to_vec())
    });
    let (_, object, told) = failing(&server, "--mix D --phase both");
    let inserts = count(&object, "insert");
    assert_eq!(number(&object["errors"]), inserts);
    assert!(
        inserts > 0 && told.contains("SET user100 answered"),
        "{told}"
    );
    assert!(!told.contains("user101"), "{told}");
}

#[test]
fn records_that_are_not_there_or_no_record_are_told() {
    let lost = |state: &mut State, command: &[Vec<u8>]| {
        let is_lost = is(command, b"SET") && command[1].ends_with(b"7");
        state.records.remove("user7");
        is_lost.then(|| b"+OK\r\n".to_vec())
    };
    let (status, object, told) = failing(&Server::start(lost), "--phase all");
    assert_eq!(status, Some(1));
    let mismatches = number(&object["mismatches"]);
    // Ten of a hundred records end with a 7.
    assert!(mismatches >= 10, "{mismatches}");
    assert!(
        told.starts_with(&format!("redis: {mismatches} values wrong\n")),
        "{told}"
    );
    assert_eq!(told.lines().count(), 11);
    assert!(told.contains("7: expected a record, found none"), "{told}");
    let server = Server::start(|_, command| is(command, b"GET").then(|| b":5\r\n".to_vec()));
    let (status, object, told) = failing(&server, "--phase both");
    assert_eq!((status, number(&object["errors"])), (Some(1), 301));
    assert_eq!(number(&object["values_checked"]), 0);
    assert!(told.contains("answered Integer(5)"), "{told}");
}

#[test]
fn a_value_of_another_length_is_told() {
    let server = Server::start(|state, command| {
        let value = is(command, b"GET").then(|| state.records["user3"].clone())?;
        Some(bulk(&value[..39]))
    });
    let (status, _, told) = failing(&server, "--phase both");
    assert_eq!(status, Some(1));
    assert!(told.contains("expected 40 bytes, found 39 bytes"), "{told}");
}

/// Where nobody writes, records are as they were loaded; where somebody does, they may be of any
/// version until this run replaces them.
#[test]
fn a_version_that_this_run_cannot_know_is_right_where_a_mix_writes() {
    let server = Server::start(truth);
    report(&server, "A", "both", "");
    assert_eq!(failing(&server, "--mix A --phase run").0, Some(0));
    let (status, _, told) = failing(&server, "--mix C --phase verify");
    assert_eq!(status, Some(1));
    assert!(told.contains("expected version 0, found version"), "{told}");
}

#[test]
fn a_server_that_reads_its_data_is_waited_for() {
    let server = Server::start(|state, command| {
        let is_loading = is(command, b"PING") && state.asked["PING"] < 4;
        is_loading.then(|| b"-LOADING the data set\r\n".to_vec())
    });
    report(&server, "C", "both", "");
    assert_eq!(server.take_asked("PING"), 4);
    let server = Server::start(|_, command| is(command, b"PING").then(|| b"-LOAD\r\n".to_vec()));
    let (status, object, told) = failing(&server, "");
    assert_eq!((status, object), (Some(1), Value::Null));
    assert!(told.contains("answers PING with Error(\"LOAD\")"), "{told}");
}

#[test]
fn a_save_that_fails_is_told() {
    for (instead, due) in [
        (
            (|_, command| is(command, b"BGSAVE").then(|| b"-ERR disk\r\n".to_vec()))
                as crate::server::Instead,
            "BGSAVE answered Error(\"ERR disk\")",
        ),
        (
            |_, command| is(command, b"INFO").then(|| b"+nothing\r\n".to_vec()),
            "INFO persistence answered Simple(\"nothing\")",
        ),
        (
            |_, command| is(command, b"INFO").then(|| bulk(b"rdb_bgsave_in_progress:0\r\n")),
            "INFO persistence does not report rdb_last_bgsave_status",
        ),
        (
            |_, command| {
                let info = b"rdb_bgsave_in_progress:0\r\nrdb_last_bgsave_status:err\r\n";
                is(command, b"INFO").then(|| bulk(info))
            },
            "BGSAVE ended with status \"err\", expected ok",
        ),
    ] {
        let server = Server::start(instead);
        let (status, object, told) = failing(&server, "--bgsave-at 0.5");
        assert_eq!((status, number(&object["errors"])), (Some(1), 1), "{told}");
        assert!(object["bgsave"].is_null());
        assert!(told.contains(due), "{told}");
    }
}
