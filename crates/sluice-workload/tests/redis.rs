//! The Redis load generator against a real server: is a right answer accepted, and a wrong
//! one found?

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{json, text, workload};
use sluice_testkit::child;

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
        let child = child::program("redis-server")
            .args(["--port", "0", "--unixsocket", "redis.sock", "--save", ""])
            .current_dir(dir.path())
            .stdout(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            eprintln!("no redis-server on PATH: not tested");
            return None;
        };
        let server = Self { child, dir };
        // Its socket is there before it listens. Looks are counted, not time: the machine may stop
        // server and test for a while.
        let listens = (0..6_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            UnixStream::connect(server.socket()).is_ok()
        });
        assert!(listens, "redis-server does not start");
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
        let mut stream = UnixStream::connect(server.socket()).unwrap();
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

type Records = BTreeMap<Vec<u8>, Vec<u8>>;
/// What a server of our own answers to a command; nothing breaks the connection.
type Answer = fn(&mut Records, &[Vec<u8>]) -> Option<Vec<u8>>;

/// A server that may do what a real one never does. Its port.
fn fake_server(answer: Answer) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let records = Arc::new(Mutex::new(Records::new()));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let records = Arc::clone(&records);
            std::thread::spawn(move || serve(stream, &records, answer));
        }
    });
    port
}

/// Answers commands until one breaks the connection.
fn serve(stream: TcpStream, records: &Mutex<Records>, answer: Answer) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    let number = |input: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        line.get(1..)?.trim_end().parse::<usize>().ok()
    };
    loop {
        let mut parts = Vec::new();
        for _ in 0..number(&mut input)? {
            let mut part = vec![0; number(&mut input)? + 2];
            input.read_exact(&mut part).ok()?;
            part.truncate(part.len() - 2);
            parts.push(part);
        }
        let reply = answer(&mut records.lock().unwrap(), &parts)?;
        out.write_all(&reply).ok()?;
    }
}

fn bulk(value: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
}

#[test]
fn a_broken_connection_is_an_error_and_not_a_hang() {
    let port = fake_server(|_, command| (command[0] == b"PING").then(|| b"+PONG\r\n".to_vec()));
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
fn a_replacement_that_was_acknowledged_and_lost_is_found() {
    let port = fake_server(|records, command| match command {
        [name, key, value] if name == b"SET" => {
            records.entry(key.clone()).or_insert_with(|| value.clone());
            Some(b"+OK\r\n".to_vec())
        }
        [name, key] if name == b"GET" => Some(bulk(records.get(key)?)),
        _ => Some(b"+PONG\r\n".to_vec()),
    });
    let output = workload(&format!(
        "redis --json --port {port} --mix A --records 50 --ops 500 --connections 2"
    ));
    assert_eq!(output.status.code(), Some(1));
    assert!(json(&output)["mismatches"].as_u64().unwrap() > 10);
    let told = text(&output.stderr);
    assert!(
        told.contains("version") && told.contains("found version 0"),
        "{told}"
    );
}

#[test]
fn no_server_is_told_at_once() {
    let output = workload("redis --socket /nowhere/redis.sock");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("connecting to /nowhere/redis.sock"));
    assert!(output.stdout.is_empty());
}

/// Between `bind` and `listen` of a server that is starting its socket refuses.
#[test]
fn a_server_that_is_about_to_listen_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("redis.sock");
    // SAFETY: plain data, for which zeros are valid.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as _;
    let name = path.to_str().unwrap().bytes();
    address
        .sun_path
        .iter_mut()
        .zip(name)
        .for_each(|(to, byte)| *to = byte as _);
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: a fresh socket, owned from here on, and a live address of that length.
    let listener = unsafe {
        let fd = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0);
        let listener = std::os::unix::net::UnixListener::from_raw_fd(fd);
        assert_eq!(libc::bind(fd, (&raw const address).cast(), len), 0);
        listener
    };
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        // SAFETY: an open descriptor.
        unsafe { libc::listen(listener.as_raw_fd(), 1) };
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"-ERR of another kind\r\n").unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    });
    let output = run(&path, "--records 1");
    let told = text(&output.stderr);
    assert!(
        told.contains("of another kind"),
        "it did not connect: {told}"
    );
}
