//! Programs that start or become other programs: each image has a device and a line of its own.

use crate::build::{compile, helper};
use crate::sluice::{Sluice, TRAPS};
use serde_json::Value;

fn commands(json: &Value) -> Vec<String> {
    let processes = json["processes"].as_array().expect("a list");
    let name = |p: &Value| {
        let words = p["command"].as_array().expect("words").iter();
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        words.join(" ")
    };
    processes.iter().map(name).collect()
}

#[test]
fn a_shell_and_what_it_starts_are_listed() {
    for trap in TRAPS {
        let script = "sort /etc/passwd > /dev/null; cat /etc/passwd | wc -l; exit 5";
        let out = Sluice::run(trap)
            .cache("1MiB")
            .program(["sh", "-c", script]);
        assert_eq!(out.status.code(), Some(5), "{out:#?}");
        let lines = std::fs::read_to_string("/etc/passwd").expect("a file");
        let expected = format!("{}\n", lines.lines().count());
        assert_eq!(out.own_stdout(), expected);
        let json = out.json();
        let commands = commands(&json);
        for name in [&format!("sh -c {script}"), "sort /etc/passwd", "wc -l"] {
            assert!(
                commands.iter().any(|c| c == name),
                "{name} in {commands:#?}"
            );
        }
        let main = &json["processes"][0];
        assert_eq!(main["traps"], json["traps"], "the object is the shell's");
        assert_eq!(json["exit"]["code"], 5);
    }
}

/// A chain of images in one process: the figures are the last one's, and all are listed.
#[test]
fn a_chain_of_execs_ends_in_the_last_image() {
    for trap in TRAPS {
        let path = helper!("signals.c").to_str().expect("plain letters");
        let script = format!("exec sh -c 'exec env A=b {path} block'");
        let out = Sluice::run(trap)
            .cache("2MiB")
            .program(["sh", "-c", &script]);
        let out = out.evicted();
        assert_eq!(out.own_stdout(), "well\n");
        let json = out.json();
        let commands = commands(&json);
        assert_eq!(commands.len(), 4, "{commands:#?}");
        assert_eq!(commands[3], format!("{path} block"));
        let images = json["processes"].as_array().expect("a list");
        let numbers: Vec<u64> = images.iter().filter_map(|p| p["image"].as_u64()).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert!(images.iter().all(|p| p["pid"] == images[0]["pid"]));
        assert_eq!(json["traps"], images[3]["traps"]);
    }
}

/// GNU Common Lisp starts itself once more before its allocator can be used.
#[test]
fn an_allocator_of_the_programs_own_is_left_alone() {
    let path = helper!("own_allocator.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let out = Sluice::run(trap).cache("2MiB").program([path, "5"]);
        assert!(out.status.success(), "{out:#?}");
        assert_eq!(out.own_stdout(), "well\n");
        assert_eq!(commands(&out.json()).len(), 5);
    }
}

/// Its `malloc` calls `memalign`, of which the program's is the hook: the two called each other
/// until the stack was full.
#[test]
fn an_allocator_that_others_preload_may_call_itself_by_name() {
    let library = compile("preloaded.c", &["-shared", "-fPIC", "-fno-builtin"]);
    let library = library.to_str().expect("plain letters");
    for trap in TRAPS {
        let run = Sluice::run(trap).cache("2MiB").env("LD_PRELOAD", library);
        let out = run.program(["sh", "-c", "echo well"]);
        assert!(out.status.success(), "{out:#?}");
        assert_eq!(out.own_stdout(), "well\n");
    }
}

#[test]
fn what_others_preload_is_kept() {
    let name = "libSegFault-of-nobody.so";
    let out =
        Sluice::run("event")
            .env("LD_PRELOAD", name)
            .program(["sh", "-c", "echo $LD_PRELOAD"]);
    assert!(out.status.success(), "{out:#?}");
    let preload = out.own_stdout().trim_end();
    let (ours, others) = preload.split_once(':').expect("two libraries");
    assert!(ours.ends_with("libsluice_preload.so") && others == name);
}

#[test]
fn the_environment_arguments_and_name_are_the_callers() {
    let script = "import os, sys; print(sys.argv[1:], os.environ['MARK'], os.getcwd())";
    let out = Sluice::run("event")
        .env("MARK", "a b")
        .program(["python3", "-c", script, "--json", "--", "x y", ""]);
    let here = std::env::current_dir().expect("a folder");
    let expected = format!("['--json', '--', 'x y', ''] a b {}\n", here.display());
    assert_eq!(out.well().own_stdout(), expected);
}

/// Each image timed the trap again, which took five times as long as most programs that a script
/// starts.
#[test]
fn what_the_host_costs_is_measured_once_a_session() {
    let entry = |change: &str, trap| {
        let script = format!("{change}; exec sort /etc/passwd");
        let out = Sluice::run(trap).program(["sh", "-c", &script]).well();
        out.number("/host/entry_ns")
    };
    for trap in TRAPS {
        let told = "echo 4321 765 99 > $SLUICE_SESSION/costs";
        assert_eq!(entry(told, trap), 4_321);
        // What is not whole, not possible or not ours alone is measured anew.
        for bad in [
            "printf '4321 765 9' > $SLUICE_SESSION/costs",
            "echo 4321 765 9999999 > $SLUICE_SESSION/costs",
            &format!("{told}; chmod 666 $SLUICE_SESSION/costs"),
            "rm $SLUICE_SESSION/costs; mkfifo $SLUICE_SESSION/costs",
        ] {
            assert_ne!(entry(bad, trap), 4_321, "{bad}");
        }
    }
}

/// A start went through every line of the flash array, and touched 3,000 pages on 2 TiB instead of
/// 330. What a device has for each page or line is zeros that nobody looks at.
#[test]
fn starts_and_forks_touch_no_more_of_a_larger_device() {
    let touched = |trap, capacity, more: &str| -> Vec<i64> {
        let mut run = Sluice::run(trap).cache("1MiB");
        for (key, value) in [("device.capacity", capacity)].into_iter().chain(
            more.split_whitespace()
                .filter_map(|pair| pair.split_once('=')),
        ) {
            run = run.set(key, value);
        }
        let out = run.program([helper!("starts.c")]);
        assert!(out.status.success(), "{out:#?}");
        let words = out.own_stdout().split_whitespace();
        words.map(|word| word.parse().expect("a number")).collect()
    };
    /// Of some 300; the larger device has tables of more levels in the kernel, and counts longer.
    const MORE_MAX: i64 = 40;
    let settings = [
        "",
        "ftl.gc_policy=fifo ftl.wear_levelling=static",
        "ftl.gc_policy=d-choices ftl.mapping=dftl",
        "ftl.gc_policy=cost-benefit ftl.precondition=none",
    ];
    // A random precondition takes its time, once a run.
    let all = settings.map(|more| ("2TiB", more));
    let all = all
        .into_iter()
        .chain([("16GiB", "ftl.precondition=random")]);
    for (trap, (capacity, more)) in TRAPS.iter().cycle().zip(all) {
        let [small, large] = ["64MiB", capacity].map(|size| touched(trap, size, more));
        let is_well = |(small, large): (&i64, &i64)| large - small < MORE_MAX;
        assert!(
            small.len() == 2 && small.iter().zip(&large).all(is_well),
            "{trap} {more}: a start and a fork touch {small:?} pages, and {large:?}"
        );
    }
}

/// The unwinder came along as a library, whose start takes as long as that of many programs.
#[test]
fn a_program_in_c_gets_no_library_but_ours() {
    let libraries = |maps: &str| -> Vec<String> {
        let paths = maps.lines().filter_map(|line| line.split_once('/'));
        let names = paths.filter_map(|(_, path)| path.rsplit('/').next());
        let mut names: Vec<String> = names
            .filter(|name| name.contains(".so"))
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let command = ["cat", "/proc/self/maps"];
    let natively = std::process::Command::new(command[0])
        .arg(command[1])
        .output()
        .expect("a program");
    let mut expected = libraries(&String::from_utf8_lossy(&natively.stdout));
    expected.push("libsluice_preload.so".to_owned());
    expected.sort();
    let out = Sluice::run("event").program(command).well();
    assert_eq!(libraries(out.own_stdout()), expected);
}

/// What cannot be taken up is made.
#[test]
fn a_precondition_that_is_lost_is_made_anew() {
    for trap in TRAPS {
        for lost in [
            "rm $SLUICE_SESSION/contents",
            "cp /etc/passwd $SLUICE_SESSION/contents",
            "chmod 666 $SLUICE_SESSION/contents",
            "rm $SLUICE_SESSION/contents; mkfifo $SLUICE_SESSION/contents",
        ] {
            let script = format!("{lost} || exit 9; exec sort /etc/passwd");
            let out = Sluice::run(trap)
                .set("ftl.precondition", "random")
                .program(["sh", "-c", &script]);
            assert_eq!(out.status.code(), Some(0), "{lost}: {out:#?}");
            assert!(out.number("/flash/reads") > 0, "{lost}: {out:#?}");
        }
    }
}

/// The C library calls the kernel itself for a list of arguments. In signal mode perl's pipes to
/// commands failed (EFAULT).
#[test]
fn a_list_of_arguments_may_be_on_missing_pages() {
    let path = helper!("exec_lists.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let out = Sluice::run(trap).cache("1MiB").program([path]).well();
        assert_eq!(out.own_stdout(), "well\n", "{trap}: {out:#?}");
    }
}

/// Each ended with status 1: QEMU's helpers too, which have none of its descriptors.
#[test]
fn programs_that_no_longer_find_the_device_file_go_on_off_the_device() {
    for trap in TRAPS {
        let file = tempfile::NamedTempFile::new_in("/dev/shm").expect("a file in memory");
        file.as_file().set_len(1 << 20).expect("memory");
        let path = file.path().to_str().expect("plain letters");
        let script = format!("rm {path}; echo here | cat; exit 3");
        let out = Sluice::run(trap)
            .args(["--place", &format!("dax:{path}")])
            .program(["sh", "-c", &script]);
        assert_eq!((out.own_stdout(), out.status.code()), ("here\n", Some(3)));
        assert_eq!(out.number("/host/programs_outside"), 1, "{out:#?}");
    }
}
