//! System calls that wait, or take something away, before they write their answer; for signal mode.
//!
//! By then a page of the program's may have left, and what was taken is lost: a child that has
//! ended, a connection, a signal. So the kernel reads and writes this thread's stack. And no wait
//! may hold back the signal by which a handler of the program's gets its pages.

use crate::bytes::bounce::{Rest, Side, Way, whole};
use crate::bytes::buffers::{is_served, on_device, signal_engine, with_pages};
use crate::bytes::held::Held;
use crate::bytes::piece::Place;
use crate::next;
use crate::signals::mask::without_bus;
use core::ptr::copy_nonoverlapping;
use libc::{c_int, c_long, c_uint, c_void, epoll_event, fd_set, iovec, nfds_t, pollfd, sigset_t};
use libc::{size_t, sockaddr, sockaddr_storage, socklen_t, ssize_t, timespec, timeval};

/// A mask for the time of a call, which lets the device's signal through.
///
/// # Safety
/// Null or the program's set.
unsafe fn open_mask(mask: *const sigset_t) -> Held<sigset_t> {
    // SAFETY: passed on.
    Held::by(mask, unsafe { without_bus(libc::SIG_SETMASK, mask) })
}

/// Descriptors that are watched by way of the stack; more are touched and tried again.
const ON_STACK: usize = 512;

/// Watches descriptors by a call.
///
/// # Safety
/// A list of the program's of this length, or one for which the call has an error.
pub unsafe fn watch(fds: *mut pollfd, n: nfds_t, call: impl Fn(*mut pollfd) -> c_int) -> c_int {
    let count = n as usize;
    let placed = signal_engine().is_some_and(|engine| on_device(engine, fds as usize));
    if !placed || count > ON_STACK {
        let bytes = count.saturating_mul(size_of::<pollfd>());
        return with_pages((fds.cast::<c_void>().cast_const(), bytes), || call(fds));
    }
    let mut copy = [pollfd {
        fd: -1,
        events: 0,
        revents: 0,
    }; ON_STACK];
    // SAFETY: the program's list, of the length it gave, which is not longer than the copy.
    unsafe {
        copy_nonoverlapping(fds, copy.as_mut_ptr(), count);
        let result = call(copy.as_mut_ptr());
        for (at, watched) in copy[..count].iter().enumerate() {
            (*fds.add(at)).revents = watched.revents;
        }
        result
    }
}

next!(next_poll: c"poll"(fds: *mut pollfd, n: nfds_t, timeout: c_int) -> c_int);
next!(next_ppoll: c"ppoll"
    (fds: *mut pollfd, n: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int);
next!(next_poll_chk: c"__poll_chk"
    (fds: *mut pollfd, n: nfds_t, timeout: c_int, room: size_t) -> c_int);
next!(next_ppoll_chk: c"__ppoll_chk"
    (fds: *mut pollfd, n: nfds_t, timeout: *const timespec, mask: *const sigset_t,
     room: size_t) -> c_int);

/// # Safety
/// C contract of `poll`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn poll(fds: *mut pollfd, n: nfds_t, timeout: c_int) -> c_int {
    // SAFETY: passed on.
    unsafe { watch(fds, n, |fds| next_poll(fds, n, timeout)) }
}

/// # Safety
/// C contract of `ppoll`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ppoll(
    fds: *mut pollfd,
    n: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let (mut timeout, mut mask) = (Held::of(timeout), open_mask(mask));
        let (timeout, mask) = (timeout.at(), mask.at());
        watch(fds, n, |fds| next_ppoll(fds, n, timeout, mask))
    }
}

/// `poll` of programs built with `_FORTIFY_SOURCE`.
///
/// # Safety
/// C contract of the function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __poll_chk(
    fds: *mut pollfd,
    n: nfds_t,
    timeout: c_int,
    room: size_t,
) -> c_int {
    // SAFETY: passed on; the C library's ends the program when the list is too small.
    unsafe {
        if n as usize > room / size_of::<pollfd>() {
            return next_poll_chk(fds, n, timeout, room);
        }
        poll(fds, n, timeout)
    }
}

/// `ppoll` of such programs.
///
/// # Safety
/// C contract of the function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __ppoll_chk(
    fds: *mut pollfd,
    n: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    room: size_t,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        if n as usize > room / size_of::<pollfd>() {
            return next_ppoll_chk(fds, n, timeout, mask, room);
        }
        ppoll(fds, n, timeout, mask)
    }
}

next!(next_epoll_pwait: c"epoll_pwait"
    (fd: c_int, to: *mut epoll_event, n: c_int, timeout: c_int, mask: *const sigset_t) -> c_int);
next!(next_epoll_pwait2: c"epoll_pwait2"
    (fd: c_int, to: *mut epoll_event, n: c_int, timeout: *const timespec,
     mask: *const sigset_t) -> c_int);

/// Makes a call that writes events, given where and how many. The kernel ends at a missing page,
/// and says how many events came before it.
pub fn with_events(
    to: *mut epoll_event,
    n: c_int,
    call: impl Fn(*mut epoll_event, c_int) -> c_int,
) -> c_int {
    const EVENT: usize = size_of::<epoll_event>();
    let (start, room) = (to as usize, n.max(0) as usize * EVENT);
    // A piece of the buffer that has no room for an event would be none for the kernel.
    let is_split = |engine| is_served(engine, start) != is_served(engine, start + EVENT - 1);
    if n <= 0 || signal_engine().is_some_and(is_split) {
        return with_pages((to.cast::<c_void>().cast_const(), room), || call(to, n));
    }
    let in_piece = |pieces: &[iovec], _| {
        let piece = pieces[0];
        match call(piece.iov_base.cast(), (piece.iov_len / EVENT) as c_int) {
            found @ 1.. => found as ssize_t * EVENT as ssize_t,
            none => none as ssize_t,
        }
    };
    let buffer = (to.cast::<c_void>().cast_const(), room);
    let bytes = whole(buffer, Way::In, || Rest::Stays, in_piece);
    match bytes {
        ..=0 => bytes as c_int,
        _ => (bytes / EVENT as ssize_t) as c_int,
    }
}

next!(next_epoll_wait: c"epoll_wait"
    (fd: c_int, to: *mut epoll_event, n: c_int, timeout: c_int) -> c_int);

/// # Safety
/// C contract of `epoll_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_wait(
    fd: c_int,
    to: *mut epoll_event,
    n: c_int,
    timeout: c_int,
) -> c_int {
    // SAFETY: passed on, or memory of ours for as many.
    with_events(to, n, |to, n| unsafe {
        next_epoll_wait(fd, to, n, timeout)
    })
}

/// # Safety
/// C contract of `epoll_pwait`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_pwait(
    fd: c_int,
    to: *mut epoll_event,
    n: c_int,
    timeout: c_int,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let mut mask = open_mask(mask);
        let mask = mask.at();
        with_events(to, n, |to, n| next_epoll_pwait(fd, to, n, timeout, mask))
    }
}

/// # Safety
/// C contract of `epoll_pwait2`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_pwait2(
    fd: c_int,
    to: *mut epoll_event,
    n: c_int,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let (mut timeout, mut mask) = (Held::of(timeout), open_mask(mask));
        let (timeout, mask) = (timeout.at(), mask.at());
        with_events(to, n, |to, n| next_epoll_pwait2(fd, to, n, timeout, mask))
    }
}

next!(next_sigsuspend: c"sigsuspend"(mask: *const sigset_t) -> c_int);

/// # Safety
/// C contract of `sigsuspend`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigsuspend(mask: *const sigset_t) -> c_int {
    // SAFETY: the program's set.
    unsafe { next_sigsuspend(open_mask(mask).at()) }
}

/// Sets of descriptors are longer than their type says where a program makes them so.
struct Set<'a> {
    theirs: *mut fd_set,
    ours: Option<[c_long; SET_WORDS]>,
    /// In place of that, for a set that is longer.
    side: Option<Side<'a>>,
    words: usize,
}

/// The words that the type has.
const SET_WORDS: usize = size_of::<fd_set>() / size_of::<c_long>();

impl<'a> Set<'a> {
    /// # Safety
    /// Null, or the program's set of so many descriptors.
    unsafe fn of(place: &'a Place, theirs: *mut fd_set, count: c_int) -> Set<'a> {
        let words = (count.max(0) as usize).div_ceil(c_long::BITS as usize);
        let end = (theirs as usize).saturating_add(words * size_of::<c_long>());
        let placed = !theirs.is_null()
            && (1..=SET_WORDS).contains(&words)
            && signal_engine().is_some_and(|engine| {
                on_device(engine, theirs as usize) || on_device(engine, end - 1)
            });
        let ours = placed.then(|| {
            let mut copy = [0; SET_WORDS];
            // SAFETY: by contract, and not longer than the copy.
            unsafe { copy_nonoverlapping(theirs.cast(), copy.as_mut_ptr(), words) };
            copy
        });
        let bytes = words * size_of::<c_long>();
        let side = (words > SET_WORDS).then(|| Side::new(place, theirs.cast(), bytes, Way::In));
        Set {
            theirs,
            ours,
            side,
            words,
        }
    }

    fn at(&mut self) -> *mut fd_set {
        match (&mut self.ours, &self.side) {
            (Some(copy), _) => copy.as_mut_ptr().cast(),
            (None, Some(side)) => side.at().cast(),
            (None, None) => self.theirs,
        }
    }

    /// # Safety
    /// As for `of`.
    unsafe fn give_back(self) {
        if let Some(copy) = self.ours {
            // SAFETY: by contract.
            unsafe { copy_nonoverlapping(copy.as_ptr(), self.theirs.cast(), self.words) };
        }
        if let Some(side) = self.side {
            side.give(self.words * size_of::<c_long>());
        }
    }
}

/// Makes a call with three sets.
///
/// # Safety
/// Sets of the program's, or null.
pub unsafe fn with_sets(
    n: c_int,
    sets: [*mut fd_set; 3],
    call: impl FnOnce([*mut fd_set; 3]) -> c_int,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        let places = [const { Place::new() }; 3];
        let mut held = [0, 1, 2].map(|at| Set::of(&places[at], sets[at], n));
        let result = call(held.each_mut().map(Set::at));
        for set in held {
            set.give_back();
        }
        result
    }
}

next!(next_select: c"select"
    (n: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set,
     longest: *mut timeval) -> c_int);
next!(next_pselect: c"pselect"
    (n: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set,
     longest: *const timespec, mask: *const sigset_t) -> c_int);

/// # Safety
/// C contract of `select`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn select(
    n: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    other: *mut fd_set,
    longest: *mut timeval,
) -> c_int {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let mut longest = Held::of(longest);
        let time = longest.at();
        let call = |[read, write, other]: [_; 3]| next_select(n, read, write, other, time);
        let result = with_sets(n, [read, write, other], call);
        longest.give_back();
        result
    }
}

/// # Safety
/// C contract of `pselect`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pselect(
    n: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    other: *mut fd_set,
    longest: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: null or the program's; passed on.
    unsafe {
        let (mut longest, mut mask) = (Held::of(longest), open_mask(mask));
        let (time, mask) = (longest.at(), mask.at());
        let call = |[read, write, other]: [_; 3]| next_pselect(n, read, write, other, time, mask);
        with_sets(n, [read, write, other], call)
    }
}

next!(next_accept: c"accept"(fd: c_int, from: *mut sockaddr, n: *mut socklen_t) -> c_int);
next!(next_accept4: c"accept4"
    (fd: c_int, from: *mut sockaddr, n: *mut socklen_t, flags: c_uint) -> c_int);

/// Makes a call that writes an address.
///
/// # Safety
/// Null, or memory of the program's with its length.
pub unsafe fn told(
    from: *mut sockaddr,
    n: *mut socklen_t,
    call: impl FnOnce(*mut sockaddr, *mut socklen_t) -> ssize_t,
) -> ssize_t {
    let placed = signal_engine()
        .is_some_and(|engine| on_device(engine, from as usize) || on_device(engine, n as usize));
    if !placed || from.is_null() || n.is_null() {
        return call(from, n);
    }
    // SAFETY: plain data, for which zeros are valid; the program's memory, of the length it gave.
    unsafe {
        let mut ours: sockaddr_storage = core::mem::zeroed();
        let most = size_of::<sockaddr_storage>();
        let room = *n as usize;
        // The kernel refuses a length below 0.
        let mut length = match (*n).cast_signed() {
            ..0 => *n,
            _ => room.min(most) as socklen_t,
        };
        let result = call((&raw mut ours).cast(), &mut length);
        if result >= 0 {
            let bytes = (length as usize).min(room).min(most);
            copy_nonoverlapping((&raw const ours).cast::<u8>(), from.cast(), bytes);
            *n = length;
        }
        result
    }
}

/// # Safety
/// C contract of `accept`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept(fd: c_int, from: *mut sockaddr, n: *mut socklen_t) -> c_int {
    // SAFETY: passed on.
    unsafe { told(from, n, |from, n| next_accept(fd, from, n) as ssize_t) as c_int }
}

/// # Safety
/// C contract of `accept4`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept4(
    fd: c_int,
    from: *mut sockaddr,
    n: *mut socklen_t,
    flags: c_uint,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        told(from, n, |from, n| {
            next_accept4(fd, from, n, flags) as ssize_t
        }) as c_int
    }
}
