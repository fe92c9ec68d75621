//! The Redis load generator against a real server: is a right answer accepted, and a wrong
//! one found?

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{json, text, workload};

/// A server of its own for each test, stopped when the test ends.
struct Server {
    child: Child,
    dir: tempfile::TempDir,
}

impl Server {
    /// Starts a server in `dir`, where it also finds a data set. Nothing when there is no
    /// `redis-server` to run.
    fn start(dir: tempfile::TempDir) -> Option<Self> {
        // A server that was killed leaves its socket behind.
        let _ = std::fs::remove_file(dir.path().join("redis.sock"));
        let child = Command::new("redis-server")
            .args(["--port", "0", "--unixsocket", "redis.sock", "--save", ""])
            .current_dir(dir.path())
            .stdout(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            eprintln!("no redis-server on PATH: not tested");
            return None;
        };
        let server = Self { child, dir };
        let started = Instant::now();
        while !server.socket().exists() {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "redis-server does not start"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(server)
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("redis.sock")
    }

    /// Stops the server without a word, as a crash does; its files stay.
    fn kill(mut self) -> tempfile::TempDir {
        self.end();
        std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap())
    }

    fn end(&mut self) {
        // A server that has gone already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn run(socket: &Path, more: &str) -> std::process::Output {
    let all = format!(
        "redis --json --value-size 200 --socket {} {more}",
        socket.display()
    );
    workload(&all)
}

#[test]
fn every_mix_reads_what_it_wrote() {
    let Some(server) = Server::start(tempfile::tempdir().unwrap()) else {
        return;
    };
    for mix in ["A", "B", "C", "D", "F"] {
        let flags = format!("--phase all --mix {mix} --records 3000 --ops 6000 --connections 5");
        let output = run(&server.socket(), &flags);
        assert!(output.status.success(), "{mix}: {}", text(&output.stderr));
        let report = json(&output);
        assert_eq!(
            (report["errors"].as_u64(), report["mismatches"].as_u64()),
            (Some(0), Some(0))
        );
        assert_eq!(report["latency_ns"]["count"], 6000);
        assert_eq!(report["passes"][0]["accesses"], 3000);
        // Every record once, and at least half the operations but for chance.
        assert!(report["values_checked"].as_u64().unwrap() >= 3000 + 2700);
    }
}

#[test]
fn a_second_run_accepts_versions_of_the_first() {
    let Some(server) = Server::start(tempfile::tempdir().unwrap()) else {
        return;
    };
    let flags = "--mix A --records 500 --ops 4000";
    for phase in ["both", "run", "verify"] {
        let output = run(&server.socket(), &format!("{flags} --phase {phase}"));
        assert!(output.status.success(), "{phase}: {}", text(&output.stderr));
    }
    let output = run(&server.socket(), "--mix C --records 500 --phase verify");
    assert_eq!(
        output.status.code(),
        Some(1),
        "version 0 alone is right under C"
    );
    assert!(text(&output.stderr).contains("expected version 0, found version"));
}

#[test]
fn damage_in_the_server_is_found() {
    let Some(server) = Server::start(tempfile::tempdir().unwrap()) else {
        return;
    };
    assert!(
        run(&server.socket(), "--records 400 --phase load")
            .status
            .success()
    );
    let ask = |parts: &[&str]| {
        let mut stream = std::os::unix::net::UnixStream::connect(server.socket()).unwrap();
        writeln!(stream, "{}\r", parts.join(" ")).unwrap();
        assert!(stream.read(&mut [0; 64]).unwrap() > 0);
    };
    ask(&["SETRANGE", "user123", "100", "x"]);
    ask(&["DEL", "user77"]);
    ask(&["APPEND", "user5", "y"]);
    ask(&["LPUSH", "wrong", "type"]);
    ask(&["RENAME", "wrong", "user9"]);
    let output = run(&server.socket(), "--records 400 --phase verify");
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert_eq!(
        (report["mismatches"].as_u64(), report["errors"].as_u64()),
        (Some(3), Some(1))
    );
    let told = text(&output.stderr);
    assert!(
        told.contains("key 77: expected a record, found none"),
        "{told}"
    );
    assert!(
        told.contains("key 5: expected 200 bytes, found 201 bytes"),
        "{told}"
    );
    assert!(
        told.contains("key 123: expected ") && told.contains("at byte 96"),
        "{told}"
    );
}

#[test]
fn a_save_under_load_holds_every_value() {
    let Some(server) = Server::start(tempfile::tempdir().unwrap()) else {
        return;
    };
    let flags = "--mix A --records 4000 --ops 20000 --phase both --bgsave-at 0.5";
    let output = run(&server.socket(), flags);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let save = &json(&output)["bgsave"];
    assert_eq!(save["status"], "ok");
    assert!(save["at_request"].as_u64().unwrap() >= 10_000);
    let server = Server::start(server.kill()).expect("it started before");
    let output = run(&server.socket(), "--mix A --records 4000 --phase verify");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(json(&output)["values_checked"], 4000);
}

/// A server that answers PING and then breaks the connection.
fn broken_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = |mut stream: TcpStream| {
        let mut bytes = [0; 512];
        while let Ok(n @ 1..) = stream.read(&mut bytes) {
            if !bytes[..n].windows(4).any(|part| part == b"PING") {
                return;
            }
            stream.write_all(b"+PONG\r\n").unwrap();
        }
    };
    std::thread::spawn(move || listener.incoming().flatten().for_each(serve));
    port
}

#[test]
fn a_broken_connection_is_an_error_and_not_a_hang() {
    let port = broken_server();
    let output = workload(&format!(
        "redis --json --port {port} --connections 2 --records 10"
    ));
    assert_eq!(output.status.code(), Some(1));
    assert!(json(&output)["errors"].as_u64().unwrap() >= 2);
    assert!(
        text(&output.stderr).contains("connection 0: "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn no_server_is_told_at_once() {
    let output = workload("redis --socket /nowhere/redis.sock");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("connecting to /nowhere/redis.sock"));
    assert!(output.stdout.is_empty());
}
