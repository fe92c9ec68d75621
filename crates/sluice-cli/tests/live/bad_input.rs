//! An impossible command line is refused in one line, before anything is started.

use crate::build::{self, for_all_users};
use crate::sluice::{Outcome, Running, Sluice, finish};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Runs a command that must refuse: one line that names what is wrong, status 2, and nothing else.
pub fn refused(command: &mut Command, names: &[&str]) -> Outcome {
    let running = Running::start(command);
    let session = format!("{}-", running.id());
    let out = running.finish();
    assert_eq!(out.status.code(), Some(2), "{command:?}: {out:#?}");
    assert_eq!(out.stdout, "", "{command:?}");
    assert_eq!(out.stderr.lines().count(), 1, "{command:?}: {out:#?}");
    assert!(
        out.stderr.starts_with("sluice: ") && out.stderr.ends_with('\n'),
        "{out:#?}"
    );
    for name in names {
        assert!(out.stderr.contains(name), "{name} in {}", out.stderr);
    }
    for left in sluice_control::home::sessions() {
        let name = left.path.file_name().expect("a name");
        assert!(
            !name.to_string_lossy().starts_with(&session),
            "{command:?} left {name:?}"
        );
    }
    out
}

/// `sluice run` with flags before a program that leaves a mark if it ever runs.
fn refused_flags(flags: &[&str], names: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("mark");
    let mut command = Sluice::command();
    command.arg("run").args(flags).args(["--", "touch"]);
    refused(command.arg(&mark), names);
    assert!(!mark.exists(), "{flags:?}: the program ran");
}

#[test]
fn what_can_only_be_simulated() {
    let cases: [(&[&str], &[&str]); 6] = [
        (
            &["--set", "device.page=16KiB"],
            &["device.page", "16KiB", "4KiB"],
        ),
        (
            &["--set", "cache.write=through"],
            &["cache.write", "through", "back"],
        ),
        (
            &["--set", "cache.store_miss=around"],
            &["cache.store_miss", "around", "rmw"],
        ),
        (
            &["--set", "cache.load_miss=around"],
            &["cache.load_miss", "around", "fill"],
        ),
        (
            &["--device", "dram-local"],
            &["dram-local", "memory", "sluice sim", "--device cylon"],
        ),
        (
            &["--device", "skybyte"],
            &[
                "\"skybyte\"",
                "a write log",
                "--device skybyte --set write_log.capacity=none",
            ],
        ),
    ];
    for (flags, names) in cases {
        refused_flags(flags, names);
    }
}

#[test]
fn devices_and_settings() {
    let cases: [(&[&str], &[&str]); 15] = [
        (&["--device", "cyclone"], &["cyclone", "cylon", "cmm-h"]),
        (&["--device", "/no/such.toml"], &["/no/such.toml"]),
        (
            &["--set", "cache.size=1MiB"],
            &["cache.size", "cache.capacity"],
        ),
        (
            &["--set", "cache.policy=mrv"],
            &["cache.policy", "mrv", "mru"],
        ),
        (
            &["--set", "cache.policy=./no-such.so"],
            &["cache.policy", "./no-such.so", "No such file", "lru"],
        ),
        (
            &["--set", "cache.policy=./Cargo.toml"],
            &["cache.policy", "Cargo.toml", "cannot be loaded", "lru"],
        ),
        (
            &["--set", "prefetch.policy=magic"],
            &["prefetch.policy", "magic", "nextn"],
        ),
        (
            &["--set", "nand.read=5parsec"],
            &["nand.read", "5parsec", "us"],
        ),
        (
            &["--set", "cache.capacity=16Mjb"],
            &["cache.capacity", "16Mjb"],
        ),
        (&["--set", "nand.read"], &["nand.read", "KEY=VALUE"]),
        (&["--set", "nand.dies=0"], &["nand.dies", "0"]),
        (&["--set", "nand.channels=-1"], &["nand.channels", "-1"]),
        (
            &[
                "--set",
                "cache.capacity=2GiB",
                "--set",
                "device.capacity=1GiB",
            ],
            &["cache.capacity", "2GiB", "device.capacity", "1GiB"],
        ),
        (
            &["--set", "cache.capacity=1000B"],
            &["cache.capacity", "one page"],
        ),
        (
            &[
                "--set",
                "prefetch.policy=nextn",
                "--set",
                "prefetch.degree=0",
            ],
            &["prefetch.degree"],
        ),
    ];
    for (flags, names) in cases {
        refused_flags(flags, names);
    }
}

/// 100 GiB of cache were accepted on a host of 23.
#[test]
fn a_cache_larger_than_this_hosts_memory() {
    let sets = [
        "--set",
        "device.capacity=8TiB",
        "--set",
        "cache.capacity=100%",
    ];
    refused_flags(
        &sets,
        &[
            "cache.capacity",
            "100%",
            "that is 8 TiB of device.capacity, 8TiB",
            "a live cache lies in memory, of which",
        ],
    );
}

#[test]
fn places_and_folders() {
    let cases: [(&[&str], &[&str]); 11] = [
        // These did nothing.
        (
            &["--place", "explicit", "--mmap-min", "1MiB"],
            &["--mmap-min", "1MiB", "heap, shared or files"],
        ),
        (
            &["--control", "off", "--control-poll", "5ms"],
            &["--control-poll", "5ms", "--control on"],
        ),
        (
            &["--trap", "signal", "--control-poll", "5ms"],
            &["--control-poll", "5ms", "--control on"],
        ),
        (&["--place", "stack"], &["--place", "stack", "dax:PATH"]),
        (
            &["--place", "files:[a"],
            &["--place", "files:[a", "pattern"],
        ),
        (
            &["--place", "heap", "--place", "dax:/dev/shm/any"],
            &["--place", "dax:/dev/shm/any", "leave out"],
        ),
        (
            &["--place", "dax:/dev/shm/no-such-file"],
            &["/dev/shm/no-such-file"],
        ),
        (&["--place", "dax:"], &["--place", "dax:"]),
        (
            &["--place", "dax:/proc/version"],
            &["/proc/version", "tmpfs"],
        ),
        (
            &["--out", "/proc/no-such-folder"],
            &["/proc/no-such-folder"],
        ),
        (&["--out", "/etc/passwd"], &["/etc/passwd"]),
    ];
    for (flags, names) in cases {
        refused_flags(flags, names);
    }
}

fn refused_program(program: &Path, why: &str) {
    let name = program.to_str().expect("plain letters");
    let mut command = Sluice::command();
    refused(command.args(["run", "--json", "--", name]), &[name, why]);
}

#[test]
fn programs_that_cannot_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("room");
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, mode).expect("our own file");
        path
    };
    refused_program(Path::new("no-such-program-anywhere"), "no such program");
    refused_program(Path::new("/no/such/program"), "no such program");
    refused_program(&file("text", "text", 0o644), "not an executable file");
    refused_program(folder.path(), "not an executable file");
    refused_program(&file("lost", "#!/no/such/shell\n", 0o755), "/no/such/shell");
    refused_program(
        &file("noise", "\u{1}\u{2}\u{3}", 0o755),
        "no program that this host runs",
    );
    let program = build::compile("static.c", &["-static"]);
    refused_program(&program, "statically linked");
}

/// A shell would not find it either.
#[test]
fn a_program_of_the_current_folder_is_pointed_at() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy("/bin/true", folder.path().join("mine")).expect("room");
    let mut command = Sluice::run("event").prepare(["mine"]);
    let out = finish(command.current_dir(folder.path()));
    assert_eq!(out.status.code(), Some(2));
    assert!(out.stderr.contains("give ./mine"), "{out:#?}");
}

/// They were refused.
#[test]
fn names_that_are_not_utf_8_are_run_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = |bytes: &[u8]| folder.path().join(OsStr::from_bytes(bytes));
    std::fs::write(name(b"text\xff"), "found\n").expect("room");
    let cat = [OsString::from("cat"), name(b"text\xff").into()];
    let run = Sluice::run("event").args([OsStr::new("--out"), name(b"out\xfe").as_os_str()]);
    let out = run.program(cat);
    assert!(
        out.status.success() && out.stdout.starts_with("found\n"),
        "{out:#?}"
    );
    assert!(name(b"out\xfe").join("stats.json").is_file());
}

#[test]
fn simulations_of_what_cannot_be() {
    let cases = [
        (&["--workload", "chess:size=1MiB"][..], "chess"),
        (&["--workload", "chase:sise=1MiB"], "sise"),
        (
            &["--workload", "chase", "--set", "device.capacity=32MiB"],
            "device.capacity",
        ),
        (&["--workload", "chase", "--device", "cyclone"], "cyclone"),
    ];
    for (flags, name) in cases {
        refused(Sluice::command().arg("sim").args(flags), &[name]);
    }
}

/// What the parser of flags refuses takes more lines, with the usage; nothing is started either.
#[test]
fn flags_that_do_not_exist() {
    let cases = [
        (&["run"][..], "./program"),
        (&["run", "--trap", "maybe", "--", "true"], "maybe"),
        (&["run", "--handlers", "0", "--", "true"], "--handlers"),
        (&["run", "--mmap-min", "5x", "--", "true"], "5x"),
        (&["run", "--record-traps", "5", "--", "true"], "--out"),
        (
            &["run", "--sample-hits", "0ms", "--", "true"],
            "expected 20us",
        ),
        (&["fly"], "fly"),
    ];
    for (flags, name) in cases {
        let out = Running::start(Sluice::command().args(flags)).finish();
        assert_eq!((out.status.code(), &*out.stdout), (Some(2), ""), "{out:#?}");
        assert!(out.stderr.contains(name), "{out:#?}");
        assert!(out.stderr.starts_with("sluice: "), "{out:#?}");
        assert_eq!(out.stderr.lines().count(), 1, "{out:#?}");
    }
}

/// A user who may not use userfaultfd gets an error with the command that mends it.
#[test]
fn a_user_without_permission() {
    let allowed = std::fs::read_to_string("/proc/sys/vm/unprivileged_userfaultfd");
    let is_forbidden = allowed.is_ok_and(|text| text.trim() == "0");
    let Some((_folder, sluice)) = for_all_users().filter(|_| is_forbidden) else {
        println!("not tested: needs root, setpriv, and vm.unprivileged_userfaultfd = 0");
        return;
    };
    let nobody = |flags: &[&str]| {
        let mut command = Command::new("setpriv");
        let ids = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        command.args(ids).arg(&sluice).args(flags);
        command
    };
    let run = ["run", "--trap", "event", "--", "true"];
    let out = refused(&mut nobody(&run), &["userfaultfd"]);
    assert!(out.stderr.contains("to mend it: "), "{out:#?}");
    let doctor = Running::start(&mut nobody(&["doctor"])).finish();
    assert_eq!(doctor.status.code(), Some(1), "{doctor:#?}");
    assert!(doctor.stdout.contains("MISS userfaultfd for event mode"));
}

/// The library of an older checkout, beside a newer command, said that it had not started.
#[test]
fn a_library_of_another_build() {
    let session = tempfile::tempdir().expect("a folder");
    let text = "live.build=0.1.0+1\nlive.seed=1\nlive.unheard=of\n";
    std::fs::write(session.path().join(sluice_abi::SESSION_FILE), text).expect("room");
    let library = build::preload_library();
    let mut program = Command::new("true");
    program.env("LD_PRELOAD", library);
    program.env(sluice_abi::SESSION_VAR, session.path());
    let library = library.to_str().expect("plain letters");
    refused(
        &mut program,
        &[library, "build 0.1.0+1", sluice_runtime::BUILD],
    );
    assert!(session.path().join(sluice_abi::REFUSAL_FILE).exists());
}
