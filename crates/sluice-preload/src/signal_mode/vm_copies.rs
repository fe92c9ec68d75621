//! Copies between the memory of two processes, of which both may be this one, for signal mode. See
//! [`crate::bytes::bounce`].

use crate::bytes::bounce::{Rest, Way, vector};
use crate::bytes::buffers::{are_readable, signal_engine};
use crate::next;
use libc::{c_int, c_ulong, iovec, pid_t, ssize_t};

next!(next_read: c"process_vm_readv"(pid: pid_t, own: *const iovec, n: c_ulong,
    other: *const iovec, m: c_ulong, flags: c_ulong) -> ssize_t);
next!(next_write: c"process_vm_writev"(pid: pid_t, own: *const iovec, n: c_ulong,
    other: *const iovec, m: c_ulong, flags: c_ulong) -> ssize_t);

/// A side of such a copy: a vector that the program gave.
#[derive(Clone, Copy)]
struct Given {
    parts: *const iovec,
    count: c_ulong,
    /// Whether it names memory of this process.
    is_own: bool,
}

impl Given {
    /// The vector, if the kernel takes it and it can be read.
    fn parts(&self) -> Option<&[iovec]> {
        let (parts, count) = (self.parts, self.count as usize);
        let engine = signal_engine().filter(|_| count <= libc::UIO_MAXIOV as usize)?;
        match count {
            0 => Some(&[]),
            // SAFETY: the program's vector, of the length that it gave, which can be read.
            _ => are_readable(engine, parts.cast(), count * size_of::<iovec>())
                .then(|| unsafe { core::slice::from_raw_parts(parts, count) }),
        }
    }
}

/// The places of so many bytes of a vector from its byte `from` on.
fn cut(parts: &[iovec], from: usize, bytes: usize) -> Vec<iovec> {
    let (mut skip, mut left) = (from, bytes);
    let cut = parts.iter().map(|part| {
        let skipped = skip.min(part.iov_len);
        skip -= skipped;
        let iov_len = (part.iov_len - skipped).min(left);
        left -= iov_len;
        let iov_base = part.iov_base.wrapping_byte_add(skipped);
        iovec { iov_base, iov_len }
    });
    cut.filter(|part| part.iov_len > 0).collect()
}

fn bytes(parts: &[iovec]) -> usize {
    let lengths = parts.iter().map(|part| part.iov_len);
    lengths.fold(0, usize::saturating_add)
}

/// Copies from one vector into another. Bytes of this process go by way of memory off the device,
/// a piece of one side at a time and all of the other's that belongs to it.
fn copied(
    from: Given,
    to: Given,
    plain: impl Fn() -> ssize_t,
    call: impl Fn(&[iovec], &[iovec]) -> ssize_t,
) -> ssize_t {
    let (Some(sources), Some(targets)) = (from.parts(), to.parts()) else {
        return plain();
    };
    let follows = || Rest::Follows;
    let in_two = |targets: &[iovec], done| {
        let sources = cut(sources, done, bytes(targets));
        let in_one = |pieces: &[iovec], done| call(pieces, &cut(targets, done, bytes(pieces)));
        match from.is_own {
            true => {
                let given = (sources.as_ptr(), sources.len() as c_int);
                vector(given, Way::Out, follows, || in_one(&sources, 0), in_one)
            }
            false => in_one(&sources, 0),
        }
    };
    match to.is_own {
        true => {
            let given = (targets.as_ptr(), targets.len() as c_int);
            vector(given, Way::In, follows, || in_two(targets, 0), in_two)
        }
        false => in_two(targets, 0),
    }
}

/// Both sides of a copy: this process's, and that of a process which may be this one.
fn sides(
    pid: pid_t,
    (own, n): (*const iovec, c_ulong),
    (other, m): (*const iovec, c_ulong),
) -> (Given, Given) {
    let given = |parts, count, is_own| Given {
        parts,
        count,
        is_own,
    };
    // SAFETY: no arguments.
    let is_own = pid == unsafe { libc::getpid() };
    (given(own, n, true), given(other, m, is_own))
}

/// # Safety
/// C contract of `process_vm_readv`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn process_vm_readv(
    pid: pid_t,
    own: *const iovec,
    n: c_ulong,
    other: *const iovec,
    m: c_ulong,
    flags: c_ulong,
) -> ssize_t {
    // SAFETY: passed on.
    let next = |own, n, other, m| unsafe { next_read(pid, own, n, other, m, flags) };
    let (ours, theirs) = sides(pid, (own, n), (other, m));
    let call = |from: &[iovec], to: &[iovec]| {
        let (n, m) = (to.len() as c_ulong, from.len() as c_ulong);
        next(to.as_ptr(), n, from.as_ptr(), m)
    };
    copied(theirs, ours, || next(own, n, other, m), call)
}

/// # Safety
/// C contract of `process_vm_writev`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn process_vm_writev(
    pid: pid_t,
    own: *const iovec,
    n: c_ulong,
    other: *const iovec,
    m: c_ulong,
    flags: c_ulong,
) -> ssize_t {
    // SAFETY: passed on.
    let next = |own, n, other, m| unsafe { next_write(pid, own, n, other, m, flags) };
    let (ours, theirs) = sides(pid, (own, n), (other, m));
    let call = |from: &[iovec], to: &[iovec]| {
        let (n, m) = (from.len() as c_ulong, to.len() as c_ulong);
        next(from.as_ptr(), n, to.as_ptr(), m)
    };
    copied(ours, theirs, || next(own, n, other, m), call)
}
