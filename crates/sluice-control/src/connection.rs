//! A channel of a ring, and commands through it.

use crate::error::Error;
use crate::place::{Place, Side};
use crate::view::{View, map};
use sluice_abi::{
    CHANNELS, Channel, Client, Completion, ENTRIES, GUEST_CHANNELS, RING_BYTES, RING_MAGIC,
    RING_VERSION, Request, Ring, Submission,
};
use sluice_region::{Mapping, futex_wait, futex_wake, is_running};
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

/// How often a client on the host looks whether the server still lives.
const LOOK_NS: u64 = 100_000_000;
/// A guest looks for answers first after this, then after twice as long, and so on.
const GUEST_LOOK: Duration = Duration::from_micros(20);
/// And at least so often.
const GUEST_LOOK_MAX: Duration = Duration::from_millis(1);
/// A guest gives up after so long without any answer.
const GUEST_LIMIT: Duration = Duration::from_secs(120);
/// How long the server may take to finish with a channel's last client.
const ATTACH_LIMIT: Duration = Duration::from_secs(5);

/// A command under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending(u64);

impl Pending {
    /// The command's number.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The command of a number that [`Pending::number`] gave.
    pub fn of(number: u64) -> Pending {
        Pending(number)
    }
}

/// A client of a ring.
#[derive(Debug)]
pub struct Connection {
    place: Place,
    map: Mapping,
    view: View,
    at: usize,
    client: Client,
    tag: u64,
    under_way: u32,
    /// Answers that came before they were asked for.
    early: Vec<Completion>,
    /// Holds the channel's lock.
    _file: File,
}

impl Connection {
    /// Takes a channel of a device's ring.
    ///
    /// # Errors
    /// If the files are not what they should be, or no channel is free.
    pub fn open(place: Place) -> Result<Connection, Error> {
        let view = View::open(&place)?;
        let map = map(&place.ring, true, RING_BYTES)?;
        check(&place, ring(&map))?;
        let file = OpenOptions::new().read(true).write(true).open(&place.ring);
        let file = file.map_err(|why| Error::Unusable {
            path: place.ring.clone(),
            why: why.to_string(),
        })?;
        let channels = match place.side {
            Side::Host => 0..GUEST_CHANNELS,
            Side::Guest => GUEST_CHANNELS..CHANNELS,
        };
        let (at, client) = claim(&file, ring(&map), channels)?;
        Ok(Connection {
            place,
            map,
            view,
            at,
            client,
            tag: 0,
            under_way: 0,
            early: Vec::new(),
            _file: file,
        })
    }

    /// Statistics and residency map.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Where the device is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Sends a command and waits for its end.
    ///
    /// # Errors
    /// If no answer comes. What the device says against the command is in the completion.
    pub fn call(&mut self, request: Request) -> Result<Completion, Error> {
        let pending = self.send(request)?;
        self.wait(pending)
    }

    /// Sends a command.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub fn send(&mut self, request: Request) -> Result<Pending, Error> {
        let tag = self.tag;
        let words = Submission { tag, request }.to_words();
        let channel = &ring(&self.map).channels[self.at];
        if self.under_way == ENTRIES || !self.client.submit(channel, &words) {
            return Err(Error::Full(ENTRIES));
        }
        self.tag += 1;
        self.under_way += 1;
        let ring = ring(&self.map);
        ring.bell.fetch_add(1, AcqRel);
        if self.place.side == Side::Host {
            futex_wake(&ring.bell);
        }
        Ok(Pending(tag))
    }

    /// The end of a command, if it has come.
    ///
    /// # Errors
    /// [`Error::Garbled`].
    pub fn poll(&mut self, pending: Pending) -> Result<Option<Completion>, Error> {
        loop {
            if let Some(at) = self.early.iter().position(|answer| answer.tag == pending.0) {
                return Ok(Some(self.early.swap_remove(at)));
            }
            let channel = &ring(&self.map).channels[self.at];
            let Some(words) = self.client.take(channel) else {
                return Ok(None);
            };
            self.under_way = self.under_way.checked_sub(1).ok_or(Error::Garbled)?;
            self.early
                .push(Completion::from_words(&words).ok_or(Error::Garbled)?);
        }
    }

    /// Waits for the end of a command.
    ///
    /// # Errors
    /// If it does not come.
    pub fn wait(&mut self, pending: Pending) -> Result<Completion, Error> {
        let mut pause = GUEST_LOOK;
        let mut limit = Instant::now() + GUEST_LIMIT;
        let mut under_way = self.under_way;
        loop {
            let answered = ring(&self.map).answered.load(Acquire);
            if let Some(answer) = self.poll(pending)? {
                return Ok(answer);
            }
            if self.under_way == 0 {
                return Err(Error::Garbled);
            }
            match self.place.side {
                Side::Host => {
                    futex_wait(&ring(&self.map).answered, answered, Some(LOOK_NS));
                    if !self.is_alive() {
                        return self.poll(pending)?.ok_or(Error::Gone);
                    }
                }
                Side::Guest => {
                    if self.under_way != under_way {
                        (under_way, limit) = (self.under_way, Instant::now() + GUEST_LIMIT);
                    }
                    if Instant::now() > limit {
                        return Err(Error::Silent(GUEST_LIMIT.as_secs()));
                    }
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(GUEST_LOOK_MAX);
                }
            }
        }
    }

    /// Whether the device's process still runs the image that we are connected to.
    pub fn is_alive(&self) -> bool {
        let ended = self.view.stats().ended.load(Relaxed) != 0;
        self.place.side == Side::Guest || !ended && is_running(self.place.pid)
    }
}

fn ring(map: &Mapping) -> &Ring {
    // SAFETY: page-aligned, of the ring's length; all fields are atomics.
    unsafe { &*(map.addr() as *const Ring) }
}

fn check(place: &Place, ring: &Ring) -> Result<(), Error> {
    let version = ring.version.load(Relaxed);
    if ring.magic.load(Acquire) == RING_MAGIC && version == u64::from(RING_VERSION) {
        return Ok(());
    }
    Err(Error::Unusable {
        path: place.ring.clone(),
        why: format!(
            "no control ring of version {RING_VERSION} (found {version}): the device was started \
             by another version of Sluice"
        ),
    })
}

/// Takes the first channel whose lock is free. A client that dies gives it back that way.
fn claim(file: &File, ring: &Ring, among: Range<usize>) -> Result<(usize, Client), Error> {
    let count = among.len();
    let limit = Instant::now() + ATTACH_LIMIT;
    for at in among {
        if !lock(file, at) {
            continue;
        }
        let channel: &Channel = &ring.channels[at];
        loop {
            if let Some(client) = Client::attach(channel) {
                return Ok((at, client));
            }
            if Instant::now() > limit {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Err(Error::Busy(count))
}

/// Locks a byte of the file for this open file, which a fork shares and an end releases.
fn lock(file: &File, byte: usize) -> bool {
    // SAFETY: plain data, for which zeros are valid.
    let mut range: libc::flock = unsafe { core::mem::zeroed() };
    range.l_type = libc::F_WRLCK as _;
    range.l_whence = libc::SEEK_SET as _;
    range.l_start = byte as _;
    range.l_len = 1;
    // SAFETY: an open descriptor and a live range.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &range) == 0 }
}
