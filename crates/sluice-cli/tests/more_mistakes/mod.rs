//! More of what newcomers mistype: of guests, stores, curves, sizes, and of running devices.

mod left_behind;
mod objects;
mod parameters;
mod traces;
mod without_effect;

use std::path::Path;
use std::process::{Command, Output};

/// Files that the command lines name.
pub const FILES: &[(&str, &str)] = &[
    ("damaged/command.json", "{"),
    ("empty.trace", ""),
    ("other.trace", "hello, hello, hello\n"),
    ("heading.csv", "time_us,op,Address,why\n1,R,0,x\n"),
    ("kept/stats.json", "{}"),
    ("kept/command.json", COMMAND),
];
const COMMAND: &str = r#"{ "arguments": ["sim", "--out", "kept"], "directory": "/nowhere/at/all",
    "environment": {}, "host": {}, "schema": "sluice.command/1", "version": "0.1.0" }"#;

/// The mistakes of all files here.
pub fn all() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let more = traces::MISTAKES.iter().chain(without_effect::MISTAKES);
    let all = MISTAKES.iter().chain(more);
    all.chain(parameters::MISTAKES)
}

/// A command line, and the whole error.
const MISTAKES: &[(&str, &str)] = &[
    (
        "run --set cache.capacity=0 -- true",
        "bad value for `cache.capacity`: \"0\"; expected a size above 0 such as 16MiB, or a \
         percentage of device.capacity up to 100%",
    ),
    (
        "run --set cache.capacity=16 -- true",
        "impossible configuration: cache.capacity = 16B, cache.ways = full, device.capacity = \
         96GiB: the cache has not one page of 4KiB; give it a page for each way at least",
    ),
    (
        "run --set cache.size=5MiB -- true",
        "unknown key `cache.size`: valid keys are cache.capacity, cache.policy, cache.ways, \
         cache.index, cache.index_latency, cache.hit_latency, cache.replacement, cache.write and ",
    ),
    (
        "run --set nand.latency=5us -- true",
        "unknown key `nand.latency`: did you mean `nand.suspend_latency`, `nand.resume_latency` or \
         `nand.retry_latency`? `sluice device show` lists all keys",
    ),
    (
        "sim --workload zipf:ops=0",
        "zipf: ops: \"0\" is not accepted; expected a whole number from 1 on, such as 250000 or \
         20M",
    ),
    (
        "sim --workload stream:passes=0",
        "stream: passes: \"0\" is not accepted; expected a whole number from 1 on, such as 250000 \
         or 20M",
    ),
    (
        "sim --system base-cssd --workload srad --instructions 0",
        "instructions: \"0\" is not accepted; expected a whole number from 1 on",
    ),
    (
        "sim --system base-cssd --workload srad --set cores=2",
        "unknown key `cores`: did you mean `cpu.cores`? `sluice system show` lists all keys",
    ),
    (
        "run --set =5 -- true",
        "bad value for --set: \"=5\"; expected KEY=VALUE, such as cache.capacity=16MiB",
    ),
    (
        "run --set cache.policy= -- true",
        "bad value for `cache.policy`: \"\" is empty; expected one of fifo, ",
    ),
    (
        "run --set cache.policy=LRU -- true",
        "bad value for `cache.policy`: \"LRU\" (did you mean lru?); expected one of fifo, ",
    ),
    (
        "run --device full -- true",
        "unknown device `full`, which is a folder: give a path ending in .toml, or one of ",
    ),
    (
        "run --device notes.txt -- true",
        "unknown device `notes.txt`, a file whose name does not end in .toml: give a path",
    ),
    (
        "run --metrics nosuch/x.prom -- true",
        "bad value for --metrics: \"nosuch/x.prom\"; No such file or directory (os error 2); \
         expected a folder that exists and may be written to",
    ),
    (
        "run --out notes.txt/x -- true",
        "--out notes.txt/x: notes.txt is a file; name a folder",
    ),
    (
        "run --place dax: -- true",
        "bad value for --place: \"dax:\"; expected dax:PATH of a file that exists; make it first, \
         as long as the program needs it, for example with `truncate -s 1G /dev/shm/device`",
    ),
    (
        "run -- full",
        "full: no such program in PATH, and a folder here; give the program in it",
    ),
    (
        "run --seed 99999999999999999999 -- true",
        "invalid value '99999999999999999999' for '--seed <SEED>': expected a smaller whole number",
    ),
    (
        "sim --workload zipf --threads 4",
        "--threads needs --system <SYSTEM> too; give both or neither; see `sluice sim --help`",
    ),
    (
        "vm --demo --scale 2",
        "--scale needs --simulate too; give both or neither; see `sluice vm --help`",
    ),
    (
        "sim --system base-cssd --workload ycsbb",
        "workload: \"ycsbb\" is not known (did you mean ycsb?); a simulated host runs one of ",
    ),
    (
        "size --policies LRU -- true",
        "invalid value 'LRU' for '--policies <NAME,..>': expected one of fifo, lifo, lru, clock, ",
    ),
    (
        "vm --demo --device skybyte",
        "bad value for --device: \"skybyte\" can be simulated (sluice sim) but not run live, for \
         a write log takes stores line by line, and those to a page that the program has mapped \
         are not seen; expected --device skybyte --set write_log.capacity=none",
    ),
    (
        "vm --demo --device cxl-dram",
        "bad value for --device: \"cxl-dram\" can be simulated (sluice sim) but not run live, \
         for nothing in a memory expander misses and this host's own memory sets the speed; \
         expected --device cylon",
    ),
    (
        "vm disk.qcow2",
        "unexpected argument 'disk.qcow2' found; QEMU's own arguments come after `--`; see \
         `sluice vm --help`",
    ),
    (
        "vm -- -m",
        "QEMU argument `-m` without its value; expected a size such as 2G after it",
    ),
    (
        "vm --demo -- -kernel x",
        "bad QEMU argument `-kernel`: --demo boots its own kernel; leave one of the two out",
    ),
    (
        "vm --demo --filter none",
        "bad value for --filter: \"none\"; it is of recordings; expected --record too, or no \
         --filter",
    ),
    (
        "vm --demo --node 1GiB",
        "bad value for --node: \"1GiB\"; node 1 is the whole device; change device.capacity by \
         --set",
    ),
    (
        "vm --simulate --node 0B -- -kernel x",
        "bad value for --node: \"0B\"; expected a positive multiple of 2MiB",
    ),
    (
        "vm --qemu ./notes.txt --demo",
        "./notes.txt: not an executable file; `chmod +x` makes it one, or put its interpreter \
         before it",
    ),
    (
        "vm --qemu true --demo",
        "/usr/bin/true: `--version` does not say that it is QEMU; QEMU 7.2 or newer is needed \
         (Debian: apt-get install qemu-system-x86)",
    ),
    (
        "top --interval 0s",
        "invalid value '0s' for '--interval <TIME>': expected 10ms or more, such as 1s",
    ),
    (
        "top --interval 1",
        "invalid value '1' for '--interval <TIME>': expected 10ms or more, such as 1s",
    ),
    (
        "store check file:notes.txt",
        "file:notes.txt: a path is expected here; give notes.txt",
    ),
    (
        "again nosuch",
        "nosuch: no such folder; expected a folder that a command wrote by --out",
    ),
    (
        "again damaged",
        "damaged: its command.json is damaged (EOF while parsing an object at line 1 column 1); \
         run the command itself again",
    ),
    (
        "again kept",
        "kept: it ran in /nowhere/at/all, which is not there; make that folder",
    ),
    (
        "again kept/stats.json",
        "kept/stats.json: a file; give its folder, kept",
    ),
    (
        "sim --workload zipf --out notes.txt",
        "--out notes.txt: it is a file; name a folder",
    ),
    (
        "sim --workload uniform:size=1638401MiB",
        "workload \"uniform:size=1638401MiB\" touches 1.56 TiB, but the device has 96GiB \
         (device.capacity)",
    ),
    (
        "ctl pin 31407",
        "invalid value '31407' for '<RANGE>...': no range; expected all, START..END or \
         START+LENGTH, such as 0..16MiB, or @ before addresses, such as @0x7f0000000000+64KiB; \
         the process comes first: sluice ctl PID COMMAND",
    ),
    (
        "ctl 1 policy lru fifo",
        "unexpected argument 'fifo' found; see `sluice ctl policy --help`",
    ),
    (
        "size --sizes 16 -- true",
        "bad value for --sizes: \"16B\"; expected sizes from a page, 4KiB, to device.capacity, \
         96GiB",
    ),
    (
        "size --sizes 1TiB -- true",
        "bad value for --sizes: \"1TiB\"; expected sizes from a page, 4KiB, to device.capacity, \
         96GiB",
    ),
    (
        "size --traps 0 -- true",
        "invalid value '0' for '--traps <N>': expected 1 at least, such as 32M",
    ),
    (
        "sim --bound --workload zipf --set write_log.capacity=1MiB",
        "--bound: the write log (write_log.capacity) serves accesses that the optimum counts as \
         misses",
    ),
    (
        "sim --bound --workload zipf --set cache.evict_at=fill",
        "--bound: with cache.evict_at = fill a page on its way takes no room, and the optimum \
         gives it some",
    ),
    (
        "sim --bound --workload zipf --set cache.store_miss=whole",
        "--bound: with cache.store_miss = around or whole a store takes no room, and the optimum \
         gives it some",
    ),
    (
        "sim --bound --workload zipf --set cache.load_miss=around",
        "--bound: with cache.load_miss = around a load takes no room, and the optimum gives it \
         some",
    ),
    (
        "sim --bound --workload zipf --device dram-local",
        "--bound: the device is a memory expander (device.kind): it has no cache",
    ),
    (
        "size --warmup 5 -- true",
        "bad value for --warmup: \"5\"; it is of a --trace; of a program --from MARK counts a part",
    ),
    (
        "size --device cxl-dram -- true",
        "--device cxl-dram: it is a memory expander, which has no cache; choose one with flash",
    ),
    (
        "size --set device.page=16KiB -- true",
        "bad value for `device.page`: \"16KiB\" can be simulated (sluice sim) but not run live, \
         where pages are the host's; expected 4KiB, or --trace",
    ),
    (
        "curve --size 200GiB",
        "bad value for --size: \"200GiB\"; regions of 8 threads and the dependent loads \
         (--chase) take 1.56 TiB, but the device has 96 GiB; give less, or fewer --threads, or a \
         larger device.capacity",
    ),
    (
        "curve --chase 200GiB",
        "bad value for --chase: \"200GiB\"; regions of 8 threads and the dependent loads \
         (--chase) take 200 GiB, but the device has 96 GiB; give less, or fewer --threads, or a \
         larger device.capacity",
    ),
    (
        "curve --fabric esf --size 100TiB",
        "bad value for --size: \"100TiB\"; regions of 7 threads and the dependent loads \
         (--chase) take 700 TiB, but a requester reaches 8 GiB; give less, or fewer --threads",
    ),
    (
        "curve --on host --size 2TiB --pace 0ns",
        "bad value for --size: \"2TiB\"; regions of 8 threads and the dependent loads (--chase) \
         take 16 TiB, but this machine has ",
    ),
    (
        "curve --system base-cssd --set host.start=empty",
        "--set host.start=empty: the start of a curve is --start; leave this out",
    ),
    (
        "curve --system dram-only --start cold",
        "--start cold: all memory of this system is the host's own, which has no cold start",
    ),
    (
        "curve --fabric esf --set requester.interval=1us",
        "--set requester.interval=1us: the pace of a curve is --pace; leave this out",
    ),
    (
        "fabric run esf --workload chase:bytes=512KiB",
        "chase:bytes=512KiB: fits the caches 32KiB:8,1MiB:16: after 8192 accesses it asks memory \
         for nothing; give it more memory, smaller --caches, or --accesses 8192",
    ),
    (
        "fabric run esf --workload chase --instruction 1ms",
        "invalid value '1ms' for '--instruction <TIME>': expected 1us at most",
    ),
    (
        "curve --stride 1GiB",
        "bad value for --stride: \"1GiB\"; expected a part of a region, 16MiB, or --size too",
    ),
    (
        "curve --on live --device skybyte",
        "bad value for --device: \"skybyte\" can be simulated (sluice sim) but not run live, for \
         a write log takes stores line by line, and those to a page that the program has mapped \
         are not seen; expected --device skybyte --set write_log.capacity=none",
    ),
    (
        "again notes.txt",
        "notes.txt: a file; expected a folder that a command wrote by --out",
    ),
    (
        "store check notes.txt",
        "notes.txt: not a store of Sluice: it does not begin as one; give the file or block device \
         that `sluice run --store file:STORE` kept a persistent device in",
    ),
    (
        "store check full",
        "full: it is a folder; give the file or block device that `sluice run --store file:STORE` \
         kept a persistent device in",
    ),
    (
        "store check nosuch",
        "nosuch: opening the store: No such file or directory (os error 2)",
    ),
    (
        "again full",
        "full: no command.json is there; expected a folder that a command wrote by --out",
    ),
];

fn sluice(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.current_dir(folder).args(words.split_whitespace());
    command.output().expect("the command starts")
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// It compared the folder with itself, and called every figure what it was.
#[test]
fn what_was_refused_is_not_called_kept() {
    let folder = tempfile::tempdir().expect("room");
    let made = sluice(
        folder.path(),
        "sim --workload zipf:size=64KiB,ops=100 --out a",
    );
    assert!(made.status.success(), "{}", said(&made));
    let refused = sluice(folder.path(), "again a --out a");
    let told = said(&refused);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    let is_one = told.lines().count() == 1;
    assert!(
        is_one && told.contains("it holds the result of an earlier run"),
        "{told}"
    );
    for (words, there) in [
        ("again a", "/a.2"),
        ("again a/", "/a.3"),
        ("again ./a/.", "/a.4"),
    ] {
        let again = said(&sluice(folder.path(), words));
        assert!(again.contains("every figure is what it was"), "{again}");
        let kept = again.lines().last().unwrap_or_default();
        assert!(
            kept.starts_with("sluice: kept in ") && kept.ends_with(there),
            "{again}"
        );
    }
    let inside = said(&sluice(&folder.path().join("a"), "again ."));
    assert!(inside.trim_end().ends_with("/a.5"), "{inside}");
}

/// The run was over before the figures that it replaced were read.
#[test]
fn a_run_that_replaces_the_other_is_compared_with_it() {
    let folder = tempfile::tempdir().expect("room");
    let made = sluice(
        folder.path(),
        "sim --workload zipf:size=64KiB,ops=100 --out a",
    );
    assert!(made.status.success(), "{}", said(&made));
    let stats = folder.path().join("a/stats.json");
    let text = std::fs::read_to_string(&stats).expect("a result");
    let other = text.replace("\"accesses\": 100,", "\"accesses\": 7000,");
    assert_ne!(other, text);
    std::fs::write(&stats, other).expect("room");
    let told = said(&sluice(folder.path(), "again a --out a --force"));
    assert!(told.contains("sluice: accesses: 7000"), "{told}");
}

/// Runs were called ready without the library that they need.
#[test]
fn a_host_without_the_library_is_not_called_ready() {
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_sluice"));
    let out = doctor
        .arg("doctor")
        .env("SLUICE_PRELOAD", "/nonexistent")
        .output();
    let out = out.expect("the command starts");
    let told = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{told}");
    assert!(
        told.ends_with("sluice run --trap signal  cannot run here\n"),
        "{told}"
    );
    assert!(
        told.contains("name the library in SLUICE_PRELOAD, or unset SLUICE_PRELOAD"),
        "{told}"
    );
}

/// Devices whose objects cannot be used were valid, and ran live, until the objects were to run.
#[test]
fn a_device_whose_objects_cannot_be_used_is_not_valid() {
    let folder = tempfile::tempdir().expect("room");
    let lru = sluice_testkit::objects::root().join("examples/policy-c/lru.c");
    let text = std::fs::read_to_string(lru).expect("the example");
    let object = |name: &str, text: &str| {
        let own = folder.path().join(name);
        std::fs::create_dir(&own).expect("room");
        let source = own.join("policy.c");
        std::fs::write(&source, text).expect("room");
        sluice_testkit::objects::object(&own, &source, &[])
    };
    let other = object("other", &text.replace("SLUICE_POLICY_ABI", "77"));
    let none = format!("{text}\n").replace(".build = build", ".build = none");
    let none = none.replace(
        "const struct sluice_policy sluice_policy",
        "static void *none(const struct sluice_policy_space *s) {\n\
         (void)s; (void)build; return 0; }\n\
         const struct sluice_policy sluice_policy",
    );
    let none = object("none", &none);
    let right = object("right", &text);
    for (key, path, says) in [
        ("cache", "./absent.so", "absent.so"),
        ("cache", "/bin/ls", "/bin/ls"),
        ("prefetch", "/bin/ls", "/bin/ls"),
        ("cache", &other, "is of policy ABI 77"),
        ("cache", &none, "its build function failed"),
        ("cache", &right, ""),
    ] {
        let file = format!("base = \"cylon\"\n[{key}]\npolicy = \"{path}\"\n");
        std::fs::write(folder.path().join("own.toml"), file).expect("room");
        let out = sluice(folder.path(), "device check own.toml");
        let (told, is_right) = (said(&out), path == right);
        assert_eq!(out.status.success(), is_right, "{path}: {told}");
        assert!(is_right || told.contains(says), "{path}: {told}");
    }
}
