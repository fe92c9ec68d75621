//! Inputs that are nearly valid: valid ones with a few changes.

use sluice_units::Rng;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// What a mutant makes takes milliseconds. The machine may be busy, so this is far more.
const LIMIT: Duration = Duration::from_secs(60);

/// Numbers at which programs go wrong.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "63",
    "64",
    "65",
    "100",
    "127",
    "128",
    "255",
    "256",
    "1000",
    "4095",
    "4096",
    "65535",
    "65536",
    "1000000",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "0.5",
    "-1",
];

/// The seed of `make fuzz`, or that of every other run.
///
/// # Panics
/// If `PROPTEST_RNG_SEED` is no number.
pub fn seed() -> u64 {
    std::env::var("PROPTEST_RNG_SEED").map_or(1, |seed| seed.parse().expect("a whole number"))
}

/// One of a list.
pub fn any<'a, T>(rng: &mut Rng, all: &'a [T]) -> &'a T {
    &all[rng.below(all.len() as u64) as usize]
}

/// Where words and numbers begin and end.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let (mut all, mut start) = (Vec::new(), None);
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_in = letter.is_alphanumeric() || letter == '_';
        match (start, is_in) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                all.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    all
}

fn replaced(text: &str, (from, to): (usize, usize), with: &str) -> String {
    [&text[..from], with, &text[to..]].concat()
}

/// A change of lines: one goes, comes twice, takes another's place or comes from another text.
fn of_lines(rng: &mut Rng, text: &str, other: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return other.to_owned();
    }
    let at = rng.below(lines.len() as u64) as usize;
    match rng.below(5) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at]),
        2 => {
            let with = rng.below(lines.len() as u64) as usize;
            lines.swap(at, with);
        }
        3 => lines.truncate(at),
        _ => {
            let others: Vec<&str> = other.lines().collect();
            if !others.is_empty() {
                lines.insert(at, *any(rng, &others[..]));
            }
        }
    }
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// A change of a word or number, mostly of one number into another.
fn of_tokens(rng: &mut Rng, text: &str, other: &str) -> String {
    let (here, there) = (tokens(text), tokens(other));
    let digit = |text: &str, (at, _): (usize, usize)| text.as_bytes()[at].is_ascii_digit();
    let numbers: Vec<_> = here.iter().copied().filter(|it| digit(text, *it)).collect();
    match rng.below(6) {
        0 if !here.is_empty() && !there.is_empty() => {
            let (from, to) = *any(rng, &there);
            replaced(text, *any(rng, &here), &other[from..to])
        }
        1 if !here.is_empty() => {
            let ((a, b), with) = (*any(rng, &here), *any(rng, &here));
            let word = text[a..b].to_owned();
            replaced(text, with, &word)
        }
        _ if !numbers.is_empty() => {
            let (from, to) = *any(rng, &numbers);
            let unit = text[from..to].trim_start_matches(|it: char| it.is_ascii_digit());
            let digits = &text[from..to - unit.len()];
            let number = match (rng.below(3), digits.parse::<u64>()) {
                (0, Ok(number)) => number.saturating_add(1).to_string(),
                (1, Ok(number)) => (number / 2).to_string(),
                _ => (*any(rng, NUMBERS)).to_owned(),
            };
            replaced(text, (from, to), &(number + unit))
        }
        _ => of_lines(rng, text, other),
    }
}

/// A text with one to three changes.
pub fn text(rng: &mut Rng, valid: &[&str]) -> String {
    let mut text = (*any(rng, valid)).to_owned();
    for _ in 0..=rng.below(3) {
        let other = *any(rng, valid);
        text = match rng.below(10) {
            0 => String::from_utf8_lossy(&bytes(rng, text.as_bytes())).into_owned(),
            1 | 2 => of_lines(rng, &text, other),
            _ => of_tokens(rng, &text, other),
        };
    }
    text
}

/// Bytes with one change: a bit, a number, an end, or a piece that comes twice.
pub fn bytes(rng: &mut Rng, valid: &[u8]) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    if bytes.is_empty() {
        return vec![rng.next_u64() as u8];
    }
    let at = rng.below(bytes.len() as u64) as usize;
    match rng.below(6) {
        0 => bytes.truncate(at),
        1 => {
            let end = (at + 1 + rng.below(16) as usize).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            let place = rng.below(bytes.len() as u64) as usize;
            bytes.splice(place..place, piece);
        }
        2 => bytes[at] = *any(rng, &[0, 1, 0x7f, 0x80, 0xff]),
        3 => {
            let number = *any(
                rng,
                &[0, 1, u64::MAX, u64::MAX >> 1, 1 << 32, (1 << 32) - 1],
            );
            let end = (at + [4, 8][rng.below(2) as usize]).min(bytes.len());
            bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
        }
        _ => bytes[at] ^= 1 << rng.below(8),
    }
    bytes
}

/// Gives so many mutants to a check, which says whether it took one as valid. Returns how many it
/// did. One that takes longer than [`LIMIT`] ends the process.
///
/// # Panics
/// If a check does; what it was given is printed before.
pub fn each<T: std::fmt::Debug>(
    count: u32,
    mut next: impl FnMut() -> T,
    mut takes: impl FnMut(&T) -> bool,
) -> u32 {
    let mut taken = 0;
    for number in 0..count {
        let input = next();
        let told = format!("mutant {number} of seed {}:\n{input:?}", seed());
        let (over, is_over) = channel::<()>();
        let watch = std::thread::spawn({
            let told = told.clone();
            move || {
                if is_over.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                    eprintln!("{LIMIT:?} are over for {told}");
                    std::process::abort();
                }
            }
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| takes(&input)));
        drop(over);
        watch.join().expect("it only waits");
        match result {
            Ok(was_taken) => taken += u32::from(was_taken),
            Err(panic) => {
                eprintln!("{told}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    taken
}

/// Insists that a share of the mutants was taken: otherwise what comes behind the reader is not
/// reached.
///
/// # Panics
/// If it was not.
pub fn reaches(what: &str, taken: u32, count: u32, percent: u32) {
    eprintln!("{what}: {taken} of {count} mutants were taken");
    assert!(
        taken * 100 >= count * percent,
        "{what}: {taken} of {count} were taken"
    );
}
