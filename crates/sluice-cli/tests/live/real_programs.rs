//! Unmodified programs of the system give the same output with their heap on the device.

use crate::sluice::{Outcome, Sluice, TRAPS, finish};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Runs a program plainly and live, and compares what it prints.
fn same_output(traps: &[&str], cache: &str, program: &[&str]) {
    let plain = finish(Command::new(program[0]).args(&program[1..]));
    assert!(
        plain.status.success() && !plain.stdout.is_empty(),
        "{plain:#?}"
    );
    for trap in traps {
        let out = Sluice::run(trap).cache(cache).program(program).well();
        assert!(
            out.own_stdout() == plain.stdout,
            "{trap}: another output of {program:?}"
        );
        assert!(evictions(&out) > 0, "{trap}: all fitted into the cache");
    }
}

/// Of all processes together.
fn evictions(out: &Outcome) -> u64 {
    let json = out.json();
    let processes = json["processes"].as_array().expect("a list").iter();
    processes.filter_map(|p| p["evictions"].as_u64()).sum()
}

/// The allocator of gperftools moves the break, unless a variable has it map all memory: nothing of
/// its programs was on the device.
#[test]
fn tcmalloc_maps_its_memory() {
    let found = finish(Command::new("sh").args(["-c", "/sbin/ldconfig -p"])).stdout;
    let path = found
        .lines()
        .filter(|line| line.contains("libtcmalloc_minimal.so") && line.contains("x86-64"));
    let Some(path) = path.filter_map(|line| line.split(" => ").nth(1)).next() else {
        println!("not tested: needs gperftools");
        return;
    };
    let program = [
        "python3",
        "-c",
        "print(sum(map(len, [b'x' * 5000 for _ in range(4000)])))",
    ];
    for trap in TRAPS {
        let sluice = Sluice::run(trap).cache("2MiB").env("LD_PRELOAD", path);
        let out = sluice.program(program).well();
        assert_eq!(out.own_stdout(), "20000000\n");
        assert!(evictions(&out) > 0, "{trap}: {out:#?}");
    }
}

/// Lines in no order, the same every time.
fn text_file(folder: &Path, lines: u64) -> String {
    let mut text = String::new();
    for n in 0..lines {
        let word = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        writeln!(text, "{word:012x} line {n}").expect("a string grows");
    }
    let path = folder.join("text");
    std::fs::write(&path, text).expect("room");
    path.to_str().expect("plain letters").to_owned()
}

/// Its stream reads straight into its heap, by system calls inside the C library.
#[test]
fn sort_sorts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = text_file(folder.path(), 100_000);
    let sort = ["sort", "--parallel=2", "-S", "8M", &path];
    same_output(&TRAPS, "2MiB", &sort);
}

#[test]
fn what_xz_packs_unpacks_to_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = text_file(folder.path(), 20_000);
    // Two threads, with dictionaries larger than the cache.
    let script = format!("xz -T2 -0 < {path} > {path}.xz && xz -d < {path}.xz | cksum");
    same_output(&TRAPS, "1MiB", &["sh", "-c", &script]);
}

#[test]
fn python_computes_the_same() {
    let script = "
import hashlib, json, random
random.seed(1)
table = {i: [random.random() for _ in range(20)] for i in range(8000)}
text = json.dumps(table)
words = sorted(text.split(','), key=lambda word: word[::-1])
print(hashlib.sha256(''.join(words).encode()).hexdigest())
print(sum(map(len, map(str, json.loads(text).values()))))
try:
    raise KeyError('found')
except KeyError as error:
    print(error)
";
    same_output(&TRAPS, "8MiB", &["python3", "-c", script]);
}

#[test]
fn perl_and_awk_compute_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = text_file(folder.path(), 30_000);
    let perl = "my %h; while (<>) { my @w = split; push @{$h{substr($w[0], -3)}}, $w[2]; } \
                print join(',', map { scalar @{$h{$_}} } sort keys %h), \"\\n\";";
    same_output(&TRAPS, "1MiB", &["perl", "-e", perl, &path]);
    let awk = "{ n[substr($1, 1, 3)] += $3 } END { for (i = 0; i < 4096; i++) \
               s = s * 31 % 65521 + n[sprintf(\"%03x\", i)] % 65521; print s }";
    same_output(&TRAPS, "256KiB", &["awk", awk, &path]);
}
