//! A KVM guest on memory that is trapped as the runtime traps a device. Each page that is not
//! mapped costs one fault, and a page that is mapped none, whether the processor runs the guest or
//! the kernel interprets it. Without `/dev/kvm` nothing is tested, and a line says so.

#![cfg(target_arch = "x86_64")]

use kvm_bindings::kvm_userspace_memory_region;
use kvm_ioctls::{Kvm, VcpuExit, VcpuFd, VmFd};
use sluice_region::{
    Event, Fill, Mapping, PAGE, Pagemap, Uffd, UffdKind, dont_need, fallocate, memfd,
};
use std::sync::{Mutex, MutexGuard};

const PAGES: usize = 32;
/// Guest-physical address of the device: the first segment behind the guest's own memory.
const DEVICE: u64 = 0x1_0000;

/// A word of each page is added to DX.
const READ: [u8; 4] = [0x03, 0x16, 0, 0];
/// The word is incremented.
const WRITE: [u8; 4] = [0xff, 0x06, 0, 0];

/// `touch` with DS at each page of the device in turn, then HLT. Real mode: a segment a page.
fn program(touch: [u8; 4]) -> Vec<u8> {
    let (segment, pages) = ((DEVICE / 16) as u16, PAGES as u16);
    let mut code = vec![0x31, 0xd2]; // xor dx, dx
    code.push(0xb8); // mov ax, segment
    code.extend(segment.to_le_bytes());
    code.push(0xb9); // mov cx, pages
    code.extend(pages.to_le_bytes());
    code.extend([0x8e, 0xd8]); // again: mov ds, ax
    code.extend(touch);
    code.push(0x05); // add ax, segments of a page
    code.extend((PAGE as u16 / 16).to_le_bytes());
    code.extend([0xe2, 0xf5]); // loop again
    code.push(0xf4); // hlt
    code
}

/// A file in memory, trapped as the runtime traps one: missing pages are events, writes are noted.
struct Device {
    uffd: Uffd,
    trapped: Mapping,
    /// Another mapping of the file, never trapped.
    plain: Mapping,
    /// Held while a fault is answered, so that a thread that goes on after a fault finds it
    /// counted.
    faults: Mutex<Faults>,
}

/// What was answered.
#[derive(Debug, Default, PartialEq)]
struct Faults {
    /// Faults that were answered with the page.
    mapped: usize,
    /// Pages that had them, a bit each.
    pages: u32,
}

/// Each page once.
const ALL: Faults = Faults {
    mapped: PAGES,
    pages: u32::MAX,
};
const NONE: Faults = Faults {
    mapped: 0,
    pages: 0,
};

impl Device {
    /// One page more than the guest has: its fault ends [`Device::answer`].
    fn new() -> Device {
        let len = (PAGES + 1) * PAGE;
        let fd = memfd(len).expect("a memory file");
        fallocate(fd, 0, len).expect("memory");
        let trapped = Mapping::shared(fd, len).expect("a mapping");
        let plain = Mapping::shared(fd, len).expect("a mapping");
        // SAFETY: opened above; the mappings keep the file.
        unsafe { libc::close(fd) };
        let uffd = Uffd::open(UffdKind::Events).expect("userfaultfd, as `sluice doctor` asks for");
        uffd.register_shared(trapped.addr(), len)
            .expect("registering");
        let faults = Mutex::default();
        Device {
            uffd,
            trapped,
            plain,
            faults,
        }
    }

    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().expect("the other thread is well")
    }

    fn word(&self, page: usize) -> *mut u16 {
        (self.plain.addr() + page * PAGE) as *mut u16
    }

    fn words(&self) -> Vec<u16> {
        // SAFETY: mapped, aligned, and the guest stands still.
        let read = |page| unsafe { self.word(page).read_volatile() };
        (0..PAGES).map(read).collect()
    }

    fn written(&self) -> usize {
        let pagemap = Pagemap::open().expect("pagemap");
        let page = |n| self.trapped.addr() + n * PAGE;
        (0..PAGES).filter(|&n| pagemap.is_written(page(n))).count()
    }

    fn evict(&self) {
        // SAFETY: the file keeps the contents.
        unsafe { dont_need(self.trapped.addr(), PAGES * PAGE) }.expect("MADV_DONTNEED");
    }

    /// Answers faults until the last page has one. A wait that a signal ends is followed by the
    /// same fault again, so that there may be more events than pages, but no page is mapped twice.
    fn answer(&self) {
        let last = self.trapped.addr() + PAGES * PAGE;
        let none = Event {
            address: 0,
            write: false,
            thread: 0,
        };
        let mut events = [none; 1];
        loop {
            if self.uffd.events().read(&mut events, true) == 0 {
                continue;
            }
            let page = events[0].address;
            let mut faults = self.faults();
            match self.uffd.continue_page(page, Fill::NOTICED) {
                Ok(()) if page < last => {
                    let n = (page - self.trapped.addr()) / PAGE;
                    faults.mapped += 1;
                    faults.pages |= 1 << n;
                }
                Ok(()) => return,
                Err(libc::EEXIST) => self.uffd.wake(page),
                Err(e) => panic!("UFFDIO_CONTINUE: errno {e}"),
            }
        }
    }

    fn stop(&self) {
        // SAFETY: mapped; the fault is answered by the thread that this ends.
        unsafe { ((self.trapped.addr() + PAGES * PAGE) as *const u8).read_volatile() };
    }
}

/// A machine with a page of its own and the device.
struct Guest {
    cpu: VcpuFd,
    own: Mapping,
    _machine: VmFd,
}

impl Guest {
    fn new(kvm: &Kvm, device: &Device) -> Guest {
        let machine = kvm.create_vm().expect("KVM_CREATE_VM");
        let own = Mapping::anonymous(PAGE).expect("memory");
        let device = (DEVICE, PAGES * PAGE, device.trapped.addr());
        for (slot, (guest_phys_addr, len, at)) in [(0, PAGE, own.addr()), device].iter().enumerate()
        {
            let region = kvm_userspace_memory_region {
                slot: slot as u32,
                flags: 0,
                guest_phys_addr: *guest_phys_addr,
                memory_size: *len as u64,
                userspace_addr: *at as u64,
            };
            // SAFETY: both mappings outlive the guest.
            unsafe { machine.set_user_memory_region(region) }.expect("a memory slot");
        }
        let cpu = machine.create_vcpu(0).expect("KVM_CREATE_VCPU");
        Guest {
            cpu,
            own,
            _machine: machine,
        }
    }

    /// Touches every page of the device, and returns DX.
    fn run(&mut self, touch: [u8; 4]) -> u16 {
        let code = program(touch);
        // SAFETY: the page is ours, and the guest stands still.
        unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), self.own.addr() as *mut u8, code.len());
        }
        let mut segments = self.cpu.get_sregs().expect("KVM_GET_SREGS");
        (segments.cs.base, segments.cs.selector) = (0, 0);
        self.cpu.set_sregs(&segments).expect("KVM_SET_SREGS");
        let mut registers = self.cpu.get_regs().expect("KVM_GET_REGS");
        (registers.rip, registers.rflags) = (0, 2);
        self.cpu.set_regs(&registers).expect("KVM_SET_REGS");
        let exit = self.cpu.run().expect("KVM_RUN");
        assert!(
            matches!(exit, VcpuExit::Hlt),
            "a guest that halts ended otherwise: {exit:?}"
        );
        self.cpu.get_regs().expect("KVM_GET_REGS").rdx as u16
    }
}

/// One run of the guest: what faulted, what it read, what it left.
#[derive(Debug)]
struct Pass {
    faults: Faults,
    sum: u16,
    words: Vec<u16>,
    written: usize,
}

fn pass(device: &Device, guest: &mut Guest, touch: [u8; 4]) -> Pass {
    let sum = guest.run(touch);
    Pass {
        faults: std::mem::take(&mut *device.faults()),
        sum,
        words: device.words(),
        written: device.written(),
    }
}

#[test]
fn a_kvm_guest_faults_once_for_each_page_that_is_away() {
    let kvm = match Kvm::new() {
        Ok(kvm) => kvm,
        Err(why) => return eprintln!("skipped: /dev/kvm: {why}"),
    };
    // A fault that nobody answers stops its thread for ever; the signal ends the process then.
    // SAFETY: no pointers.
    unsafe { libc::alarm(300) };
    let device = Device::new();
    for page in 0..PAGES {
        // SAFETY: mapped and aligned, and nobody else's yet.
        unsafe { device.word(page).write_volatile(1_000 + 7 * page as u16) };
    }
    let before = device.words();
    let passes = std::thread::scope(|scope| {
        scope.spawn(|| device.answer());
        let mut guest = Guest::new(&kvm, &device);
        let [first, again, change] = [READ, READ, WRITE].map(|p| pass(&device, &mut guest, p));
        device.evict();
        let back = pass(&device, &mut guest, WRITE);
        device.evict();
        let last = pass(&device, &mut guest, READ);
        device.stop();
        [first, again, change, back, last]
    });
    let faults = passes.each_ref().map(|pass| &pass.faults);
    assert_eq!(faults, [&ALL, &NONE, &NONE, &ALL, &ALL]);
    let plus = |n| before.iter().map(|word| word + n).collect::<Vec<u16>>();
    let sum = |words: Vec<u16>| words.iter().fold(0u16, |sum, word| sum.wrapping_add(*word));
    for (pass, n) in passes.iter().zip([0, 0, 1, 2, 2]) {
        assert_eq!(pass.words, plus(n), "what the guest left");
    }
    let sums = [&passes[0], &passes[1], &passes[4]].map(|pass| pass.sum);
    let expected = [sum(before.clone()), sum(before.clone()), sum(plus(2))];
    assert_eq!(sums, expected, "what the guest read");
    let written = passes.each_ref().map(|p| p.written);
    assert_eq!(written, [0, 0, PAGES, PAGES, 0], "pages noted as written");
}
