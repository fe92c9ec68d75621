//! A store's beginning and end: what comes in between a start, or the program's end, and a whole
//! store.

use super::{PAGE, PAGES, Rig, await_it, check, is_whole};
use crate::sluice::{Running, TRAPS};
use sluice_testkit::mount::Mounted;
use std::fs;
use std::path::Path;

/// What the memory has of a generation, as the program writes it.
pub(super) fn generation(number: u64) -> Vec<u8> {
    let page = |page: u64| {
        (page << 32 | number)
            .to_ne_bytes()
            .repeat(PAGE as usize / 8)
    };
    (0..PAGES).flat_map(page).collect()
}

/// The first start has no room for what the memory has. Nothing is a store then, and the next start
/// begins with the memory anew. It had taken the empty store for the truth.
#[test]
fn a_first_start_that_fails_leaves_no_store() {
    let rig = Rig::new();
    let folder = rig.path("small");
    fs::create_dir(&folder).expect("room");
    let Some(mounted) = Mounted::in_memory(&folder, "size=1M") else {
        println!("unchecked: this user may not mount a file system of 1 MiB");
        return;
    };
    let memory = generation(7);
    fs::write(rig.path("memory"), &memory).expect("room");
    let run = || {
        rig.run_with("event", &folder.join("store"))
            .program(["true"])
    };
    let first = run();
    let left = fs::read_dir(&folder).expect("ours").count();
    let has_room = mounted.resize("100M");
    let second = run();
    let whole = check(&folder.join("store"));
    mounted.end();
    assert_eq!(first.status.code(), Some(2), "{first:#?}");
    assert!(first.stderr.contains("No space left"), "{first:#?}");
    assert_eq!(left, 0, "files are left");
    assert!(has_room, "the file system does not grow");
    assert!(second.status.success(), "{second:#?}");
    assert_eq!(is_whole(&whole)["stored"], PAGES);
    assert!(
        fs::read(rig.path("memory")).expect("ours") == memory,
        "lost"
    );
}

/// A flush has failed because the disk of the store was full. Once there is room, the next is done
/// in the same run. It had been refused for the rest of the run.
#[test]
fn a_store_whose_disk_was_full_goes_on_with_room() {
    let rig = Rig::new();
    let folder = rig.path("small");
    fs::create_dir(&folder).expect("room");
    let Some(mounted) = Mounted::in_memory(&folder, "size=3M") else {
        println!("unchecked: this user may not mount a file system of 3 MiB");
        return;
    };
    let store = folder.join("store");
    let run = |words: &str| rig.run_with("event", &store).program(rig.program(words));
    let first = run("write 512 1 msync");
    let words = format!("again 512 2 {}", rig.path("ready").display());
    let mut again = rig.run_with("event", &store).prepare(rig.program(&words));
    let running = Running::start(&mut again);
    await_it("no flush fails", || rig.path("ready").exists());
    let has_room = mounted.resize("100M");
    let second = running.finish();
    rig.forget();
    let third = run("check 512 2");
    let whole = check(&store);
    mounted.end();
    first.well();
    assert!(has_room, "the file system does not grow");
    assert!(second.stderr.contains("No space left"), "{second:#?}");
    second.well();
    third.well();
    is_whole(&whole);
}

/// The device's memory has no room for what its store has. The message had said so of the store.
#[test]
fn a_memory_that_is_too_small_for_the_store_is_named() {
    let rig = Rig::new();
    rig.does("event", "write 512 1 msync");
    let folder = rig.path("small");
    fs::create_dir(&folder).expect("room");
    let Some(mounted) = Mounted::in_memory(&folder, "size=1M") else {
        println!("unchecked: this user may not mount a file system of 1 MiB");
        return;
    };
    let memory = folder.join("memory");
    let made = fs::File::create(&memory).and_then(|file| file.set_len(PAGES * PAGE));
    fs::remove_file(rig.path("memory")).expect("ours");
    std::os::unix::fs::symlink(&memory, rig.path("memory")).expect("room");
    let refused = rig.run("event").program(["true"]);
    mounted.end();
    made.expect("no page of it is there");
    super::is_refused(&refused, &["small/memory", "No space left"]);
    is_whole(&rig.check());
}

/// A start that was killed may leave a file that is no store. Another's file of that name stays.
#[test]
fn only_what_a_start_has_left_is_replaced() {
    let rig = Rig::new();
    fs::write(rig.path("memory"), generation(7)).expect("room");
    let new = rig.path("store.new");
    fs::write(&new, "somebody's notes").expect("room");
    let refused = rig.run("event").program(["true"]);
    super::is_refused(&refused, &["store.new", "no store"]);
    assert_eq!(
        fs::read_to_string(&new).expect("it is there"),
        "somebody's notes"
    );
    fs::write(&new, vec![0; 1 << 20]).expect("room");
    let made = rig.run("event").program(["true"]);
    assert!(made.status.success() && !new.exists(), "{made:#?}");
    rig.forget();
    rig.does("event", "check 512 7");
}

/// Ctrl-C while the command waits for what the program left ends that: without the command nobody
/// would keep what it stores.
#[test]
fn ctrl_c_ends_what_the_program_left_and_keeps_everything() {
    for (trap, signal) in TRAPS.into_iter().zip([libc::SIGINT, libc::SIGTERM]) {
        let rig = Rig::new();
        let words = format!("leave {PAGES} 6 {}", rig.path("ready").display());
        let running = Running::start(&mut rig.run(trap).prepare(rig.program(&words)));
        await_it("it does not begin", || rig.path("ready").exists());
        let left = fs::read_to_string(rig.path("ready")).expect("its number");
        let is_there = || Path::new(&format!("/proc/{}", left.trim())).exists();
        // The command waits for the child once the program is gone.
        let children = || fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.id()));
        let waits =
            || children().is_ok_and(|all| all.split_whitespace().any(|pid| pid == left.trim()));
        await_it("the child is not taken in", waits);
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(is_there());
        // SAFETY: no pointers; started by this test.
        unsafe { libc::kill(running.id(), signal) };
        let out = running.finish();
        assert_eq!(out.status.code(), Some(0), "{trap}: {out:#?}");
        assert!(out.stderr.contains("(Ctrl-C ends them)"), "{out:#?}");
        assert!(!is_there(), "it goes on");
        rig.forget();
        rig.does(trap, &format!("check {PAGES} 6"));
    }
}

/// Requests to end that come when the program has ended do not cut the store's last pages off.
#[test]
fn requests_to_end_wait_until_everything_is_kept() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
        let rig = Rig::new();
        let pages = 16_384;
        let memory = fs::File::create(rig.path("memory")).expect("room");
        memory.set_len(pages * PAGE).expect("room");
        let run = rig
            .run("event")
            .set("device.capacity", "64MiB")
            .cache("48MiB");
        let words = format!("hold {pages} 4 {}", rig.path("ready").display());
        let running = Running::start(&mut run.prepare(rig.program(&words)));
        await_it("it does not begin", || rig.path("ready").exists());
        let program = fs::read_to_string(rig.path("ready")).expect("its number");
        // SAFETY: no pointers; started by this test.
        unsafe { libc::kill(program.trim().parse().expect("a number"), libc::SIGKILL) };
        await_it("it goes on", || {
            !Path::new(&format!("/proc/{}", program.trim())).exists()
        });
        for _ in 0..200 {
            // SAFETY: as above.
            unsafe { libc::kill(running.id(), signal) };
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let out = running.finish();
        // The last ones may have come when all was kept.
        let ended_by = [Some(libc::SIGKILL), Some(signal)];
        assert!(ended_by.contains(&out.signal()), "{signal}: {out:#?}");
        assert_eq!(is_whole(&rig.check())["stored"], pages, "{signal}");
    }
}

/// Threads that flush without end hold neither each other up nor what the device programs.
#[test]
fn what_is_programmed_is_kept_while_others_flush() {
    let rig = Rig::new();
    let words = format!("busy {} 3 {}", PAGES - 3, rig.path("ready").display());
    let running = Running::start(&mut rig.run("event").prepare(rig.program(&words)));
    await_it("it does not begin", || rig.path("ready").exists());
    std::thread::sleep(std::time::Duration::from_secs(2));
    running.signal_group(libc::SIGKILL);
    running.finish();
    // An eighth is in the cache.
    let stored = is_whole(&rig.check())["stored"].as_u64().expect("a number");
    assert!(stored >= PAGES - 3 - PAGES / 8, "{stored}");
}
