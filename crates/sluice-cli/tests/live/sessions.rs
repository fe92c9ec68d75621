//! Sessions under abuse: other users, full memory, odd paths and names, kills at any moment.

mod kills;

use crate::build::{self, helper};
use crate::sluice::{Outcome, Running, Sluice, TRAPS, finish, stop};
use sluice_control::home::{Home, session_name, sessions};
use sluice_region::own_user;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Root can make what another user would.
fn is_root() -> bool {
    own_user() == 0
}

/// Sleeps under Sluice, and its session once the program is on the device.
fn sleeping(adjust: impl FnOnce(&mut Command)) -> (Running, PathBuf) {
    let mut command = Sluice::run("event").prepare(["sleep", "60"]);
    adjust(&mut command);
    let running = Running::start(&mut command);
    let session = running.await_session();
    await_it("no program", || session.join("view").exists());
    (running, session)
}

fn await_it(what: &str, is_so: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn end(running: Running) -> Outcome {
    running.signal_group(libc::SIGTERM);
    running.finish()
}

/// A umask of 0 made the folder 0777 and `session.conf` 0666: another user's
/// `cache.policy=./evil.so` was loaded into root's program.
#[test]
fn nobody_else_can_open_anything_whatever_the_umask() {
    for mask in [0, 0o777] {
        let (running, session) = sleeping(|command| {
            // SAFETY: a system call without pointers.
            unsafe {
                command.pre_exec(move || {
                    libc::umask(mask);
                    Ok(())
                });
            }
        });
        let mode = |path: &Path| std::fs::symlink_metadata(path).expect("ours").mode() & 0o777;
        let home = session.parent().expect("a home");
        assert_eq!((mode(home), mode(&session)), (0o700, 0o700), "{mask:o}");
        for entry in session.read_dir().expect("ours").flatten() {
            let path = entry.path();
            if !path.is_symlink() {
                assert_eq!(mode(&path), 0o600, "{path:?}");
            }
        }
        end(running);
        await_it("its session is left", || !session.exists());
    }
}

/// It removed its own results, for no process had the number 4000000. In a memory of its own, where
/// no other command sweeps.
#[test]
fn results_in_shared_memory_stay() {
    let run = format!("\"$1\" run {SMALL} --out /dev/shm/sluice-4000000");
    let stays = "test -f /dev/shm/sluice-4000000/stats.json";
    let script = format!("{run} -- true && {run} --force -- true && {stays}");
    if let Some(out) = with_memory("64m", &script) {
        assert!(out.status.success(), "{out:#?}");
    }
}

/// Processes of another PID namespace seem to have ended, and their sessions went.
#[test]
fn a_session_of_another_pid_namespace_stays() {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "true"]);
    if !command.output().is_ok_and(|out| out.status.success()) {
        println!("not tested: no PID namespace can be made here");
        return;
    }
    let before = sessions().len();
    let inside = Sluice::run("event").prepare(["sleep", "60"]);
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.arg(inside.get_program()).args(inside.get_args());
    command.env("SLUICE_PRELOAD", build::preload_library());
    let running = Running::start(&mut command);
    let own = || {
        let all = sessions().into_iter().map(|session| session.path);
        // The first processes of a namespace have small numbers.
        let small = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            let pid = name.and_then(|name| name.split('-').next()?.parse::<u32>().ok());
            pid.is_some_and(|pid| pid < 10)
        };
        all.filter(small).find(|path| path.join("view").exists())
    };
    await_it("no session", || {
        sessions().len() > before && own().is_some()
    });
    let session = own().expect("a session");
    assert!(Sluice::run("event").program(["true"]).status.success());
    let is_there = session.exists();
    running.signal_group(libc::SIGKILL);
    running.finish();
    assert!(is_there, "{session:?}");
}

fn fifo(path: &Path) {
    let name = CString::new(path.as_os_str().as_bytes()).expect("no zero");
    // SAFETY: a terminated string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o666) }, 0, "{path:?}");
}

/// A pipe under the name of a statistics file hung root's `sluice top`; a folder that another user
/// had made fed `sluice ctl` false figures.
#[test]
fn what_another_user_puts_there_is_neither_waited_for_nor_believed() {
    let (running, session) = sleeping(|_| {});
    fifo(&session.join("proc-1-0.stats"));
    symlink("/dev/zero", session.join("proc-2-0.stats")).expect("room");
    let out = finish(Sluice::command().args(["top", "--once", "--interval", "10ms"]));
    assert!(
        out.status.success() && out.stdout.contains("sleep 60"),
        "{out:#?}"
    );
    let id = running.id().to_string();
    let stats = || finish(Sluice::command().args(["ctl", &id, "stats", "--as-is"]));
    assert!(stats().status.success(), "{:#?}", stats());
    if is_root() {
        for name in ["ring", "stats"] {
            let path = session.join(format!("proc-{}-0.{name}", first_process(&session)));
            std::os::unix::fs::chown(&path, Some(65534), None).expect("root");
            let out = stats();
            assert_eq!(out.status.code(), Some(2), "{name}: {out:#?}");
            assert!(out.stderr.contains("belongs to user 65534"), "{out:#?}");
            std::os::unix::fs::chown(&path, Some(0), None).expect("root");
        }
    }
    end(running);
    await_it("it is left", || !session.exists());
}

fn first_process(session: &Path) -> String {
    let view = session.join("view").read_link().expect("a link");
    let name = view
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    name.split('-').nth(1).expect("a number").to_owned()
}

/// `sluice_ctl` believed any folder that the environment of a process named.
#[test]
fn root_believes_no_folder_that_a_process_names() {
    let setpriv = Command::new("setpriv").arg("--version").output();
    if !is_root() || setpriv.is_err() {
        println!("not tested: needs root and setpriv");
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").expect("room");
    std::os::unix::fs::chown(folder.path(), Some(65533), None).expect("root");
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "sleep",
        "60",
    ]);
    command.env(sluice_abi::SESSION_VAR, folder.path());
    let mut child = command.spawn().expect("a process");
    let id = child.id().to_string();
    await_it("no sleep", || {
        std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.starts_with(b"sleep"))
    });
    let out = finish(Sluice::command().args(["ctl", &id, "stats"]));
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    assert!(out.stderr.contains("belongs to user 65533"), "{out:#?}");
}

/// Escapes and line breaks of a program's name reached the terminal.
#[test]
fn names_are_printed_without_control_characters() {
    let folder = tempfile::tempdir().expect("room");
    let program = folder.path().join("a\n\x1b[31mb");
    std::fs::copy("/bin/sleep", &program).expect("room");
    let mut command = Sluice::run("event").prepare([program.as_os_str(), OsStr::new("60")]);
    let running = Running::start(&mut command);
    let session = running.await_session();
    await_it("no program", || session.join("view").exists());
    let id = running.id().to_string();
    let out = finish(Sluice::command().args(["top", &id, "--once", "--interval", "10ms"]));
    end(running);
    assert!(out.stdout.contains("a\\n\\u{1b}[31mb 60"), "{out:#?}");
    // Where it missed may follow, after an empty line.
    let third = out.stdout.lines().nth(2);
    assert!(third.is_none_or(str::is_empty), "{out:#?}");
    let name = "no\nsuch\x1b[2Jprogram";
    let out = finish(Sluice::command().args(["run", "--", name]));
    assert_eq!(
        (out.status.code(), out.stderr.lines().count()),
        (Some(2), 1),
        "{out:#?}"
    );
    assert!(!out.stderr.contains('\x1b'), "{out:#?}");
}

/// Errors were without them, and messages that are none had them.
#[test]
fn so_are_those_of_folders() {
    let folder = tempfile::tempdir().expect("room");
    let out_dir = folder.path().join("a\n\x1b[31mb");
    let mut simulation = Sluice::command();
    simulation.args(["sim", "--workload", "chase:size=1MiB", "--out"]);
    let out = finish(simulation.arg(&out_dir));
    assert!(out.status.success(), "{out:#?}");
    let out = finish(Sluice::command().arg("again").arg(&out_dir));
    assert!(out.status.success(), "{out:#?}");
    assert!(out.stderr.contains("a\\n\\u{1b}[31mb.2\n"), "{out:#?}");
}

/// `--place 'dax:a\nlive.seed=9'` added a setting.
#[test]
fn a_path_may_have_a_line_break_in_it() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("room");
    let path = folder.path().join("a\nlive.seed=9\n%41");
    let file = std::fs::File::create(&path).expect("room");
    file.set_len(16 << 20).expect("room");
    let place = format!("dax:{}", path.display());
    let flags = format!("pattern --json --size 8MiB --seconds 1 --file {}", "FILE");
    let words = flags.split_whitespace();
    let own = [env!("CARGO_BIN_EXE_sluice"), "workload"];
    let words = own.into_iter().chain(words).map(|word| match word {
        "FILE" => path.as_os_str(),
        word => OsStr::new(word),
    });
    let out = Sluice::run("event")
        .args(["--place", &place, "--seed", "3"])
        .program(words)
        .well();
    assert_eq!(out.json()["seed"], 3);
}

/// A space or a colon in the path of the library: no device, status 0 and a warning.
#[test]
fn the_library_may_be_installed_anywhere() {
    let folder = tempfile::tempdir().expect("room");
    let odd = folder.path().join("a b:c $ORIGIN;d");
    std::fs::create_dir(&odd).expect("room");
    let library = odd.join("libsluice_preload.so");
    std::fs::copy(build::preload_library(), &library).expect("room");
    let others = [None, Some("libc.so.6")];
    for other in others {
        let mut run = Sluice::run("event").env("SLUICE_PRELOAD", &library);
        if let Some(other) = other {
            run = run.env("LD_PRELOAD", other);
        }
        let out = run.program(["sh", "-c", "echo $LD_PRELOAD"]).well();
        assert!(out.stdout.contains(other.unwrap_or("")), "{out:#?}");
    }
}

/// What does not emulate must not end well.
#[test]
fn a_library_that_does_not_start_ends_the_run() {
    let folder = tempfile::tempdir().expect("room");
    let broken = folder.path().join("libsluice_preload.so");
    std::fs::write(&broken, "no library").expect("room");
    let out = Sluice::run("event")
        .env("SLUICE_PRELOAD", &broken)
        .program(["true"]);
    assert_eq!((out.status.code(), &*out.stdout), (Some(2), ""), "{out:#?}");
    assert!(
        out.stderr.contains("the preload library did not start"),
        "{out:#?}"
    );
}

/// It waited for ever.
#[test]
fn a_stopped_program_is_told_of() {
    let (running, session) = sleeping(|_| {});
    let pid: i32 = first_process(&session).parse().expect("a number");
    stop(pid);
    let out = finish(Sluice::command().args(["ctl", &pid.to_string(), "evict", "all"]));
    // SAFETY: our own grandchild, no pointers.
    unsafe { libc::kill(pid, libc::SIGCONT) };
    end(running);
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    assert!(
        out.stderr.contains(&format!("process {pid} is stopped")),
        "{out:#?}"
    );
}

/// A panic while printing, and another while printing that: status 101 or 134.
#[test]
fn nobody_who_reads_changes_no_status() {
    // With the object on standard output, and with a line on standard error.
    for (status, flag) in [
        (0, "--json"),
        (7, "--json"),
        (0, "--seed=1"),
        (7, "--seed=1"),
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Sluice::command();
        command.args(["run", flag]).args(SMALL.split(' '));
        command.args(["--", "sh", "-c", &format!("exit {status}")]);
        let other = writer.try_clone().expect("a pipe");
        command.stdin(Stdio::null()).stdout(writer).stderr(other);
        let ended = command.status().expect("a command that starts");
        assert_eq!(ended.code(), Some(status), "{flag}");
    }
}

/// Runs a script with a memory of its own at `/dev/shm`; nothing where that cannot be.
fn with_memory(size: &str, script: &str) -> Option<Outcome> {
    let mut command = Command::new("unshare");
    let mount = format!("mount -t tmpfs -o size={size} none /dev/shm || exit 99; ");
    command.args(["--mount", "sh", "-c", &format!("{mount}{script}"), "sh"]);
    command.arg(env!("CARGO_BIN_EXE_sluice"));
    command.env("SLUICE_PRELOAD", build::preload_library());
    command.env_remove("XDG_RUNTIME_DIR");
    let can = Command::new("unshare").args(["--mount", "true"]).output();
    if !can.is_ok_and(|out| out.status.success()) {
        println!("not tested: no mount namespace can be made here");
        return None;
    }
    let out = finish(&mut command);
    (out.status.code() != Some(99)).then_some(out)
}

const SMALL: &str = "--set device.capacity=64MiB --set cache.capacity=4MiB";

/// A full memory was a bus error, and nothing else.
#[test]
fn full_memory_is_named() {
    let full = format!("head -c 4m /dev/zero >/dev/shm/fill; \"$1\" run {SMALL} -- true");
    if let Some(out) = with_memory("4m", &full) {
        assert_eq!(out.status.code(), Some(2), "{out:#?}");
        assert!(
            out.stderr.contains("/dev/shm: full: 0B are free"),
            "{out:#?}"
        );
        assert_eq!(out.stderr.lines().count(), 1, "{out:#?}");
    }
    // A program that fills it by a mapping of its own ends as it does without Sluice.
    let late = format!(
        "truncate -s 64m /dev/shm/file; \"$1\" run {SMALL} -- \
         \"$1\" workload pattern --size 32MiB --seconds 1 --file /dev/shm/file"
    );
    if let Some(out) = with_memory("4m", &late) {
        assert_eq!(out.status.code(), Some(128 + libc::SIGBUS), "{out:#?}");
        let said = "the file system of /dev/shm/sluice-user-";
        assert!(
            out.stderr.contains(said) && out.stderr.contains("is full"),
            "{out:#?}"
        );
    }
}

/// A store to a device's file for which there was no room was tried again for ever.
#[test]
fn a_full_file_system_of_the_devices_file_is_a_bus_error() {
    let program = helper!("abuse_full.c").display();
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display();
    for trap in TRAPS {
        let script = format!(
            "mount -t tmpfs -o size=8m none {at} && head -c 1m /dev/zero >{at}/fill && \
             truncate -s 16m {at}/device && \
             \"$1\" run {SMALL} --trap {trap} --place dax:{at}/device -- \
             timeout -s KILL 30 {program} {at}/device {at}/fill"
        );
        if let Some(out) = with_memory("64m", &script) {
            assert!(out.stdout.ends_with("well\n"), "{trap}: {out:#?}");
        }
    }
}

/// Each program that a script ran kept its rings in memory until the script's end.
#[test]
fn a_script_of_many_programs_needs_no_more_memory_than_a_few() {
    let script = "n=0; while [ $n -lt 250 ]; do /bin/true || exit 3; n=$((n+1)); done; echo well";
    let run = format!("\"$1\" run {SMALL} -- sh -c '{script}'");
    if let Some(out) = with_memory("24m", &run) {
        assert!(out.stdout.ends_with("well\n"), "{out:#?}");
        assert!(out.status.success(), "{out:#?}");
    }
}

/// Each of them left two files until the end of the run, and a line in its result.
#[test]
fn however_many_programs_a_script_runs_as_many_files_and_lines_stay() {
    const PROGRAMS: u64 = 420;
    let script = format!(
        "n=0; while [ $n -lt {PROGRAMS} ]; do /bin/true || exit 3; n=$((n+1)); done; n=0; \
         while [ $n -lt 300 ]; do /bin/sleep 0.1; set -- \"$SLUICE_SESSION\"/proc-*; \
         [ $# -lt 530 ] && break; n=$((n+1)); done; echo $n $#"
    );
    let out = Sluice::run("event")
        .set("device.capacity", "64MiB")
        .cache("2MiB")
        .program(["sh", "-c", &script])
        .well();
    let words: Vec<u64> = out.own_stdout().split_whitespace().map(number).collect();
    let [sleeps, files] = words[..] else {
        panic!("{out:#?}");
    };
    // Two files of each that is listed, and rings of the shell and of what has just ended.
    assert!(files < 530, "{out:#?}");
    let json = out.json();
    let listed = json["processes"].as_array().expect("a list");
    let others = &json["other_processes"];
    // The shell is not one of the 256 that are listed beside it.
    assert_eq!(listed.len(), 1 + 256, "{out:#?}");
    let images = others["images"].as_u64().expect("a number");
    let all = 1 + PROGRAMS + sleeps.min(299) + 1;
    assert_eq!(listed.len() as u64 + images, all, "{out:#?}");
    assert_eq!(others["ended"], images);
    let least = listed[1..].iter().filter_map(|one| one["traps"].as_u64());
    let most = least.min().expect("some") * images;
    assert!(others["traps"].as_u64() <= Some(most), "{out:#?}");
    assert_eq!(others["misses"], others["latency_ns"]["modelled"]["count"]);
    assert_eq!(json["host"]["programs_outside"], 0);
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

/// A home that cannot be used is not an error as long as there is another.
#[test]
fn a_users_own_folder_is_used_if_it_is_in_memory() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("room");
    let elsewhere = tempfile::tempdir_in("/tmp").expect("room");
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(folder.path(), mode(0o700)).expect("ours");
    let told = |own: &Path| {
        let run = Sluice::run("event").env("XDG_RUNTIME_DIR", own);
        let out = run.program(["sh", "-c", "echo $SLUICE_SESSION"]);
        assert!(out.status.success(), "{out:#?}");
        PathBuf::from(out.own_stdout().trim_end())
    };
    assert!(told(folder.path()).starts_with(folder.path().join("sluice")));
    let is_memory = std::fs::File::open("/tmp").and_then(|file| sluice_region::room(&file));
    if !is_memory.is_ok_and(|room| room.is_memory) {
        assert!(!told(elsewhere.path()).starts_with(elsewhere.path()));
    }
    let odd = folder.path().join("a b");
    std::fs::create_dir(&odd).expect("room");
    assert!(!told(&odd).starts_with(&odd));
}

/// What no session has stays, also in the folder of sessions.
#[test]
fn what_is_not_ours_in_the_home_stays() {
    assert!(Sluice::run("event").program(["true"]).status.success());
    let home = Home::own().into_iter().find(|home| home.path.exists());
    let home = home.expect("a home").path;
    let name = session_name(1 << 30, u64::from(std::process::id()));
    let (notes, session) = (
        home.join(format!("notes-{}", std::process::id())),
        home.join(name),
    );
    std::fs::create_dir(&notes).expect("room");
    std::fs::create_dir(&session).expect("room");
    std::fs::write(session.join("notes"), "mine").expect("room");
    assert!(Sluice::run("event").program(["true"]).status.success());
    assert!(notes.exists() && session.join("notes").exists());
    std::fs::remove_dir(&notes).expect("ours");
    std::fs::remove_dir_all(&session).expect("ours");
}
