//! A channel of a ring, and commands through it.

use crate::error::Error;
use crate::files::{map_opened, open};
use crate::place::{DeviceFiles, Side};
use crate::view::View;
use sluice_abi::{
    CHANNELS, Channel, Client, Completion, ENTRIES, Hello, RING_BYTES, RING_MAGIC, RING_VERSION,
    Request, Ring, Submission,
};
use sluice_region::{Mapping, futex_wait, futex_wake, is_running, is_stopped};
use std::cell::RefCell;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a client on the host looks whether the server still lives.
const LOOK_NS: u64 = 100_000_000;
/// A guest looks for answers first after this, then after twice as long, and so on.
const GUEST_LOOK: Duration = Duration::from_micros(20);
/// A guest looks at least so often.
const GUEST_LOOK_MAX: Duration = Duration::from_millis(1);
/// A guest gives up after so long without any answer.
const GUEST_LIMIT: Duration = Duration::from_secs(120);
/// A client on the host gives up after so long without a sign of life of the server.
const HOST_LIMIT: Duration = Duration::from_secs(20);
/// A client that finds the process stopped gives up after so long.
const STOPPED_LIMIT: Duration = Duration::from_secs(2);
/// How long the server may take to finish with a channel's last client.
const ATTACH_LIMIT: Duration = Duration::from_secs(5);
/// How long a client tries one channel, before another.
const CHANNEL_LIMIT: Duration = Duration::from_secs(1);
/// How long the server of a guest's ring may take to mend what was written over.
const MEND_LIMIT: Duration = Duration::from_secs(1);

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
    place: DeviceFiles,
    map: Mapping,
    view: View,
    at: usize,
    client: Client,
    tag: u64,
    /// The numbers of the commands under way.
    under_way: Vec<u64>,
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
    pub fn open(place: DeviceFiles) -> Result<Connection, Error> {
        let view = View::open(&place)?;
        let file = open(&place.ring, place.owner, true, RING_BYTES)?;
        let map = map_opened(&place.ring, &file, true, RING_BYTES)?;
        let limit = Instant::now() + MEND_LIMIT;
        while let Err(why) = check(&place, ring(&map)) {
            if place.side == Side::Host || Instant::now() > limit {
                return Err(why);
            }
            std::thread::sleep(GUEST_LOOK_MAX);
        }
        let stop = RefCell::new(Stop::default());
        let is_alive = || match (is_alive(&place, &view), place.side) {
            (false, _) => Err(Error::Gone),
            (true, Side::Host) if stop.borrow_mut().is_too_long(place.pid) => {
                Err(Error::Stopped(place.pid))
            }
            (true, side) => Ok(side),
        };
        let claimed = claim(&file, ring(&map), &is_alive);
        let (at, client) = claimed.map_err(|why| match place.side {
            // A server that is stopped does not finish with a channel's last client.
            Side::Host if is_stopped(place.pid) => Error::Stopped(place.pid),
            _ => why,
        })?;
        Ok(Connection {
            place,
            map,
            view,
            at,
            client,
            tag: 0,
            under_way: Vec::new(),
            early: Vec::new(),
            _file: file,
        })
    }

    /// Statistics and residency map.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Where the device is.
    pub fn place(&self) -> &DeviceFiles {
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
        if self.under_way.len() == ENTRIES as usize || !self.client.submit(channel, &words) {
            return Err(Error::Full(ENTRIES));
        }
        self.tag += 1;
        self.under_way.push(tag);
        wake(ring(&self.map), self.place.side);
        Ok(Pending(tag))
    }

    /// The end of a command, if it has come.
    ///
    /// # Errors
    /// [`Error::NotUnderWay`], [`Error::Garbled`].
    pub fn poll(&mut self, pending: Pending) -> Result<Option<Completion>, Error> {
        loop {
            if let Some(at) = self.early.iter().position(|answer| answer.tag == pending.0) {
                return Ok(Some(self.early.swap_remove(at)));
            }
            if !self.under_way.contains(&pending.0) {
                return Err(Error::NotUnderWay(pending.0));
            }
            let channel = &ring(&self.map).channels[self.at];
            let Some(words) = self.client.take(channel) else {
                return Ok(None);
            };
            let answer = Completion::from_words(&words).ok_or(Error::Garbled)?;
            let at = self.under_way.iter().position(|tag| *tag == answer.tag);
            self.under_way.swap_remove(at.ok_or(Error::Garbled)?);
            self.early.push(answer);
        }
    }

    /// Waits for the end of a command.
    ///
    /// # Errors
    /// If it does not come.
    pub fn wait(&mut self, pending: Pending) -> Result<Completion, Error> {
        let mut pause = GUEST_LOOK;
        let mut limit = Instant::now() + GUEST_LIMIT;
        let mut under_way = self.under_way.len();
        let mut life = Life::of(ring(&self.map));
        let mut stop = Stop::default();
        loop {
            let answered = ring(&self.map).answered.load(Acquire);
            if let Some(answer) = self.poll(pending)? {
                return Ok(answer);
            }
            match self.place.side {
                Side::Host => {
                    futex_wait(&ring(&self.map).answered, answered, Some(LOOK_NS));
                    if !self.is_alive() {
                        return self.poll(pending)?.ok_or(Error::Gone);
                    }
                    if stop.is_too_long(self.place.pid) {
                        return Err(Error::Stopped(self.place.pid));
                    }
                    if life.is_over(ring(&self.map)) {
                        return Err(Error::Silent(HOST_LIMIT.as_secs()));
                    }
                }
                Side::Guest => {
                    if self.under_way.len() != under_way {
                        (under_way, limit) = (self.under_way.len(), Instant::now() + GUEST_LIMIT);
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
        is_alive(&self.place, &self.view)
    }
}

fn is_alive(place: &DeviceFiles, view: &View) -> bool {
    let ended = view.stats().ended.load(Relaxed) != 0;
    place.side == Side::Guest || !ended && is_running(place.pid)
}

/// How long a process has been stopped.
#[derive(Default)]
struct Stop {
    since: Option<Instant>,
}

impl Stop {
    /// Whether it was stopped at each look for too long.
    fn is_too_long(&mut self, pid: u32) -> bool {
        if !is_stopped(pid) {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        since.elapsed() > STOPPED_LIMIT
    }
}

fn ring(map: &Mapping) -> &Ring {
    // SAFETY: page-aligned, of the ring's length; all fields are atomics.
    unsafe { &*(map.addr() as *const Ring) }
}

/// What a client on the host has seen of a server that it waits for.
struct Life {
    beats: u64,
    limit: Instant,
}

impl Life {
    fn of(ring: &Ring) -> Life {
        Life {
            beats: ring.beats.load(Relaxed),
            limit: Instant::now() + HOST_LIMIT,
        }
    }

    /// Whether the server has done nothing for too long.
    fn is_over(&mut self, ring: &Ring) -> bool {
        if ring.beats.load(Relaxed) != self.beats {
            *self = Life::of(ring);
        }
        Instant::now() > self.limit
    }
}

fn check(place: &DeviceFiles, ring: &Ring) -> Result<(), Error> {
    let version = ring.version.load(Relaxed);
    let why = match ring.magic.load(Acquire) {
        RING_MAGIC if version == u64::from(RING_VERSION) => return Ok(()),
        RING_MAGIC => format!(
            "no control ring of version {RING_VERSION} (found {version}): the device was started \
             by another version of Sluice"
        ),
        _ => "the control ring is damaged: somebody has written over its first word".to_owned(),
    };
    let path = place.ring.clone();
    Err(Error::Unusable { path, why })
}

/// Wakes the server for a submission. A guest cannot; its server looks by itself.
fn wake(ring: &Ring, side: Side) {
    if side == Side::Host {
        ring.bell.fetch_add(1, AcqRel);
        futex_wake(&ring.bell);
    }
}

/// Takes the first channel whose lock is free and whose server hears us. A client that dies gives
/// its channel back that way.
fn claim(file: &File, ring: &Ring, is_alive: &dyn Fn() -> Result<Side, Error>) -> Claimed {
    let (beats, limit) = (ring.beats.load(Relaxed), Instant::now() + ATTACH_LIMIT);
    for at in (0..CHANNELS).filter(|at| lock(file, *at)) {
        let channel: &Channel = &ring.channels[at];
        let mut hello = Hello::say(channel, fresh_number());
        let patience = limit.min(Instant::now() + CHANNEL_LIMIT);
        let mut answered = ring.answered.load(Acquire);
        wake(ring, is_alive()?);
        loop {
            if let Some(client) = hello.welcomed(channel) {
                return Ok((at, client));
            }
            if Instant::now() > patience {
                break;
            }
            match is_alive()? {
                Side::Host => {
                    futex_wait(&ring.answered, answered, Some(LOOK_NS));
                }
                Side::Guest => std::thread::sleep(GUEST_LOOK_MAX),
            }
            answered = ring.answered.load(Acquire);
        }
    }
    match ring.beats.load(Relaxed) == beats && Instant::now() > limit {
        true => Err(Error::Silent(ATTACH_LIMIT.as_secs())),
        false => Err(Error::Busy(CHANNELS)),
    }
}

type Claimed = Result<(usize, Client), Error>;

/// A number that no other client has said hello with.
fn fresh_number() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let ns = now.map_or(0, |since| since.as_nanos() as u64);
    ns ^ (u64::from(std::process::id()) << 48)
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
