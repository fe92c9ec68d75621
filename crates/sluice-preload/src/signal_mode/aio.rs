//! Asynchronous input and output of the kernel's, as `libaio` asks for it, in signal mode.
//!
//! The kernel moves the bytes of a request in the call, or pins their pages there (direct I/O). It
//! reports a missing page in the request's event, when it is too late. So all pages of a request
//! stay until the call is over. Those of a request that is too large for that leave the device.

use crate::bytes::answers::answer;
use crate::bytes::buffers::{Buffers, MAX_TRIES, One, are_readable, bring, signal_engine};
use crate::next::Next;
use crate::signals::altstack::keep_off_device;
use core::ptr::read_volatile;
use libc::{c_int, c_long, c_ulong, c_void, iovec, timespec};
use sluice_region::{PAGE, sys};
use sluice_runtime::Engine;

/// Pages that may stay at once. What a request for a device file has beyond that is at the mercy of
/// the policy.
const MOST: usize = 960;
/// A request (`struct iocb` of `linux/aio_abi.h`).
#[repr(C)]
pub struct Request {
    data: u64,
    key_and_flags: u64,
    kind: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    at: i64,
    reserved: u64,
    more: u64,
}

/// What became of one.
const EVENT_BYTES: usize = 32;

/// Its kinds that move bytes.
const READ: u16 = 0;
const WRITE: u16 = 1;
const READ_VECTOR: u16 = 7;
const WRITE_VECTOR: u16 = 8;

/// Pages of requests, which stay until this is dropped.
struct Stay {
    engine: &'static Engine,
    pages: Vec<usize>,
    /// Whether what is added leaves the device, where it can.
    leaves: bool,
    has_begun: bool,
}

impl Stay {
    fn add(&mut self, at: usize, bytes: usize) {
        if self.leaves {
            keep_off_device(self.engine, at, bytes);
        }
        let (mut next, end) = (at, at.saturating_add(bytes));
        while self.pages.len() < MOST
            && let Some(page) = self.engine.next_served(next, end)
        {
            self.pages.push(page);
            next = page + PAGE;
        }
    }

    fn can_read(&self, at: usize, bytes: usize) -> bool {
        are_readable(self.engine, at as *const c_void, bytes)
    }

    /// Adds what a request is made of, and its bytes. What the program could not read is the
    /// kernel's to refuse.
    fn add_request(&mut self, request: *const Request) {
        if !self.can_read(request as usize, size_of::<Request>()) {
            return;
        }
        // SAFETY: the program's request.
        let given = unsafe { request.read_unaligned() };
        let (buffer, count) = (given.buffer as usize, given.bytes as usize);
        self.add(request as usize, size_of::<Request>());
        match given.kind {
            READ | WRITE => self.add(buffer, count),
            READ_VECTOR | WRITE_VECTOR => self.add_vector(buffer, count),
            _ => {}
        }
    }

    fn add_vector(&mut self, parts: usize, count: usize) {
        let bytes = count.saturating_mul(size_of::<iovec>());
        if count > libc::UIO_MAXIOV as usize || !self.can_read(parts, bytes) {
            return;
        }
        self.add(parts, bytes);
        for n in 0..count {
            // SAFETY: the program's vector, of the length that it gave.
            let part = unsafe { (parts as *const iovec).add(n).read_unaligned() };
            self.add(part.iov_base as usize, part.iov_len);
        }
    }

    fn begin(&mut self) {
        self.has_begun = true;
        self.engine.begin_wait(&self.pages);
        for page in &self.pages {
            // SAFETY: a page of the program's buffers, which the device serves.
            unsafe { read_volatile(*page as *const u8) };
        }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        if self.has_begun {
            self.engine.end_wait(&self.pages);
        }
    }
}

/// The first of so many requests, as many as can stay at once; at least one. None if the list
/// cannot be read.
fn group(
    engine: &'static Engine,
    list: *const *const Request,
    count: usize,
) -> (Vec<*const Request>, Stay) {
    let mut stay = Stay {
        engine,
        pages: Vec::new(),
        leaves: false,
        has_begun: false,
    };
    let mut group = Vec::new();
    while group.len() < count {
        let at = list.wrapping_add(group.len());
        if !stay.can_read(at as usize, size_of::<*const Request>()) {
            break;
        }
        // SAFETY: the program's list.
        let request = unsafe { at.read_unaligned() };
        let before = stay.pages.len();
        stay.add_request(request);
        let is_full = stay.pages.len() == MOST;
        if is_full {
            stay.pages.truncate(before);
        }
        if is_full && !group.is_empty() {
            break;
        }
        group.push(request);
        if is_full {
            stay.leaves = true;
            stay.add_request(request);
            break;
        }
    }
    (group, stay)
}

/// Hands requests to the kernel.
fn submitted(context: c_ulong, count: c_long, list: *const *const Request) -> Result<usize, i32> {
    let call = |count, list| {
        // SAFETY: the program's own request; the kernel checks the addresses.
        unsafe { sys!(libc::SYS_io_submit, context, count, list) }
    };
    let all = usize::try_from(count).unwrap_or(0);
    let mut done = 0;
    while let Some(engine) = signal_engine().filter(|_| done < all) {
        let (group, mut stay) = group(engine, list.wrapping_add(done), all - done);
        if group.is_empty() {
            break;
        }
        stay.begin();
        match call(group.len() as c_long, group.as_ptr()) {
            Ok(here) if here == group.len() => done += here,
            Ok(here) => return Ok(done + here),
            Err(errno) if done == 0 => return Err(errno),
            Err(_) => return Ok(done),
        }
    }
    match done {
        0 => call(count, list),
        _ => Ok(done),
    }
}

/// Makes a call, again while it meets pages of its buffers that are missing.
fn again(buffers: impl Buffers, call: impl Fn() -> Result<usize, i32>) -> Result<usize, i32> {
    let mut result = call();
    for _ in 0..MAX_TRIES {
        if result != Err(libc::EFAULT) || !bring(&buffers) {
            break;
        }
        result = call();
    }
    result
}

/// Room for events, and the time until which they are waited for.
fn room(count: c_long, to: *mut c_void, until: *const timespec) -> impl Buffers {
    let bytes = usize::try_from(count)
        .unwrap_or(0)
        .saturating_mul(EVENT_BYTES);
    ((to.cast_const(), bytes), One(until))
}

/// `io_setup`, by its number.
///
/// # Safety
/// Contract of the system call.
pub unsafe fn setup(count: c_int, to: *mut c_ulong) -> c_long {
    let call = || {
        // SAFETY: as above.
        unsafe { sys!(libc::SYS_io_setup, count, to) }
    };
    answer(again(One(to.cast_const()), call))
}

/// `io_submit`, by its number.
///
/// # Safety
/// Contract of the system call.
pub unsafe fn submit(context: c_ulong, count: c_long, list: *const *const Request) -> c_long {
    answer(submitted(context, count, list))
}

fn events(
    context: c_ulong,
    least: c_long,
    most: c_long,
    to: *mut c_void,
    until: *const timespec,
) -> Result<usize, i32> {
    // The kernel keeps the events that it has not delivered.
    again(room(most, to, until), || {
        // SAFETY: as above.
        unsafe { sys!(libc::SYS_io_getevents, context, least, most, to, until) }
    })
}

/// `io_getevents`, by its number.
///
/// # Safety
/// Contract of the system call.
pub unsafe fn get_events(
    context: c_ulong,
    least: c_long,
    most: c_long,
    to: *mut c_void,
    until: *const timespec,
) -> c_long {
    answer(events(context, least, most, to, until))
}

/// A system call's result as `libaio` returns it.
fn told(result: Result<usize, i32>) -> c_int {
    result.map_or_else(|errno| -errno, |value| value as c_int)
}

/// Functions of `libaio`. Another library may have functions of these names.
macro_rules! libaio {
    ($($symbol:literal $name:ident
       ($($arg:ident: $type:ty),*), $own:expr;)+) => {$(
        /// # Safety
        /// Contract of the function of this name in `libaio`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            static NEXT: Next = Next::new($symbol);
            if signal_engine().is_some() && NEXT.is_of(b"libaio") || NEXT.address() == 0 {
                return told($own);
            }
            // SAFETY: passed on; whose it is has these arguments, or fewer.
            unsafe {
                let next: unsafe extern "C-unwind" fn($($type),*) -> c_int =
                    core::mem::transmute(NEXT.address());
                next($($arg),*)
            }
        }
    )+};
}

libaio! {
    c"io_submit" io_submit
        (context: c_ulong, count: c_long, list: *const *const Request),
        submitted(context, count, list);
    c"io_getevents" io_getevents
        (context: c_ulong, least: c_long, most: c_long, to: *mut c_void, until: *const timespec),
        events(context, least, most, to, until);
}
