//! The programs: sort, gzip, and a Redis server under load.

use serde_json::Value;
use sluice_testkit::build;
use std::fmt::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Something to run.
pub struct Program {
    pub name: &'static str,
    words: Vec<String>,
    /// Of a server: where it listens, and how many requests it gets.
    load: Option<(u16, u32)>,
}

/// What a run took and did.
pub struct Run {
    pub cpu_s: f64,
    pub accesses: f64,
    pub instructions: f64,
    pub bytes_per_access: Option<f64>,
}

/// All programs, with their input in a folder.
pub fn all(dir: &Path, smoke: bool) -> Vec<Program> {
    let input = input(dir, if smoke { 2_000 } else { 100_000 });
    let port = free_port();
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect();
    let program = |name, text, load| Program {
        name,
        words: words(text),
        load,
    };
    let redis = format!("redis-server --port {port} --save --bind 127.0.0.1 --loglevel warning");
    let requests = if smoke { 200 } else { 50_000 };
    vec![
        program("sort", format!("sort --parallel=1 {input}"), None),
        program("gzip", format!("gzip -kf {input}"), None),
        program("redis", redis, Some((port, requests))),
    ]
}

/// Lines of numbers without order; the same each time.
fn input(dir: &Path, lines: u64) -> String {
    let mut text = String::new();
    for line in 0..lines {
        let number = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        writeln!(text, "{number}").expect("a string takes everything");
    }
    let path = dir.join("lines");
    std::fs::write(&path, text).expect("the input");
    path.to_string_lossy().into_owned()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its number").port()
}

/// CPU time of children that were waited for.
fn children_s() -> f64 {
    // SAFETY: plain data, for which zeros are valid, and a live buffer.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let s = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    s(usage.ru_utime) + s(usage.ru_stime)
}

impl Program {
    /// CPU time under QEMU alone.
    pub fn plain(&self) -> f64 {
        let mut command = Command::new("qemu-x86_64");
        let program = which(&self.words[0]);
        command.arg(program).args(&self.words[1..]);
        self.run(&mut command).0
    }

    /// Under `sluice`, with the arguments of a mode.
    pub fn under(&self, mode: &[&str], dir: &Path) -> Run {
        let sluice = env!("CARGO_BIN_EXE_sluice");
        let plugin = build::library(sluice, "sluice-qemu-plugin", "libsluice_qemu.so");
        let mut command = Command::new(sluice);
        command.env("SLUICE_QEMU_PLUGIN", plugin);
        command.args(mode).arg("--json");
        if mode[0] == "trace" {
            command.arg("-o").arg(dir.join("trace"));
        }
        command.arg("--").args(&self.words);
        let (cpu_s, output) = self.run(&mut command);
        let last = output.trim_end().rsplit('\n').next().unwrap_or_default();
        let object: Value = serde_json::from_str(last).expect("an object on the last line");
        let number = |place| object.pointer(place).and_then(Value::as_f64);
        let executed = ["/instructions", "/program/instructions"]
            .iter()
            .find_map(|place| object.pointer(place)?.as_array())
            .expect("instructions of each CPU");
        Run {
            cpu_s,
            accesses: number("/accesses_seen")
                .or(number("/program/accesses"))
                .expect("accesses"),
            instructions: executed.iter().filter_map(Value::as_f64).sum(),
            bytes_per_access: number("/bytes_per_access"),
        }
    }

    /// CPU time of the command without that of the load, and what it printed.
    fn run(&self, command: &mut Command) -> (f64, String) {
        let before = children_s();
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().expect("QEMU and sluice");
        let load_s = match self.load {
            Some((port, requests)) => load(port, requests, &child),
            None => 0.0,
        };
        let out = child.wait_with_output().expect("a program that ends");
        let output = String::from_utf8_lossy(&out.stdout).into_owned();
        (children_s() - before - load_s, output)
    }
}

/// Loads a Redis server and ends it. CPU time of the programs that do so.
fn load(port: u16, requests: u32, server: &Child) -> f64 {
    for attempt in 0.. {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            break;
        }
        assert!(attempt < 600, "process {} does not listen", server.id());
        std::thread::sleep(Duration::from_millis(100));
    }
    let before = children_s();
    let (port, requests) = (port.to_string(), requests.to_string());
    let status = Command::new("redis-benchmark")
        .args([
            "-p", &port, "-n", &requests, "-t", "set,get", "-r", "100000", "-d", "256", "-q",
        ])
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("redis-benchmark").success());
    let status = Command::new("redis-cli")
        .args(["-p", &port, "shutdown", "nosave"])
        .stderr(Stdio::null())
        .status();
    status.expect("redis-cli");
    children_s() - before
}

/// QEMU takes a path.
fn which(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("no program {name}"))
}
