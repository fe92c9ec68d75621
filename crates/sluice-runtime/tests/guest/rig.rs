//! A device with its server in this process, and a guest that writes what it likes into its ring.

use sluice_abi::{GUEST_RING_LINK, LOCK_FILE, RING_BYTES, Ring, SESSION_MARK, VIEW_LINK};
use sluice_control::{Connection, DeviceFiles as At, Error, Side};
use sluice_model::DeviceConfig;
use sluice_region::Mapping;
use sluice_runtime::{Engine, OnDevice, Session, Trap};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering::*};
use tempfile::TempDir;

/// How often the server looks for what the guest sends.
const POLL_NS: u64 = 50_000;

/// A device of 4096 pages with a cache of 256.
pub struct Rig {
    folder: TempDir,
    memory: Mapping,
}

impl Rig {
    /// Starts it. Nobody touches its memory, so nobody needs to answer faults.
    pub fn start(settings: &[(&str, &str)]) -> Rig {
        let folder = tempfile::tempdir().expect("a folder");
        let mut raw = DeviceConfig::builder();
        let small = [
            ("device.capacity", "16MiB"),
            ("cache.capacity", "1MiB"),
            ("nand.read", "3us"),
        ];
        for (key, value) in small.iter().chain(settings) {
            raw.set(key, value).expect("a value of its kind");
        }
        let lock = folder.path().join(LOCK_FILE);
        std::fs::write(lock, SESSION_MARK).expect("room");
        let session = Session {
            hold: Default::default(),
            dir: folder.path().to_path_buf(),
            seed: 1,
            trap: Trap::Signal,
            store: sluice_runtime::Store::Memory,
            place: OnDevice::Heap,
            kinds: Default::default(),
            mmap_min: 0,
            record: 0,
            sample_ns: 0,
            watch: 0,
            profile: 0,
            handlers: 1,
            ring: true,
            ring_poll_ns: POLL_NS,
            settings: Default::default(),
            device: DeviceConfig::new(&raw).expect("a device"),
        };
        // One server for each test, and each stays.
        static ROOM: std::sync::OnceLock<()> = std::sync::OnceLock::new();
        ROOM.get_or_init(|| sluice_runtime::prepare_threads(64).expect("memory"));
        let engine = Engine::start(session).expect("a device");
        engine.start_threads(0).expect("a thread");
        let ring = folder.path().join(GUEST_RING_LINK);
        let file = OpenOptions::new().read(true).write(true).open(ring);
        let file = file.expect("a guest's ring");
        let memory = Mapping::shared(file.as_raw_fd(), RING_BYTES).expect("a mapping");
        Rig { folder, memory }
    }

    fn connect(&self, ring: &str, side: Side) -> Result<Connection, Error> {
        let view = std::fs::read_link(self.folder.path().join(VIEW_LINK)).expect("a view");
        Connection::open(At {
            ring: view.with_extension(ring),
            view,
            side,
            pid: std::process::id(),
            owner: Some(sluice_region::own_user()),
        })
    }

    /// A client on the host.
    pub fn host(&self) -> Connection {
        self.connect("ring", Side::Host).expect("a channel")
    }

    /// A client in the guest.
    pub fn guest(&self) -> Result<Connection, Error> {
        self.connect(GUEST_RING_LINK, Side::Guest)
    }

    /// All that the guest can write, as words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: a shared mapping that lives as long as the rig; all of it may change at any time.
        unsafe {
            std::slice::from_raw_parts(self.memory.addr() as *const AtomicU64, RING_BYTES / 8)
        }
    }

    /// The guest's memory as the ring that it should be.
    pub fn ring(&self) -> &Ring {
        // SAFETY: as above; a ring is atomics only.
        unsafe { &*(self.memory.addr() as *const Ring) }
    }

    /// Writes an entry into a place of a channel, and counts it as submitted.
    pub fn submit(&self, channel: usize, entry: &[u64]) {
        let at = &self.ring().channels[channel];
        let place = at.submitted.load(Relaxed) as usize % 16;
        let first = (64 + channel * 8320 + 128 + place * 256) / 8;
        for (word, value) in self.words()[first..first + 32].iter().zip(entry) {
            word.store(*value, Relaxed);
        }
        at.submitted.fetch_add(1, Release);
    }
}

/// Numbers that look random and are the same each time.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
