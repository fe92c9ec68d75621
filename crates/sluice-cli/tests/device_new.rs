//! From a data sheet to a device.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Output};

fn device(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.current_dir(folder).arg("device");
    command.args(words.split_whitespace());
    command.output().expect("the command starts")
}

fn refused(folder: &Path, words: &str) -> String {
    let output = device(folder, words);
    assert_eq!(output.status.code(), Some(2), "{words}");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

const SHEET: &str = "new mine --read-latency 5us --program-latency 100µs --dies 16 --channels 8 \
                     --capacity 1TB --cache 16GiB --link 8GB/s";

#[test]
fn a_data_sheet_is_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert_eq!(device(at, SHEET).status.code(), Some(0));
    let shown = device(at, "show mine.toml --json");
    let shown = String::from_utf8(shown.stdout).unwrap();
    let rows: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let value = |key: &str| {
        let row = rows
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["key"] == key);
        row.unwrap()["value"].as_str().unwrap().to_owned()
    };
    for (key, expected) in [
        ("nand.read", "5us"),
        ("nand.program", "100us"),
        ("nand.channels", "8"),
        ("device.link_bandwidth", "8000"),
        ("cache.capacity", "16GiB"),
        // Of the preset that it is built on.
        ("ftl.allocation", "idle"),
    ] {
        assert_eq!(value(key), expected, "{key}");
    }
    let chips: u64 = value("nand.chips").parse().unwrap();
    let dies: u64 = value("nand.dies").parse().unwrap();
    assert_eq!(8 * chips * dies, 16, "all dies together");
    let checked = String::from_utf8(device(at, "check mine.toml").stdout).unwrap();
    let open = checked
        .lines()
        .find(|line| line.starts_with("not in the file"));
    let open = open.expect("what it leaves open");
    assert!(
        open.contains("nand.erase=") && !open.contains("nand.read="),
        "{open}"
    );
    assert!(checked.contains("live"), "{checked}");
}

#[test]
fn what_is_there_or_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert_eq!(device(at, SHEET).status.code(), Some(0));
    let before = std::fs::read_to_string(at.join("mine.toml")).unwrap();
    let said = refused(at, "new mine --read-latency 7us");
    assert!(said.contains("--force"), "{said}");
    assert_eq!(
        std::fs::read_to_string(at.join("mine.toml")).unwrap(),
        before
    );
    assert_eq!(
        device(at, "new mine --read-latency 7us --force")
            .status
            .code(),
        Some(0)
    );
    let after = std::fs::read_to_string(at.join("mine.toml")).unwrap();
    assert!(after.contains("7us") && !after.contains("100us"), "{after}");
    for (words, parts) in [
        ("new other --link 8GB", &["--link", "8GB", "8GB/s"][..]),
        (
            "new other --dies 3 --channels 2",
            &["--dies", "3", "multiple"],
        ),
        ("new cylon --dies 16", &["NAME", "cylon", "device list"]),
        ("new other --base nothing", &["nothing", "cylon"]),
        (
            "new other --capacity 16MiB --cache 32MiB",
            &["cache.capacity"],
        ),
    ] {
        let said = refused(at, words);
        assert!(
            parts.iter().all(|part| said.contains(part)),
            "{words}: {said}"
        );
        assert!(!at.join("other.toml").exists(), "{words}");
    }
}

/// What a terminal shows when the answers are typed in one after the other.
fn typed(folder: &Path, words: &str, answers: &str) -> String {
    let (mut near, mut far) = (-1, -1);
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: two live outputs; no name, settings or size are asked for.
    let opened =
        unsafe { libc::openpty(&mut near, &mut far, none.cast(), none.cast(), none.cast()) };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: just opened, and nobody else's.
    let [near, far] = [near, far].map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    let mut near = File::from(near);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command
        .current_dir(folder)
        .arg("device")
        .args(words.split_whitespace());
    command.stdin(far.try_clone().expect("a descriptor"));
    command
        .stderr(far.try_clone().expect("a descriptor"))
        .stdout(far);
    let mut child = command.spawn().expect("the command starts");
    drop(command);
    // All answers fit into the terminal's own memory.
    near.write_all(answers.as_bytes()).expect("a terminal");
    let mut shown = Vec::new();
    // It ends by an error when nobody has its other end any more.
    let _ = near.read_to_end(&mut shown);
    let status = child.wait().expect("our own child");
    let shown = String::from_utf8(shown).expect("UTF-8").replace('\r', "");
    assert!(status.success(), "{shown}");
    shown
}

/// The question for all dies had the number of a chip's.
#[test]
fn a_terminal_is_asked_for_what_was_not_given() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let words = "new mine --base cxl-ssd --read-latency 5us";
    // Capacity, link, cache, program, erase, channels and dies; the cache is mistyped first.
    let shown = typed(at, words, "1TB\n8GB/s\nmuch\n16GiB\n\n\n16\n\n");
    let asked: Vec<&str> = shown.lines().filter(|line| line.contains(": ")).collect();
    for question in [
        "bytes that the host can address [",
        "bandwidth of the link each way, such as 8GB/s [none]: ",
        "time to program a page [",
        "channels [8]: ",
        // Of each chip as many as the base has, on 16 channels.
        "dies on all channels together [128]: ",
    ] {
        let times = asked.iter().filter(|line| line.contains(question)).count();
        assert_eq!(times, 1, "{question}: {shown}");
    }
    assert_eq!(
        shown.matches("bytes of the DRAM cache [").count(),
        2,
        "{shown}"
    );
    assert!(!shown.contains("read a page from flash ["), "{shown}");
    let text = std::fs::read_to_string(at.join("mine.toml")).unwrap();
    for line in [
        "capacity = \"1TB\"",
        "link_bandwidth = 8000",
        "read = \"5us\"",
        "channels = 16",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("dies") && !text.contains("erase"), "{text}");
    // Where a number is typed it is of all dies.
    typed(at, "new other --base cxl-ssd", "\n\n\n\n\n\n\n32\n\n");
    let text = std::fs::read_to_string(at.join("other.toml")).unwrap();
    assert!(text.contains("dies = 4"), "32 on 8 channels: {text}");
}

/// Every failed run was "this host runs nothing live".
#[test]
fn check_says_why_live_was_not_measured() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command
        .args(["device", "check", "cylon"])
        .current_dir(folder.path());
    let out = command
        .env("SLUICE_PRELOAD", "/no/such/library.so")
        .output()
        .unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    let line = said
        .lines()
        .find(|line| line.starts_with("whether live keeps up"));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains("/no/such/library.so"), "{line}");
}

/// It left out what a preset states beside what each of them does: of these 75 us nothing was said.
#[test]
fn check_says_all_that_the_base_states() {
    let folder = tempfile::tempdir().unwrap();
    let file = "base = \"cmm-h\"\n[nand]\nread = \"25us\"\n";
    std::fs::write(folder.path().join("mine.toml"), file).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command
        .args(["device", "check", "mine.toml"])
        .current_dir(folder.path());
    let out = command.output().unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    let inherited = said
        .lines()
        .find(|line| line.starts_with("not in the file"));
    let inherited = inherited.unwrap_or_else(|| panic!("{said}"));
    for key in ["cache.replacement=75us", "cache.index=hash", "cache.ways=8"] {
        assert!(inherited.contains(key), "{said}");
    }
    assert!(!inherited.contains("nand.read="), "{said}");
}
