//! A guest that is up, and runs the chases that the benchmark sends by a serial port of its own.

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What a guest runs on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Guest {
    /// QEMU alone, the device an NVDIMM.
    Plain,
    /// QEMU with Sluice.
    Sluice,
    /// QEMU alone, the device its `cxl-type3`.
    Cxl,
}

/// A guest that waits for chases.
pub struct Booted {
    which: Guest,
    child: Child,
    line: BufReader<UnixStream>,
}

/// A FIFO of this size keeps what the chases of hits need, and never hits in the chase of misses.
/// Only reads are timed: the writes of the build must not queue before them.
const DEVICE: [&str; 3] = ["cache.capacity=24MiB", "nand.read=40us", "nand.program=0ns"];
/// The guest's loop: it runs a chase with the flags of each line, until a line says `end`.
const LOOP: &str = "stty -F /dev/ttyS2 raw -echo; exec 4<>/dev/ttyS2; echo ready >&4
    while read -r line <&4 && [ \"$line\" != end ]; do
        sluice workload chase --json --file $DEVICE $line >&4 2>&4
    done";
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// The longest chase takes seconds.
const PATIENCE: Duration = Duration::from_secs(120);

impl Guest {
    /// Starts the guest and waits until it takes chases.
    pub fn boot(self, dir: &Path) -> Booted {
        self.boot_with(dir, &[], &[])
    }

    /// The same, with settings of the device and arguments of QEMU besides.
    pub fn boot_with(self, dir: &Path, sets: &[&str], qemu: &[&str]) -> Booted {
        let socket = dir.join(format!("{self:?}.socket"));
        let said = dir.join(format!("{self:?}.err"));
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).expect("a socket");
        listener.set_nonblocking(true).expect("a socket's mode");
        let mut sluice = Command::new(env!("CARGO_BIN_EXE_sluice"));
        sluice.args(["vm", "--demo", "--json", "--guest-command", LOOP]);
        sluice.args(["--attach", if self == Guest::Cxl { "cxl" } else { "dax" }]);
        let sets = DEVICE.iter().chain(sets);
        sluice.args(sets.flat_map(|set| ["--set", set]));
        if self != Guest::Sluice {
            sluice.arg("--baseline");
        }
        let chardev = format!("socket,id=bench,path={}", socket.display());
        let serial = "isa-serial,chardev=bench,index=2";
        sluice.args(["--", "-chardev", &chardev, "-device", serial]);
        sluice.args(qemu);
        sluice.stdout(Stdio::piped());
        sluice.stderr(File::create(&said).expect("a file"));
        let mut child = sluice.spawn().expect("sluice");
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::sleep(LOOK_AGAIN),
                Err(e) => panic!("{self:?}: {e}"),
            }
            if child.try_wait().expect("a child").is_some() {
                let said = std::fs::read_to_string(&said).unwrap_or_default();
                panic!("{self:?}: {said}");
            }
        };
        stream.set_nonblocking(false).expect("a stream's mode");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut booted = Booted {
            which: self,
            child,
            line: BufReader::new(stream),
        };
        assert_eq!(booted.read(), "ready");
        booted
    }
}

impl Drop for Booted {
    /// A bench that fails leaves no guest: QEMU ends with `sluice`.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Booted {
    /// Runs a chase with these flags; its object.
    pub fn chase(&mut self, flags: &str) -> Value {
        self.say(flags);
        let said = self.read();
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{:?}: {flags}: {said}", self.which))
    }

    /// Ends the guest; what `sluice vm` says of it.
    pub fn end(mut self) -> Value {
        self.say("end");
        let mut text = String::new();
        let mut stdout = self.child.stdout.take().expect("a pipe");
        stdout.read_to_string(&mut text).expect("text");
        let status = self.child.wait().expect("sluice");
        assert!(status.success(), "{:?}: {status}", self.which);
        let object: Value =
            serde_json::from_str(text.lines().last().unwrap_or_default()).expect("an object");
        let traps = object.pointer("/workload/traps").and_then(Value::as_u64);
        assert_eq!(traps.is_some_and(|n| n > 0), self.which == Guest::Sluice);
        object
    }

    fn say(&mut self, line: &str) {
        writeln!(self.line.get_mut(), "{line}").expect("a guest that listens");
    }

    fn read(&mut self) -> String {
        let mut line = String::new();
        self.line.read_line(&mut line).expect("a guest that speaks");
        line.trim_end().to_owned()
    }
}
