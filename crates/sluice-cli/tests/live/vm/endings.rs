//! What is left when a part of a guest's run is killed: no process, and no session.

use super::my_turn;
use super::several::stand_in;
use crate::sluice::{Running, Sluice, finish};
use std::time::{Duration, Instant};

/// Far more than either takes, for a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// QEMU is to follow a command that is killed at once.
const SOON: Duration = Duration::from_secs(10);

/// What a process was started with; nothing once it has ended.
fn command_line(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// QEMU, once it is QEMU and no more the command's own copy.
fn qemu_of(command: i32) -> Option<i32> {
    let path = format!("/proc/{command}/task/{command}/children");
    let children = std::fs::read_to_string(path).ok()?;
    let mut pids = children.split_whitespace().filter_map(|p| p.parse().ok());
    pids.find(|pid| command_line(*pid).starts_with("qemu-system"))
}

fn await_some<T>(limit: Duration, what: &str, look: impl Fn() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A guest that has begun to boot, and the process id of its QEMU.
fn booting() -> (Running, i32) {
    let mut command = Sluice::command();
    command.args(["vm", "--demo", "--json", "--set", "nand.read=20us"]);
    let running = Running::start(&mut command);
    let qemu = await_some(LIMIT, "no QEMU", || qemu_of(running.id()));
    // The guest's kernel is under way then; what happens before must do as well.
    std::thread::sleep(Duration::from_secs(1));
    (running, qemu)
}

fn kill(pid: i32) {
    // SAFETY: no pointers; the process is our own child or its child.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

#[test]
fn a_killed_qemu_leaves_nothing_behind() {
    let _turn = my_turn();
    let (running, qemu) = booting();
    let session = running.await_session();
    kill(qemu);
    // Its end is that of everything that has its output, too.
    let out = running.finish();
    assert_eq!(out.signal(), Some(libc::SIGKILL), "{out:#?}");
    assert_eq!(out.json()["exit"]["signal"], libc::SIGKILL);
    assert_eq!(command_line(qemu), "");
    assert!(!session.exists(), "{session:?}");
}

#[test]
fn qemu_ends_with_the_command_and_so_does_its_session() {
    let _turn = my_turn();
    let (running, qemu) = booting();
    let session = running.await_session();
    kill(running.id());
    await_some(SOON, "QEMU lives on", || {
        command_line(qemu).is_empty().then_some(())
    });
    let out = running.finish();
    assert_eq!(out.signal(), Some(libc::SIGKILL), "{out:#?}");
    await_some(SOON, "its session is left", || {
        (!session.exists()).then_some(())
    });
}

/// The report had no traps, as that of a guest which leaves its device alone.
#[test]
fn a_qemu_that_refuses_its_arguments_has_no_figures() {
    for (arguments, named) in [
        (&["-no-such-option"][..], "-no-such-option"),
        (&["-kernel", "/no/such/kernel"], "/no/such/kernel"),
    ] {
        let mut command = Sluice::command();
        command.args(["vm", "--accel", "tcg", "--", "-display", "none"]);
        let out = finish(command.args(arguments));
        assert_eq!(out.status.code(), Some(1), "{out:#?}");
        let lines: Vec<&str> = out.stderr.lines().collect();
        let [theirs, ours] = lines[..] else {
            panic!("{out:#?}");
        };
        assert!(theirs.contains(named), "{out:#?}");
        assert!(ours.contains("QEMU ended with status 1"), "{out:#?}");
    }
}

/// Ctrl-C that this command alone was sent ended nothing: it ignored what it had to pass on.
#[test]
fn each_signal_that_asks_for_an_end_reaches_qemu() {
    let qemu = stand_in();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut command = Sluice::command();
        command.args(["vm", "--accel", "tcg", "--qemu", &qemu, "--json"]);
        command.args(["--set", "device.capacity=128MiB", "--", "-kernel", "wait"]);
        let running = Running::start(&mut command);
        let status = format!("/proc/{}/status", running.id());
        // Since then it has a QEMU to pass signals to.
        await_some(LIMIT, "it has started nothing", || {
            let text = std::fs::read_to_string(&status).ok()?;
            let handled = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
            let handled = u64::from_str_radix(handled.trim(), 16).ok()?;
            (handled & 1 << (libc::SIGQUIT - 1) != 0).then_some(())
        });
        // SAFETY: no pointers; the process is our own child.
        unsafe { libc::kill(running.id(), signal) };
        let out = running.finish();
        assert_eq!(out.signal(), Some(signal), "{out:#?}");
        assert_eq!(out.json()["exit"]["signal"], signal);
    }
}
