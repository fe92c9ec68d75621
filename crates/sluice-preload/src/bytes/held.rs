//! Single values of the program's by way of the stack, for signal mode.
//!
//! A page may have left by the time that a call writes to it. What the call has done is then lost,
//! or done again by a second try: a child was waited for, a timer set. And some functions answer by
//! a number of their own, or end the program, where the kernel finds no page.

use crate::bytes::buffers::{on_device, signal_engine};
use crate::next;
use libc::{c_char, c_int, c_uint, c_void, clock_t, clockid_t, itimerspec, itimerval};
use libc::{mq_attr, mqd_t, timer_t, timex, tms, utmpx, winsize};
use libc::{off_t, pthread_t, siginfo_t, sigset_t, size_t, ssize_t, termios, timespec};

/// A value of the program's, by way of the stack if it lies on the device.
pub struct Held<T: Copy> {
    theirs: *mut T,
    ours: Option<T>,
}

impl<T: Copy> Held<T> {
    /// # Safety
    /// Null or live.
    pub unsafe fn of(theirs: *const T) -> Held<T> {
        let last = (theirs as usize).saturating_add(size_of::<T>() - 1);
        let placed = !theirs.is_null()
            && signal_engine().is_some_and(|engine| {
                on_device(engine, theirs as usize) || on_device(engine, last)
            });
        Held {
            theirs: theirs.cast_mut(),
            // SAFETY: live, by contract.
            ours: placed.then(|| unsafe { theirs.read_unaligned() }),
        }
    }

    /// A value of the program's and what the kernel is given in its place.
    pub fn by(theirs: *const T, ours: Option<T>) -> Held<T> {
        let theirs = theirs.cast_mut();
        Held { theirs, ours }
    }

    /// What the kernel is given.
    pub fn at(&mut self) -> *mut T {
        self.ours.as_mut().map_or(self.theirs, |ours| ours)
    }

    /// # Safety
    /// The program's value can be written.
    pub unsafe fn give_back(self) {
        if let Some(ours) = self.ours {
            // SAFETY: by contract.
            unsafe { self.theirs.write_unaligned(ours) };
        }
    }
}

/// Hooks of functions with single values that are read (`in`), or read and written (`out`).
macro_rules! hooks {
    ($($symbol:literal $name:ident = $next:ident($($arg:ident: $type:ty),*) -> $ret:ty,
       in($($in:ident),*) out($($out:ident),*);)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> $ret);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            // SAFETY: null or the program's values; passed on.
            unsafe {
                $(let mut $in = Held::of($in);)*
                $(let mut $out = Held::of($out);)*
                let result = {
                    $(let $in = $in.at();)*
                    $(let $out = $out.at();)*
                    $next($($arg),*)
                };
                $($out.give_back();)*
                result
            }
        }
    )+};
}

hooks! {
    c"sigwait" sigwait = next_sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int,
        in(set) out(signal);
    c"sigwaitinfo" sigwaitinfo = next_sigwaitinfo
        (set: *const sigset_t, about: *mut siginfo_t) -> c_int, in(set) out(about);
    c"sigtimedwait" sigtimedwait = next_sigtimedwait
        (set: *const sigset_t, about: *mut siginfo_t, longest: *const timespec) -> c_int,
        in(set, longest) out(about);
    c"eventfd_read" eventfd_read = next_eventfd_read(fd: c_int, count: *mut u64) -> c_int,
        in() out(count);
    c"nanosleep" nanosleep = next_nanosleep
        (time: *const timespec, left: *mut timespec) -> c_int, in(time) out(left);
    c"clock_nanosleep" clock_nanosleep = next_clock_nanosleep
        (clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int,
        in(time) out(left);
    c"timerfd_settime" timerfd_settime = next_timerfd_settime
        (fd: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int,
        in(new) out(old);
    c"timerfd_gettime" timerfd_gettime = next_timerfd_gettime
        (fd: c_int, now: *mut itimerspec) -> c_int, in() out(now);
    c"timer_settime" timer_settime = next_timer_settime
        (timer: timer_t, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int,
        in(new) out(old);
    c"setitimer" setitimer = next_setitimer
        (which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int, in(new) out(old);
    c"getitimer" getitimer = next_getitimer(which: c_int, now: *mut itimerval) -> c_int,
        in() out(now);
    c"splice" splice = next_splice
        (from: c_int, at: *mut off_t, into: c_int, to: *mut off_t, n: size_t,
         flags: c_uint) -> ssize_t, in() out(at, to);
    c"copy_file_range" copy_file_range = next_copy_file_range
        (from: c_int, at: *mut off_t, into: c_int, to: *mut off_t, n: size_t,
         flags: c_uint) -> ssize_t, in() out(at, to);
    c"sendfile" sendfile = next_sendfile
        (into: c_int, from: c_int, at: *mut off_t, n: size_t) -> ssize_t, in() out(at);
    c"sendfile64" sendfile64 = next_sendfile64
        (into: c_int, from: c_int, at: *mut off_t, n: size_t) -> ssize_t, in() out(at);
    c"thrd_sleep" thrd_sleep = next_thrd_sleep
        (time: *const timespec, left: *mut timespec) -> c_int, in(time) out(left);
    c"times" times = next_times(used: *mut tms) -> clock_t, in() out(used);
    c"pthread_timedjoin_np" pthread_timedjoin_np = next_timed_join
        (thread: pthread_t, end: *mut *mut c_void, until: *const timespec) -> c_int,
        in(until) out();
    c"pthread_clockjoin_np" pthread_clockjoin_np = next_clock_join
        (thread: pthread_t, end: *mut *mut c_void, clock: clockid_t,
         until: *const timespec) -> c_int, in(until) out();
    c"adjtimex" adjtimex = next_adjtimex(of: *mut timex) -> c_int, in() out(of);
    c"clock_adjtime" clock_adjtime = next_clock_adjtime
        (clock: clockid_t, of: *mut timex) -> c_int, in() out(of);
    c"mq_getattr" mq_getattr = next_mq_getattr(queue: mqd_t, of: *mut mq_attr) -> c_int,
        in() out(of);
    c"mq_setattr" mq_setattr = next_mq_setattr
        (queue: mqd_t, new: *const mq_attr, old: *mut mq_attr) -> c_int, in(new) out(old);
    c"updwtmp" updwtmp = next_updwtmp(path: *const c_char, of: *const utmpx) -> (), in(of) out();
    c"updwtmpx" updwtmpx = next_updwtmpx(path: *const c_char, of: *const utmpx) -> (),
        in(of) out();
    c"pututline" pututline = next_pututline(of: *const utmpx) -> *mut utmpx, in(of) out();
    c"pututxline" pututxline = next_pututxline(of: *const utmpx) -> *mut utmpx, in(of) out();
    c"openpty" openpty = next_openpty
        (owner: *mut c_int, other: *mut c_int, name: *mut c_char, modes: *const termios,
         size: *const winsize) -> c_int, in(size) out();
    c"forkpty" forkpty = next_forkpty
        (owner: *mut c_int, name: *mut c_char, modes: *const termios,
         size: *const winsize) -> c_int, in(size) out();
}
