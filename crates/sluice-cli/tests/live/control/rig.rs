//! A program on a device: a test says what both of them do.

use crate::build::helper;
use crate::sluice::{Outcome, Sluice, finish};
use serde_json::Value;
use sluice_testkit::child::{self, Watch};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Pages of the program, and of the cache that is there for them.
pub const PAGES: u64 = 4096;
pub const CACHE: u64 = 1024;
pub const PAGE: u64 = 4096;

/// A program that obeys lines of text, on a device that obeys the control ring.
pub struct Rig {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _watch: Watch,
    /// The process to command.
    pub pid: u64,
    /// Where its memory is, and which pages of the device that are.
    pub memory: u64,
}

impl Rig {
    pub fn start(trap: &str, settings: &[(&str, &str)]) -> Rig {
        Rig::start_by(trap, settings, |command| command)
    }

    /// Starts the program with its command changed first.
    pub fn start_by(
        trap: &str,
        settings: &[(&str, &str)],
        change: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Rig {
        let mut sluice = Sluice::run(trap).args(["--control", "on"]).cache("4MiB");
        for (key, value) in settings {
            sluice = sluice.set(key, value);
        }
        let program = helper!("control.c").to_str().expect("plain letters");
        let mut command = sluice.prepare([program]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = child::with_default_signals(change(&mut command))
            .spawn()
            .expect("a command that starts");
        let watch = Watch::over(&child, child::LIMIT).expect("a thread");
        let input = child.stdin.take().expect("a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words.len(), 2, "{line:?}");
        let memory = u64::from_str_radix(words[1].trim_start_matches("0x"), 16);
        Rig {
            child,
            input,
            output,
            _watch: watch,
            pid: words[0].parse().expect("a pid"),
            memory: memory.expect("an address"),
        }
    }

    /// Sends the program a line. Everything that it reads must be right.
    pub fn tell(&mut self, what: &str) {
        self.say(what);
        self.hear(what);
    }

    /// Sends the program a line, and does not wait for its answer.
    pub fn say(&mut self, what: &str) {
        writeln!(self.input, "{what}").expect("a program that listens");
    }

    /// Waits for the program's answer to `what`, which must be that all is right.
    pub fn hear(&mut self, what: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words.first(), Some(&"ok"), "{what}: {line:?}");
        self.pid = words[1].parse().expect("a pid");
    }

    pub fn ctl_outcome(&self, arguments: &[&str]) -> Outcome {
        let mut command = Sluice::command();
        command.args(["ctl", &self.pid.to_string()]).args(arguments);
        finish(&mut command)
    }

    pub fn ctl(&self, arguments: &[&str]) -> Value {
        let out = self.ctl_outcome(&[arguments, &["--json"]].concat());
        assert_eq!(out.stderr, "", "{arguments:?}: {out:#?}");
        out.json()
    }

    /// A command for pages of the program's memory: those changed, already so, and refused.
    pub fn pages(&self, what: &str, first: u64, count: u64) -> (u64, u64, u64) {
        let range = format!("@{:#x}+{:#x}", self.memory + first * PAGE, count * PAGE);
        let json = self.ctl(&[what, &range]);
        let number = |key: &str| json["ranges"][0][key].as_u64().expect("a number");
        assert_eq!(number("pages"), count, "{json}");
        (number("changed"), number("already"), number("refused"))
    }

    pub fn counter(&self, name: &str) -> u64 {
        let json = self.ctl(&["stats"]);
        json["counters"][name]
            .as_u64()
            .unwrap_or_else(|| panic!("no {name} in {json}"))
    }

    /// How much a counter grows while the program does something.
    pub fn grows(&mut self, counter: &str, what: &str) -> u64 {
        let before = self.counter(counter);
        self.tell(what);
        self.counter(counter) - before
    }

    /// Ends the program. The object of the whole run.
    pub fn quit(mut self) -> Value {
        writeln!(self.input, "quit").expect("a program that listens");
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text");
        let status = self.child.wait().expect("our own child");
        assert!(status.success(), "{status}: {rest}");
        crate::schema::checked(rest.lines().last().unwrap_or_default().as_bytes())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The program follows, for it can read nothing any more.
            let _ = self.child.kill();
        }
    }
}

/// The pages of the program that are cached.
pub fn cached(rig: &Rig) -> Vec<u64> {
    let map = rig.ctl(&["map", "all"]);
    let first = first_page(rig);
    let runs = map["runs"].as_array().expect("runs").iter();
    let cached = runs.filter(|run| run["is"].as_array().is_some_and(|is| is[0] == "cached"));
    let range = |run: &Value| {
        let number = |key: &str| run[key].as_u64().expect("a number") / PAGE;
        number("start")..number("start") + number("length")
    };
    let pages = cached
        .flat_map(range)
        .filter_map(|lpn| lpn.checked_sub(first));
    pages.filter(|page| *page < PAGES).collect()
}

/// The page of the device where the program's memory begins.
fn first_page(rig: &Rig) -> u64 {
    let place = sluice_control::DeviceFiles::of_process(rig.pid as u32).expect("a device");
    let view = sluice_control::View::open(&place).expect("a view");
    let heap_at = view
        .stats()
        .heap_at
        .load(std::sync::atomic::Ordering::Relaxed);
    (rig.memory - heap_at) / PAGE
}
