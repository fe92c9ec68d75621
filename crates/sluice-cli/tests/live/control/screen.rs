//! `sluice top` in a terminal.

use super::rig::Rig;
use crate::sluice::Sluice;
use rustix::termios::{LocalModes, tcgetattr};
use sluice_testkit::child;
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// What a terminal is given to show one screen more, and to show the first again.
const OTHER_SCREEN: &str = "\x1b[?1049h";
const FIRST_SCREEN: &str = "\x1b[?1049l";
/// Far longer than it takes to end, for a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// Both ends of a terminal, of which no other process gets one by being started meanwhile.
fn terminal() -> (File, File) {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: no pointers; descriptors are made here, and are nobody else's.
    unsafe {
        let ours = libc::posix_openpt(flags);
        assert!(ours >= 0 && libc::unlockpt(ours) == 0);
        let theirs = libc::ioctl(ours, libc::TIOCGPTPEER, flags);
        assert!(theirs >= 0, "{}", std::io::Error::last_os_error());
        (File::from_raw_fd(ours), File::from_raw_fd(theirs))
    }
}

/// Reads what a terminal shows up to a text. An error if nobody has it who could give that.
fn read_until(terminal: &mut File, wanted: &str) -> String {
    let (mut text, mut part) = (String::new(), [0; 4096]);
    while !text.contains(wanted) {
        let count = terminal.read(&mut part).expect("a terminal");
        text += &String::from_utf8_lossy(&part[..count]);
    }
    text
}

/// Starts `sluice top` in a terminal of its own. When it ends nobody has that terminal but us.
fn top(rig: &Rig, kind: &str, interval: &str) -> (Child, File) {
    let (ours, theirs) = terminal();
    let mut command = Sluice::command();
    command.args(["top", &rig.pid.to_string(), "--interval", interval]);
    command.env("TERM", kind);
    command.stdin(theirs.try_clone().expect("a descriptor"));
    command.stdout(theirs);
    let top = child::bounded(&mut command).spawn();
    (top.expect("a command that starts"), ours)
}

/// `timeout 10 sluice top` left a terminal that showed nothing of what one typed.
#[test]
fn a_signal_that_ends_top_leaves_the_terminal_as_it_was() {
    let rig = Rig::start("event", &[]);
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let (mut top, mut terminal) = top(&rig, "xterm", "60s");
        read_until(&mut terminal, OTHER_SCREEN);
        // SAFETY: our own child.
        unsafe { libc::kill(top.id() as i32, signal) };
        read_until(&mut terminal, FIRST_SCREEN);
        assert_eq!(top.wait().expect("our own").signal(), Some(signal));
        let modes = tcgetattr(&terminal).expect("a terminal").local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    }
    rig.quit();
}

/// It read for ever from a terminal whose window was closed, and took a whole CPU.
#[test]
fn top_ends_when_its_terminal_is_closed() {
    let rig = Rig::start("event", &[]);
    let (mut top, mut terminal) = top(&rig, "xterm", "60s");
    read_until(&mut terminal, OTHER_SCREEN);
    drop(terminal);
    let status = end_of(&mut top);
    assert!(status.code().is_some(), "{status}");
    rig.quit();
}

/// One that can only write at its end showed what moves the cursor.
#[test]
fn top_prints_once_on_a_terminal_without_screens() {
    let rig = Rig::start("event", &[]);
    let (mut top, mut terminal) = top(&rig, "dumb", "100ms");
    let text = read_until(&mut terminal, "PINNED");
    assert!(!text.contains('\x1b'), "{text:?}");
    assert!(end_of(&mut top).success());
    rig.quit();
}

/// How it ends. Fails where it does not.
fn end_of(top: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = top.try_wait().expect("our own") {
            return status;
        }
        if started.elapsed() > SOON {
            top.kill().expect("our own");
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
