//! Output folders: what is in one is a whole result or none, and repeats the run.

use crate::sluice::{Outcome, Sluice, finish};
use serde_json::Value;
use sluice_testkit::child::with_default_signals;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A simulation of some hundredths of a second.
const SIM: &str = "sim --workload uniform:size=64MiB,ops=40k,write=1/2 --set cache.capacity=4MiB";

fn sluice(words: &str, out: &Path) -> Command {
    let mut command = Sluice::command();
    command.args(words.split_whitespace()).arg("--out").arg(out);
    command
}

fn stats(folder: &Path) -> Option<Value> {
    let text = fs::read(folder.join("stats.json")).ok()?;
    Some(serde_json::from_slice(&text).expect("a result that is there is whole"))
}

fn config_file(folder: &Path) -> Option<Vec<u8>> {
    fs::read(folder.join("config.toml")).ok()
}

/// Settings, seed, command and figures that only they decide.
#[test]
fn again_runs_with_the_same_settings() {
    let live = "run --device cxl-ssd --set cache.capacity=1MiB --set nand.read=9us --seed 7 \
                --trap signal --mmap-min 1MiB --sample-hits 5ms";
    let own = env!("CARGO_BIN_EXE_sluice");
    let program = format!("{own} workload chase --size 4MiB --passes 2");
    let system = "sim --system skybyte-full --workload srad --instructions 20k --warmup 0 \
                  --scale 64 --set cpu.cores=2";
    let fabric = "fabric run esf --set link.bandwidth=4000 --seed 3 --warmup 100 --requests 2000";
    for (name, words, program, is_repeated) in [
        ("live", live, &program[..], false),
        ("sim", SIM, "", true),
        ("system", system, "", true),
        ("fabric", fabric, "", true),
    ] {
        let dir = tempfile::tempdir().expect("room");
        let first = dir.path().join("first");
        let mut command = Sluice::command();
        command
            .args(words.split_whitespace())
            .arg("--out")
            .arg(&first);
        if !program.is_empty() {
            command.arg("--").args(program.split_whitespace());
        }
        let out = finish(&mut command);
        assert!(out.status.success(), "{name}: {out:#?}");
        // From another folder: what counts is where the first one ran.
        let mut again = Sluice::command();
        again.arg("again").arg(&first).current_dir("/");
        let again = finish(&mut again);
        assert!(again.status.success(), "{name}: {again:#?}");
        let second = dir.path().join("first.2");
        let [before, after] = [&first, &second].map(|folder| stats(folder).expect("a result"));
        assert!(
            before["config"]
                .as_object()
                .is_some_and(|all| !all.is_empty()),
            "{name}"
        );
        for key in [
            "config",
            "seed",
            "command",
            "trap_mode",
            "place",
            "workload",
            "version",
        ] {
            assert_eq!(
                before[key].to_string(),
                after[key].to_string(),
                "{name}: {key}"
            );
        }
        let [before_file, after_file] = [&first, &second].map(|folder| config_file(folder));
        assert_eq!(before_file, after_file, "{name}");
        assert_eq!(before_file.is_some(), name != "fabric");
        let told = again.stderr.contains("every figure is what it was");
        assert_eq!(told, is_repeated, "{name}: {again:#?}");
        if is_repeated {
            assert_eq!(before, after, "{name}");
        }
    }
}

/// What comes within a minute: the machine may be busy.
fn soon<T>(what: impl Fn() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        match what() {
            None if started.elapsed() < Duration::from_secs(60) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            found => return found,
        }
    }
}

/// The run itself must not go on, and write its result, once nobody waits for it.
#[test]
fn a_request_to_end_again_ends_its_run() {
    let dir = tempfile::tempdir().expect("room");
    let first = dir.path().join("first");
    assert!(finish(&mut sluice(SIM, &first)).status.success());
    // A run of hours, which would be there all the same.
    let file = first.join("command.json");
    let text = fs::read_to_string(&file).expect("its command");
    fs::write(&file, text.replace("ops=40k", "ops=400G")).expect("room");
    let mut command = Sluice::command();
    command.arg("again").arg(&first);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut again = with_default_signals(&mut command).spawn().expect("again");
    let task = format!("/proc/{0}/task/{0}", again.id());
    let read = |name: &str| fs::read_to_string(format!("{task}/{name}")).expect("it waits");
    let run = soon(|| read("children").trim().parse::<i32>().ok()).expect("its run begins");
    // It hears of requests a moment after its run is there.
    let hears = || {
        let status = read("status");
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))?;
        let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
        ((caught >> (libc::SIGTERM - 1)) & 1 == 1).then_some(())
    };
    soon(hears);
    // SAFETY: no pointers; our own child.
    unsafe { libc::kill(again.id() as i32, libc::SIGTERM) };
    let ended = again.wait().expect("our own child");
    // SAFETY: no pointers; the run that the lines above have found.
    let is_left = unsafe { libc::kill(run, libc::SIGKILL) } == 0;
    assert_eq!((ended.signal(), is_left), (Some(libc::SIGTERM), false));
}

/// Kills at random moments, and after each the folder holds the whole result or none.
#[test]
fn a_killed_command_leaves_a_whole_result_or_none() {
    let dir = tempfile::tempdir().expect("room");
    let whole = dir.path().join("whole");
    let start = Instant::now();
    assert!(finish(&mut sluice(SIM, &whole)).status.success());
    let takes = start.elapsed();
    let expected = stats(&whole).expect("a result");
    let folder = dir.path().join("killed");
    // A linear congruential generator: the moments are the same in each run of this test.
    let (mut state, mut kept) = (1u64, 0);
    for _ in 0..60 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let part = (state >> 33) as f64 / f64::from(1u32 << 31);
        let mut command = sluice(SIM, &folder);
        command
            .arg("--force")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = with_default_signals(&mut command)
            .spawn()
            .expect("the command");
        std::thread::sleep(takes.mul_f64(part * 1.2));
        // It may have ended.
        let _ = child.kill();
        child.wait().expect("our own child");
        if let Some(found) = stats(&folder) {
            assert_eq!(found, expected);
            kept += 1;
        }
    }
    // Some were killed before, some not: otherwise the moments prove nothing.
    assert!((1..60).contains(&kept), "{kept}");
    // A whole result is in the way of the next run, and what a killed one left is not.
    let is_whole = stats(&folder).is_some();
    let next = finish(&mut sluice(SIM, &folder));
    assert_eq!(next.status.success(), !is_whole, "{next:#?}");
}

/// No file may grow longer than so many bytes: the command is killed in the middle of a write, or
/// the write fails.
fn limited(command: &Command, bytes: u64, is_killed: bool) -> Outcome {
    let trap = if is_killed { "" } else { "trap '' XFSZ; " };
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{trap}exec \"$@\""));
    shell
        .arg("sh")
        .arg(command.get_program())
        .args(command.get_args());
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: a system call, with a limit that the closure owns.
    unsafe {
        shell.pre_exec(move || {
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
            Ok(())
        });
    }
    finish(&mut shell)
}

#[test]
fn a_write_that_breaks_off_leaves_no_result() {
    let dir = tempfile::tempdir().expect("room");
    let whole = dir.path().join("whole");
    assert!(finish(&mut sluice(SIM, &whole)).status.success());
    let sizes = ["command.json", "config.toml", "stats.json"]
        .map(|name| fs::metadata(whole.join(name)).expect("a file").len());
    let largest = sizes.into_iter().max().expect("three");
    assert_eq!(
        largest, sizes[2],
        "the others fit into what breaks off this one"
    );
    for bytes in [0, 1, sizes[0] - 1, sizes[1] - 1, largest / 2, largest - 1] {
        for is_killed in [false, true] {
            let folder = dir.path().join(format!("{bytes}-{is_killed}"));
            let out = limited(&sluice(SIM, &folder), bytes, is_killed);
            assert!(stats(&folder).is_none(), "{bytes}: {out:#?}");
            match is_killed {
                true => assert_eq!(
                    out.status.signal(),
                    Some(libc::SIGXFSZ),
                    "{bytes}: {out:#?}"
                ),
                false => {
                    assert_eq!(out.status.code(), Some(2), "{bytes}: {out:#?}");
                    assert!(out.stderr.contains("File too large"), "{bytes}: {out:#?}");
                }
            }
            // Nothing of it is in the way of the next run.
            let next = finish(&mut sluice(SIM, &folder));
            assert!(next.status.success(), "{bytes}: {next:#?}");
            assert_eq!(stats(&folder), stats(&whole), "{bytes}");
        }
    }
}

/// On a file system of a few pages. Needs a mount, which not every machine lets a test have.
#[test]
fn a_full_disk_is_said_and_the_result_told_all_the_same() {
    let disk = tempfile::tempdir().expect("room");
    let path = disk.path().to_str().expect("plain letters");
    let own = env!("CARGO_BIN_EXE_sluice");
    let script = format!(
        "mount -t tmpfs -o size=12k none {path} || exit 77; {own} {SIM} --json --out {path}/out; \
         code=$?; ls -A {path}/out; exit $code"
    );
    let mut command = Command::new("unshare");
    let out = finish(command.args(["--mount", "--map-root-user", "sh", "-c", &script]));
    if out.status.code() == Some(77) || out.stderr.contains("unshare") {
        println!("not tested: no mount here ({out:#?})");
        return;
    }
    assert!(
        out.stderr
            .contains("writing the output folder: stats.json: No space left"),
        "{out:#?}"
    );
    let mut lines = out.stdout.lines();
    let json: Value = serde_json::from_str(lines.next().expect("a result")).expect("JSON");
    assert_eq!(json["kind"], "sim");
    let left: Vec<&str> = lines.collect();
    assert_eq!(left, ["command.json", "config.toml"]);
}
