//! The control ring: shared memory through which programs and guests command the device.
//!
//! A ring has channels, each for one client at a time: a queue of submissions and one of
//! completions. Either side keeps its own places in private and reads the other's once; what
//! stands in an entry is copied before it is looked at. So a client can spoil its own channel and
//! nothing else.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// First word of a ring: "SLRING01".
pub const RING_MAGIC: u64 = u64::from_le_bytes(*b"SLRING01");
/// Raised with every change of the layout or of what an operation means.
pub const RING_VERSION: u16 = 1;
/// Channels of a ring.
pub const CHANNELS: usize = 16;
/// The channels from this one on are for a guest, those before it for the host. A client finds a
/// free one by a lock on the file's byte of that number, and either has locks of its own.
pub const GUEST_CHANNELS: usize = 8;
/// Places in each queue, a power of two.
pub const ENTRIES: u32 = 16;
/// Words of an entry in either queue.
pub const WORDS: usize = 32;
/// Bytes of text that an entry can carry.
pub const TEXT_BYTES: usize = (WORDS - TEXT_AT) * 8;
/// Bytes of a file that holds a ring: a power of two, as a PCI BAR must be.
pub const RING_BYTES: usize = size_of::<Ring>().next_power_of_two();

/// The word at which an entry's text begins.
pub(crate) const TEXT_AT: usize = 10;

/// An entry on its way through shared memory.
pub type Words = [u64; WORDS];

/// The whole file. Zeros beyond.
#[repr(C)]
#[derive(Debug)]
pub struct Ring {
    /// [`RING_MAGIC`], written last: a ring without it is not ready.
    pub magic: AtomicU64,
    /// [`RING_VERSION`].
    pub version: AtomicU64,
    /// Process id of the server.
    pub pid: AtomicU64,
    /// How often the server looks although nobody wakes it, ns; 0 for never.
    pub poll_ns: AtomicU64,
    /// A futex of the server's: clients add one after a submission and wake it.
    pub bell: AtomicU32,
    /// A futex of the clients': the server adds one after a completion and wakes them.
    pub answered: AtomicU32,
    reserved: [AtomicU64; 3],
    /// One for each client.
    pub channels: [Channel; CHANNELS],
}

/// The two queues of one client.
#[repr(C)]
#[derive(Debug)]
pub struct Channel {
    /// Submissions so far, by the client. Counts on past the end, as all four do.
    pub submitted: AtomicU32,
    /// Completions taken so far, by the client.
    pub taken: AtomicU32,
    client: [AtomicU64; 7],
    /// Submissions accepted so far, by the server.
    pub accepted: AtomicU32,
    /// Completions so far, by the server.
    pub completed: AtomicU32,
    server: [AtomicU64; 7],
    submissions: [Slot; ENTRIES as usize],
    completions: [Slot; ENTRIES as usize],
}

#[repr(C)]
#[derive(Debug)]
struct Slot([AtomicU64; WORDS]);

const _: () = assert!(size_of::<Slot>() == 256);
const _: () = assert!(size_of::<Channel>() == 128 + 2 * 16 * 256);
const _: () = assert!(size_of::<Ring>() == 64 + CHANNELS * size_of::<Channel>());
const _: () = assert!(RING_BYTES == 256 << 10);
const _: () = assert!(ENTRIES.is_power_of_two());

impl Slot {
    fn store(&self, words: &Words) {
        for (to, word) in self.0.iter().zip(words) {
            to.store(*word, Relaxed);
        }
    }

    /// Reads each word once.
    fn load(&self) -> Words {
        core::array::from_fn(|at| self.0[at].load(Relaxed))
    }
}

/// The server's half of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Server {
    accepted: u32,
    completed: u32,
    /// Times that the client's count made no sense. Its queue counted as empty then.
    pub broken: u64,
}

impl Server {
    /// The half of a channel that has served so many entries.
    pub fn after(count: u32) -> Server {
        Server {
            accepted: count,
            completed: count,
            broken: 0,
        }
    }

    /// Copies the next submission, if there is one and room for its completion. The caller answers
    /// it before it asks again.
    pub fn next(&mut self, channel: &Channel) -> Option<Words> {
        let submitted = channel.submitted.load(Acquire);
        let waiting = submitted.wrapping_sub(self.accepted);
        if waiting > ENTRIES {
            self.broken += 1;
            self.accepted = submitted;
            channel.accepted.store(submitted, Release);
            return None;
        }
        let untaken = self.completed.wrapping_sub(channel.taken.load(Acquire));
        if waiting == 0 || untaken >= ENTRIES {
            return None;
        }
        let words = channel.submissions[(self.accepted % ENTRIES) as usize].load();
        self.accepted = self.accepted.wrapping_add(1);
        Some(words)
    }

    /// Answers the submission that [`Server::next`] gave out last.
    pub fn answer(&mut self, channel: &Channel, words: &Words) {
        channel.completions[(self.completed % ENTRIES) as usize].store(words);
        self.completed = self.completed.wrapping_add(1);
        channel.completed.store(self.completed, Release);
        channel.accepted.store(self.accepted, Release);
    }
}

/// The client's half of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    submitted: u32,
    taken: u32,
}

impl Client {
    /// Takes over a channel that nobody else uses. `None` while the server is still busy with what
    /// the client before left there.
    pub fn attach(channel: &Channel) -> Option<Client> {
        let submitted = channel.submitted.load(Acquire);
        if channel.accepted.load(Acquire) != submitted {
            return None;
        }
        let taken = channel.completed.load(Acquire);
        channel.taken.store(taken, Release);
        Some(Client { submitted, taken })
    }

    /// Submits an entry. `false` if so many are under way that there is no room.
    pub fn submit(&mut self, channel: &Channel, words: &Words) -> bool {
        let under_way = self.submitted.wrapping_sub(channel.accepted.load(Acquire));
        let untaken = channel.completed.load(Acquire).wrapping_sub(self.taken);
        if under_way.saturating_add(untaken) >= ENTRIES {
            return false;
        }
        channel.submissions[(self.submitted % ENTRIES) as usize].store(words);
        self.submitted = self.submitted.wrapping_add(1);
        channel.submitted.store(self.submitted, Release);
        true
    }

    /// Takes the next completion, if there is one.
    pub fn take(&mut self, channel: &Channel) -> Option<Words> {
        if channel.completed.load(Acquire) == self.taken {
            return None;
        }
        let words = channel.completions[(self.taken % ENTRIES) as usize].load();
        self.taken = self.taken.wrapping_add(1);
        channel.taken.store(self.taken, Release);
        Some(words)
    }
}
