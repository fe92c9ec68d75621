//! `sluice top` in a terminal.

use super::rig::Rig;
use crate::sluice::Sluice;
use rustix::termios::{LocalModes, tcgetattr};
use sluice_testkit::child;
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::ptr::null_mut;

/// What a terminal is given to show one screen more, and to show the first again.
const OTHER_SCREEN: &str = "\x1b[?1049h";
const FIRST_SCREEN: &str = "\x1b[?1049l";

/// Both ends of a terminal.
fn terminal() -> (File, File) {
    let (mut ours, mut theirs) = (-1, -1);
    // SAFETY: live outputs, and nothing is asked of the terminal.
    let made = unsafe { libc::openpty(&mut ours, &mut theirs, null_mut(), null_mut(), null_mut()) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: both were opened just now, and are nobody else's.
    unsafe { (File::from_raw_fd(ours), File::from_raw_fd(theirs)) }
}

/// Reads what a terminal shows up to a text. An error if nobody has it who could give that.
fn read_until(terminal: &mut File, wanted: &str) {
    let (mut text, mut part) = (String::new(), [0; 4096]);
    while !text.contains(wanted) {
        let count = terminal.read(&mut part).expect("a terminal");
        text += &String::from_utf8_lossy(&part[..count]);
    }
}

/// Starts `sluice top` in a terminal of its own. When it ends nobody has that terminal but us.
fn top(rig: &Rig) -> (Child, File) {
    let (ours, theirs) = terminal();
    let mut command = Sluice::command();
    command.args(["top", &rig.pid.to_string(), "--interval", "60s"]);
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
        let (mut top, mut terminal) = top(&rig);
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
