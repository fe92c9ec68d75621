//! Power cuts: what fits the energy is kept, and the rest is reported page by page.

use super::{PAGE, PAGES, Rig, await_it, ctl, holding, holding_under, is_whole};
use crate::sluice::TRAPS;
use serde_json::Value;
use sluice_abi::{DESK_FILE, Desk};
use std::fs;
use std::mem::offset_of;
use std::time::{Duration, Instant};

/// Pages of the cache.
const CACHED: u64 = 64;

/// The pages of the lost ranges of an answer.
fn lost(answer: &Value) -> Vec<u64> {
    let ranges = answer["lost_ranges"].as_array().expect("ranges");
    let number = |range: &Value, key: &str| range[key].as_u64().expect("a number") / PAGE;
    let pages = |range: &Value| {
        let first = number(range, "start");
        first..first + number(range, "length")
    };
    ranges.iter().flat_map(pages).collect()
}

#[test]
fn what_fits_the_energy_is_kept_and_the_rest_is_lost_and_listed() {
    for trap in TRAPS {
        for (words, most) in [
            ("", 0),
            ("--pages 10", 10),
            // 50 uJ a page.
            ("--energy 0.000625", 12),
            ("--energy 1", 20_000),
        ] {
            let rig = Rig::new();
            rig.does(trap, &format!("write {PAGES} 1 none"));
            let running = holding(&rig, trap, 2);
            let out = ctl(running.id(), &format!("powercut --json {words}"));
            assert!(out.status.success(), "{out:#?}");
            let answer = out.json();
            let ended = running.finish();
            assert_eq!(ended.signal(), Some(libc::SIGKILL), "{ended:#?}");
            assert!(ended.stderr.contains("the power was cut"), "{ended:#?}");
            // All of the cache was written, and nothing of it programmed.
            let expected = CACHED.saturating_sub(most);
            let lost = lost(&answer);
            assert_eq!(answer["most"], most, "{trap} {words}");
            assert_eq!(answer["lost"], lost.len(), "{trap} {words}");
            assert_eq!(lost.len() as u64, expected, "{trap} {words}: {answer}");
            assert_eq!(answer["written"], CACHED - expected, "{trap} {words}");
            is_whole(&rig.check());
            // Each lost page has what was programmed before, and no other page has.
            for page in 0..PAGES {
                let generation = 2 - u64::from(lost.contains(&page));
                rig.has(page, generation);
            }
            rig.does(trap, &format!("since {PAGES} 1"));
        }
    }
}

/// The model hears that a page was written when that becomes inactive, and programs it later.
#[test]
fn what_was_inactive_and_left_is_kept() {
    for trap in TRAPS {
        let rig = Rig::new();
        rig.does(trap, &format!("write {PAGES} 1 none"));
        let inactive = rig.run(trap).set("cache.inactive", "25%");
        let running = holding_under(&rig, inactive, 2);
        let answer = ctl(running.id(), "powercut --json").json();
        running.finish();
        let lost = lost(&answer);
        assert_eq!(lost.len() as u64, CACHED, "{trap}: {answer}");
        is_whole(&rig.check());
        for page in 0..PAGES {
            rig.has(page, 2 - u64::from(lost.contains(&page)));
        }
    }
}

/// Two commands that cut the power at once report the same. The second had waited for twenty
/// seconds for a device that was gone.
#[test]
fn who_else_cuts_the_power_learns_what_is_left() {
    let rig = Rig::new();
    let running = holding(&rig, "event", 2);
    let desk = running.session().expect("it runs").join(DESK_FILE);
    let bell = || {
        let at = offset_of!(Desk, bell);
        let bytes = fs::read(&desk).expect("the desk");
        u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"))
    };
    // It finds both requests when it goes on.
    let id = running.id();
    // SAFETY: no pointers; started by this test.
    let signal = |signal| unsafe { libc::kill(id, signal) };
    signal(libc::SIGSTOP);
    let before = bell();
    let cut = || {
        let out = ctl(id, "powercut --json --pages 10");
        (out, Instant::now())
    };
    let [first, second] = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(cut));
        await_it("both do not ask", || bell() == before.wrapping_add(2));
        signal(libc::SIGCONT);
        both.map(|one| one.join().expect("no panic"))
    });
    let apart = first.1.max(second.1) - first.1.min(second.1);
    assert!(apart < Duration::from_secs(5), "{apart:?}");
    for (out, _) in [&first, &second] {
        assert!(out.status.success(), "{out:#?}");
        assert_eq!(out.json()["written"], 10, "{out:#?}");
    }
    assert_eq!(lost(&first.0.json()), lost(&second.0.json()));
    running.finish();
    is_whole(&rig.check());
}

#[test]
fn what_was_flushed_survives_without_any_energy() {
    let rig = Rig::new();
    let running = holding(&rig, "event", 3);
    assert!(ctl(running.id(), "flush").status.success());
    let out = ctl(running.id(), "powercut --json");
    assert_eq!(out.json()["lost"], 0, "{out:#?}");
    running.finish();
    rig.forget();
    rig.does("event", &format!("check {PAGES} 3"));
}

impl Rig {
    /// Insists that the memory, loaded from the store by a run, has this generation of a page.
    fn has(&self, page: u64, generation: u64) {
        use std::os::unix::fs::FileExt;
        if page == 0 {
            self.forget();
            assert!(self.run("event").program(["true"]).status.success());
        }
        let memory = std::fs::File::open(self.path("memory")).expect("the memory");
        let mut word = [0; 8];
        memory
            .read_exact_at(&mut word, page * PAGE)
            .expect("a page");
        let found = u64::from_le_bytes(word);
        assert_eq!(found, page << 32 | generation, "page {page}");
    }
}
