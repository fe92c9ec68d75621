//! Programs that the preload library cannot enter, or where it can do nothing: a warning says so.

use crate::abuse::{fault, small, within_limit};
use crate::build::{compile, for_all_users, helper};
use crate::sluice::{Outcome, Sluice, TRAPS, finish};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::OnceLock;

/// A program without a dynamic loader.
fn static_program() -> &'static str {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    let path = PROGRAM.get_or_init(|| compile("static.c", &["-static"]));
    path.to_str().expect("plain letters")
}

fn outside(out: &Outcome) -> u64 {
    out.number("/host/programs_outside")
}

/// Without a warning the shell's few traps looked like those of all programs.
#[test]
fn programs_that_lose_the_library_are_counted_and_told_of() {
    let path = static_program();
    let scripts = [
        ("true; true | cat; exec env true".to_string(), 0),
        (format!("{path}; true"), 1),
        (format!("exec {path}"), 1),
        ("env -i true; exec env -u LD_PRELOAD true".to_string(), 2),
        ("no-such-program; true".to_string(), 0),
    ];
    for (trap, (script, count)) in TRAPS.iter().cycle().zip(scripts) {
        let out = Sluice::run(trap).program(["sh", "-c", &script]);
        assert!(out.status.success(), "{script}: {out:#?}");
        assert_eq!(outside(&out), count, "{script}: {out:#?}");
        let is_told = out.stderr.contains("not on the device");
        assert_eq!(is_told, count > 0, "{script}: {out:#?}");
    }
}

/// Another user may not read the session, and a sandbox may hide it. What a script starts that way
/// was ended. The run's own program is refused still, since nothing would be measured.
#[test]
fn so_are_those_of_another_user_or_in_a_sandbox() {
    let as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    for trap in TRAPS {
        let script = format!("{as_nobody} sh -c 'true; id -u'; exit 3");
        let out = Sluice::run(trap).program(["sh", "-c", &script]);
        assert_eq!(out.status.code(), Some(3), "{out:#?}");
        assert_eq!(out.own_stdout(), "65534\n");
        assert_eq!(outside(&out), 1, "{out:#?}");
        let script = "unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec env true'; exit 3";
        let out = Sluice::run(trap).program(["sh", "-c", script]);
        assert_eq!((out.status.code(), outside(&out)), (Some(3), 1), "{out:#?}");
        let itself = Sluice::run(trap).program(as_nobody.split(' ').chain(["true"]));
        assert_eq!(itself.status.code(), Some(2), "{itself:#?}");
        assert!(itself.stderr.contains("Permission denied"), "{itself:#?}");
    }
}

/// With signals held back SIGSYS ended it, at the first of the runtime's calls of that kind.
#[test]
fn so_are_those_under_a_filter_that_sends_calls_back() {
    let program = helper!("abuse_filtered.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let out = within_limit(&mut small(trap).prepare([program]));
        assert_eq!((fault(&out), outside(&out)), (None, 1), "{out:#?}");
    }
}

/// It ended without a word.
#[test]
fn a_filter_that_ends_a_program_is_told() {
    let program = helper!("abuse_filtered.c").to_str().expect("plain letters");
    let out = within_limit(&mut small("signal").prepare([program, "late"]));
    assert_eq!(out.status.signal(), Some(libc::SIGSYS), "{out:#?}");
    let told = "a filter of system calls (seccomp) ended the program";
    assert!(out.stderr.contains(told), "{out:#?}");
    let out = within_limit(&mut small("event").prepare([program, "late"]));
    assert_eq!(fault(&out), None, "{out:#?}");
}

/// Nothing was printed of its children.
#[test]
fn so_are_children_that_a_filter_ends() {
    let program = helper!("abuse_filtered.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let out = within_limit(&mut small(trap).prepare([program, "children"]));
        assert_eq!(fault(&out), None, "{out:#?}");
        assert_eq!(out.number("/host/children_filtered"), 8, "{out:#?}");
        for ended in [8, 1] {
            let told = format!("ended {ended} of the program's children (SIGSYS)");
            assert!(out.stderr.contains(&told), "{out:#?}");
        }
    }
}

/// The children of a process that has changed its user were ended: they can open nothing that a
/// device needs. They have all of their memory without one.
#[test]
fn a_child_of_another_user_goes_on_off_the_device() {
    let path = helper!("left.c").to_str().expect("plain letters");
    let file = tempfile::NamedTempFile::with_suffix(".dat").expect("room");
    let pages = (0..64u64).flat_map(|page| [page.to_le_bytes().to_vec(), vec![0; 4088]].concat());
    std::fs::write(&file, pages.collect::<Vec<u8>>()).expect("room");
    let program = [path, file.path().to_str().expect("plain letters")];
    let files = ["--place", "heap", "--place", "files:*.dat"];
    let shared = ["--place", "shared"];
    for (trap, place) in [
        ("event", &[][..]),
        ("event", &[&files[..], &shared].concat()),
        ("signal", &[]),
        ("signal", &files),
    ] {
        let sluice = Sluice::run(trap).args(place).cache("1MiB");
        let out = sluice.set("device.capacity", "64MiB").program(program);
        assert_eq!(out.own_stdout(), "well\n", "{trap} {place:?}: {out:#?}");
        assert_eq!(out.number("/host/forks"), 3);
        assert_eq!(out.number("/host/forks_outside"), 3);
        let told = "3 forked processes were not on the device";
        assert!(out.stderr.contains(told), "{out:#?}");
    }
}

/// They were ended, too, though without a device they run.
#[test]
fn so_does_a_child_beyond_its_limits() {
    let script = "import os, resource; b = bytearray(8 << 20); b[::4096] = bytes([7]) * 2048
resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5)); child = os.fork()
child or os._exit(b[::4096] != bytes([7]) * 2048)
print(os.waitpid(child, 0)[1], sum(b))";
    for trap in TRAPS {
        let sluice = Sluice::run(trap).cache("1MiB");
        let sluice = sluice.set("device.capacity", "64MiB");
        let out = sluice.program(["/usr/bin/python3", "-c", script]);
        assert_eq!(out.own_stdout(), "0 14336\n", "{trap}: {out:#?}");
        assert_eq!(out.number("/host/forks_outside"), 1, "{out:#?}");
    }
}

/// As many tasks were left as its fork and some of the runtime's threads need, and it ended. So did
/// a program that it became.
#[test]
fn so_does_a_child_that_is_left_too_few_tasks() {
    let Some((_folder, sluice)) = for_all_users() else {
        println!("not tested: needs root and setpriv");
        return;
    };
    // Root has no such limit. Nobody else has this number.
    let user = 100_000 + std::process::id();
    for (trap, threads) in [("event", 3), ("signal", 1)] {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={user}"), &format!("--regid={user}")]);
        // The right to a descriptor for faults, and none to go beyond a limit.
        let rights = ["inh-caps", "ambient-caps", "bounding-set"];
        command.args(rights.map(|set| format!("--{set}=-all,+sys_ptrace")));
        command.arg("--clear-groups").arg(&sluice);
        command.args(["run", "--json", "--trap", trap, "--control", "on"]);
        let (device, cache) = ("device.capacity=64MiB", "cache.capacity=1MiB");
        command.args(["--set", device, "--set", cache, "--"]);
        command.args(["/usr/bin/python3", "-c", TASKS, &threads.to_string()]);
        let out = finish(&mut command);
        assert_eq!(out.own_stdout(), "well\n", "{trap}: {out:#?}");
        assert_eq!(out.number("/host/forks_outside"), threads, "{out:#?}");
        assert_eq!(outside(&out), threads, "{out:#?}");
    }
}

/// Forks and starts programs with room for no thread of the runtime, for one, and so on.
const TASKS: &str = "
import os, resource, sys
threads = int(sys.argv[1])
page = bytes([7]) * 2048
b = bytearray(8 << 20); b[::4096] = page
def tasks():
    found = 0
    for process in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.stat(f'/proc/{process}').st_uid == os.getuid():
                found += len(os.listdir(f'/proc/{process}/task'))
        except OSError:
            pass
    return found
_, most = resource.getrlimit(resource.RLIMIT_NPROC)
def leave(count):
    resource.setrlimit(resource.RLIMIT_NPROC, (count, most))
for room in range(threads + 1):
    leave(tasks() + 1 + room)
    child = os.fork()
    child or os._exit(b[::4096] != page)
    assert os.waitpid(child, 0)[1] == 0 and b[::4096] == page, room
    leave(most)
    child = os.fork()
    if not child:
        leave(tasks() - threads + room)
        os.execv('/usr/bin/test', ['test', 'a', '=', 'a'])
    assert os.waitpid(child, 0)[1] == 0, room
print('well')";

/// A program that another one starts under such limits, as a shell does.
#[test]
fn so_does_a_program_beyond_its_limits() {
    let limits =
        "ulimit -f 100; exec setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource";
    let script = format!("({limits} sh -c 'seq 3 | tail -1; ls /proc/self/task | wc -l'); exit 3");
    for trap in TRAPS {
        let out = Sluice::run(trap).program(["sh", "-c", &script]);
        assert_eq!(out.status.code(), Some(3), "{out:#?}");
        assert_eq!(out.own_stdout(), "3\n1\n", "{trap}: {out:#?}");
        assert!(outside(&out) > 0, "{out:#?}");
    }
}

/// A store in files is read by the device alone.
#[test]
fn with_a_store_in_files_it_ends_and_says_what_to_do() {
    let store = tempfile::tempdir().expect("room");
    let store = format!("file:{}", store.path().display());
    let script = "import os; os.setuid(65534); child = os.fork(); child or os._exit(0); \
                  print(os.waitpid(child, 0)[1] >> 8)";
    for trap in TRAPS {
        let sluice = Sluice::run(trap).args(["--store", &store]);
        let out = sluice.program(["/usr/bin/python3", "-c", script]);
        assert_eq!((out.status.code(), out.own_stdout()), (Some(0), "2\n"));
        assert!(
            out.stderr.contains("a program that changes its user"),
            "{out:#?}"
        );
    }
}

/// Children that no fork made with a copy of their parent.
#[test]
fn so_are_those_that_are_spawned() {
    let path = static_program();
    let script = format!(
        "import os, subprocess
subprocess.run(['{path}'], check=True)
subprocess.run(['true'], check=True)
for path, env in ('{path}', os.environ), ('/bin/true', os.environ), ('/bin/true', {{}}):
    os.waitpid(os.posix_spawn(path, [path], env), 0)
try:
    subprocess.run(['/no/such/program'])
except FileNotFoundError:
    os.system('true')
os.system('exec {path}')"
    );
    for trap in TRAPS {
        let out = Sluice::run(trap).program(["/usr/bin/env", "python3", "-c", &script]);
        assert!(out.status.success(), "{out:#?}");
        assert_eq!(outside(&out), 4, "{out:#?}");
    }
}

/// The line of a script's own traps was all that there was.
#[test]
fn what_other_programs_did_is_told() {
    let run = |script: &str| {
        let mut command = Sluice::command();
        finish(command.args(["run", "--", "sh", "-c", script])).stderr
    };
    let alone = run("true");
    assert!(!alone.contains("other processes"), "{alone}");
    let room = "nothing left its 4.8 GiB (cache.capacity)";
    assert!(alone.contains(room), "{alone}");
    let lines = run("sort /etc/passwd | wc -l; true");
    assert!(lines.contains("other processes: "), "{lines}");
}

/// A warning about the shell alone would have been all.
#[test]
fn what_befell_other_processes_is_told() {
    let script = "dd if=/dev/zero of=/dev/null bs=200M count=1; true";
    let run = Sluice::run("event").cache("1MiB");
    let out = run
        .set("device.capacity", "64MiB")
        .program(["sh", "-c", script]);
    assert!(out.stderr.contains("raise device.capacity"), "{out:#?}");
}

/// A run without any trap gets a warning that says so, and no other.
#[test]
fn a_device_that_nobody_used_is_told_of() {
    let file = tempfile::NamedTempFile::new_in("/dev/shm").expect("room");
    file.as_file().set_len(1 << 20).expect("room");
    let place = format!("dax:{}", file.path().display());
    for trap in TRAPS {
        let run = Sluice::run(trap).args(["--place", &place]);
        let out = run.program(["true"]);
        let path = file.path().to_str().expect("plain letters");
        assert!(out.stderr.contains("nobody touched"), "{out:#?}");
        assert!(out.stderr.contains(path), "{out:#?}");
        let run = Sluice::run(trap).args(["--place", "files:*.x"]);
        let of_files = "read no mapped file that can be placed there (--place files:*.x)";
        let out = run.program(["true"]);
        assert!(out.stderr.contains(of_files), "{out:#?}");
        let out = Sluice::run(trap).program(["sort", "/etc/passwd"]);
        assert_eq!(out.stderr, "", "{trap}");
    }
}

/// The C library aborts a process whose threads cannot all change their user. Those of the device
/// are none of its threads.
#[test]
fn a_thread_may_set_its_own_capabilities() {
    let flags = ["--reuid=65534", "--clear-groups"];
    let plain = Command::new("setpriv").args(flags).arg("true").status();
    if !plain.is_ok_and(|status| status.success()) {
        println!("not tested: needs root and setpriv");
        return;
    }
    for trap in TRAPS {
        let words = ["setpriv"].iter().chain(&flags).chain(&["--version"]);
        let out = Sluice::run(trap).program(words);
        assert!(out.status.success(), "{out:#?}");
    }
}

/// Runs a live run by way of another command.
fn by(mut outer: Command, live: &Command) -> Outcome {
    outer.arg(live.get_program()).args(live.get_args());
    for (name, value) in live.get_envs() {
        outer.env(name, value.unwrap_or_default());
    }
    finish(&mut outer)
}

/// The library's own memory could not be had, and Rust said so of 23 bytes of it.
#[test]
fn too_little_address_space_is_told() {
    for (capacity, status) in [("1GiB", 0), ("64GiB", 2)] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -v 8000000; exec \"$@\"", "sh"]);
        let live = Sluice::run("event").set("device.capacity", capacity);
        let out = by(shell, &live.prepare(["true"]));
        assert_eq!(out.status.code(), Some(status), "{out:#?}");
        let lines = out.stderr.lines().count();
        let is_told = lines == 1 && out.stderr.contains("ulimit -v");
        assert_eq!(is_told, status == 2, "{out:#?}");
    }
}

/// What a script started under a limit aborted, though it would have run without the device.
#[test]
fn programs_that_a_script_limits_run_off_the_device() {
    let limits = [("-v 4000000", "-v"), ("-d 400000", "-d")];
    for (trap, (limit, flag)) in TRAPS.into_iter().zip(limits) {
        let script = format!("(ulimit {limit}; seq 3 | tail -1); echo here");
        let live = || Sluice::run(trap).set("device.capacity", "64GiB");
        // A program that may raise the limit again has the device.
        let bound = [
            "setpriv",
            "--bounding-set=-sys_resource",
            "sh",
            "-c",
            &script,
        ];
        let out = finish(&mut live().prepare(bound));
        assert!(out.status.success(), "{limit}: {out:#?}");
        assert_eq!(out.own_stdout(), "3\nhere\n", "{limit}: {out:#?}");
        let told = "2 programs were not on the device";
        assert!(out.stderr.contains(told), "{limit}: {out:#?}");
        let script = format!("ulimit {limit}; exec seq 3");
        let out = finish(&mut live().prepare(["sh", "-c", &script]));
        assert!(out.status.success(), "{limit}: {out:#?}");
        assert_eq!(out.own_stdout(), "1\n2\n3\n", "{limit}: {out:#?}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh"]);
        let out = by(shell, &live().prepare(["true"]));
        assert_eq!(out.status.code(), Some(2), "{limit}: {out:#?}");
        let told = format!("`ulimit {flag}` allows");
        let is_told = out.stderr.lines().count() == 1 && out.stderr.contains(&told);
        let has_one_style = !out.stderr.contains("MB") && out.stderr.contains("GiB");
        assert!(is_told && has_one_style, "{limit}: {out:#?}");
    }
}

/// The library aborted in it, for want of memory and of a reason.
#[test]
fn under_valgrind_nothing_runs_and_one_line_says_why() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("not tested: needs valgrind");
        return;
    }
    for tool in ["memcheck", "none"] {
        let tool = format!("--tool={tool}");
        let out = Sluice::run("event").program(["valgrind", "-q", &tool, "true"]);
        assert_eq!(out.status.code(), Some(2), "{out:#?}");
        assert_eq!(out.stderr.lines().count(), 1, "{out:#?}");
        assert!(out.stderr.contains("valgrind"), "{out:#?}");
    }
    let mut around = Command::new("valgrind");
    around.args(["-q", "--tool=none"]);
    let out = by(around, &Sluice::run("event").prepare(["true"]));
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    assert!(out.stderr.contains("run it without valgrind"), "{out:#?}");
}

/// gdb starts its program so, and hung in signal mode.
#[test]
fn a_child_of_vfork_is_traced_or_refused() {
    let path = helper!("traced.c").to_str().expect("plain letters");
    let out = Sluice::run("event").cache("1MiB").program([path]).evicted();
    assert_eq!(out.own_stdout(), "well\n");
    let out = Sluice::run("signal").cache("1MiB").program([path]);
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    assert!(out.stderr.contains("use --trap event"), "{out:#?}");
}

/// The sanitizer's words alone say nothing of a way out.
#[test]
fn a_program_with_address_sanitizer_is_named() {
    let program = compile("zipf.c", &["-fsanitize=address"]);
    let out = Sluice::run("event").program([&program]);
    assert!(!out.status.success(), "{out:#?}");
    let names = [
        "AddressSanitizer, which",
        "ASAN_OPTIONS=verify_asan_link_order=0",
    ];
    for name in names {
        assert!(out.stderr.contains(name), "{name}: {out:#?}");
    }
}

/// They were open, to nothing.
#[test]
fn streams_that_are_closed_are_closed_to_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("open");
    let script = "for ((n = 0; n < 10; n++)); do [[ -e /proc/self/fd/$n ]] && echo $n; done >$0; \
                  for ((i = 0; i < 60000; i++)); do a[i]=$i; done; echo ${a[59999]} >>$0";
    let words = ["bash", "-c", script, file.to_str().expect("plain letters")];
    let open = |command: &Command| {
        let mut closed = Command::new("sh");
        closed.args(["-c", "exec \"$@\" <&- >&- 2>&-", "sh"]);
        closed.arg(command.get_program()).args(command.get_args());
        closed.envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let out = finish(&mut closed);
        assert!(out.status.success(), "{out:#?}");
        std::fs::read_to_string(&file).expect("what is open")
    };
    let native = open(Command::new(words[0]).args(&words[1..]));
    assert_eq!(native, "1\n59999\n");
    for trap in TRAPS {
        assert_eq!(open(&Sluice::run(trap).prepare(words)), native, "{trap}");
    }
}

/// The words of the error came from the C library, which allocates for a program with a language:
/// the child waited for its own lock. It is refused because of its store.
#[test]
fn a_child_that_is_refused_says_why_and_ends() {
    let store = format!("file:{}", std::env::temp_dir().display());
    let script = "import locale, os, resource; locale.setlocale(locale.LC_ALL, ''); \
                  resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5)); child = os.fork(); \
                  child or os._exit(0); print(os.waitpid(child, 0)[1] >> 8)";
    let sluice = small("signal").args(["--store", &store]);
    let mut command = sluice.prepare(["/usr/bin/python3", "-c", script]);
    let out = within_limit(command.env("LC_ALL", "C.UTF-8"));
    assert_eq!(
        (out.status.code(), out.own_stdout()),
        (Some(0), "2\n"),
        "{out:#?}"
    );
    assert!(
        out.stderr.contains("Too many open files (os error 24)"),
        "{out:#?}"
    );
}

/// The loader made the library's thread variables by a call of its own `malloc`, which uses them.
#[test]
fn a_program_under_an_auditor_is_on_the_device() {
    let auditor = compile("auditor.c", &["-shared", "-fPIC"]);
    let set = format!("LD_AUDIT={}", auditor.to_str().expect("plain letters"));
    for trap in TRAPS {
        let out = Sluice::run(trap).program(["env", &set, "sort", "/etc/passwd"]);
        assert!(out.status.success(), "{trap}: {out:#?}");
        assert!(out.number("/traps") > 0, "{trap}: {out:#?}");
        assert_eq!(outside(&out), 0, "{trap}: {out:#?}");
    }
}
