//! The interface call by call: what is refused, what callbacks may do, how it ends.

use core::ffi::{CStr, c_char, c_void};
use sluice::api::*;
use std::ffi::CString;
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};

const ONE: &str = "
[topology]
kind = 'bus'
[requester]
count = 1
pattern = 'external'
depth = 2
[endpoint]
count = 1
capacity = '1MiB'
";

/// A simulation that ends with its owner.
struct Owned(*mut Simulation);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used again.
        unsafe { sluice_delete(self.0) }
    }
}

fn try_new(toml: &str) -> Result<Owned, CString> {
    let toml = CString::new(toml).unwrap();
    let mut error: *mut c_char = null_mut();
    // SAFETY: live texts, and a place for the error.
    let simulation = unsafe { sluice_new(toml.as_ptr(), null(), 1, &mut error) };
    if !simulation.is_null() {
        assert!(error.is_null());
        return Ok(Owned(simulation));
    }
    // SAFETY: a text from the library, freed once.
    let message = unsafe { CStr::from_ptr(error) }.to_owned();
    // SAFETY: as above.
    unsafe { sluice_free_text(error) };
    Err(message)
}

fn error(simulation: &Owned) -> String {
    // SAFETY: a live simulation; the text is copied at once.
    let text = unsafe { CStr::from_ptr(sluice_error(simulation.0)) };
    text.to_str().unwrap().to_owned()
}

/// What a callback does, and what it saw.
struct Caller {
    simulation: *mut Simulation,
    again: u32,
    told: Vec<(u64, u64, u64)>,
    busy: i32,
}

unsafe extern "C" fn on_done(context: *mut c_void, completion: *const Completion) {
    // SAFETY: the caller of this test, and a live completion.
    let (caller, completion) = unsafe { (&mut *context.cast::<Caller>(), &*completion) };
    let simulation = caller.simulation;
    // SAFETY: a live simulation; all of this is allowed in a callback.
    let now = unsafe { sluice_now(simulation) };
    assert_eq!(now, completion.at_ps);
    caller
        .told
        .push((completion.tag, completion.at_ps, completion.latency_ps));
    // SAFETY: as above.
    caller.busy = unsafe { sluice_advance(simulation, now + 1) };
    // SAFETY: refused in a callback.
    unsafe { sluice_delete(simulation) };
    if caller.again > 0 {
        caller.again -= 1;
        // SAFETY: as above.
        let sent = unsafe { sluice_send(simulation, 0, 0, false, completion.tag + 1) };
        assert_eq!(sent, SLUICE_OK);
    }
}

#[test]
fn a_callback_sends_at_the_time_of_what_is_done() {
    let simulation = try_new(ONE).unwrap();
    let mut caller = Caller {
        simulation: simulation.0,
        again: 3,
        told: vec![],
        busy: 0,
    };
    let context = (&raw mut caller).cast::<c_void>();
    // SAFETY: a live simulation, and a caller that lives longer.
    unsafe {
        sluice_call_when_done(simulation.0, Some(on_done), context);
        assert_eq!(sluice_next_event(simulation.0), SLUICE_NO_EVENT);
        assert_eq!(sluice_send(simulation.0, 0, 64, false, 10), SLUICE_OK);
        assert_eq!(sluice_in_flight(simulation.0), 1);
        let next = sluice_next_event(simulation.0);
        assert!(next > 0 && next < SLUICE_NO_EVENT);
        assert_eq!(sluice_advance(simulation.0, 1_000_000_000), SLUICE_OK);
        assert_eq!(
            (sluice_now(simulation.0), sluice_in_flight(simulation.0)),
            (1_000_000_000, 0)
        );
    }
    let latency = caller.told[0].2;
    let expected: Vec<(u64, u64, u64)> = (0..4)
        .map(|n| (10 + n, latency * (n + 1), latency))
        .collect();
    assert_eq!(caller.told, expected);
    assert_eq!(caller.busy, SLUICE_BUSY);
    assert_eq!(
        error(&simulation),
        "time is moving: a callback cannot move it"
    );
}

/// Both sides: not done a picosecond before its time, done at it.
#[test]
fn a_request_is_done_at_its_time_and_not_before() {
    let done_at = |step: u64| {
        let simulation = try_new(ONE).unwrap();
        // SAFETY: a live simulation.
        unsafe {
            assert_eq!(sluice_send(simulation.0, 0, 0, true, 1), SLUICE_OK);
            while sluice_in_flight(simulation.0) > 0 {
                let next = sluice_next_event(simulation.0);
                let until = if step == 0 {
                    next
                } else {
                    sluice_now(simulation.0) + step
                };
                assert_eq!(sluice_advance(simulation.0, until), SLUICE_OK);
            }
            sluice_now(simulation.0)
        }
    };
    let at = done_at(0);
    let simulation = try_new(ONE).unwrap();
    // SAFETY: a live simulation.
    unsafe {
        assert_eq!(sluice_send(simulation.0, 0, 0, true, 1), SLUICE_OK);
        assert_eq!(sluice_advance(simulation.0, at - 1), SLUICE_OK);
        assert_eq!(sluice_in_flight(simulation.0), 1);
        assert_eq!(sluice_advance(simulation.0, at), SLUICE_OK);
        assert_eq!(sluice_in_flight(simulation.0), 0);
    }
    // However time is cut up.
    assert_eq!(done_at(1_000), at.next_multiple_of(1_000));
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let refused = |toml: &str| try_new(toml).err().unwrap().into_string().unwrap();
    let text = refused("[topology]\nkind = 'moebius'");
    assert!(
        text.contains("fabric.toml:2") && text.contains("moebius"),
        "{text}"
    );
    assert!(
        text.contains("spine-leaf") && !text.contains('\n'),
        "{text}"
    );
    // SAFETY: null pointers are what is tried.
    unsafe {
        assert!(sluice_new(null(), null(), 1, null_mut()).is_null());
        assert!(sluice_open(null(), 1, null_mut()).is_null());
        sluice_delete(null_mut());
        sluice_free_text(null_mut());
    }
    let simulation = try_new(ONE).unwrap();
    // SAFETY: a live simulation.
    let send = |requester, addr| unsafe { sluice_send(simulation.0, requester, addr, false, 0) };
    assert_eq!(send(1, 0), SLUICE_INVALID);
    assert_eq!(
        error(&simulation),
        "there is no requester 1; there are 1, from 0 on"
    );
    assert_eq!(send(0, 1 << 20), SLUICE_INVALID);
    assert_eq!(
        error(&simulation),
        "0x100000 from `r0`: it reaches no memory there"
    );
    assert_eq!(
        [send(0, 0), send(0, 63), send(0, 64)],
        [SLUICE_OK, SLUICE_OK, SLUICE_FULL]
    );
    assert_eq!(error(&simulation), "the requester's queue is full");
    // SAFETY: as above.
    unsafe {
        assert!(!sluice_can_send(simulation.0, 0) && !sluice_can_send(simulation.0, 7));
        assert_eq!(sluice_memory_bytes(simulation.0, 0), 1 << 20);
        assert_eq!(sluice_memory_bytes(simulation.0, 7), 0);
        assert_eq!(sluice_requesters(simulation.0), 1);
    }
    let own = try_new(&ONE.replace("external", "random")).unwrap();
    // SAFETY: as above.
    let status = unsafe { sluice_send(own.0, 0, 0, false, 0) };
    assert_eq!(status, SLUICE_INVALID);
    let says = "sends requests of its own (requester.pattern = random); give it pattern =";
    assert!(error(&own).contains(says), "{}", error(&own));
}

/// When each of some requests is done, that are sent one after the other.
/// A program that advances to what is next gets there once nothing is.
#[test]
fn the_clock_has_an_end_and_goes_on_before_it() {
    let simulation = try_new(ONE).unwrap();
    // SAFETY: a live simulation.
    let advance = |until| unsafe { sluice_advance(simulation.0, until) };
    // SAFETY: as above.
    let next = || unsafe { sluice_next_event(simulation.0) };
    // SAFETY: as above.
    let send = || unsafe { sluice_send(simulation.0, 0, 0, false, 0) };
    // SAFETY: as above.
    let state = || unsafe { (sluice_now(simulation.0), sluice_in_flight(simulation.0)) };
    assert_eq!(next(), SLUICE_NO_EVENT);
    for until in [SLUICE_NO_EVENT, SLUICE_TIME_MAX + 1] {
        assert_eq!(advance(until), SLUICE_INVALID);
        let range = "no time to advance to: expected up to 9223372036854775807 ps";
        assert_eq!(error(&simulation), format!("{until} ps is {range}"));
    }
    assert_eq!(send(), SLUICE_OK);
    let first = next();
    assert!(first < 1_000_000, "{first}");
    // The last time that there is: what is sent then is not done on any, and harms nothing.
    assert_eq!(advance(SLUICE_TIME_MAX), SLUICE_OK);
    assert_eq!(state(), (SLUICE_TIME_MAX, 0));
    assert_eq!(send(), SLUICE_OK);
    let last = next();
    assert!(last > SLUICE_TIME_MAX && last < SLUICE_NO_EVENT, "{last}");
    assert_eq!(advance(last), SLUICE_INVALID);
    assert_eq!(advance(SLUICE_TIME_MAX), SLUICE_OK);
    assert_eq!(state(), (SLUICE_TIME_MAX, 1));
}

fn times(toml: &str) -> Vec<u64> {
    let simulation = try_new(toml).unwrap();
    let request = |n: u64| {
        // SAFETY: a live simulation.
        unsafe {
            let sent = sluice_send(simulation.0, 0, n * 4096, n.is_multiple_of(3), n);
            assert_eq!(sent, SLUICE_OK);
            while sluice_in_flight(simulation.0) > 0 {
                let next = sluice_next_event(simulation.0);
                assert_eq!(sluice_advance(simulation.0, next), SLUICE_OK);
            }
            sluice_now(simulation.0)
        }
    };
    (0..100).map(request).collect()
}

/// Both interfaces at once: a program that drives a fabric whose memory is an object of its own.
#[test]
fn a_memory_of_the_programs_own_is_as_fast_as_the_built_in_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("fixed.so");
    let status = Command::new("cc")
        .args(["-std=c11", "-O2", "-shared", "-fPIC", "-I"])
        .arg(root.join("crates/sluice-abi/include"))
        .arg(root.join("examples/memory-c/fixed.c"))
        .arg("-o")
        .arg(&object)
        .status()
        .expect("a C compiler");
    assert!(status.success());
    let with = |memory: &str| {
        let endpoints = "[[endpoints]]\nname = 'm'\ncount = 1\ncapacity = '1MiB'\n";
        let one = ONE.replace("[endpoint]\ncount = 1\ncapacity = '1MiB'\n", endpoints);
        times(&(one + memory))
    };
    let library = format!(
        "library = '{}'\nargument = '71000 113000'\n",
        object.display()
    );
    let built_in = with("type = 'fixed'\nread = '71ns'\nwrite = '113ns'\n");
    assert_eq!(with(&library), built_in);
    assert_ne!(
        with("type = 'fixed'\nread = '72ns'\nwrite = '113ns'\n"),
        built_in
    );
}

/// When each of some requests to a small device is done, one after the other, under a policy.
fn device_times(folder: &Path, policy: &str) -> Vec<u64> {
    let device = folder.join("device.toml");
    let cache = format!("[cache]\ncapacity = '32KiB'\npolicy = '{policy}'\n");
    std::fs::write(&device, format!("base = 'cylon'\n{cache}")).unwrap();
    let endpoints = format!(
        "[[endpoints]]\nname = 'm'\ncount = 1\ndevice = '{}'\n",
        device.display()
    );
    let toml = ONE.replace("[endpoint]\ncount = 1\ncapacity = '1MiB'\n", &endpoints);
    let simulation = try_new(&toml).unwrap();
    let request = |n: u64| {
        // SAFETY: a live simulation.
        unsafe {
            let page = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 12;
            let sent = sluice_send(simulation.0, 0, page * 4096, false, n);
            assert_eq!(sent, SLUICE_OK);
            while sluice_in_flight(simulation.0) > 0 {
                let next = sluice_next_event(simulation.0);
                assert_eq!(sluice_advance(simulation.0, next), SLUICE_OK);
            }
            sluice_now(simulation.0)
        }
    };
    (0..200).map(request).collect()
}

/// Objects decide in every mode, which fabrics did not know; and count from their device's file.
#[test]
fn a_policy_in_c_decides_behind_an_endpoint() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let status = Command::new("cc")
        .args(["-std=c11", "-O2", "-shared", "-fPIC", "-I"])
        .arg(root.join("crates/sluice-abi/include"))
        .arg(root.join("examples/policy-c/lru.c"))
        .arg("-o")
        .arg(folder.path().join("lru.so"))
        .status()
        .expect("a C compiler");
    assert!(status.success());
    let times = |policy| device_times(folder.path(), policy);
    let expected = times("lru");
    assert_eq!(times("./lru.so"), expected);
    assert_ne!(times("fifo"), expected);
}

/// Tags of requests that are done.
unsafe extern "C" fn note_tag(context: *mut c_void, completion: *const Completion) {
    // SAFETY: the test's own list, and a completion that lives during the call.
    let (tags, completion) = unsafe { (&mut *context.cast::<Vec<u64>>(), &*completion) };
    tags.push(completion.tag);
}

/// What was done in the last event of all was not reported.
#[test]
fn what_is_done_before_nothing_more_can_happen_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let [source, object] = ["never.c", "never.so"].map(|name| folder.path().join(name));
    std::fs::write(&source, NEVER).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let status = Command::new("cc")
        .args(["-std=c11", "-shared", "-fPIC", "-I"])
        .arg(root.join("crates/sluice-abi/include"))
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .status()
        .expect("a C compiler");
    assert!(status.success());
    let group = |name: &str, memory: &str| {
        format!("[[endpoints]]\nname = '{name}'\ncount = 1\ncapacity = '1MiB'\n{memory}\n")
    };
    let endpoints = group("fixed", "type = 'fixed'")
        + &group("never", &format!("library = '{}'", object.display()));
    let toml = ONE.replace("[endpoint]\ncount = 1\ncapacity = '1MiB'\n", &endpoints);
    let simulation = try_new(&toml).unwrap();
    let mut tags: Vec<u64> = Vec::new();
    // SAFETY: a live simulation and a live list.
    unsafe {
        sluice_call_when_done(simulation.0, Some(note_tag), (&raw mut tags).cast());
        let half = sluice_memory_bytes(simulation.0, 0) / 2;
        for (addr, tag) in [(0, 7), (half + 256, 8)] {
            assert_eq!(sluice_send(simulation.0, 0, addr, false, tag), SLUICE_OK);
        }
        let advanced = sluice_advance(simulation.0, 1_000_000_000);
        assert_eq!(advanced, SLUICE_FAILED, "{tags:?}");
    }
    assert_eq!(tags, [7], "{}", error(&simulation));
}

/// A memory that never answers.
const NEVER: &str = r#"
#include <stddef.h>
#include "sluice_memory.h"
static int state;
static void *build(const struct sluice_memory_space *s) { (void)s; return &state; }
static void destroy(void *s) { (void)s; }
static uint64_t request(void *s, uint64_t now, uint32_t id, uint64_t addr, bool w) {
  (void)s; (void)now; (void)id; (void)addr; (void)w;
  return SLUICE_NEVER;
}
static uint64_t next_at(void *s) { (void)s; return SLUICE_NEVER; }
static void advance(void *s, uint64_t now, void (*done)(void *, uint32_t), void *context) {
  (void)s; (void)now; (void)done; (void)context;
}
const struct sluice_memory sluice_memory = { .abi = SLUICE_MEMORY_ABI,
  .size = sizeof(struct sluice_memory), .build = build, .destroy = destroy,
  .request = request, .next_at = next_at, .advance = advance };
"#;

/// Requesters of their own are neighbours: they begin when time moves.
#[test]
fn neighbours_send_by_themselves() {
    let toml = "
[topology]
kind = 'bus'
[[requesters]]
name = 'host'
count = 1
pattern = 'external'
[[requesters]]
name = 'neighbour'
count = 2
pattern = 'random'
[endpoint]
count = 2
";
    let simulation = try_new(toml).unwrap();
    // SAFETY: a live simulation.
    unsafe {
        assert_eq!(sluice_next_event(simulation.0), 0);
        assert_eq!(sluice_advance(simulation.0, 10_000_000), SLUICE_OK);
        assert!(sluice_in_flight(simulation.0) > 0);
        let text = sluice_statistics(simulation.0);
        let told: serde_json::Value =
            serde_json::from_slice(CStr::from_ptr(text).to_bytes()).unwrap();
        sluice_free_text(text);
        assert!(told["requests"].as_u64().unwrap() > 100);
        sluice_restart_statistics(simulation.0);
        let text = sluice_statistics(simulation.0);
        let told: serde_json::Value =
            serde_json::from_slice(CStr::from_ptr(text).to_bytes()).unwrap();
        sluice_free_text(text);
        assert_eq!(told["requests"].as_u64().unwrap(), 0);
    }
}

/// Six hosts on a ring of switches wait for each other's credits for ever. One beside them, with
/// memory of its own, goes on, so that time does.
#[test]
fn a_deadlock_of_a_part_has_no_statistics() {
    let mut toml = "
[topology]
kind = 'list'
[map]
ways = 1
[link]
credits = 1
[endpoint]
capacity = '1MiB'
[[requesters]]
name = 'alone'
count = 1
footprint = '1MiB'
depth = 1
[[requesters]]
name = 'host'
count = 6
[[endpoints]]
name = 'own'
count = 1
[[endpoints]]
name = 'mem'
count = 6
[[switches]]
name = 's'
count = 6
"
    .to_owned();
    let mut link = |a: &str, b: &str| toml += &format!("[[links]]\nends = ['{a}', '{b}']\n");
    for number in 0..6 {
        let switch = format!("s{number}");
        link(&format!("host{number}"), &switch);
        link(&format!("mem{number}"), &switch);
        link(&switch, &format!("s{}", (number + 1) % 6));
    }
    for (a, b) in [("alone", "own"), ("alone", "s0"), ("own", "s0")] {
        link(a, b);
    }
    let simulation = try_new(&toml).unwrap();
    // SAFETY: a live simulation.
    unsafe {
        assert_eq!(sluice_advance(simulation.0, 1_000_000_000), SLUICE_OK);
        assert!(sluice_statistics(simulation.0).is_null());
        let says = error(&simulation);
        assert!(says.starts_with("deadlock of a part by"), "{says}");
        assert_eq!(sluice_advance(simulation.0, 2_000_000_000), SLUICE_OK);
    }
}
