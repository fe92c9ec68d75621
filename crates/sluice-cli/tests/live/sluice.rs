//! Runs the built `sluice` and takes its result apart.

use crate::build;
use serde_json::Value;
use sluice_control::home::session_of_command;
use sluice_testkit::child;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A run that takes longer hangs. The machine may be busy, so this is far from what is normal.
const LIMIT: Duration = Duration::from_secs(150);

/// Both ways for a fault to reach the runtime.
pub const TRAPS: [&str; 2] = ["event", "signal"];

/// `sluice run` with a small device of quick flash, so that tests wait for little.
pub struct Sluice {
    command: Command,
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Sluice {
    /// The bare command.
    pub fn command() -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
        command.env("SLUICE_PRELOAD", build::preload_library());
        command
    }

    /// A live run in one trap mode, with its result as JSON.
    pub fn run(trap: &str) -> Sluice {
        let mut command = Sluice::command();
        command.args(["run", "--json", "--trap", trap]);
        Sluice { command }
            .set("device.capacity", "1GiB")
            .set("nand.read", "5us")
            .set("nand.program", "1us")
            .set("nand.erase", "5us")
    }

    /// Changes a setting; the last of a key counts.
    pub fn set(mut self, key: &str, value: &str) -> Sluice {
        self.command.arg("--set").arg(format!("{key}={value}"));
        self
    }

    /// With a device cache of this size.
    pub fn cache(self, size: &str) -> Sluice {
        self.set("cache.capacity", size)
    }

    /// More arguments of `sluice run`.
    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Sluice {
        self.command.args(args);
        self
    }

    /// An environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Sluice {
        self.command.env(name, value);
        self
    }

    /// Keeps a record of traps in a folder.
    pub fn record(self, folder: &Path) -> Sluice {
        self.args(["--record-traps", "1000000", "--out"])
            .args([folder])
    }

    /// The command, ready to be started by hand.
    pub fn prepare<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, program: I) -> Command {
        self.command.arg("--").args(program);
        self.command
    }

    /// Runs a program to its end.
    pub fn program<I: IntoIterator<Item: AsRef<OsStr>>>(self, program: I) -> Outcome {
        finish(&mut self.prepare(program))
    }

    /// Runs one of `sluice`'s own workloads, flags separated by blanks.
    pub fn workload(self, flags: &str) -> Outcome {
        let own = [env!("CARGO_BIN_EXE_sluice"), "workload"];
        self.program(own.into_iter().chain(flags.split_whitespace()))
    }
}

impl Outcome {
    /// The object on the last line of standard output.
    pub fn json(&self) -> Value {
        let line = self.stdout.lines().last().unwrap_or_default();
        crate::schema::checked(line.as_bytes())
    }

    /// What stands before it: the program's own. In a pipe a line end follows that.
    pub fn own_stdout(&self) -> &str {
        let end = self.stdout.trim_end_matches('\n');
        end.rfind('\n').map_or("", |at| &self.stdout[..at])
    }

    /// A number of the object, by path.
    pub fn number(&self, path: &str) -> u64 {
        let json = self.json();
        let value = json.pointer(path).and_then(Value::as_u64);
        value.unwrap_or_else(|| panic!("no number {path} in {json}"))
    }

    /// Insists that the program ended well and met the device.
    pub fn well(self) -> Outcome {
        assert!(self.status.success(), "{self:#?}");
        assert!(self.number("/traps") > 0, "nothing trapped: {self:#?}");
        self
    }

    /// Insists that the device was too small for all of it.
    pub fn evicted(self) -> Outcome {
        let out = self.well();
        assert!(
            out.number("/cache/evictions") > 0,
            "all fitted into the cache"
        );
        out
    }

    /// The signal that ended the command.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

/// Runs a command to its end, with all that it starts. A command that hangs is killed and fails
/// the test.
pub fn finish(command: &mut Command) -> Outcome {
    Running::start(command).finish()
}

/// A command that has been started, in a process group of its own.
pub struct Running {
    child: Child,
    stdout: mpsc::Receiver<String>,
    stderr: mpsc::Receiver<String>,
    what: String,
}

impl Running {
    pub fn start(command: &mut Command) -> Running {
        let what = format!("{command:?}");
        let mut child = child::with_default_signals(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        let stdout = reader(child.stdout.take());
        let stderr = reader(child.stderr.take());
        Running {
            child,
            stdout,
            stderr,
            what,
        }
    }

    /// Process id of the command, which is that of its group.
    pub fn id(&self) -> i32 {
        self.child.id() as i32
    }

    /// The directory of its session, once there is one.
    pub fn session(&self) -> Option<PathBuf> {
        session_of_command(self.id() as u32).map(|session| session.path)
    }

    /// Waits for that.
    pub fn await_session(&self) -> PathBuf {
        let started = Instant::now();
        loop {
            if let Some(path) = self.session() {
                return path;
            }
            assert!(started.elapsed() < LIMIT, "{} made no session", self.what);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal to every process of the group.
    pub fn signal_group(&self, signal: i32) {
        // SAFETY: no pointers; the group is our own child's.
        unsafe { libc::kill(-self.id(), signal) };
    }

    /// Waits for the end of the command and of everything that holds its output.
    pub fn finish(mut self) -> Outcome {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                break status;
            }
            if started.elapsed() > LIMIT {
                self.signal_group(libc::SIGKILL);
                let text = |from: &mpsc::Receiver<String>| {
                    from.recv_timeout(Duration::from_secs(5))
                        .unwrap_or_default()
                };
                let (stdout, stderr) = (text(&self.stdout), text(&self.stderr));
                panic!("{} hangs\n{stdout}\n{stderr}", self.what);
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let left = LIMIT.saturating_sub(started.elapsed());
        let text = |from: &mpsc::Receiver<String>| {
            from.recv_timeout(left).unwrap_or_else(|_| {
                self.signal_group(libc::SIGKILL);
                panic!("{} ended, but left a process behind", self.what)
            })
        };
        Outcome {
            status,
            stdout: text(&self.stdout),
            stderr: text(&self.stderr),
        }
    }
}

/// A test that fails leaves no run behind.
impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal_group(libc::SIGKILL);
        }
    }
}

fn reader(from: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let mut from = from.expect("a pipe");
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A pipe that breaks ends the text.
        let _ = from.read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

/// Stops a process, and waits until all its threads are stopped: until then one of them may go on.
pub fn stop(pid: i32) {
    // SAFETY: a process that a test started, no pointers.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGSTOP) }, 0);
    let end = Instant::now() + Duration::from_secs(60);
    let is_stopped = |task: std::io::Result<std::fs::DirEntry>| {
        let path = task.expect("a thread").path().join("stat");
        // One that has ended meanwhile does nothing either.
        std::fs::read_to_string(path).map_or(true, |stat| {
            let (_, state) = stat.rsplit_once(')').expect("a name");
            state.trim_start().starts_with('T')
        })
    };
    let tasks = || std::fs::read_dir(format!("/proc/{pid}/task")).expect("its threads");
    while !tasks().all(is_stopped) {
        assert!(Instant::now() < end, "process {pid} does not stop");
        std::thread::sleep(Duration::from_millis(1));
    }
}
