//! `pkey_mprotect`, by which a program gives pages a key of protection. What a thread may do to
//! them is then in a register of its own, which the runtime's threads do not share.

use crate::allocator::heap::open;
use crate::bytes::answers::status;
use crate::device::engine;
use crate::memory::change::{mapped, mprotect};
use crate::memory::wanted::READ_WRITE;
use libc::{c_int, c_void, size_t};
use sluice_region::sys;

/// The key that stands for none: what `mprotect` does.
const NO_KEY: c_int = -1;

/// Memory with a key leaves the device, contents and all.
///
/// # Safety
/// C contract of `pkey_mprotect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pkey_mprotect(
    addr: *mut c_void,
    len: size_t,
    prot: c_int,
    key: c_int,
) -> c_int {
    if key == NO_KEY {
        // SAFETY: passed on.
        return unsafe { mprotect(addr, len, prot) };
    }
    let call = |prot| {
        // SAFETY: the program's own request.
        unsafe { sys!(libc::SYS_pkey_mprotect, addr, len, prot, key) }.map(drop)
    };
    let inside = engine().and_then(|e| Some((e, mapped(e, addr as usize, len)?)));
    status(match inside {
        None => call(prot),
        Some((_, Err(errno))) => Err(errno),
        // First the kernel may refuse the key.
        Some((engine, Ok(part))) => call(READ_WRITE).and_then(|()| {
            open(engine, part.addr, part.len)?;
            engine.leave_device(part.addr, part.len);
            call(prot)
        }),
    })
}
