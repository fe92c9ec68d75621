//! A userfaultfd of the program's own. The kernel takes one for a range, and for memory on the
//! device that is the runtime's: what the program wants to serve itself leaves the device.

use crate::bytes::answers::answer;
use crate::bytes::buffers::with_pages;
use crate::bytes::named::Record;
use crate::device::engine;
use crate::memory::change::mapped;
use crate::memory::scan::{SCAN, Scan, scan};
use crate::next;
use libc::{c_int, c_ulong, c_void};
use sluice_region::errno;

next!(next_ioctl: c"ioctl"(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int);

/// `UFFDIO_REGISTER`, whose argument begins with address and length.
const REGISTER: c_ulong = 0xC020_AA00;

/// Bytes of the argument of a request. Old ones do not say, and have some like those of terminals.
fn bytes_of(request: c_ulong) -> usize {
    const OLD: usize = 64;
    match request as usize >> 16 & 0x3fff {
        0 => OLD,
        bytes => bytes,
    }
}

/// # Safety
/// C contract of `ioctl`, which takes one more argument than two at most.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    if request == SCAN
        && let Some(engine) = engine()
    {
        let call = |part: &mut Scan| {
            // SAFETY: a live argument; what it names is the program's.
            let found = unsafe { next_ioctl(fd, request, (&raw mut *part).cast()) };
            u64::try_from(found).map_err(|_| errno())
        };
        if let Some(found) = scan(engine, argument.cast(), call) {
            return answer(found.map(|count| count as usize)) as c_int;
        }
    }
    let memory = Record::new(argument, bytes_of(request));
    // SAFETY: passed on.
    let result = with_pages(memory, || unsafe { next_ioctl(fd, request, argument) });
    if result != -1 || request != REGISTER || errno() != libc::EBUSY {
        return result;
    }
    // SAFETY: the kernel has just read it there.
    let (start, len) = unsafe {
        let range = argument.cast::<u64>();
        (range.read() as usize, range.add(1).read() as usize)
    };
    let Some((engine, Ok(part))) = engine().and_then(|e| Some((e, mapped(e, start, len)?))) else {
        return result;
    };
    engine.leave_device(part.addr, part.len);
    // SAFETY: passed on.
    unsafe { next_ioctl(fd, request, argument) }
}
