//! `sluice-guest` in a guest: every command has its effect on the host's device, and both see the
//! same statistics. A user without rights has what a broker of root's allows.

use super::my_turn;
use crate::sluice::{Sluice, finish};
use serde_json::{Value, json};
use sluice_testkit::build;
use sluice_testkit::child::{self, Watch};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// What the guest does, on a DAX device that nobody has mapped any more: its statistics stand still
/// between commands. The DAX device begins behind 2 MiB of labels; the cache has 2,048 pages, and
/// the pattern writes as many.
const COMMANDS: &str = r#"
once() {
    out=$(sluice-guest "$@" 2>&1); echo "status $? of $*: $(echo "$out" | head -n 1)"
}
settled() {
    until sluice-guest stats --as-is --json | grep -q "\"tunes\":$1"; do sleep 0.05; done
}
sluice workload pattern --size 8MiB --threads 1 --seconds 0 --file $DEVICE >/dev/null || exit 3
once flush 2MiB..10MiB
once flush 2MiB..10MiB
once evict all
once prefetch 0..64KiB
once prefetch 0..64KiB
once pin 32KiB..128KiB
once pin 32KiB..128KiB
once unpin 64KiB..128KiB
once unpin 64KiB..128KiB
once evict 0..16KiB
once evict 0..16KiB
once evict 32KiB..36KiB
once policy lru
once policy lru
once set nand.read=30us cache.pin_max=10%
once map
once map all --json
once pin 5..5
once pin 0..1TiB
once pin @0x7f0000000000+4KiB
once set cache.capacity=1GiB
once set nand.read
once policy none-such
once policy ./policy.so
once melt
mkdir -p /etc
echo 'user:x:1000:1000::/:/bin/sh' >/etc/passwd
user() {
    start-stop-daemon -S -q -p /none -c user -x /bin/sluice-guest -- "$@" 2>&1
}
other() {
    out=$(user --socket /tmp/broker "$@"); echo "status $? of user: $(echo "$out" | head -n 1)"
}
serve() {
    sluice-guest serve --socket /tmp/broker --mode 0666 "$@" &
    until user stats --as-is --socket=/tmp/broker >/dev/null; do sleep 0.05; done
}
other pin 32KiB..36KiB
serve --allow stats,pin
other pin 32KiB..36KiB
other evict all
kill -9 $!
other stats
serve
other prefetch 0..16KiB
kill $!
once serve --socket /tmp
once serve --mode rw
once stats
sluice-guest stats --json
settled 3
sluice-guest stats --json
settled 4
"#;

/// What it must have said, in that order.
const SAID: [&str; 33] = [
    "status 0 of flush 2MiB..10MiB: flush 0x200000+0x800000: 2048 of 2048 pages",
    "status 0 of flush 2MiB..10MiB: flush 0x200000+0x800000: 0 of 2048 pages; 2048 with nothing to \
     program",
    "status 0 of evict all: evict 0x0+0x10000000: 2048 of 65536 pages; 63488 not cached",
    "status 0 of prefetch 0..64KiB: prefetch 0x0+0x10000: 16 of 16 pages",
    "status 0 of prefetch 0..64KiB: prefetch 0x0+0x10000: 0 of 16 pages; 16 cached already",
    "status 0 of pin 32KiB..128KiB: pin 0x8000+0x18000: 24 of 24 pages",
    "status 0 of pin 32KiB..128KiB: pin 0x8000+0x18000: 0 of 24 pages; 24 pinned already",
    "status 0 of unpin 64KiB..128KiB: unpin 0x10000+0x10000: 16 of 16 pages",
    "status 0 of unpin 64KiB..128KiB: unpin 0x10000+0x10000: 0 of 16 pages; 16 not pinned",
    "status 0 of evict 0..16KiB: evict 0x0+0x4000: 4 of 4 pages",
    "status 0 of evict 0..16KiB: evict 0x0+0x4000: 0 of 4 pages; 4 not cached",
    "status 1 of evict 32KiB..36KiB: evict 0x8000+0x1000: 0 of 1 pages; 1 refused, the first at \
     0x8000: it is pinned: unpin it first",
    "status 0 of policy lru: set: cache.policy=lru",
    "status 0 of policy lru: set: nothing changed: it was so already",
    "status 0 of set nand.read=30us cache.pin_max=10%: set: nand.read=30us cache.pin_max=10%",
    "status 0 of map: 28 pages cached, 28 mapped, 8 pinned",
    "status 0 of map all --json: {\"cached\":28,",
    "status 2 of pin 5..5: error: invalid value '5..5' for '<RANGE>...': the range is empty",
    "status 1 of pin 0..1TiB: pin 0x0+0x10000000000: refused: the device has 256MiB; \
     expected a range in 0..256MiB",
    "status 2 of pin @0x7f0000000000+4KiB: sluice-guest: bad range @0x7f0000000000: in a guest",
    "status 2 of set cache.capacity=1GiB: sluice-guest: `cache.capacity` cannot change",
    "status 2 of set nand.read: sluice-guest: bad setting \"nand.read\": expected KEY=VALUE",
    "status 2 of policy none-such: sluice-guest: bad value for `cache.policy`",
    "status 2 of policy ./policy.so: sluice-guest: bad value for `cache.policy`: \"./policy.so\": \
     a shared object is loaded when the device is made, not while it runs",
    "status 2 of melt: error: unrecognized subcommand 'melt'",
    "status 2 of user: sluice-guest: only root may open this guest's control ring",
    "status 0 of user: pin 0x8000+0x1000: 0 of 1 pages; 1 pinned already",
    "status 2 of user: sluice-guest: the broker does not allow evict: root chooses",
    "status 2 of user: sluice-guest: /tmp/broker: no broker answers there",
    "status 0 of user: prefetch 0x0+0x4000: 4 of 4 pages",
    "status 2 of serve --socket /tmp: sluice-guest: /tmp: there, and no socket; remove it",
    "status 2 of serve --mode rw: sluice-guest: bad value for --mode: \"rw\"",
    "status 0 of stats: traps ",
];

/// A guest under way, whose output is read line by line.
pub struct Guest {
    child: Child,
    lines: BufReader<ChildStdout>,
    _watch: Watch,
}

impl Guest {
    fn start() -> Guest {
        build::guest_program(env!("CARGO_BIN_EXE_sluice"));
        let mut command = Sluice::command();
        command.args([
            "vm",
            "--demo",
            "--attach",
            "dax",
            "--guest-command",
            COMMANDS,
        ]);
        for setting in ["cache.capacity=8MiB", "nand.read=20us", "nand.program=1us"] {
            command.args(["--set", setting]);
        }
        Guest::of(&mut command)
    }

    /// A command that boots a guest.
    pub fn of(command: &mut Command) -> Guest {
        let mut child = child::with_default_signals(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("a command that starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let _watch = Watch::over(&child, child::LIMIT).expect("a thread");
        Guest {
            child,
            lines,
            _watch,
        }
    }

    /// What the guest says next.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("text");
        assert!(line.ends_with('\n'), "it ended: {line:?}");
        line.trim_end().to_owned()
    }

    /// The number of the command's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the command's end.
    pub fn end(mut self) -> ExitStatus {
        self.child.wait().expect("our own child")
    }

    /// `sluice ctl` of it, on the host.
    fn ctl(&self, arguments: &[&str]) -> Value {
        let mut command = Sluice::command();
        let pid = self.child.id().to_string();
        let out = finish(command.args(["ctl", &pid]).args(arguments).arg("--json"));
        assert!(out.status.success(), "{out:#?}");
        out.json()
    }

    /// What the guest reads next is what the host reads then: every counter, both histograms.
    fn assert_same_statistics(&mut self) -> Value {
        let line = self.line();
        let guest: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(guest["sequence"].is_u64(), "{guest:#}");
        assert_eq!(guest, self.ctl(&["stats", "--as-is"]));
        guest
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // One that has ended is left alone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_command_of_a_guest_has_its_effect_and_both_sides_see_it() {
    let _turn = my_turn();
    let mut guest = Guest::start();
    for expected in SAID {
        let line = guest.line();
        assert!(
            line.starts_with(expected),
            "expected {expected}\nsaid {line}"
        );
    }
    let stats = guest.assert_same_statistics();
    let expected = [
        ("command_prefetches", 16 + 4),
        ("command_evictions", 2048 + 4),
        ("pins", 24),
        ("pinned_pages", 8),
        ("cached_pages", 32),
        ("flushes", 2048),
        ("tunes", 2),
        ("commands_refused", 2),
    ];
    for (counter, value) in expected {
        assert_eq!(stats["counters"][counter], value, "{counter}: {stats:#}");
    }
    // The device is as the guest left it.
    let map = guest.ctl(&["map"]);
    let run = |start: u64, pages: u64, is: &[&str]| {
        let (start, length) = (start << 10, pages * 4096);
        json!({ "start": start, "length": length, "is": is })
    };
    let both = ["cached", "mapped"];
    let runs = [
        run(0, 8, &both),
        run(32, 8, &["cached", "mapped", "pinned"]),
        run(64, 16, &both),
    ];
    assert_eq!(map["runs"], Value::from(runs.to_vec()), "{map:#}");
    assert_eq!(guest.ctl(&["policy", "lru"])["status"], "nothing");
    assert_eq!(guest.ctl(&["set", "nand.read=30us"])["status"], "nothing");
    // The guest sees what the host does.
    guest.ctl(&["prefetch", "1MiB..2MiB"]);
    guest.ctl(&["set", "nand.read=25us"]);
    let stats = guest.assert_same_statistics();
    assert_eq!(stats["counters"]["command_prefetches"], 16 + 4 + 256);
    guest.ctl(&["set", "nand.read=20us"]);
    let status = guest.child.wait().expect("our own child");
    assert!(status.success(), "{status}");
}
