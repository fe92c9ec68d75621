//! Options that had no effect where they stand, and said so to nobody.

/// A command line, and the whole error.
pub const MISTAKES: &[(&str, &str)] = &[
    (
        "files --through block-cache --size 1MiB --host-cache 48MiB --request 0ns --lookup 0ns \
         --copy 0ns --switch 0ns --passes 2 --set device.capacity=64MiB",
        "the run: no request takes any time, so there is no speed to report; give --request, \
         --lookup, --copy or --switch a time, or read more than the host caches",
    ),
    (
        "sim --workload chase:size=64KiB --device cylon --threads 4",
        "--threads needs --system <SYSTEM> too; give both or neither; see `sluice sim --help`",
    ),
    (
        "sim --workload chase:size=64KiB --device cylon --scale 4",
        "--scale needs --system <SYSTEM> too; give both or neither; see `sluice sim --help`",
    ),
    (
        "sim --workload chase:size=64KiB --device cylon --instructions 5",
        "--instructions needs --system <SYSTEM> too; give both or neither; see `sluice sim \
         --help`",
    ),
    (
        "sim --workload chase:size=64KiB --device cylon --timeline 1us",
        "--timeline needs --system <SYSTEM> too; give both or neither; see `sluice sim --help`",
    ),
    (
        "sim --workload chase:size=64KiB --device cylon --check",
        "--check needs --system <SYSTEM> too; give both or neither; see `sluice sim --help`",
    ),
    (
        "sim --workload zipf --hits misses --set cache.write=through",
        "bad value for --hits: \"misses\"; it simulates what a live run sees, and \
         cache.write=through does not run live, where stores to a page that the program has \
         mapped are not seen; expected cache.write=back, or --hits all",
    ),
    (
        "fabric run esf --window 100",
        "--window needs --json or --out <DIR> too; give both or neither; see `sluice fabric run \
         --help`",
    ),
    (
        "sim --system base-cssd --workload stream:rounds=1 --scale 256 --warmup 10G",
        "bad value for --warmup: \"10000000000\"; the program has no more instructions than that",
    ),
    (
        "vm --record x --out kept -- -kernel x",
        "the argument '--record <FILE>' cannot be used with '--out <DIR>'; leave one of them out; \
         see `sluice vm --help`",
    ),
    (
        "vm --record x --set nonsense=1 -- -kernel x",
        "the argument '--record <FILE>' cannot be used with '--set <KEY=VALUE>'; leave one of them \
         out; see `sluice vm --help`",
    ),
    (
        "vm --baseline --metrics x.prom -- -kernel x",
        "the argument '--baseline' cannot be used with '--metrics <ADDRESS:PORT|FILE.prom>'; leave \
         one of them out; see `sluice vm --help`",
    ),
    (
        "sim --workload zipf --warmup 2pass",
        "bad value for --warmup: \"2pass\"; the workload has no passes; expected accesses, such as \
         20M",
    ),
    (
        "sim --system base-cssd --workload stream --warmup 2pass",
        "bad value for --warmup: \"2pass\"; a system is warmed by instructions; expected their \
         number, such as 100M",
    ),
    (
        "sim --system base-cssd --workload stream --scale 256 --timeline 1ps",
        "invalid value '1ps' for '--timeline <PERIOD>': expected 1us at least",
    ),
    (
        "curve --device cylon --scale 4",
        "--scale needs --system <SYSTEM> too; give both or neither; see `sluice curve --help`",
    ),
    (
        "curve --fabric esf --scale 4",
        "--scale needs --system <SYSTEM> too; give both or neither; see `sluice curve --help`",
    ),
    (
        "fabric run esf --trace T --scale 2",
        "--scale needs --workload <KERNEL> too; give both or neither; see `sluice fabric run \
         --help`",
    ),
    (
        "fabric run esf --trace T --threads 2",
        "--threads needs --workload <KERNEL> too; give both or neither; see `sluice fabric run \
         --help`",
    ),
    (
        "fabric run esf --accesses 5",
        "--accesses needs --workload <KERNEL> or --trace <FILE> too; give both or neither; see \
         `sluice fabric run --help`",
    ),
    (
        "fabric run esf --caches bad",
        "--caches needs --workload <KERNEL> or --trace <FILE> too; give both or neither; see \
         `sluice fabric run --help`",
    ),
    (
        "fabric run esf --spread dealt",
        "--spread needs --workload <KERNEL> or --trace <FILE> too; give both or neither; see \
         `sluice fabric run --help`",
    ),
    (
        "fabric run esf --instruction 1ns",
        "--instruction needs --workload <KERNEL> or --trace <FILE> too; give both or neither; \
         see `sluice fabric run --help`",
    ),
    (
        "run --trap signal --scale 4 -- true",
        "--scale needs --simulate too; give both or neither; see `sluice run --help`",
    ),
    (
        "run --trap signal --from a -- true",
        "--from needs --simulate too; give both or neither; see `sluice run --help`",
    ),
    (
        "run --handlers 2 --from a -- true",
        "--from needs --simulate too; give both or neither; see `sluice run --help`",
    ),
    (
        "run --handlers 2 --to a -- true",
        "--to needs --simulate too; give both or neither; see `sluice run --help`",
    ),
    (
        "run --device cylon --scale 4 -- true",
        "--scale needs --simulate too; give both or neither; see `sluice run --help`",
    ),
    (
        "run --device cylon --force -- true",
        "--force needs --out <DIR> too; give both or neither; see `sluice run --help`",
    ),
    (
        "vm --record x --guest-command ls",
        "--guest-command needs --demo too; give both or neither; see `sluice vm --help`",
    ),
    (
        "trace convert --object 8KiB x.csv y.trace",
        "--object: only oracle-general has objects, and this is msr-csv to sluice",
    ),
    (
        "trace convert --number-objects x.csv y.trace",
        "--number-objects: only IN of oracle-general has objects, and this is msr-csv to sluice",
    ),
    (
        "trace convert --max-fill 5 x.csv y.trace",
        "--max-fill: only OUT of champsim is filled, and this is msr-csv to sluice",
    ),
    (
        "trace convert --instructions-per-second 5 x.lackey y.trace",
        "--instructions-per-second: only oracle-general, msr-csv and csv have times, and this is \
         lackey to sluice",
    ),
    (
        "trace convert --fetches x.csv y.trace",
        "--fetches: only IN of sluice, champsim or lackey has fetches, and this is msr-csv to \
         sluice",
    ),
    (
        "trace convert --columns op,address empty.trace y.csv",
        "--columns: they are of a text file IN, and empty.trace is sluice by its name; leave them \
         out, or give --from csv",
    ),
    (
        "trace convert --columns time,op,address,size --cpu 9 x.csv y.trace",
        "x.csv: no access of CPU 9 (--cpu) is in it; nothing was written",
    ),
    (
        "run --place shared --store file:/tmp -- true",
        "--store: --place shared has one device for all processes, and this is of a process' own; \
         add --place heap or --place explicit, or leave it out",
    ),
    (
        "run --place shared --sample-hits 1ms -- true",
        "--sample-hits: --place shared has one device for all processes, and this is of a \
         process' own; add --place heap or --place explicit, or leave it out",
    ),
    (
        "run --place shared --control on -- true",
        "--control on: --place shared has one device for all processes, and this is of a process' \
         own; add --place heap or --place explicit, or leave it out",
    ),
    (
        "run --simulate --control on -- true",
        "the argument '--simulate' cannot be used with '--control <CONTROL>'; leave one of them \
         out; see `sluice run --help`",
    ),
    (
        "run --sample-hits 1us -- true",
        "invalid value '1us' for '--sample-hits <WINDOW>': expected 20us at least",
    ),
    (
        "run --set ftl.placement=host -- true",
        "impossible configuration: ftl.placement = host: no request of a live run names its \
         plane; BlockRequest of the crate sluice-model does; expected device",
    ),
    (
        "version",
        "unrecognized subcommand 'version'; `sluice --version` prints the version",
    ),
    (
        "sim --system base-cssd --workload stream:rounds=1 --scale 256",
        "stream:rounds=1: it has no more instructions than the 3125000 that warm a system up if \
         --warmup does not say it; give fewer, such as --warmup 0",
    ),
    (
        "sim --device cxl-dram --workload zipf --set cache.capacity=1MiB",
        "impossible configuration: device.kind = memory, cache.capacity = 1MiB: a memory expander \
         has none of that, only the tables device, memory, dram; leave cache.capacity out",
    ),
    (
        "sim --device cxl-dram --workload zipf --set memory.row=96B",
        "impossible configuration: memory.row = 96B: not a power of two from 64B",
    ),
];
