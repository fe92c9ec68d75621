//! A guest's driver of a disk: a queue in a memory of its own, written by the layout of virtio.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};
use vhost::vhost_user::{Frontend, VhostUserFrontend, VhostUserProtocolFeatures};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

const MEMORY: u64 = 4 << 20;
const DESCRIPTORS: u64 = 0;
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
/// Where buffers begin.
pub const HEAD: u64 = 0x10000;
/// Room for the buffers of a request.
const ROOM: u64 = 1 << 20;
const SIZE: u16 = 128;
/// Descriptors of a request that is well formed.
const EACH: u16 = 4;
/// The driver's own address of its memory, as QEMU would name it.
const ADDRESS: u64 = 0x7000_0000_0000;
const VERSION_1: u64 = 1 << 32;
const EVENTS: u64 = 1 << 29;
const PROTOCOL_FEATURES: u64 = 1 << 30;
/// Where the disk says up to which request it has taken, if events are agreed on.
const TAKEN: u64 = USED + 4 + 8 * SIZE as u64;
const NEXT: u16 = 1;
const DEVICE_WRITES: u16 = 2;
const WAIT: Duration = Duration::from_secs(30);

/// A descriptor, which may be nonsense.
pub struct Buffer {
    pub at: u64,
    pub len: u32,
    pub flags: u16,
    pub next: u16,
}

pub struct Driver {
    memory: File,
    frontend: Frontend,
    kick: EventFd,
    call: EventFd,
    available: u16,
    used: u16,
    /// Requests so far, of which up to three are under way.
    sent: u16,
}

/// A file in memory that can be sealed.
pub fn memory(bytes: u64) -> File {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(memfd_create("guest", flags).unwrap());
    file.set_len(bytes).unwrap();
    file
}

/// Memory of the guest's from an address on, in a file.
fn region(at: u64, memory: &File) -> VhostUserMemoryRegionInfo {
    VhostUserMemoryRegionInfo {
        guest_phys_addr: at,
        memory_size: MEMORY,
        userspace_addr: ADDRESS + at,
        mmap_offset: 0,
        mmap_handle: memory.as_raw_fd(),
    }
}

impl Driver {
    pub fn connect(path: &Path) -> Driver {
        Driver::connect_with(path, 0)
    }

    /// A driver that learns what the disk has taken.
    pub fn connect_with_events(path: &Path) -> Driver {
        Driver::connect_with(path, EVENTS)
    }

    fn connect_with(path: &Path, more: u64) -> Driver {
        // As QEMU makes it: nobody can shorten it.
        let memory = memory(MEMORY);
        fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::SEAL).unwrap();
        let mut frontend = Frontend::connect(path, 1).unwrap();
        frontend.set_owner().unwrap();
        let offered = frontend.get_features().unwrap();
        // Version, block size, flush and trim.
        let wanted = VERSION_1 | PROTOCOL_FEATURES | 1 << 6 | 1 << 9 | 1 << 13 | more;
        assert_eq!(offered & wanted, wanted, "{offered:#x}");
        frontend.set_features(wanted).unwrap();
        let protocol = frontend.get_protocol_features().unwrap();
        assert!(protocol.contains(VhostUserProtocolFeatures::CONFIG));
        frontend.set_protocol_features(protocol).unwrap();
        frontend.set_mem_table(&[region(0, &memory)]).unwrap();
        let mut driver = Driver {
            memory,
            frontend,
            kick: EventFd::new(EFD_NONBLOCK).unwrap(),
            call: EventFd::new(EFD_NONBLOCK).unwrap(),
            available: 0,
            used: 0,
            sent: 0,
        };
        driver.set_up();
        driver
    }

    pub fn set_up(&mut self) {
        self.write(AVAILABLE, &[0; 0x200]);
        self.write(USED, &[0; 0x800]);
        (self.available, self.used, self.sent) = (0, 0, 0);
        self.go_on(0);
    }

    /// Ends the use of the queue for a while. Says up to which request the disk has taken.
    pub fn stop(&mut self) -> u16 {
        self.frontend.get_vring_base(0).unwrap() as u16
    }

    /// Goes on with the queue as it is, from that request on.
    pub fn go_on(&mut self, base: u16) {
        let f = &mut self.frontend;
        f.set_vring_num(0, SIZE).unwrap();
        f.set_vring_base(0, base).unwrap();
        let config = VringConfigData {
            queue_max_size: SIZE,
            queue_size: SIZE,
            flags: 0,
            desc_table_addr: ADDRESS + DESCRIPTORS,
            used_ring_addr: ADDRESS + USED,
            avail_ring_addr: ADDRESS + AVAILABLE,
            log_addr: None,
        };
        f.set_vring_addr(0, &config).unwrap();
        f.set_vring_call(0, &self.call).unwrap();
        f.set_vring_kick(0, &self.kick).unwrap();
        f.set_vring_enable(0, true).unwrap();
    }

    /// Gives the guest more memory, in a file, behind its own. Says where.
    pub fn add_memory(&mut self, more: &File) -> u64 {
        let regions = [region(0, &self.memory), region(MEMORY, more)];
        self.frontend.set_mem_table(&regions).unwrap();
        MEMORY
    }

    /// Ends the queue and sets up another one, as a driver does that is loaded anew.
    pub fn set_up_again(&mut self) {
        self.stop();
        self.set_up();
    }

    /// The disk is to say by this, whatever it is, that it has answered.
    pub fn call_by(&mut self, call: &EventFd) {
        self.frontend.set_vring_call(0, call).unwrap();
    }

    pub fn write(&self, at: u64, bytes: &[u8]) {
        self.memory.write_all_at(bytes, at).unwrap();
    }

    pub fn read(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory.read_exact_at(&mut bytes, at).unwrap();
        bytes
    }

    fn word(&self, at: u64) -> u16 {
        u16::from_le_bytes(self.read(at, 2).try_into().unwrap())
    }

    fn descriptor(&self, index: u16, buffer: &Buffer) {
        let mut bytes = buffer.at.to_le_bytes().to_vec();
        bytes.extend(buffer.len.to_le_bytes());
        bytes.extend(buffer.flags.to_le_bytes());
        bytes.extend(buffer.next.to_le_bytes());
        self.write(DESCRIPTORS + u64::from(index) * 16, &bytes);
    }

    fn offer(&mut self, head: u16) {
        let place = AVAILABLE + 4 + u64::from(self.available % SIZE) * 2;
        self.write(place, &head.to_le_bytes());
        self.available = self.available.wrapping_add(1);
        self.write(AVAILABLE + 2, &self.available.to_le_bytes());
        self.kick.write(1).unwrap();
    }

    /// Sends a request: 16 bytes of head, `from`, room for `to` bytes, a status.
    pub fn send(&mut self, kind: u32, sector: u64, from: &[u8], to: usize) -> u16 {
        let number = self.sent % 3;
        self.sent += 1;
        let (first, base) = (number * EACH, HEAD + u64::from(number) * ROOM);
        let mut head = kind.to_le_bytes().to_vec();
        head.extend([0; 4]);
        head.extend(sector.to_le_bytes());
        self.write(base, &head);
        self.write(base + 0x100, &[0xaa]);
        self.write(base + 0x1000, from);
        let mut parts = vec![(base, 16, 0)];
        if !from.is_empty() {
            parts.push((base + 0x1000, from.len() as u32, 0));
        }
        if to > 0 {
            parts.push((base + 0x1000, to as u32, DEVICE_WRITES));
        }
        parts.push((base + 0x100, 1, DEVICE_WRITES));
        let last = parts.len() - 1;
        for (at, (place, len, flags)) in parts.into_iter().enumerate() {
            let index = first + at as u16;
            let buffer = Buffer {
                at: place,
                len,
                flags: flags | if at == last { 0 } else { NEXT },
                next: index + 1,
            };
            self.descriptor(index, &buffer);
        }
        self.offer(first);
        first
    }

    /// Sends a request whose data is at a place of its own. Its descriptors are the first ones.
    pub fn send_from(&mut self, kind: u32, sector: u64, at: u64, len: u32) -> u16 {
        let mut head = kind.to_le_bytes().to_vec();
        head.extend([0; 4]);
        head.extend(sector.to_le_bytes());
        self.write(HEAD, &head);
        self.write(HEAD + 0x100, &[0xaa]);
        let parts = [
            (HEAD, 16, NEXT),
            (at, len, NEXT),
            (HEAD + 0x100, 1, DEVICE_WRITES),
        ];
        for (index, (at, len, flags)) in (0..).zip(parts) {
            let next = index + 1;
            let buffer = Buffer {
                at,
                len,
                flags,
                next,
            };
            self.descriptor(index, &buffer);
        }
        self.offer(0);
        0
    }

    /// The status of a request of the first descriptors.
    pub fn status(&self) -> u8 {
        self.read(HEAD + 0x100, 1)[0]
    }

    /// The next answer: the head of its request, and when it was seen.
    pub fn answer(&mut self) -> (u16, Instant) {
        let answer = self.silent_answer();
        let limit = Instant::now() + WAIT;
        // The interrupt follows the answer.
        while self.call.read().is_err() {
            assert!(Instant::now() < limit, "no interrupt came");
            std::thread::sleep(Duration::from_micros(50));
        }
        answer
    }

    /// The next answer, of which the guest hears nothing.
    pub fn silent_answer(&mut self) -> (u16, Instant) {
        let limit = Instant::now() + WAIT;
        while self.word(USED + 2) == self.used {
            assert!(Instant::now() < limit, "no answer came");
            std::thread::sleep(Duration::from_micros(50));
        }
        let seen = Instant::now();
        let place = USED + 4 + u64::from(self.used % SIZE) * 8;
        self.used = self.used.wrapping_add(1);
        (self.word(place), seen)
    }

    /// A request and its answer: the status, and what the disk gave.
    pub fn request(&mut self, kind: u32, sector: u64, from: &[u8], to: usize) -> (u8, Vec<u8>) {
        let head = self.send(kind, sector, from, to);
        assert_eq!(self.answer().0, head);
        let base = HEAD + u64::from(head / EACH) * ROOM;
        let data = match from.is_empty() {
            true => self.read(base + 0x1000, to),
            false => Vec::new(),
        };
        (self.read(base + 0x100, 1)[0], data)
    }

    /// Writes a chain of these descriptors, and offers one of any number as often as it says.
    pub fn spoil(&mut self, buffers: &[Buffer], jump: u16, head: u16) {
        for (index, buffer) in (0..).zip(buffers) {
            self.descriptor(index, buffer);
        }
        // Heads that make a request, so that some are nearly right.
        let kind = u32::from(head % 16).to_le_bytes();
        self.write(HEAD, &kind);
        if jump > SIZE {
            self.available = self.available.wrapping_add(jump - SIZE);
        }
        self.offer(if head.is_multiple_of(2) { 0 } else { head });
    }

    /// Offers one request over and over, as often as the disk's events say that it takes it.
    /// Returns how many more it has taken by then than it has answered.
    pub fn flood(&mut self, time: Duration) -> u64 {
        let head = self.send(0, 0, &[], 4096);
        for place in 0..u64::from(SIZE) {
            self.write(AVAILABLE + 4 + place * 2, &head.to_le_bytes());
        }
        let (mut taken, mut answered) = (0u64, 0u64);
        let mut seen = (0u16, 0u16);
        let limit = Instant::now() + time;
        while Instant::now() < limit {
            let now = (self.word(TAKEN), self.word(USED + 2));
            taken += u64::from(now.0.wrapping_sub(seen.0));
            answered += u64::from(now.1.wrapping_sub(seen.1));
            seen = now;
            self.available = now.0.wrapping_add(100);
            self.write(AVAILABLE + 2, &self.available.to_le_bytes());
            self.kick.write(1).unwrap();
        }
        taken.saturating_sub(answered)
    }
}
