//! Hosts whose caches are a program's: what they learn, and what is refused.

mod building;

use building::{build, root, run, text};
use core::ffi::{CStr, c_void};
use sluice::api::*;
use sluice_units::Rng;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::ptr::{null, null_mut};

const LINES: u64 = 2_048;
const ACCESSES: u64 = 20_000;

/// Reads and writes of random lines.
fn accesses(seed: u64) -> Vec<(u64, bool)> {
    let mut rng = Rng::stream(seed, "core");
    let access = |_| (rng.below(LINES) * 64, rng.below(10) < 4);
    (0..ACCESSES).map(access).collect()
}

fn fabric(cores: u64, memory: &str, coherence: &str) -> String {
    format!(
        "topology = {{ kind = 'star' }}
         {coherence}
         [[requesters]]
         name = 'core'
         count = {cores}
         pattern = 'external'
         [[endpoints]]
         name = 'memory'
         {memory}"
    )
}

const MEMORY: &str = "count = 2\ntype = 'fixed'\ncapacity = '64KiB'";
const COHERENT: &str = "coherence = { filter = 'endpoint', entries = 128 }";

/// What the example prints of each core, by its word, and the time at the end.
fn run_cores(fabric: &str, cores: u64) -> (Vec<BTreeMap<String, u64>>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("cores");
    let source = root().join("examples/library-c/cores.c");
    build("cc", "-std=c11", &source, &program);
    let file = folder.path().join("fabric.toml");
    std::fs::write(&file, fabric).unwrap();
    let name = |path: &Path| path.to_str().expect("text").to_owned();
    let mut words = vec![name(&file)];
    for core in 0..cores {
        let trace = folder.path().join(format!("{core}.txt"));
        let mut lines = String::new();
        for (addr, is_write) in accesses(core) {
            writeln!(lines, "{} {addr:x}", if is_write { 'W' } else { 'R' }).unwrap();
        }
        std::fs::write(&trace, lines).unwrap();
        words.push(name(&trace));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = run(&program, &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    let (mut found, mut end) = (Vec::new(), 0);
    for line in told.lines() {
        match line.split_once(": ") {
            Some((_, counts)) => found.push(
                counts
                    .split(", ")
                    .map(|count| {
                        let (number, word) = count.split_once(' ').expect("two words");
                        (word.to_owned(), number.parse().expect("a number"))
                    })
                    .collect(),
            ),
            None => end = line.trim_end_matches(" ps").parse().expect("a time"),
        }
    }
    (found, end)
}

/// Hits and lines written back of a core alone: 64 sets of 4 lines, the one used longest ago
/// leaves, and a line that was only read must be asked for again to be written.
fn naive(accesses: &[(u64, bool)]) -> (u64, u64) {
    let mut sets = vec![Vec::<(u64, bool, bool)>::new(); 64];
    let (mut hits, mut written_back) = (0, 0);
    for &(addr, is_write) in accesses {
        let set = &mut sets[(addr / 64 % 64) as usize];
        let at = set.iter().position(|line| line.0 == addr);
        let found = at.map(|at| set.remove(at));
        let (owned, written) = found.map_or((false, false), |line| (line.1, line.2));
        hits += u64::from(found.is_some() && (!is_write || owned));
        if set.len() == 4 {
            written_back += u64::from(set.remove(0).2);
        }
        set.push((addr, owned | is_write, written | is_write));
    }
    (hits, written_back)
}

#[test]
fn a_core_alone_hits_as_its_cache_says() {
    let expected = naive(&accesses(0));
    for coherence in ["", COHERENT.replace("128", "4096").as_str()] {
        let (cores, _) = run_cores(&fabric(1, MEMORY, coherence), 1);
        assert_eq!(cores[0]["accesses"], ACCESSES);
        assert_eq!((cores[0]["hits"], cores[0]["written back"]), expected);
        assert_eq!((cores[0]["snooped"], cores[0]["violations"]), (0, 0));
    }
}

/// Without coherence cores write lines that others have: the check can fail.
#[test]
fn of_coherent_lines_one_core_writes_or_all_read() {
    let violations = |coherence| {
        let (cores, _) = run_cores(&fabric(3, MEMORY, coherence), 3);
        assert!(cores.iter().all(|core| core["accesses"] == ACCESSES));
        let of = |word: &str| -> u64 { cores.iter().map(|core| core[word]).sum() };
        (of("violations"), of("snooped"))
    };
    let (none, snooped) = violations(COHERENT);
    assert_eq!(none, 0);
    assert!(snooped > ACCESSES, "{snooped}");
    let (some, snooped) = violations("");
    assert!(some > 1_000, "{some}");
    assert_eq!(snooped, 0);
}

/// A page of flash takes 40 µs; a core that gets a long delay comes back every 1 µs.
#[test]
fn a_device_answers_with_a_long_delay_message() {
    let device = "count = 1\ndevice = 'cylon'\n";
    let (cores, end) = run_cores(&fabric(1, device, ""), 1);
    assert_eq!(
        (cores[0]["accesses"], cores[0]["hits"]),
        (ACCESSES, naive(&accesses(0)).0)
    );
    let pages = LINES * 64 / 4_096;
    assert!(
        (20 * pages..=38 * pages).contains(&cores[0]["delayed"]),
        "{cores:?}"
    );
    assert!(end > pages * 40_000_000, "{end} ps");
}

/// News, as the callback gets them.
unsafe extern "C" fn note(context: *mut c_void, news: *const News) {
    // SAFETY: the test's own list, and news that live during the call.
    let (list, news) = unsafe { (&mut *context.cast::<Vec<(u32, u32, u64)>>(), &*news) };
    list.push((news.what, news.tag, news.addr));
}

#[test]
fn what_cannot_be_asked_is_refused_with_its_reason() {
    let toml = std::ffi::CString::new(fabric(3, MEMORY, COHERENT)).unwrap();
    let mut learnt: Vec<(u32, u32, u64)> = Vec::new();
    // SAFETY: live texts and lists; the simulation is deleted once, at the end.
    unsafe {
        let simulation = sluice_new(toml.as_ptr(), null(), 1, null_mut());
        let says = || CStr::from_ptr(sluice_error(simulation)).to_str().unwrap();
        let ask =
            |requester, addr, what, tag| sluice_ask(simulation, requester, addr, what, false, tag);
        sluice_call_with_news(simulation, Some(note), (&raw mut learnt).cast());
        assert_eq!(ask(0, 0, SLUICE_READ, 1), SLUICE_INVALID);
        assert_eq!(
            says(),
            "no host is at `core0`: sluice_take_host puts one there"
        );
        for (lines, misses, reason) in [
            (0, 2, "lines: 0; expected 1 to 16777216"),
            (8, 5_000, "misses: 5000; expected 1 to 4096"),
        ] {
            assert_eq!(
                sluice_take_host(simulation, 0, lines, misses, 0),
                SLUICE_INVALID
            );
            assert_eq!(says(), reason);
        }
        let taken = sluice_take_host(simulation, 0, 8, 2, 1_000_000_000_001);
        assert_eq!(taken, SLUICE_INVALID);
        assert!(says().ends_with("1; expected 0 to 1000000000000"));
        assert_eq!(sluice_send(simulation, 2, 0, true, 0), SLUICE_OK);
        assert_eq!(sluice_advance(simulation, 1_000_000), SLUICE_OK);
        for requester in [0, 1] {
            assert!(sluice_can_send(simulation, requester));
            assert_eq!(sluice_take_host(simulation, requester, 8, 2, 0), SLUICE_OK);
        }
        assert_eq!(sluice_take_host(simulation, 0, 8, 2, 0), SLUICE_INVALID);
        assert!(!sluice_can_send(simulation, 0) && sluice_can_send(simulation, 2));
        assert_eq!(sluice_send(simulation, 0, 0, false, 0), SLUICE_INVALID);
        assert_eq!(
            says(),
            "a host is at `core0`: it asks for lines with sluice_ask"
        );
        assert_eq!(ask(0, 1 << 40, SLUICE_READ, 1), SLUICE_INVALID);
        assert_eq!(ask(0, 0, 4, 1), SLUICE_INVALID);
        assert_eq!(
            says(),
            "there is nothing to ask for with the number 4; expected 0 to 3"
        );
        assert_eq!(ask(0, 70, SLUICE_OWN, 1), SLUICE_OK);
        assert_eq!(ask(0, 128, SLUICE_READ, 1), SLUICE_INVALID);
        assert_eq!(says(), "tag 1 of `core0` names something that is under way");
        assert_eq!(ask(0, 128, SLUICE_READ, 2), SLUICE_OK);
        assert_eq!(ask(0, 192, SLUICE_READ, 3), SLUICE_FULL);
        assert_eq!(sluice_advance(simulation, 3_000_000), SLUICE_OK);
        learnt.sort_unstable();
        assert_eq!(learnt, [(SLUICE_LINE, 2, 128), (SLUICE_OWNED, 1, 64)]);
        learnt.clear();
        // Another reads what the first may write.
        assert_eq!(ask(1, 64, SLUICE_READ, 9), SLUICE_OK);
        assert_eq!(sluice_advance(simulation, 6_000_000), SLUICE_OK);
        assert_eq!(learnt.len(), 2, "{learnt:?}");
        assert!(matches!(learnt[0], (SLUICE_SHARED | SLUICE_GONE, 0, 64)));
        assert_eq!(learnt[1], (SLUICE_LINE, 9, 64));
        sluice_delete(simulation);
    }
}

/// Its cache has what it has sent for: a host would not have that.
#[test]
fn no_host_comes_where_something_was_sent() {
    let toml = std::ffi::CString::new(fabric(3, MEMORY, COHERENT)).unwrap();
    // SAFETY: a live text; the simulation is deleted once, at the end.
    unsafe {
        let simulation = sluice_new(toml.as_ptr(), null(), 1, null_mut());
        assert_eq!(sluice_send(simulation, 2, 0, true, 0), SLUICE_OK);
        for until in [0, 1_000_000] {
            assert_eq!(sluice_advance(simulation, until), SLUICE_OK);
            assert_eq!(sluice_take_host(simulation, 2, 8, 2, 0), SLUICE_INVALID);
            assert_eq!(
                CStr::from_ptr(sluice_error(simulation)).to_str().unwrap(),
                "`core2` has sent requests: a host can come before the first one only"
            );
        }
        assert_eq!(sluice_in_flight(simulation), 0);
        sluice_delete(simulation);
    }
}

/// A host's simulation, that follows what happens next and counts how often.
struct Followed {
    simulation: *mut Simulation,
    /// What its hosts have learnt since last asked, with the time that it was in the callback.
    learnt: Vec<(u32, u32, u64)>,
}

/// News with their time, which is the one that it is.
unsafe extern "C" fn note_time(context: *mut c_void, news: *const News) {
    // SAFETY: the test's own, and news that live during the call.
    let (followed, news) = unsafe { (&mut *context.cast::<Followed>(), &*news) };
    // SAFETY: a live simulation.
    assert_eq!(news.at_ps, unsafe { sluice_now(followed.simulation) });
    followed.learnt.push((news.what, news.tag, news.addr));
}

impl Followed {
    fn new(cores: u64) -> Box<Followed> {
        let toml = std::ffi::CString::new(fabric(cores, MEMORY, COHERENT)).unwrap();
        // SAFETY: a live text; the simulation is deleted once.
        let simulation = unsafe { sluice_new(toml.as_ptr(), null(), 1, null_mut()) };
        let learnt = Vec::new();
        let mut followed = Box::new(Followed { simulation, learnt });
        let context: *mut Followed = &raw mut *followed;
        // SAFETY: a live simulation, and what is on the heap as long as it.
        unsafe {
            sluice_call_with_news(simulation, Some(note_time), context.cast());
            assert_eq!(sluice_take_host(simulation, 0, 8, 2, 0), SLUICE_OK);
        }
        followed
    }

    /// Asks, and follows the events as long as anything is under way. Says what has come of it.
    fn ask(&mut self, addr: u64, what: u32, tag: u32) -> Vec<(u32, u32, u64)> {
        self.learnt.clear();
        // SAFETY: a live simulation.
        unsafe {
            let asked = sluice_ask(self.simulation, 0, addr, what, false, tag);
            assert_eq!(asked, SLUICE_OK);
            assert_eq!(sluice_in_flight(self.simulation), 1);
            while sluice_in_flight(self.simulation) > 0 {
                let next = sluice_next_event(self.simulation);
                assert_ne!(next, SLUICE_NO_EVENT, "an answer that no event brings");
                assert_eq!(sluice_advance(self.simulation, next), SLUICE_OK);
            }
        }
        std::mem::take(&mut self.learnt)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        // SAFETY: made by `sluice_new`, and not used again.
        unsafe { sluice_delete(self.simulation) }
    }
}

/// Of a line that a host did not hold, or held to read, the answer came without an event, with the
/// next thing that anybody did; and what a host had asked for was not under way.
#[test]
fn a_host_that_follows_the_events_has_all_its_answers() {
    let mut followed = Followed::new(1);
    for (addr, what, tag, came) in [
        (4_096, SLUICE_WRITE, 8, SLUICE_WRITTEN),
        (64, SLUICE_READ, 1, SLUICE_LINE),
        (64, SLUICE_WRITE, 2, SLUICE_WRITTEN),
        (128, SLUICE_OWN, 3, SLUICE_OWNED),
        (128, SLUICE_WRITE, 4, SLUICE_WRITTEN),
    ] {
        let learnt = followed.ask(addr, what, tag);
        assert_eq!(learnt, [(came, tag, addr)]);
    }
}

/// It lost those that are on their way beside the others: 8 lines and 2 misses are 10 lines.
#[test]
fn a_host_has_room_for_its_misses_beside_its_lines() {
    let mut followed = Followed::new(1);
    for line in 0..10 {
        let learnt = followed.ask(64 * line, SLUICE_READ, 1);
        assert_eq!(learnt, [(SLUICE_LINE, 1, 64 * line)]);
    }
    let learnt = followed.ask(640, SLUICE_READ, 1);
    assert_eq!(learnt, [(SLUICE_LINE, 1, 640), (SLUICE_GONE, 0, 0)]);
}
