//! The host's caches against lists that are kept in order of use.

use proptest::prelude::*;
use sluice_trace::filter::{Filter, Levels, Passed};
use std::collections::VecDeque;

/// A set: its lines, the one used last in front, and whether each was written.
type Set = VecDeque<(u64, bool)>;

/// A level: a list for each set.
struct Naive {
    sets: Vec<Set>,
    ways: usize,
}

impl Naive {
    /// Uses a line, and says whether it was there, and what had to go.
    fn touch(&mut self, line: u64, dirty: bool) -> (bool, Option<(u64, bool)>) {
        let count = self.sets.len() as u64;
        let set = &mut self.sets[(line % count) as usize];
        match set.iter().position(|(known, _)| *known == line) {
            Some(at) => {
                let (_, was) = set.remove(at).unwrap();
                set.push_front((line, was || dirty));
                (true, None)
            }
            None => {
                set.push_front((line, dirty));
                let last = (set.len() > self.ways).then(|| set.pop_back().unwrap());
                (false, last)
            }
        }
    }
}

/// What passes all levels for an access: each level gives what it loses to the one below before
/// that is asked for the line.
fn access(levels: &mut [Naive], line: u64, store: bool, out: &mut Vec<Passed>) {
    let Some((first, rest)) = levels.split_first_mut() else {
        return out.push(Passed::Fill(line));
    };
    let (found, lost) = first.touch(line, store);
    give_back(rest, lost, out);
    if !found {
        access(rest, line, false, out);
    }
}

fn give_back(levels: &mut [Naive], lost: Option<(u64, bool)>, out: &mut Vec<Passed>) {
    let Some((line, true)) = lost else {
        return;
    };
    let Some((first, rest)) = levels.split_first_mut() else {
        return out.push(Passed::WriteBack(line));
    };
    let (_, lost) = first.touch(line, true);
    give_back(rest, lost, out);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(64)))]

    #[test]
    fn what_passes_is_what_lists_let_pass(
        shapes in prop::collection::vec((0..4u32, 1..5u32), 1..4),
        steps in prop::collection::vec((0..40u64, any::<bool>()), 1..400),
        far in 0..2u32,
    ) {
        let mut text = Vec::new();
        let mut naive = Vec::new();
        for (place, (power, ways)) in (1..).zip(&shapes) {
            let sets = 1u64 << power;
            text.push(format!("L{place}={}B/{ways}", sets * u64::from(*ways) * 64));
            naive.push(Naive { sets: vec![Set::new(); sets as usize], ways: *ways as usize });
        }
        let levels = Levels::parse(&text.join(",")).unwrap();
        let mut filter = Filter::new(&levels);
        for (line, store) in steps {
            // Line 0 is a line as any other, and so are those of the highest addresses.
            let line = line + u64::from(far) * ((1 << 58) - 40);
            let (mut found, mut due) = (Vec::new(), Vec::new());
            filter.access(line, store, &mut |passed| found.push(passed));
            access(&mut naive, line, store, &mut due);
            prop_assert_eq!(found, due);
        }
    }
}

#[test]
fn levels_that_cannot_be_are_named() {
    for (text, due) in [
        ("L2=32KiB/8", "\"L2=32KiB/8\" does not begin with L1="),
        (
            "L1=32KiB/8,L1=1MiB/8",
            "\"L1=1MiB/8\" does not begin with L2=",
        ),
        ("", "\"\" does not begin with L1="),
        ("L1=32KiB", "\"32KiB\" is not SIZE/WAYS"),
        ("L1=32 parsec/8", "expected a number with a unit"),
        ("L1=32KiB/0", "\"0\" ways; 1 to 64 are accepted"),
        ("L1=65KiB/65", "\"65\" ways; 1 to 64 are accepted"),
        ("L1=32KiB/x", "\"x\" ways; 1 to 64 are accepted"),
        (
            "L1=48KiB/8",
            "48KiB in 8 ways are not a power of two of sets",
        ),
        ("L1=32800B/8", "are not a power of two of sets"),
        ("L1=0B/1", "are not a power of two of sets"),
        ("L1=2GiB/1", "2GiB in 1 ways are not a power of two of sets"),
        (
            "L1=64B/1,L2=64B/1,L3=64B/1,L4=64B/1,L5=64B/1",
            "at most 4 levels",
        ),
    ] {
        let told = Levels::parse(text).unwrap_err().to_string();
        let head = format!("bad value for filter: \"{text}\"; ");
        assert!(told.starts_with(&head) && told.contains(due), "{told}");
        assert!(
            told.ends_with("expected none or L1=32KiB/8,L2=.."),
            "{told}"
        );
    }
    for text in [
        "none",
        "L1=64B/1",
        "L1=4KiB/64",
        "L1=1GiB/1",
        "L1=64B/1+L2=64B/1+L3=64B/1+L4=64B/1",
    ] {
        Levels::parse(text).unwrap();
    }
}
