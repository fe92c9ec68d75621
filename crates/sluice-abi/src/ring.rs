//! The control ring: shared memory through which programs and guests command the device.
//!
//! A ring has channels, each for one client at a time: a queue of submissions and one of
//! completions. Either side keeps its own places in private and reads the other's once; what stands
//! in an entry is copied before it is looked at. The server writes its own words again whenever it
//! finds others in their place. So a process that can write a ring can spoil that ring for as long
//! as it writes, and nothing else.
//!
//! A guest has a ring of its own, in a file of its own: clients on the host never read a word that
//! a guest can write.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// First word of a ring: "SLRING01".
pub const RING_MAGIC: u64 = u64::from_le_bytes(*b"SLRING01");
/// Raised with every change of the layout or of what an operation means.
pub const RING_VERSION: u16 = 2;
/// Channels of a ring. A client finds a free one by a lock on the file's byte of that number.
pub const CHANNELS: usize = 8;
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
    /// Process id of the server; 0 in a guest's ring, which has no use for it.
    pub pid: AtomicU64,
    /// How often the server looks although nobody wakes it, ns; 0 for never.
    pub poll_ns: AtomicU64,
    /// A futex of the server's: clients add one after a submission and wake it.
    pub bell: AtomicU32,
    /// A futex of the clients': the server adds one after a completion and wakes them.
    pub answered: AtomicU32,
    /// Goes on as long as the server does: a client that waits sees by it that an answer can still
    /// come.
    pub beats: AtomicU64,
    reserved: [AtomicU64; 2],
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
    /// Written by a client that takes the channel over: any number but the last one and 0.
    pub hello: AtomicU64,
    client: [AtomicU64; 6],
    /// Submissions accepted so far, by the server.
    pub accepted: AtomicU32,
    /// Completions so far, by the server.
    pub completed: AtomicU32,
    /// The last `hello` that the server has heard. Its lower half is where all counts began then.
    pub welcome: AtomicU64,
    server: [AtomicU64; 6],
    submissions: [Slot; ENTRIES as usize],
    completions: [Slot; ENTRIES as usize],
}

#[repr(C)]
#[derive(Debug)]
struct Slot([AtomicU64; WORDS]);

const _: () = assert!(size_of::<Slot>() == 256);
const _: () = assert!(size_of::<Channel>() == 128 + 2 * 16 * 256);
const _: () = assert!(size_of::<Ring>() == 64 + CHANNELS * size_of::<Channel>());
const _: () = assert!(RING_BYTES == 128 << 10);
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

impl Ring {
    /// Writes what the server says of the ring, wherever something else stands there.
    pub fn publish(&self, pid: u64, poll_ns: u64) {
        let words = [
            (&self.version, u64::from(RING_VERSION)),
            (&self.pid, pid),
            (&self.poll_ns, poll_ns),
            (&self.magic, RING_MAGIC),
        ];
        for (word, value) in words {
            if word.load(Relaxed) != value {
                word.store(value, Release);
            }
        }
    }
}

/// The server's half of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Server {
    accepted: u32,
    completed: u32,
    welcome: u64,
    /// Times that the client's counts made no sense. Its queue counted as empty then.
    pub broken: u64,
}

/// What a server finds in a channel.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and a server allocates nothing"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing to be done.
    Nothing,
    /// A new client, which has been welcomed and waits for it.
    Client,
    /// A submission. The server answers it before it looks again.
    Submission(Words),
}

impl Server {
    /// Looks for a new client, and copies the next submission, if there is one and room for its
    /// completion.
    pub fn next(&mut self, channel: &Channel) -> Found {
        let hello = channel.hello.load(Acquire);
        if hello != self.welcome {
            (self.accepted, self.completed) = (hello as u32, hello as u32);
            self.welcome = hello;
            self.publish(channel);
            return Found::Client;
        }
        let submitted = channel.submitted.load(Acquire);
        let waiting = submitted.wrapping_sub(self.accepted);
        let untaken = self.completed.wrapping_sub(channel.taken.load(Acquire));
        if waiting > ENTRIES || waiting > 0 && untaken > ENTRIES {
            self.broken += 1;
            self.accepted = submitted;
        }
        self.publish(channel);
        if self.accepted == submitted || untaken >= ENTRIES {
            return Found::Nothing;
        }
        let words = channel.submissions[(self.accepted % ENTRIES) as usize].load();
        self.accepted = self.accepted.wrapping_add(1);
        Found::Submission(words)
    }

    /// Answers the submission that [`Server::next`] gave out last.
    pub fn answer(&mut self, channel: &Channel, words: &Words) {
        channel.completions[(self.completed % ENTRIES) as usize].store(words);
        self.completed = self.completed.wrapping_add(1);
        self.publish(channel);
    }

    /// Writes this side's words, wherever something else stands there.
    fn publish(&self, channel: &Channel) {
        let counts = [
            (&channel.completed, self.completed),
            (&channel.accepted, self.accepted),
        ];
        for (count, own) in counts {
            if count.load(Relaxed) != own {
                count.store(own, Release);
            }
        }
        if channel.welcome.load(Relaxed) != self.welcome {
            channel.welcome.store(self.welcome, Release);
        }
    }
}

/// A client that has said hello to a channel and waits to be welcomed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello(u64);

impl Hello {
    /// Takes over a channel that no other client uses. `number` is one that no client before has
    /// used, as a time is.
    pub fn say(channel: &Channel, number: u64) -> Hello {
        let last = channel.welcome.load(Acquire);
        let hello = Hello(number.max(1));
        match hello.0 == last {
            true => hello.next(channel),
            false => hello.write(channel),
        }
    }

    /// The client, once the server has read the greeting. Until then the server may be busy with
    /// what the client before left there. Where somebody else has written over the greeting, it is
    /// written again.
    pub fn welcomed(&mut self, channel: &Channel) -> Option<Client> {
        let start = self.0 as u32;
        let counts = [&channel.submitted, &channel.taken].map(|count| count.load(Relaxed));
        if counts != [start; 2] || channel.hello.load(Relaxed) != self.0 {
            *self = self.next(channel);
            return None;
        }
        (channel.welcome.load(Acquire) == self.0).then_some(Client {
            submitted: start,
            taken: start,
        })
    }

    fn next(self, channel: &Channel) -> Hello {
        Hello(self.0.wrapping_add(1).max(1)).write(channel)
    }

    fn write(self, channel: &Channel) -> Hello {
        channel.submitted.store(self.0 as u32, Relaxed);
        channel.taken.store(self.0 as u32, Relaxed);
        channel.hello.store(self.0, Release);
        self
    }
}

/// The client's half of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    submitted: u32,
    taken: u32,
}

impl Client {
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
