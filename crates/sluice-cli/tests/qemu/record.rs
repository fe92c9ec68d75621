//! `sluice trace record`: filters, threads, forks, and what cannot be.

use crate::rig::{accesses, compile, plain, record, sluice};
use sluice_trace::{Access, Kind, Reader};
use std::process::Output;

/// A cache as a list of lines for each set, the last used first: (line, written).
struct Naive(Vec<Vec<(u64, bool)>>, usize);

impl Naive {
    fn new(kib: usize, ways: usize) -> Naive {
        Naive(vec![Vec::new(); kib * 1024 / 64 / ways], ways)
    }

    /// Whether the line was there, and a written line that had to go.
    fn touch(&mut self, line: u64, write: bool) -> (bool, Option<u64>) {
        let sets = self.0.len() as u64;
        let set = &mut self.0[(line % sets) as usize];
        let place = set.iter().position(|(other, _)| *other == line);
        let was = place.map(|place| set.remove(place));
        set.insert(0, (line, write || was.is_some_and(|(_, written)| written)));
        let gone = (set.len() > self.1).then(|| set.pop()).flatten();
        (
            was.is_some(),
            gone.and_then(|(line, written)| written.then_some(line)),
        )
    }
}

/// What two levels let through: instruction, line and kind.
fn through(accesses: &[Access], l1: &mut Naive, l2: &mut Naive) -> Vec<(u64, u64, Kind)> {
    let mut passed = Vec::new();
    for access in accesses {
        let at = access.instructions;
        let last = access.address + u64::from(access.size) - 1;
        for line in access.address / 64..=last / 64 {
            let (hit, gone) = l1.touch(line, access.kind == Kind::Store);
            let below = gone.map(|line| (line, true));
            for (line, write) in below.into_iter().chain((!hit).then_some((line, false))) {
                let (hit, gone) = l2.touch(line, write);
                passed.extend(gone.map(|line| (at, line, Kind::Store)));
                if !hit && !write {
                    passed.push((at, line, Kind::Load));
                }
            }
        }
    }
    passed
}

#[test]
fn a_filter_passes_what_lists_of_lines_pass() {
    let dir = tempfile::tempdir().unwrap();
    let program = plain().to_string_lossy().into_owned();
    let (all, some) = (dir.path().join("all"), dir.path().join("some"));
    record(&all, "none", &[&program]);
    let out = record(&some, "L1=4KiB/4,L2=16KiB/8", &[&program]);
    let expected = through(
        &accesses(&all),
        &mut Naive::new(4, 4),
        &mut Naive::new(16, 8),
    );
    let ours: Vec<_> = accesses(&some)
        .iter()
        .map(|a| (a.instructions, a.address / 64, a.kind))
        .collect();
    assert!(ours.len() > 1_000 && ours.iter().any(|a| a.2 == Kind::Store));
    assert!(ours == expected, "{} and {}", ours.len(), expected.len());
    let reader = Reader::open(&some).unwrap();
    assert_eq!(
        reader.header().filter.as_deref(),
        Some("L1=4KiB/4,L2=16KiB/8")
    );
    assert_eq!(reader.header().granularity, 64);
    let said = crate::schema::checked(&out.stdout);
    assert_eq!(said["accesses"], ours.len());
    assert_eq!(said["accesses_seen"], accesses(&all).len());
    assert_eq!(out.status.code(), Some(40), "the program's own status");
}

#[test]
fn threads_are_cpus() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let program = compile("threads.c", &[]);
    let out = record(&trace, "none", &[&program.to_string_lossy()]);
    assert!(out.status.success(), "{out:?}");
    let all = accesses(&trace);
    // Each of four threads writes 4096 words of its own part, 64 bytes apart.
    let words = |from: u64| {
        let part = from..from + 4096 * 64;
        let of_part = all.iter().filter(|a| a.kind == Kind::Store);
        let of_part = of_part.filter(|a| part.contains(&a.address) && a.size == 8);
        let mut writers: Vec<u32> = of_part.clone().map(|a| a.cpu).collect();
        writers.dedup();
        (of_part.count(), writers)
    };
    let base = first_word(&out);
    let mut writers = Vec::new();
    for thread in 0..4 {
        let (count, by) = words(base + thread * 4096 * 64);
        assert_eq!((count, by.len()), (4096, 1), "part {thread} by {by:?}");
        writers.extend(by);
    }
    writers.sort_unstable();
    writers.dedup();
    assert_eq!(writers.len(), 4, "one CPU for each: {writers:?}");
}

/// The numbers of threads that start others before they end have no bound. With the 1,025th the
/// program ended.
#[test]
fn a_chain_of_threads_may_be_long() {
    const THREADS: u64 = 1_100;
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let program = compile("chain.c", &[]);
    let program = [&*program.to_string_lossy(), &THREADS.to_string()];
    let out = record(&trace, "none", &program);
    assert!(out.status.success(), "{out:?}");
    let base = first_word(&out);
    let parts = base..base + THREADS * 64;
    let all = accesses(&trace).into_iter();
    let stores = all.filter(|a| a.kind == Kind::Store && parts.contains(&a.address));
    let mut writers: Vec<(u64, u32)> = stores.map(|a| ((a.address - base) / 64, a.cpu)).collect();
    writers.sort_unstable();
    assert!(writers.iter().map(|(part, _)| *part).eq(0..THREADS));
    // QEMU gives each the number above that of the thread that started it.
    assert!(writers.is_sorted_by(|(_, one), (_, next)| one < next));
    assert!(
        writers
            .last()
            .is_some_and(|(_, cpu)| u64::from(*cpu) >= THREADS)
    );
}

/// What the program prints first: where its data are.
fn first_word(out: &Output) -> u64 {
    String::from_utf8_lossy(&out.stdout)
        .split_whitespace()
        .next()
        .and_then(|hex| u64::from_str_radix(hex.trim_start_matches("0x"), 16).ok())
        .expect("the program prints where its data are")
}

#[test]
fn children_are_left_out_and_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let script = "(echo a; exit 3); echo $?; exit 5";
    let out = record(&trace, "none", &["/bin/sh", "-c", script]);
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let object = said.strip_prefix("a\n3\n").map(str::trim_start);
    assert!(
        object.is_some_and(|object| object.starts_with('{')),
        "{said}"
    );
    assert_eq!(out.status.code(), Some(5));
    let reader = Reader::open(&trace).unwrap();
    assert!(reader.unfinished().is_none() && reader.accesses() > 1_000);
}

#[test]
fn what_a_killed_program_did_can_be_read() {
    use std::os::unix::process::ExitStatusExt;
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let script = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; kill -KILL $$";
    let out = record(&trace, "none", &["/bin/sh", "-c", script]);
    assert_eq!(out.status.signal(), Some(9), "{out:?}");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("QEMU reported no end"), "{said}");
    assert!(out.stdout.is_empty(), "no result");
    assert!(Reader::open(&trace).unwrap().unfinished().is_some());
    assert!(accesses(&trace).len() >= 1 << 16, "whole blocks");
}

/// What it executes runs natively, so the recording has no end.
#[test]
fn a_program_that_executes_another_leaves_a_cut_trace() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    for (program, expected) in [("true", 2), ("false", 1)] {
        let script = format!("exec /bin/{program}");
        let out = record(&trace, "none", &["/bin/sh", "-c", &script]);
        assert_eq!(out.status.code(), Some(expected), "{out:?}");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(said.contains("QEMU reported no end"), "{said}");
    }
}

/// The program goes on, and its trace is cut.
#[test]
fn a_trace_that_has_no_room_is_an_error_that_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let limited = |script: &str| {
        let limits = "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\"";
        let sluice = sluice();
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", limits]).arg(sluice.get_program());
        let given = sluice.get_envs();
        command.envs(given.filter_map(|(key, value)| Some((key, value?))));
        command.args(["trace", "record", "--force", "--filter", "none", "-o"]);
        command.arg(&trace).args(["--", "/bin/sh", "-c", script]);
        command.output().unwrap()
    };
    let busy = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo done; exit";
    for (code, expected) in [(0, 2), (7, 7)] {
        let out = limited(&format!("{busy} {code}"));
        assert_eq!(out.status.code(), Some(expected), "{out:?}");
        assert_eq!(out.stdout, b"done\n");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(said.starts_with("sluice: recording ended: "), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(Reader::open(&trace).unwrap().unfinished().is_some());
    }
}

/// QEMU refused to start and said two lines more, with status 1.
#[test]
fn a_full_disk_is_told_as_one_that_gets_full() {
    let program = plain().to_string_lossy().into_owned();
    let out = record(std::path::Path::new("/dev/full"), "none", &[&program]);
    assert_eq!(out.status.code(), Some(40), "the program's own: {out:?}");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    let full = "sluice: recording ended: writing a trace: No space left on device (os error 28)\n";
    assert_eq!(said, full);
}

/// Of the first the name was another one; of the others QEMU said three lines, with status 1.
#[test]
fn a_trace_has_the_name_that_was_asked_for_or_none() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    let program = plain().to_string_lossy().into_owned();
    let odd = dir
        .path()
        .join(std::ffi::OsStr::from_bytes(b"a\n,\xff.trace"));
    let out = record(&odd, "none", &[&program]);
    assert_eq!(out.status.code(), Some(40), "{out:?}");
    assert!(Reader::open(&odd).unwrap().accesses() > 0);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    let long = dir.path().join("x".repeat(300));
    for (path, message) in [
        (long.as_path(), "File name too long"),
        ("/proc/none".as_ref(), "/proc/none: No such file"),
        ("-".as_ref(), "-: a trace is written at its beginning"),
    ] {
        let said = refused(&record(path, "none", &[&program]));
        assert!(said.contains(message), "{said}");
    }
}

/// More than one argument can hold was "Argument list too long" of QEMU.
#[test]
fn a_program_may_have_many_arguments() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let many: Vec<String> = (0..40_000).map(|number| number.to_string()).collect();
    let mut program = vec!["/bin/true"];
    program.extend(many.iter().map(String::as_str));
    let out = record(&trace, "none", &program);
    assert!(out.status.success(), "{:?}", out.stderr);
    let command = Reader::open(&trace).unwrap().header().command.clone();
    assert!(command.starts_with("/bin/true 0 1 2 ") && command.ends_with(" .."));
}

fn refused(out: &Output) -> String {
    assert_eq!(out.status.code(), Some(2), "{out:?}");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn what_cannot_be_recorded_is_said_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let script = dir.path().join("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    let other = dir.path().join("other");
    let mut elf = std::fs::read(plain()).unwrap();
    elf[18] = 183; // EM_AARCH64
    std::fs::write(&other, elf).unwrap();
    for path in [&script, &other] {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let program = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let plain = program(plain());
    let cases = [
        ("none", program(&script), "give its interpreter"),
        ("none", program(&other), "not a program for x86-64"),
        ("none", "no-such-program".to_owned(), "no such program"),
        ("L2=1MiB/8", plain.clone(), "does not begin with L1="),
        ("L1=33KiB/8", plain.clone(), "power of two"),
        ("L1=32KiB/0", plain.clone(), "1 to 64"),
    ];
    for (filter, program, message) in cases {
        let said = refused(&record(&trace, filter, &[&program]));
        assert!(said.contains(message), "{said}");
        assert!(!trace.exists(), "nothing is begun");
    }
    let mut command = sluice();
    command.env("PATH", dir.path());
    command.args(["trace", "record", "--", &plain]);
    let said = refused(&command.output().unwrap());
    assert!(said.contains("apt-get install qemu-user"), "{said}");
    // Says the same of its version and of its options.
    let qemu = |says: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = dir.path().join("qemu-x86_64");
        std::fs::write(&path, format!("#!/bin/sh\necho {says}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    qemu("qemu-x86_64 version 6.2.0");
    let said = refused(&command.output().unwrap());
    assert!(said.contains("QEMU 6.2; 7.2 or newer"), "{said}");
    qemu("qemu-x86_64 version 10.0.2");
    let said = refused(&command.output().unwrap());
    assert!(said.contains("was built without plugins"), "{said}");
}
