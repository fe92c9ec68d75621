//! What Ctrl-C leaves of a simulation.

use crate::command::sluice;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Whether the process has a handler for SIGINT.
fn catches_ctrl_c(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & 2 != 0
}

const ENDLESS: [&str; 3] = [
    "sim --system base-cssd --workload srad --scale 128 --instructions 1000G",
    "sim --workload chase:size=4GiB,stride=64,passes=64 --hits all",
    "fabric run esf --requests 1000G",
];

#[test]
fn ctrl_c_ends_it_with_130() {
    ENDLESS.into_iter().for_each(ended_by_ctrl_c);
}

fn ended_by_ctrl_c(line: &str) {
    let mut child = sluice()
        .args(line.split(' '))
        .arg("--json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command ends after a while in any case, and the loop with it: see `child::bounded`.
    while !catches_ctrl_c(child.id()) {
        assert_eq!(child.try_wait().unwrap(), None, "{line}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{line}");
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert!(said.starts_with("sluice: stopped after "), "{said}");
    let mut told = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    assert_eq!(told, "", "no result");
}

/// The program of a process, if it has one.
fn child_of(id: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// The terminal sends it to the program as well, whose end was then the curve's error.
#[test]
fn ctrl_c_ends_a_curve_of_this_host_with_130() {
    let mut command = sluice();
    command.args(["curve", "--on", "host", "--size", "64MiB"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn().unwrap();
    while !catches_ctrl_c(child.id()) || child_of(child.id()).is_none() {
        assert_eq!(child.try_wait().unwrap(), None, "it goes on for longer");
        std::thread::sleep(Duration::from_millis(20));
    }
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(sent.unwrap().success());
    let mut said = String::new();
    let told = child.stderr.take().unwrap().read_to_string(&mut said);
    told.unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert_eq!(said, "sluice: stopped after 0 curves\n");
}
