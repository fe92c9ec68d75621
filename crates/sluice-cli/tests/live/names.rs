//! Functions of the C library by its own names for them, and calls by their numbers.

use crate::abuse::{all_well, fault, small, within_limit};
use crate::build::{helper, preload_library};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// What a shared object exports: its names by their addresses.
fn exported(object: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut nm = Command::new("nm");
    let listed = nm.args(["-D", "--defined-only"]).arg(object).output();
    let listed = listed.expect("binutils");
    let text = String::from_utf8(listed.stdout).expect("plain letters");
    let mut names = BTreeMap::<_, BTreeSet<_>>::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [address, "T" | "W" | "i", name] = words[..] {
            let name = name.split('@').next().expect("a first part").to_owned();
            names.entry(address.to_owned()).or_default().insert(name);
        }
    }
    names
}

/// Where this process has its C library.
fn c_library() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("a process");
    let mut paths = maps
        .lines()
        .filter_map(|line| line.split_whitespace().last());
    let found = paths.find(|path| path.contains("/libc.so") || path.contains("/libc-"));
    found.expect("a C library").to_owned()
}

/// What it called `__mmap`, `__read` or `cfree` went past the hooks.
#[test]
fn all_names_of_a_function_are_hooked() {
    let hooks: BTreeSet<String> = exported(preload_library())
        .into_values()
        .flatten()
        .collect();
    let library = exported(Path::new(&c_library()));
    assert!(library.values().flatten().count() > 1000, "its names");
    let missing: Vec<_> = library
        .values()
        .filter(|names| !names.is_disjoint(&hooks))
        .flat_map(|names| names.difference(&hooks))
        .collect();
    assert!(missing.is_empty(), "not hooked: {missing:?}");
}

/// Children of these had none of the limits that their parent sees, and were not counted.
#[test]
fn functions_of_newer_c_libraries_are_hooked() {
    let hooks = exported(preload_library());
    let hooks: BTreeSet<&String> = hooks.values().flatten().collect();
    for name in ["execveat", "pidfd_spawn", "pidfd_spawnp"] {
        assert!(hooks.contains(&name.to_owned()), "{name}");
    }
}

#[test]
fn other_names_and_numbers_of_calls_do_the_same() {
    all_well(helper!("abuse_names.c"), &["names", "numbers"]);
}

/// Calls came from the hooks, where the program allowed none. It names this processor's registers.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_program_may_have_system_calls_sent_back_to_it() {
    let program = helper!("abuse_dispatch.c");
    all_well(program, &["libc", "calm"]);
    let program = program.to_str().expect("plain letters");
    let out = within_limit(&mut small("event").prepare([program, "all"]));
    assert_eq!(fault(&out), None, "{out:#?}");
}

/// A miss is a signal there, from which nobody comes back.
#[cfg(target_arch = "x86_64")]
#[test]
fn in_signal_mode_it_is_said_what_cannot_be_sent_back() {
    let program = helper!("abuse_dispatch.c").to_str().expect("plain letters");
    for (trap, said) in [("signal", 1), ("event", 0)] {
        let out = within_limit(&mut small(trap).prepare([program, "calm"]));
        let found = out.stderr.matches("use --trap event").count();
        assert_eq!((fault(&out), found), (None, said), "{out:#?}");
    }
}
