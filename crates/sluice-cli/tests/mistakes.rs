//! What newcomers mistype: one message each, that names the word, its value and what would do.

mod more_mistakes;

use std::path::Path;
use std::process::Command;

/// A command line, and the whole error.
const MISTAKES: &[(&str, &str)] = &[
    (
        "runn -- ls",
        "unrecognized subcommand 'runn'; tip: a similar subcommand exists: 'run'; expected one of \
         run, again, ctl, top, vm, sim, ",
    ),
    (
        "--device cylon",
        "unexpected argument '--device' found; see `sluice --help`",
    ),
    (
        "run",
        "no program is given, such as `sluice run -- ./program`; see `sluice run --help`",
    ),
    (
        "run -- nosuchprogram",
        "nosuchprogram: no such program in PATH; install it, or give its path",
    ),
    (
        "run -- ./notes.txt",
        "./notes.txt: not an executable file; `chmod +x` makes it one, or put its interpreter \
         before it",
    ),
    (
        "run -- ./full",
        "./full: not an executable file but a folder; give the program in it",
    ),
    (
        "run --trap signal --handlers 3 -- true",
        "bad value for --handlers: \"3\"; in signal mode each thread answers its own faults; leave \
         it out",
    ),
    (
        "sim --trace full",
        "full: it is a folder; give the trace in it",
    ),
    (
        "sim --workload zipf --place address",
        "bad value for --place: \"address\"; it is for the pages of a --trace; leave it out",
    ),
    (
        "fabric run esf --requests 0",
        "invalid value '0' for '--requests <N>': expected 1 at least",
    ),
    (
        "size --filter 3B -- true",
        "bad value for --filter: \"3B\"; expected a page at least, 4KiB",
    ),
    (
        "ctl 1 pni",
        "unexpected argument 'pni' found; expected one of pin, unpin, prefetch, ",
    ),
    (
        "ctl 1",
        "'sluice ctl' requires a subcommand but one was not provided; expected one of pin, unpin, ",
    ),
    (
        "ctl 1 powercut --energy -1",
        "unexpected argument '-1' found; numbers are not negative here; see \
         `sluice ctl powercut --help`",
    ),
    (
        "ctl 1 powercut --pages x",
        "invalid value 'x' for '--pages <N>': expected a whole number",
    ),
    (
        "ctl 0 stats",
        "no process 0; `sluice top` shows those that are on a device",
    ),
    (
        "fabric run esf --seed -1",
        "unexpected argument '-1' found; numbers are not negative here; see \
         `sluice fabric run --help`",
    ),
    (
        "fabric run esf --set topology=star",
        "unknown key `topology`: valid keys are topology.kind, ",
    ),
    (
        "fabric run esf --set link.duplex=both",
        "bad value for `link.duplex`: \"both\"; expected one of full, half",
    ),
    (
        "fabric check esff.toml",
        "cannot read fabric file `esff.toml`: No such file or directory (os error 2)",
    ),
    (
        "device check typo.toml",
        "typo.toml:3:1: unknown key `cache.capactiy`: did you mean `cache.capacity`? `sluice \
         device show` lists all keys",
    ),
    (
        "device check baseless.toml",
        "baseless.toml:3:1: `device.capacity` is missing: state it (a size above 0 in B, ",
    ),
    (
        "trace convert x.csv out.bin",
        "out.bin: the name does not show the format; give --to: sluice (.trace, ",
    ),
    (
        "trace stats x.csv",
        "unrecognized subcommand 'stats'; expected one of record, info, dump, convert",
    ),
    (
        "curve --on live --ahead 64KiB",
        "--ahead: only --on simulated has helpers",
    ),
    (
        "curve --fabric esf --depth 3",
        "--depth: the requesters of a fabric have requester.depth; change it by --set",
    ),
    (
        "curve --reads 120",
        "invalid value '120' for '--reads <PERCENT>': expected a whole number from 0 to 100",
    ),
    (
        "completions csh",
        "invalid value 'csh' for '<SHELL>': expected one of bash, elvish, fish, powershell, zsh; \
         tip: a similar value exists: 'zsh'",
    ),
    (
        "files --through block-cache --host-cache 0B",
        "bad value for --host-cache: \"0B\"; expected a positive multiple of a page, 4KiB",
    ),
    (
        "files --through read --readahead 1B",
        "bad value for --readahead: \"1B\"; expected 0B, or a multiple of a page, 4KiB",
    ),
    (
        "files --through read --device cxl-dram",
        "--device cxl-dram: it is a memory expander, and no SSD; choose one with flash",
    ),
    (
        "run --device zylon -- ls",
        "unknown device `zylon` (did you mean cylon?): give a path ending in .toml, or one of \
         cxl-ssd, cylon, ",
    ),
    (
        "run --device skybyte-full -- ls",
        "unknown device `skybyte-full`, which is a system (--system): give a path",
    ),
    (
        "run --device mine.toml -- ls",
        "cannot read device file `mine.toml`: No such file or directory (os error 2)",
    ),
    (
        "run --device skybyte -- ls",
        "bad value for --device: \"skybyte\" can be simulated (sluice sim) but not run live, for a \
         write log takes stores line by line, and those to a page that the program has mapped are \
         not seen; expected --device skybyte --set write_log.capacity=none",
    ),
    (
        "run --set cache.capacity -- ls",
        "bad value for --set: \"cache.capacity\"; expected KEY=VALUE, such as cache.capacity=16MiB",
    ),
    (
        "run --set cache.capactiy=16MiB -- ls",
        "unknown key `cache.capactiy`: did you mean `cache.capacity`? `sluice device show` lists \
         all keys",
    ),
    (
        "run --set cache.capacity=16MX -- ls",
        "bad value for `cache.capacity`: \"16MX\"; expected a size above 0 such as 16MiB, or a \
         percentage of device.capacity up to 100%",
    ),
    (
        "run --set cache.capacity=100GiB -- ls",
        "impossible configuration: cache.capacity = 100GiB, device.capacity = 96GiB: the cache is \
         larger than the device; give it the same size at most",
    ),
    (
        "run --set cache.policy=lruu -- ls",
        "bad value for `cache.policy`: \"lruu\" (did you mean lru?); expected one of fifo, ",
    ),
    (
        "run --set nand.read=5 -- ls",
        "bad value for `nand.read`: \"5\"; expected a time from 0 to 10s in s, ms, us, ns or ps, \
         such as 40us",
    ),
    (
        "run --set device.program_energy=7 -- ls",
        "impossible configuration: device.program_energy = 7, device.persistent = no: only the \
         power of a persistent device is cut; expected device.persistent=yes, or \
         device.program_energy=50000",
    ),
    (
        "run --set cache.numa_node=1000 -- ls",
        "bad value for `cache.numa_node`: \"1000\"; expected a ",
    ),
    (
        "run --place shared --set cache.numa_node=0 -- ls",
        "bad value for `cache.numa_node`: \"0\"; pages of a device file and of shared memory are \
         where their file is, in the cache and out of it; expected none, or the heap alone ",
    ),
    (
        "run --place shared --set host.migration.policy=tpp -- ls",
        "bad value for `host.migration.policy`: \"tpp\"; pages of shared memory stay on the \
         device; expected none, or private memory alone (`sluice run --place heap`)",
    ),
    (
        "run --set host.migration.policy=tpp --set host.migration.capacity=1KiB -- ls",
        "bad value for `host.migration.capacity`: \"1KiB\"; expected a page (4KiB) or more",
    ),
    (
        "run --set host.migration.policy=astriflash -- ls",
        "bad value for `host.migration.policy`: \"astriflash\"; expected one of none, adaptive, \
         tpp",
    ),
    (
        "sim --workload zipf --set device.persistent=yes",
        "impossible configuration: device.persistent = yes: a simulation holds no contents; \
         `sluice run --place dax:PATH --store file:STORE` keeps them; expected no",
    ),
    (
        "sim --system base-cssd --workload srad --set device.program_energy=7",
        "impossible configuration: device.program_energy = 7: a simulation has no power to cut; ",
    ),
    (
        "size --set prefetch.sequential=8 -- ls",
        "impossible configuration: prefetch.sequential = 8: a simulation has no hints; ",
    ),
    (
        "curve --set cache.pin_max=1% --set device.capacity=1GiB",
        "impossible configuration: cache.pin_max = 1%: a simulation pins no page; ",
    ),
    (
        "files --through mmap --set device.persistent=yes",
        "impossible configuration: device.persistent = yes: a simulation holds no contents; ",
    ),
    (
        "run --trap sig -- ls",
        "invalid value 'sig' for '--trap <TRAP>': expected one of event, signal; tip: a similar \
         value exists: 'signal'",
    ),
    (
        "run --place disk -- ls",
        "bad value for --place: \"disk\"; expected heap, shared, files, files:GLOB, explicit or \
         dax:PATH",
    ),
    (
        "run --handlers 0 -- ls",
        "invalid value '0' for '--handlers <N>': expected a whole number from 1 to 64",
    ),
    (
        "run --seed x -- ls",
        "invalid value 'x' for '--seed <SEED>': expected a whole number",
    ),
    (
        "run --mmap-min big -- ls",
        "invalid value 'big' for '--mmap-min <SIZE>': expected a number with a unit (TiB, GiB, MiB",
    ),
    (
        "run --count-after soon -- ls",
        "invalid value 'soon' for '--count-after <10s|marker:NAME|file:PATH>': expected a time \
         such as 10s, marker:NAME or file:PATH",
    ),
    (
        "run --metrics 9100 -- ls",
        "invalid value '9100' for '--metrics <ADDRESS:PORT|FILE.prom>': expected an address with \
         its port, such as 127.0.0.1:9100, or a file ending in .prom",
    ),
    (
        "run --force -- ls",
        "--force needs --out <DIR> too; give both or neither; see `sluice run --help`",
    ),
    (
        "run --out full -- ls",
        "--out full: it holds stats.json, which is not the result of a run; name another folder, \
         or move the file",
    ),
    (
        "sim",
        "sim: nothing to simulate; give --workload SPEC or --trace FILE",
    ),
    (
        "sim --workload zipff",
        "workload: \"zipff\" is not known; choices: chase, stream, uniform, zipf, and keys after a \
         colon, such as zipf:size=1GiB",
    ),
    (
        "sim --workload zipf:sise=1GiB",
        "zipf: there is no key \"sise\"; keys: size, stride, ops, write, theta, seed, threads",
    ),
    (
        "sim --workload uniform:size=1TiB",
        "workload \"uniform:size=1TiB\" touches 1TiB, but the device has 96GiB (device.capacity)",
    ),
    (
        "sim --workload zipf --trace x.csv",
        "the argument '--workload <SPEC>' cannot be used with '--trace <FILE>'; leave one of \
         them out; see `sluice sim --help`",
    ),
    (
        "sim --trace x.csv",
        "x.csv: not a Sluice trace; `sluice trace convert x.csv x.trace` makes one of it",
    ),
    (
        "sim --trace none.trace",
        "none.trace: no such file; give a trace, or make one: `sluice trace record -- PROG` or \
         `sluice trace convert`",
    ),
    (
        "sim --system cylon --workload srad",
        "unknown system `cylon`, which is a device (--device): give a path ending in .toml, or one \
         of base-cssd, ",
    ),
    (
        "sim --workload zipf --warmup 20X",
        "invalid value '20X' for '--warmup <N|Npasses>': expected a whole number, such as 250000, \
         100M or 1.5G",
    ),
    (
        "size --target-hit-ratio 120% -- ls",
        "invalid value '120%' for '--target-hit-ratio <RATIO>': expected more than 0% and at most \
         100%, such as 90%",
    ),
    (
        "size --policies lru,best -- ls",
        "invalid value 'best' for '--policies <NAME,..>': expected one of fifo, lifo, lru, ",
    ),
    (
        "size --sample 3 -- ls",
        "invalid value '3' for '--sample <N>': expected a whole number from 64 up",
    ),
    (
        "fabric run nosuch",
        "unknown fabric `nosuch`: give a path ending in .toml, or one of esf, ",
    ),
    (
        "fabric run esf --set link.bandwith=1",
        "unknown key `link.bandwith`: did you mean `link.bandwidth`? valid keys are ",
    ),
    (
        "trace convert x.csv out.trace",
        "x.csv, line 1: 4 fields; expected the 7 of MSR Cambridge (Timestamp,Hostname,DiskNumber,\
         Type,Offset,Size,ResponseTime), or others that --columns names",
    ),
    (
        "ctl abc stats",
        "invalid value 'abc' for '<PID>': expected a whole number",
    ),
    (
        "ctl 4194305 stats",
        "no process 4194305; `sluice top` shows those that are on a device",
    ),
    (
        "ctl 1 pin 5..3",
        "invalid value '5..3' for '<RANGE>...': the range is empty; expected all, START..END or \
         START+LENGTH, such as 0..16MiB, or @ before addresses, such as @0x7f0000000000+64KiB",
    ),
    (
        "device new cylon",
        "bad value for NAME: \"cylon\"; expected a name that no preset has (`sluice device list`)",
    ),
    (
        "workload chase --size",
        "a value is required for '--size <SIZE>' but none was supplied",
    ),
    (
        "workload chas",
        "unrecognized subcommand 'chas'; tip: a similar subcommand exists: 'chase'; expected one \
         of chase, graph, hints, kv, mixed, redis, pattern, traffic",
    ),
    (
        "policy show lru",
        "unrecognized subcommand 'show'; expected one of list",
    ),
    (
        "files --through direct --readahead 1MiB",
        "--readahead: --through direct has no use for it; it is of mmap, read",
    ),
    (
        "files --through file --lookup 1us",
        "--lookup: --through file has no use for it; it is of block-cache",
    ),
    (
        "files --through block-cache --depth 4",
        "--depth: --through block-cache has no use for it; it is of file",
    ),
    (
        "files --through read --minor-fault 1us",
        "--minor-fault: --through read has no use for it; it is of mmap",
    ),
    (
        "files --through direct --advice random",
        "--advice: --through direct has no use for it; it is of mmap, read",
    ),
    (
        "files --through mmap --host-cache 1MiB",
        "--host-cache: --through mmap has no use for it; it is of block-cache",
    ),
    (
        "files --through file --copy 1us",
        "--copy: --through file has no use for it; it is of mmap, read, block-cache",
    ),
    (
        "files --through read --write",
        "--write: --through read has no use for it; it is of direct, block-cache, file",
    ),
    (
        "curve --on host --device cmm-h",
        "--device cmm-h: --on host measures this host's own memory and no device; leave --device \
         out",
    ),
];

#[test]
fn each_is_told_in_one_line() {
    let folder = tempfile::tempdir().expect("room");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("room");
        std::fs::write(path, text).expect("room");
    };
    write("x.csv", "time,op,addr,size\n1,R,0,64\n");
    write("notes.txt", "hello\n");
    write("full/stats.json", "{}\n");
    write(
        "typo.toml",
        "base = \"cxl-ssd\"\n[cache]\ncapactiy = \"1MiB\"\n",
    );
    write("baseless.toml", "[cache]\ncapacity = \"1MiB\"\n");
    for (name, text) in more_mistakes::FILES {
        write(name, text);
    }
    assert!(MISTAKES.len() >= 30);
    let all = MISTAKES.iter().chain(more_mistakes::all());
    let failed: Vec<String> = all
        .filter_map(|(words, told)| differs(folder.path(), words, told))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// `cargo install` has the command alone: it simulates, and says what a live run lacks.
#[test]
fn a_command_without_its_libraries_says_what_has_them() {
    let folder = tempfile::tempdir().expect("room");
    let alone = folder.path().join("sluice");
    // By another process: what this one has open for writing the children of its other test have
    // too, and what anybody writes to cannot be run.
    let mut copy = Command::new("cp");
    let copied = copy
        .args([Path::new(env!("CARGO_BIN_EXE_sluice")), &alone])
        .status();
    assert!(copied.expect("cp").success());
    let run = |words: &str| {
        let mut command = Command::new(&alone);
        command.args(words.split_whitespace());
        command.env_remove("SLUICE_PRELOAD");
        let out = command.output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (out.status.code(), text(out.stdout), text(out.stderr))
    };
    let (status, told, _) = run("sim --json --workload stream:size=64KiB");
    assert!(status == Some(0) && told.contains("\"accesses\""), "{told}");
    let (status, told, said) = run("run -- ls");
    assert_eq!((status, told.as_str()), (Some(2), ""));
    let beside = folder.path().join("libsluice_preload.so");
    let expected = format!(
        "sluice: {}: missing, and what is live needs it; the wheel has it (`pip install .` in the \
         checkout), or `cargo build --release --workspace` makes it; SLUICE_PRELOAD names it \
         elsewhere\n",
        beside.display()
    );
    assert_eq!(said, expected);
}

/// The error of a command line, if it is not the expected one.
fn differs(folder: &Path, words: &str, told: &str) -> Option<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.current_dir(folder).args(words.split_whitespace());
    let out = command.output().expect("the command starts");
    let said = String::from_utf8(out.stderr).expect("UTF-8");
    // A list may go on as there are more names.
    let is_whole = !told.ends_with(' ') && !told.ends_with("MiB") && !told.ends_with("give a path");
    let is_told = said
        .strip_prefix("sluice: ")
        .is_some_and(|said| match is_whole {
            true => said.trim_end() == told,
            false => said.starts_with(told),
        });
    let is_well = is_told
        && said.lines().count() == 1
        && out.status.code() == Some(2)
        && out.stdout.is_empty();
    (!is_well).then(|| {
        format!(
            "sluice {words}\n  said {said}  not  {told}\n  ({})",
            out.status
        )
    })
}
