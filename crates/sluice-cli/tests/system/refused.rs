//! What is refused, and how.

use crate::command::{SMALL, refusal, sluice};
use sluice_testkit::child;

#[test]
fn bad_input_is_one_line_that_says_what_would_do() {
    let small = |more: &[&'static str]| [&SMALL[..], more].concat();
    let cases: &[(&str, Vec<&str>, &str)] = &[
        (
            "skybite",
            small(&[]),
            "unknown system `skybite` (did you mean skybyte-c?): give a path ending in .toml",
        ),
        (
            "skybyte-c",
            vec!["--workload", "chases"],
            "workload: \"chases\" is not known (did you mean chase?); a simulated host runs one ",
        ),
        (
            "skybyte-c",
            vec!["--workload", "srad:sed=1"],
            "srad: there is no key \"sed\"; keys: seed, rounds",
        ),
        (
            "skybyte-c",
            small(&["--threads", "4"]),
            "cpu.threads = 4, cpu.cores = 8: a core without a thread; at least 8 threads",
        ),
        (
            "skybyte-c",
            small(&["--set", "l3.mshrs=0"]),
            "l3.mshrs = 0: a cache without MSHRs could not miss; give it 1 at least",
        ),
        (
            "skybyte-c",
            small(&["--set", "cpu.coers=4"]),
            "unknown key `cpu.coers`: did you mean `cpu.cores`? valid keys are cpu.cores, ",
        ),
        (
            "skybyte-c",
            small(&["--set", "cpu.cores"]),
            "expected KEY=VALUE",
        ),
        (
            "skybyte-c",
            small(&[
                "--set",
                "device.capacity=4GiB",
                "--set",
                "ftl.gc_threshold=2",
            ]),
            "workload: srad uses ",
        ),
        (
            "dram-only",
            small(&["--set", "host.memory=4GiB"]),
            "at scale 128, but host.memory is 32MiB; give a larger host.memory, or a larger scale",
        ),
        (
            "skybyte-c",
            vec!["--workload", "srad", "--scale", "6"],
            "system.scale = 6: does not divide into whole pages of 4KiB",
        ),
    ];
    for (system, more, said) in cases {
        let message = refusal(system, more);
        assert!(message.contains(said), "{message}\n{said}");
    }
    let message = refusal("skybyte-c", &cases[7].1);
    let said = "at scale 128, but device.capacity is 32MiB; give a larger device.capacity";
    assert!(message.contains(said), "{message}");
}

/// It is not made first, which would take that much.
#[test]
fn a_program_that_is_far_too_large_is_not_made() {
    let message = refusal("dram-only", &["--workload", "btree:bytes=10TB"]);
    let said = "btree uses 1250GB at scale 8, but host.memory";
    assert!(message.contains(said), "{message}");
}

/// A program whose data take more than this process can have was killed without a word. A limit of
/// address space stands for that of a control group, which only the superuser sets.
#[test]
fn a_program_that_this_machine_has_no_memory_for_is_not_made() {
    let within = |words: &[&str]| {
        let limited = "ulimit -v 4194304; exec \"$0\" \"$@\"";
        let mut shell = child::program("sh");
        shell.args(["-c", limited, env!("CARGO_BIN_EXE_sluice")]);
        let output = shell.args(words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    let room = "of this machine's memory, but the limit of address space (ulimit -v) is 4 GiB; \
                give a larger scale, or the workload fewer `bytes`";
    for (workload, takes) in [
        ("stream:bytes=30GB", "27.9 GiB"),
        ("redis:bytes=30GB,value=8", "7.92 GiB"),
    ] {
        let said = format!("workload: {workload} at scale 1 takes about {takes} {room}");
        let system = "sim --system base-cssd --set device.capacity=40GiB --set \
                      ftl.gc_threshold=2 --scale 1 --workload";
        let words: Vec<&str> = system.split(' ').chain([workload]).collect();
        let message = within(&words);
        assert!(message.contains(&said), "{message}");
        let fabric = ["fabric", "run", "esf", "--workload", workload];
        assert!(within(&fabric).contains(&said), "{said}");
    }
    // Each host has room alone.
    let hosts = "[[requesters]]\nname = \"cpu\"\ncount = 3\nsystem = \"cxl-ssd-sim\"\n\
                 workload = \"stream:bytes=2GB\"\n\
                 [[endpoints]]\nname = \"m\"\ncapacity = \"16GiB\"\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hosts.toml");
    std::fs::write(&file, hosts).unwrap();
    let message = within(&["fabric", "run", file.to_str().unwrap()]);
    let said = "requester group `cpu`: workload: stream:bytes=2GB at scale 1 takes about 1.86 GiB \
                of this machine's memory, beside 3.73 GiB of other hosts' programs, but the limit";
    assert!(message.contains(said), "{message}");
}

/// No larger device.capacity would help, and it is not made first either.
#[test]
fn the_bound_of_the_simulator_is_named() {
    let room = ["--set", "device.capacity=1TiB", "--scale", "1"];
    for bytes in ["200GB", "70GB"] {
        let workload = format!("stream:bytes={bytes}");
        let mut more = vec!["--workload", &workload];
        more.extend(room);
        let message = refusal("base-cssd", &more);
        let said = format!(
            "workload: stream uses {bytes} at scale 1, but the most memory of a simulated program \
             is 67108860KiB; give a larger scale"
        );
        assert!(message.contains(&said), "{message}");
    }
}

#[test]
fn other_programs_pages_need_room_beside_the_programs() {
    let settings = [
        "device.capacity=10GiB",
        "ftl.gc_threshold=2",
        "host.start=others",
    ];
    let mut more = vec!["--workload", "srad", "--scale", "128"];
    more.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let message = refusal("skybyte-p", &more);
    let said =
        "at scale 128, but device.capacity (less host.start = others) is 60MiB; give a larger";
    assert!(message.contains(said), "{message}");
}

#[test]
fn counts_and_flags_are_checked_by_the_command_line() {
    let refused = |arguments: &[&str], said: &str| {
        let output = sluice().arg("sim").args(arguments).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(said), "{message}");
    };
    let system = ["--system", "skybyte-c", "--workload", "srad"];
    let with = |more: &[&'static str]| [&system[..], more].concat();
    refused(
        &with(&["--instructions", "many"]),
        "such as 250000, 100M or 1.5G",
    );
    refused(&with(&["--hits", "misses"]), "cannot be used with");
    refused(&with(&["--device", "cylon"]), "cannot be used with");
    refused(
        &["--workload", "chase", "--scale", "2"],
        "--system <SYSTEM>",
    );
}
