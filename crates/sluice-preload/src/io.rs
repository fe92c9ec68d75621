//! System calls that read or write the program's buffers, for signal mode.
//!
//! There the kernel cannot wait for a page: its own access to a missing one fails with `EFAULT`.
//! The hooks touch such a buffer, which traps as any access of the program does, and try again.
//! System calls that no hook covers fail in the program; event mode has no such limit.

use crate::init::engine;
use libc::{c_int, c_void, iovec, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t};
use sluice_abi::Counter;
use sluice_region::{PAGE, errno};
use sluice_runtime::Trap;

/// Other threads may evict a page between touch and call; so often in a row they do not.
const MAX_TRIES: usize = 256;

/// Buffers of one call.
trait Buffers {
    /// Touches the pages of each buffer that lie on the device; false when none does.
    fn touch(&self) -> bool;
}

impl Buffers for (*const c_void, size_t) {
    fn touch(&self) -> bool {
        let Some(engine) = engine() else { return false };
        let (start, len) = (self.0 as usize, self.1);
        let mut touched = false;
        for page in (start & !(PAGE - 1)..start.saturating_add(len)).step_by(PAGE) {
            let at = page.max(start);
            if engine.in_arena(at) || engine.core().host.lpn(at).is_some() {
                // SAFETY: the program named this memory as its buffer.
                unsafe { core::ptr::read_volatile(at as *const u8) };
                touched = true;
            }
        }
        touched
    }
}

impl Buffers for (*const iovec, c_int) {
    fn touch(&self) -> bool {
        // SAFETY: the program's vector, of the length it gave.
        let vector = unsafe { core::slice::from_raw_parts(self.0, self.1.max(0) as usize) };
        let mut touched = (self.0.cast::<c_void>(), size_of_val(vector)).touch();
        for part in vector {
            touched |= (part.iov_base.cast_const(), part.iov_len).touch();
        }
        touched
    }
}

impl Buffers for *const msghdr {
    fn touch(&self) -> bool {
        // SAFETY: the program's message.
        let message = unsafe { &**self };
        let head = ((*self).cast::<c_void>(), size_of::<msghdr>()).touch();
        let name = (message.msg_name.cast_const(), message.msg_namelen as usize).touch();
        let control = (message.msg_control.cast_const(), message.msg_controllen).touch();
        let parts = (message.msg_iov.cast_const(), message.msg_iovlen as c_int).touch();
        head | name | control | parts
    }
}

fn with_pages<B: Buffers>(buffers: B, mut call: impl FnMut() -> ssize_t) -> ssize_t {
    let mut result = call();
    let mut tries = 0;
    while result == -1 && errno() == libc::EFAULT && tries < MAX_TRIES {
        let Some(engine) = engine().filter(|e| e.session.trap == Trap::Signal) else {
            break;
        };
        if !buffers.touch() {
            // SAFETY: this thread's errno, which the look-up may have changed.
            unsafe { *libc::__errno_location() = libc::EFAULT };
            break;
        }
        engine.count(Counter::KernelFaults, 1);
        tries += 1;
        result = call();
    }
    result
}

macro_rules! hooks {
    ($($name:ident as $next:ident $symbol:literal
       ($($arg:ident: $type:ty),*), $buffers:expr;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> ssize_t);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> ssize_t {
            // SAFETY: passed on.
            with_pages($buffers, || unsafe { $next($($arg),*) })
        }
    )+};
}
use crate::next;

hooks! {
    read as next_read c"read"
        (fd: c_int, buf: *mut c_void, n: size_t), (buf.cast_const(), n);
    write as next_write c"write"
        (fd: c_int, buf: *const c_void, n: size_t), (buf, n);
    pread as next_pread c"pread"
        (fd: c_int, buf: *mut c_void, n: size_t, at: off_t), (buf.cast_const(), n);
    pwrite as next_pwrite c"pwrite"
        (fd: c_int, buf: *const c_void, n: size_t, at: off_t), (buf, n);
    pread64 as next_pread64 c"pread64"
        (fd: c_int, buf: *mut c_void, n: size_t, at: off_t), (buf.cast_const(), n);
    pwrite64 as next_pwrite64 c"pwrite64"
        (fd: c_int, buf: *const c_void, n: size_t, at: off_t), (buf, n);
    readv as next_readv c"readv"
        (fd: c_int, parts: *const iovec, n: c_int), (parts, n);
    writev as next_writev c"writev"
        (fd: c_int, parts: *const iovec, n: c_int), (parts, n);
    recv as next_recv c"recv"
        (fd: c_int, buf: *mut c_void, n: size_t, flags: c_int), (buf.cast_const(), n);
    send as next_send c"send"
        (fd: c_int, buf: *const c_void, n: size_t, flags: c_int), (buf, n);
    recvfrom as next_recvfrom c"recvfrom"
        (fd: c_int, buf: *mut c_void, n: size_t, flags: c_int, from: *mut sockaddr,
         len: *mut socklen_t), (buf.cast_const(), n);
    sendto as next_sendto c"sendto"
        (fd: c_int, buf: *const c_void, n: size_t, flags: c_int, to: *const sockaddr,
         len: socklen_t), (buf, n);
    recvmsg as next_recvmsg c"recvmsg"
        (fd: c_int, message: *mut msghdr, flags: c_int), message.cast_const();
    sendmsg as next_sendmsg c"sendmsg"
        (fd: c_int, message: *const msghdr, flags: c_int), message;
}
