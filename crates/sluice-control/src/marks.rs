//! Marks that are set from outside of a program.

use crate::error::Error;
use crate::place::{DeviceFiles, Side};
use crate::view::View;
use sluice_abi::{MARK_RESET, MARKS_MAX, StatsBlock, is_mark_name, mark_words, read_mark};
use sluice_region::{open_regular, write_numbered};
use std::io::{ErrorKind, Read};

/// Keeps the statistics of a process as they stand, under a name: for the result of its run. What
/// the device did by itself since its last trap is not in them.
///
/// # Errors
/// If the name cannot be one, the process has no statistics, or there is no room.
pub fn mark(place: &DeviceFiles, name: &str) -> Result<(), Error> {
    if !is_mark_name(name) {
        return Err(Error::MarkName(name.to_owned()));
    }
    if place.side == Side::Guest {
        return Err(Error::MarkInGuest);
    }
    let view = View::open(place)?;
    let (words, _) = view
        .stats()
        .at_rest(|stats| mark_words(stats, now_ns(), 0, name));
    write_numbered(&place.view, "mark", MARKS_MAX, place.owner, &words).map_err(|why| {
        match why.kind() {
            ErrorKind::AlreadyExists => Error::Marks(place.pid, MARKS_MAX),
            _ => Error::Unusable {
                path: place.view.clone(),
                why: why.to_string(),
            },
        }
    })
}

/// When the figures of a process were last reset, ns ago, and how they stood then. Nothing of a
/// guest's device, whose marks are on the host.
pub fn last_reset(place: &DeviceFiles) -> Option<(u64, Box<StatsBlock>)> {
    let read = |number: u32| {
        let path = place.view.with_extension(format!("mark{number}"));
        let mut bytes = Vec::new();
        let mut file = open_regular(&path, false, place.owner).ok()?;
        file.read_to_end(&mut bytes).ok()?;
        let words = bytes.as_chunks().0.iter();
        let words: Vec<u64> = words.map(|word| u64::from_ne_bytes(*word)).collect();
        let mark = read_mark(&words).filter(|mark| mark.name == MARK_RESET)?;
        Some((mark.at_ns, mark.stats()))
    };
    if place.side == Side::Guest {
        return None;
    }
    let resets = (0..MARKS_MAX).filter_map(read);
    let (at_ns, stats) = resets.max_by_key(|(at_ns, _)| *at_ns)?;
    Some((now_ns().saturating_sub(at_ns), stats))
}

/// CLOCK_MONOTONIC.
fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a live output; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
