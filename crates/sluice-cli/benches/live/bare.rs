//! The floor: the kernel calls of a trap and an eviction, and nothing else.
//!
//! One page after another is touched and evicted, over as much memory as the emulated chase uses,
//! so that the pages are as cold. In event mode a bare handler can be had in three ways, see
//! [`Answer`]; what is called, in two, see [`Calls`].

use sluice_region::file_identity;
use sluice_region::{
    CpuSet, Event, Fill, Mapping, PAGE, Pagemap, Uffd, UffdKind, cpu_now, dont_need, memfd,
};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use std::time::Instant;

/// What is behind the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Private memory: `UFFDIO_COPY` in, `UFFDIO_MOVE` out.
    Heap,
    /// A shared file: `UFFDIO_CONTINUE` in, `MADV_DONTNEED` out.
    Dax,
}

/// The thread that answers a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The faulting thread itself, inside SIGBUS.
    Signal,
    /// A thread that blocks for events, on the CPU that the scheduler gives it.
    Blocked,
    /// A thread that asks for events without end: it takes a CPU for itself.
    Polling,
    /// A thread that blocks, both threads bound to one CPU: the fastest, but no way to run a
    /// program that has several threads.
    Bound,
}

/// The calls of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// As little as there can be: a page comes, and the same page leaves.
    Least,
    /// What a FIFO cache of so many pages cannot do without: the page that leaves came so many
    /// traps ago, and the kernel is asked first whether it was written.
    Fifo(usize),
}

/// One way to trap.
#[derive(Clone, Copy, Debug)]
pub struct Bare {
    pub answer: Answer,
    pub backing: Backing,
    pub mib: usize,
    pub calls: Calls,
}

/// Ends the process if its thread panics: another one waits for this one's page, or for its fault.
struct Together;

impl Drop for Together {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

struct Floor {
    uffd: Uffd,
    region: Mapping,
    store: Mapping,
    limbo: Mapping,
    backing: Backing,
    calls: Calls,
    pagemap: Pagemap,
    stop: AtomicBool,
}

static FLOOR: AtomicPtr<Floor> = AtomicPtr::new(std::ptr::null_mut());

impl Floor {
    fn new(bare: Bare) -> Floor {
        let len = bare.mib << 20;
        let kind = match bare.answer {
            Answer::Signal => UffdKind::Signal,
            _ => UffdKind::Events,
        };
        let uffd = Uffd::open(kind).expect("userfaultfd");
        let limbo = Mapping::anonymous(64 * PAGE).expect("mmap");
        let (region, store) = match bare.backing {
            Backing::Heap => {
                let region = Mapping::anonymous(len).expect("mmap");
                uffd.register_private(region.addr(), len).expect("register");
                uffd.register_private(limbo.addr(), limbo.len())
                    .expect("register");
                (region, Mapping::anonymous(len).expect("mmap"))
            }
            Backing::Dax => {
                let fd = memfd(len).expect("memfd");
                assert!(file_identity(fd).is_some());
                let region = Mapping::shared(fd, len).expect("mmap");
                uffd.register_shared(region.addr(), len).expect("register");
                (region, Mapping::shared(fd, len).expect("mmap"))
            }
        };
        for page in (0..len).step_by(PAGE) {
            // SAFETY: the store is ours, and writable.
            unsafe { ((store.addr() + page) as *mut u64).write_volatile(page as u64) };
        }
        Floor {
            uffd,
            region,
            store,
            limbo,
            backing: bare.backing,
            calls: bare.calls,
            pagemap: Pagemap::open().expect("page map"),
            stop: AtomicBool::new(false),
        }
    }

    fn fill(&self, addr: usize) {
        let at = addr - self.region.addr();
        match self.backing {
            Backing::Heap => self
                .uffd
                .copy_page(addr, self.store.addr() + at, Fill::NOTICED),
            Backing::Dax => self.uffd.continue_page(addr, Fill::NOTICED),
        }
        .expect("filling a page");
    }

    fn evict(&self, n: usize) {
        let page = self.region.addr() + n * PAGE;
        if self.calls != Calls::Least {
            assert!(!self.pagemap.is_written(page), "nobody writes");
        }
        match self.backing {
            Backing::Heap => {
                let slot = self.limbo.addr() + n % 64 * PAGE;
                self.uffd.move_page(slot, page).expect("moving a page out");
                if n % 64 == 63 {
                    // SAFETY: limbo pages hold nothing of use.
                    unsafe { dont_need(self.limbo.addr(), self.limbo.len()) }.expect("madvise");
                }
            }
            // SAFETY: shared memory: the file keeps the contents.
            Backing::Dax => unsafe { dont_need(page, PAGE) }.expect("madvise"),
        }
    }
}

impl Bare {
    /// Median cost of touching a missing page and evicting another, ns.
    pub fn round_trip_ns(self) -> f64 {
        let floor = Floor::new(self);
        let before = CpuSet::of(0).expect("affinity");
        if matches!(self.answer, Answer::Signal | Answer::Bound) {
            CpuSet::one(cpu_now()).bind(0);
        }
        FLOOR.store((&raw const floor).cast_mut(), Release);
        let cost = std::thread::scope(|scope| {
            let _together = Together;
            match self.answer {
                Answer::Signal => install(),
                _ => _ = scope.spawn(|| serve(&floor, self.answer != Answer::Polling)),
            }
            let cost = touch_all(&floor);
            floor.stop.store(true, Release);
            // The handler may be asleep: one more fault wakes it.
            touch(&floor, 0);
            cost
        });
        before.bind(0);
        cost
    }
}

fn touch(floor: &Floor, n: usize) {
    // SAFETY: the region is mapped; the read traps and is answered.
    unsafe { ((floor.region.addr() + n * PAGE) as *const u8).read_volatile() };
}

fn touch_all(floor: &Floor) -> f64 {
    let pages = floor.region.len() / PAGE;
    let behind = match floor.calls {
        Calls::Least => 0,
        Calls::Fifo(cached) => cached,
    };
    (0..behind).for_each(|n| touch(floor, n));
    let times = (behind..pages).map(|n| {
        let from = Instant::now();
        touch(floor, n);
        floor.evict(n - behind);
        from.elapsed().as_nanos() as f64
    });
    sluice_stats::median(times).expect("a page")
}

/// A thread that answers events, up to the one that comes after `stop`.
fn serve(floor: &Floor, block: bool) {
    let _together = Together;
    let mut events = [Event {
        address: 0,
        write: false,
        thread: 0,
    }; 1];
    let mut stopped = false;
    while !stopped {
        if floor.uffd.events().read(&mut events, block) == 1 {
            stopped = floor.stop.load(Acquire);
            floor.fill(events[0].address);
        }
    }
}

fn install() {
    // SAFETY: zeros are a valid sigaction; the handler lives as long as the program.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()),
            0
        );
    }
}

extern "C" fn on_bus(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the floor outlives every fault on it; the kernel's pointer is valid.
    let (floor, addr) = unsafe { (&*FLOOR.load(Acquire), (*info).si_addr() as usize) };
    floor.fill(addr & !(PAGE - 1));
}
