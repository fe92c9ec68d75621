//! The memory functions under eviction, each byte checked by the program itself.

use crate::abuse::{all_well, fault, small, within_limit};
use crate::build::{compile, helper};
use crate::sluice::{Sluice, TRAPS, finish};
use std::process::Command;

#[test]
fn the_malloc_family_from_eight_threads() {
    for trap in TRAPS {
        let path = helper!("alloc.c").to_str().expect("plain letters");
        // All blocks stay resident but for the large ones: many operations, some evictions.
        let out = Sluice::run(trap).cache("12MiB").program([path, "100000"]);
        assert_eq!(out.evicted().own_stdout(), "well\n");
        // Hardly anything stays resident.
        let out = Sluice::run(trap).cache("256KiB").program([path, "1000"]);
        assert_eq!(out.evicted().own_stdout(), "well\n");
    }
}

/// PHP loads its modules so: what one side allocates the other frees.
#[test]
fn a_library_bound_to_the_c_library_first_has_the_same_heap() {
    let library = compile("deep.c", &["-shared", "-fPIC"]);
    let folder = library.parent().expect("a folder").display();
    let program = compile("deepbind.c", &[&format!("-Wl,-rpath,{folder}")]);
    let name = library.file_name().and_then(|name| name.to_str());
    let program = [program.to_str(), name].map(|text| text.expect("plain letters"));
    for trap in TRAPS {
        let out = Sluice::run(trap).cache("64KiB").program(program).evicted();
        assert_eq!(out.own_stdout(), "well\n", "{trap}: {out:#?}");
    }
}

/// Memory is bound to nodes, moved and asked for, the device's own among it.
#[test]
fn memory_is_bound_and_moved_as_without() {
    let program = helper!("numa.c");
    let plain = finish(&mut Command::new(program));
    assert!(plain.status.success(), "{plain:#?}");
    for trap in TRAPS {
        let out = Sluice::run(trap).cache("64KiB").program([program]);
        assert_eq!(out.evicted().own_stdout(), plain.stdout, "{trap}");
    }
}

#[test]
fn the_mmap_family() {
    for trap in TRAPS {
        for cache in ["1MiB", "64KiB"] {
            let path = helper!("maps.c").to_str().expect("plain letters");
            let out = Sluice::run(trap).cache(cache).program([path]).evicted();
            assert_eq!(out.own_stdout(), "well\n", "{trap} {cache}");
            assert_eq!(out.number("/memory/pinned"), 0, "{trap} {cache}");
        }
    }
}

/// `mprotect` of a range that went past the end of the device ended the program, a range that went
/// round all addresses got there too, and `mlockall` never ended.
#[test]
fn ranges_that_cannot_be_are_refused_as_by_the_kernel() {
    for trap in TRAPS {
        let path = helper!("ranges.c").to_str().expect("plain letters");
        let sluice = Sluice::run(trap).set("device.capacity", "64MiB");
        let out = sluice.cache("1MiB").program([path]).evicted();
        assert_eq!(out.own_stdout(), "well\n", "{trap}: {out:#?}");
        assert_eq!(out.number("/memory/pinned"), 0, "{trap}");
    }
}

/// The command did not warn that such memory is not on the device: PostgreSQL's buffers, ZGC's
/// heap.
#[test]
fn shared_memory_is_told_to_be_outside() {
    for trap in TRAPS {
        let path = helper!("shares.c").to_str().expect("plain letters");
        let out = Sluice::run(trap).cache("1MiB").program([path]).evicted();
        assert_eq!(out.own_stdout(), "well\n", "{trap}: {out:#?}");
        assert_eq!(out.number("/memory/shared_bytes"), 8 << 20, "{trap}");
        assert_eq!(out.number("/processes/0/shared_bytes"), 8 << 20, "{trap}");
        let told =
            "8.0 MiB of shared memory were mapped, which stays in DRAM and not on the device";
        assert!(out.stderr.contains(told), "{trap}: {out:#?}");
    }
}

/// One instruction may need two pages at once, whatever the policy does and however small the
/// cache: LIFO gave up the first for the second, for ever.
#[test]
fn an_instruction_that_needs_two_pages_gets_on() {
    let policies = sluice_model::EVICTIONS.iter().map(|e| e.info.name);
    for policy in policies {
        for (trap, cache) in TRAPS.into_iter().zip(["4KiB", "16KiB"]) {
            let path = helper!("maps.c").to_str().expect("plain letters");
            let sluice = Sluice::run(trap).cache(cache).set("cache.policy", policy);
            let out = sluice.program([path, "straddle"]).evicted();
            assert_eq!(out.own_stdout(), "well\n", "{trap} {policy}");
        }
    }
}

/// In signal mode the kernel cannot wait for a page. Streams read and wrote the program's memory by
/// system calls that no hook saw, a buffer larger than the cache was never there as a whole, and
/// names and lists were not looked after.
#[test]
fn what_the_kernel_reads_and_writes_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    for trap in TRAPS {
        for policy in ["fifo", "random"] {
            let sluice = Sluice::run(trap).cache("256KiB");
            let sluice = sluice.set("cache.policy", policy).set("nand.read", "1us");
            let program = helper!("kernel.c").as_os_str();
            let out = sluice.program([program, folder.path().join("file").as_os_str()]);
            assert_eq!(out.evicted().own_stdout(), "well\n", "{trap} {policy}");
        }
    }
}

#[test]
fn objects_strings_and_exceptions() {
    let path = helper!("objects.cpp").to_str().expect("plain letters");
    let plain = finish(&mut Command::new(path));
    assert!(plain.status.success() && plain.stdout.lines().count() == 4);
    for trap in TRAPS {
        let out = Sluice::run(trap).cache("4MiB").program([path]).evicted();
        assert_eq!(out.own_stdout(), plain.stdout, "{trap}");
    }
}

/// Unmapped memory read as zeros, and what a thread still stored there was in the next mapping.
#[test]
fn what_is_unmapped_is_gone() {
    for trap in TRAPS {
        let path = helper!("unmapped.c").to_str().expect("plain letters");
        let sluice = Sluice::run(trap).set("device.capacity", "1GiB");
        let out = sluice.cache("1MiB").program([path]).evicted();
        assert_eq!(out.own_stdout(), "well\n", "{trap}: {out:#?}");
    }
}

/// Freed and unmapped memory is given back: a program may allocate many times what it holds.
#[test]
fn freed_memory_comes_again() {
    for trap in TRAPS {
        let script = "for i in range(200): b = bytearray(4 << 20); b[::4096] = bytes(1024); del b";
        let sluice = Sluice::run(trap)
            .set("device.capacity", "32MiB")
            .cache("4MiB");
        let out = sluice.program(["python3", "-c", script]).evicted();
        assert_eq!(out.number("/memory/device_full"), 0, "{trap}");
        assert!(out.number("/memory/trims") > 100_000, "{trap}");
    }
}

/// The kernel never ended to put guards where pages had left.
#[test]
fn guards_are_refused_in_shared_memory_and_the_device_file() {
    let program = helper!("newer.c").to_str().expect("plain letters");
    let file = tempfile::NamedTempFile::new_in("/dev/shm").expect("room");
    file.as_file().set_len(2 << 20).expect("room");
    let path = file.path().to_str().expect("plain letters");
    let dax = format!("dax:{path}");
    for (trap, place, kind) in [
        ("event", "shared", "shared"),
        ("event", &dax, "file"),
        ("signal", &dax, "file"),
    ] {
        let run = small(trap).cache("512KiB").args(["--place", place]);
        let out = within_limit(&mut run.prepare([program, "guards", kind, path]));
        assert_eq!(fault(&out), None, "{trap} {place}: {out:#?}");
    }
}

/// A seal was granted and did not hold.
#[test]
fn seals_hold_or_are_refused() {
    all_well(helper!("newer.c"), &["seals"]);
}

/// Pages that a scan protected again were taken for clean: what was stored to them was lost.
#[test]
fn what_the_program_protects_itself_is_not_lost() {
    all_well(helper!("newer.c"), &["scans"]);
}

/// Behind a mapping of the program's were the statistics of its device, and the run was said to
/// have had none.
#[test]
fn behind_the_ends_of_mappings_is_nothing_of_the_runtimes() {
    let program = helper!("past_ends.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let out = small(trap).program([program]).well();
        assert_eq!(out.own_stdout(), "well\n", "{trap}: {out:#?}");
    }
}
