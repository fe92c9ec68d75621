//! A bug of the runtime, or no memory for it, ends the program at once with one line.

use sluice_runtime::fatal;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// Says to a copy of this test what it is to do.
const PART: &str = "SLUICE_FATAL_PART";

/// What a program under Sluice does, whose runtime fails in one of its threads.
fn fail(part: &str) {
    fatal::on_panic();
    // The program's own handler is not asked: it would run on memory that nobody serves.
    extern "C" fn own(_: i32) {
        // SAFETY: ends the process.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: a handler that does nothing but end the process, and a mask of one signal.
    unsafe {
        libc::signal(libc::SIGABRT, own as *const () as usize);
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut mask, libc::SIGABRT);
        libc::pthread_sigmask(libc::SIG_BLOCK, &mask, std::ptr::null_mut());
    }
    let numbers: Vec<u32> = part.bytes().map(u32::from).collect();
    let thread = std::thread::spawn({
        let part = part.to_owned();
        move || match part.as_str() {
            "panic" => panic!("two\nlines"),
            "index" => assert_eq!(numbers[numbers.len()], 0),
            _ => fatal::no_memory(1 << 36),
        }
    });
    let _ = thread.join();
}

#[test]
fn it_ends_the_program_with_one_line() {
    if let Ok(part) = std::env::var(PART) {
        return fail(&part);
    }
    let own = std::env::current_exe().expect("this test");
    for (part, says) in [
        ("panic", "tests/fatal.rs:"),
        ("panic", "two lines"),
        ("index", "index out of bounds"),
        ("memory", "no memory for 68719476736 bytes"),
    ] {
        let mut command = Command::new(&own);
        command.args([
            "--exact",
            "it_ends_the_program_with_one_line",
            "--nocapture",
        ]);
        let out = command
            .env(PART, part)
            .env("RUST_BACKTRACE", "full")
            .output();
        let out = out.expect("a program that starts");
        assert_eq!(out.status.signal(), Some(libc::SIGABRT), "{part}: {out:?}");
        assert!(!out.status.core_dumped(), "{part}");
        let stderr = String::from_utf8(out.stderr).expect("text");
        let lines: Vec<&str> = stderr.lines().collect();
        assert!(
            matches!(lines[..], [line] if line.starts_with("sluice: ")),
            "{stderr}"
        );
        assert!(stderr.contains(says), "{part}: {stderr}");
    }
}
