//! Pages that stay for as long as the kernel may need words of theirs, for which it cannot wait.

use crate::allocator::heap::holder;
use crate::device::engine;
use crate::next;
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::read_volatile;
use libc::{c_int, pthread_mutex_t};
use sluice_region::PAGE;
use sluice_runtime::shmem::client;
use sluice_runtime::{Engine, is_calm, may_be_placed, witness};

/// Pages of a condition and of its mutex, each of which may lie across two.
const MOST: usize = 4;

/// Pages of the device.
struct Pages {
    engine: &'static Engine,
    at: [usize; MOST],
    count: usize,
}

impl Pages {
    /// What of some values lies on the device.
    fn of<const N: usize>(
        engine: &'static Engine,
        values: [(*const c_void, usize); N],
    ) -> Option<Pages> {
        let mut pages = Pages {
            engine,
            at: [0; MOST],
            count: 0,
        };
        for (at, bytes) in values {
            let (first, last) = (
                at as usize & !(PAGE - 1),
                (at as usize + bytes - 1) & !(PAGE - 1),
            );
            pages.add(first);
            if last != first {
                pages.add(last);
            }
        }
        (pages.count > 0).then_some(pages)
    }

    fn add(&mut self, page: usize) {
        if self.engine.is_placed(page) {
            self.at[self.count] = page;
            self.count += 1;
        }
    }

    fn all(&self) -> &[usize] {
        &self.at[..self.count]
    }

    /// Brings them, after they were made to stay.
    fn bring(&self) {
        for page in self.all() {
            // SAFETY: the program's own value is in this page, which the device serves.
            unsafe { read_volatile(*page as *const u8) };
        }
    }
}

/// Pages that stay, until this is dropped: also where a wait ends because its thread is cancelled.
pub struct Stay(Pages);

impl Stay {
    /// Has what of some values lies on the device stay there, and brings it.
    pub fn of<const N: usize>(
        engine: &'static Engine,
        values: [(*const c_void, usize); N],
    ) -> Option<Stay> {
        let pages = Pages::of(engine, values)?;
        engine.begin_wait(pages.all());
        pages.bring();
        Some(Stay(pages))
    }

    /// They stay until a thread is gone.
    pub fn until_end_of(self, thread: u32) {
        self.0.engine.hold(thread, self.0.all());
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.engine.end_wait(self.0.all());
    }
}

/// A value of the program's, and its bytes.
pub fn value<T>(of: *const T) -> (*const c_void, usize) {
    (of.cast(), size_of::<T>())
}

/// Pages of a mutex that the calling thread has, or is about to have.
pub struct Hold(Pages);

impl Hold {
    /// Those of a mutex that is on the device.
    pub fn of(lock: *const pthread_mutex_t) -> Option<Hold> {
        let last = (lock as usize).wrapping_add(size_of::<pthread_mutex_t>() - 1);
        let engine = engine().filter(|_| !is_calm())?;
        if !may_be_placed(lock as usize) && !may_be_placed(last) {
            leave_shared(lock as usize, last);
            return None;
        }
        Pages::of(engine, [value(lock)]).map(Hold)
    }

    /// Has them stay, and brings them.
    pub fn begin(&self) {
        stand_witness(self.0.engine);
        self.0.engine.hold(holder(), self.0.all());
        self.0.bring();
    }

    /// The thread has not, or no longer, the mutex.
    pub fn end(&self) {
        self.0.engine.let_go(holder(), self.0.all());
    }

    /// The thread has it, from another one that is gone.
    pub fn take_over(&self) {
        self.0.engine.forget_gone();
    }
}

std::thread_local! {
    /// For which thread there is a witness.
    static WITNESSED: Cell<u32> = const { Cell::new(0) };
}

next!(next_lock: c"pthread_mutex_lock"(lock: *mut pthread_mutex_t) -> c_int);

/// Has the kernel show when the calling thread ends. A child of a fork has another number.
fn stand_witness(engine: &Engine) {
    let thread = holder();
    if WITNESSED.get() == thread {
        return;
    }
    WITNESSED.set(thread);
    // SAFETY: the witness's own mutex.
    let stand = || witness(thread, |lock| unsafe { next_lock(lock) });
    if !stand() {
        engine.forget_gone();
        stand();
    }
}

/// Memory that processes share has its pages taken out by a thread of the command. A mutex that the
/// kernel needs is off the device there: its pages are this process's own business from now on.
pub fn leave_shared(first: usize, last: usize) {
    for page in [first & !(PAGE - 1), last & !(PAGE - 1)] {
        if client::mapping_of(page).is_some() {
            crate::shared::leave(page);
        }
    }
}
