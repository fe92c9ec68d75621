//! Cutting the power of a persistent device.

use crate::error::Error;
use crate::files::map;
use crate::place::{DeviceFiles, Side};
use sluice_abi::{
    DESK_FILE, DESK_MAGIC, Desk, DeskState, Progress, Wanted, desk_bytes, desk_words, lost_at,
};
use sluice_region::{Mapping, PAGE, futex_wait, futex_wake};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

/// How often to look whether the command that keeps the store still lives.
const LOOK_NS: u64 = 100_000_000;
/// It is given up without a sign of life for so long.
const LIMIT: Duration = Duration::from_secs(20);

/// What the device can still program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// A number of pages.
    Pages(u64),
    /// With so many nanojoules, by `device.program_energy`.
    Nanojoules(u64),
}

/// What a power cut has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Pages of the device.
    pub pages: u64,
    /// Pages that could be programmed.
    pub most: u64,
    /// Written pages of the cache that were programmed.
    pub written: u64,
    /// Pages that were lost: each has what was programmed before.
    pub lost: Vec<u64>,
}

struct View {
    map: Mapping,
    path: PathBuf,
}

impl View {
    fn desk(&self) -> &Desk {
        // SAFETY: page-aligned and long enough; all fields are atomics.
        unsafe { &*(self.map.addr() as *const Desk) }
    }

    fn lost(&self, pages: u64) -> Vec<u64> {
        let first = (self.map.addr() + lost_at(pages)) as *const AtomicU64;
        // SAFETY: within the mapping, whose length was computed from the pages.
        let words = unsafe { core::slice::from_raw_parts(first, desk_words(pages)) };
        let bits = words.iter().map(|word| word.load(Acquire));
        let of_word = |(at, word): (usize, u64)| {
            let set = (0..64).filter(move |bit| word >> bit & 1 != 0);
            set.map(move |bit| at as u64 * 64 + bit)
        };
        bits.enumerate().flat_map(of_word).collect()
    }

    fn unusable(&self, why: &str) -> Error {
        Error::Unusable {
            path: self.path.clone(),
            why: why.to_owned(),
        }
    }
}

fn open(place: &DeviceFiles) -> Result<View, Error> {
    let folder = match (place.side, place.view.parent()) {
        (Side::Host, Some(folder)) => folder,
        _ => return Err(Error::PowerInGuest),
    };
    let path = folder.join(DESK_FILE);
    if !path.exists() {
        return Err(Error::NotPersistent(place.pid));
    }
    let head = map(&path, place.owner, false, PAGE)?;
    let head = View { map: head, path };
    if head.desk().magic.load(Acquire) != DESK_MAGIC {
        return Err(head.unusable("not the desk of a store"));
    }
    let pages = head.desk().pages.load(Relaxed);
    let map = map(&head.path, place.owner, true, desk_bytes(pages))?;
    Ok(View {
        map,
        path: head.path,
    })
}

/// Cuts the power of a persistent device: all processes of its program are killed, what the device
/// has programmed is kept, and as many of the pages that only its cache has as the budget allows.
///
/// # Errors
/// If the device is not persistent, or the command that keeps it does not answer.
pub fn power_cut(place: &DeviceFiles, budget: Budget) -> Result<PowerCut, Error> {
    let view = open(place)?;
    let desk = view.desk();
    let pages = desk.pages.load(Relaxed);
    let most = match budget {
        Budget::Pages(most) => most,
        Budget::Nanojoules(energy) => energy / desk.program_energy.load(Relaxed).max(1),
    };
    let ticket = desk.post(Wanted::PowerCut { most });
    let ticket = ticket.ok_or(Error::Busy(sluice_abi::ASKS))?;
    desk.bell.fetch_add(1, AcqRel);
    futex_wake(&desk.bell);
    let (mut beats, mut since) = (desk.beats.load(Acquire), Instant::now());
    loop {
        let answered = desk.answered.load(Acquire);
        // What is answered is answered before.
        let is_closed = desk.state() == DeskState::Closed;
        match desk.look(ticket) {
            Progress::Done(answer) if answer.errno == 0 => {
                let (written, lost) = (answer.written, view.lost(pages));
                return Ok(PowerCut {
                    pages,
                    most,
                    written,
                    lost,
                });
            }
            Progress::Done(answer) => {
                let why = std::io::Error::from_raw_os_error(answer.errno as i32);
                return Err(view.unusable(&format!("the store cannot be written: {why}")));
            }
            Progress::GivenUp => return Err(Error::Garbled),
            Progress::Waits => {}
        }
        let now = desk.beats.load(Acquire);
        if now != beats {
            (beats, since) = (now, Instant::now());
        }
        if is_closed || since.elapsed() > LIMIT {
            return Err(Error::Gone);
        }
        futex_wait(&desk.answered, answered, Some(LOOK_NS));
    }
}
