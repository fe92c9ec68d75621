//! Limits of memory (`RLIMIT_AS`, `RLIMIT_DATA`), as the program has set them.
//!
//! The kernel counts the device's whole address space against them. So it gets larger ones: by what
//! is ours, and what the children of forks take besides. The program sees its own, and so does a
//! program that it becomes or starts.
//!
//! A child of `vfork` has limits of its own in its parent's memory. They are kept with the thread,
//! which its parent does not use meanwhile.

use crate::device::engine;
use crate::internal::range_bytes;
use core::cell::Cell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use libc::{RLIM_INFINITY, c_char, c_int, pid_t, rlimit};
use sluice_region::sys;
use sluice_runtime::{Lock, calm, memory_use};
use std::ffi::CString;

/// The limits; in this order is all that is kept of them.
pub const OF_MEMORY: [c_int; 2] = [libc::RLIMIT_AS as c_int, libc::RLIMIT_DATA as c_int];

/// What the children of forks and threads of the runtime take besides what is mapped at the start.
const SPARE: u64 = 128 << 20;

/// Both limits, where the program has set them.
type Seen = [Option<rlimit>; 2];

/// A limit that the program has set.
struct Known {
    is_set: AtomicBool,
    soft: AtomicU64,
    hard: AtomicU64,
}

impl Known {
    const fn none() -> Known {
        Known {
            is_set: AtomicBool::new(false),
            soft: AtomicU64::new(RLIM_INFINITY),
            hard: AtomicU64::new(RLIM_INFINITY),
        }
    }

    fn get(&self) -> Option<rlimit> {
        self.is_set.load(Acquire).then(|| rlimit {
            rlim_cur: self.soft.load(Relaxed),
            rlim_max: self.hard.load(Relaxed),
        })
    }

    fn set(&self, limit: Option<rlimit>) {
        if let Some(limit) = limit {
            self.soft.store(limit.rlim_cur, Relaxed);
            self.hard.store(limit.rlim_max, Relaxed);
        }
        self.is_set.store(limit.is_some(), Release);
    }
}

static KNOWN: [Known; 2] = [const { Known::none() }; 2];
/// Whether memory of the device is to be held against a limit.
static ANY: AtomicBool = AtomicBool::new(false);
/// What of this process's memory was ours at the start.
static OURS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// One thread at a time changes a limit of this process.
static CHANGING: Lock<()> = Lock::new(());

/// What a child of `vfork` has set.
#[derive(Clone, Copy)]
struct Child {
    pid: pid_t,
    seen: Seen,
}

std::thread_local! {
    static CHILD: Cell<Option<Child>> = const { Cell::new(None) };
}

/// The number of the calling process, if that is a child of `vfork`.
fn vforked() -> Option<pid_t> {
    // SAFETY: no arguments.
    engine()
        .filter(|engine| !engine.is_callers())
        .map(|_| unsafe { libc::getpid() })
}

/// The limits of the calling process that it, or the process that made it, has set.
pub fn seen() -> Seen {
    let known = || KNOWN.each_ref().map(Known::get);
    let Some(pid) = vforked() else { return known() };
    let own = CHILD.get().filter(|child| child.pid == pid);
    own.map_or_else(known, |child| child.seen)
}

/// Whether there are any.
pub fn has_seen() -> bool {
    seen().iter().any(Option::is_some)
}

fn note(at: usize, limit: rlimit) {
    let Some(pid) = vforked() else {
        KNOWN[at].set(Some(limit));
        return look();
    };
    let mut seen = seen();
    seen[at] = Some(limit);
    CHILD.set(Some(Child { pid, seen }));
}

fn look() {
    let is_finite = |limit: Option<rlimit>| limit.is_some_and(|it| it.rlim_cur != RLIM_INFINITY);
    let any = KNOWN.iter().map(Known::get).any(is_finite);
    ANY.store(any, Release);
}

/// Before a fork, so that the child finds the limits at rest; and after it in both processes.
pub fn hold() {
    CHANGING.acquire();
}

/// Ends what [`hold`] began.
pub fn let_go() {
    CHANGING.release();
}

/// A limit as the kernel has it.
fn kernels(at: usize) -> Result<rlimit, i32> {
    let mut limit = rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let none = core::ptr::null::<rlimit>();
    // SAFETY: the output is live.
    unsafe { sys!(libc::SYS_prlimit64, 0, OF_MEMORY[at], none, &raw mut limit) }?;
    Ok(limit)
}

fn tell(pid: pid_t, at: usize, limit: rlimit) -> Result<(), i32> {
    let none = core::ptr::null_mut::<rlimit>();
    // SAFETY: the input is live.
    unsafe {
        sys!(
            libc::SYS_prlimit64,
            pid,
            OF_MEMORY[at],
            &raw const limit,
            none
        )
    }
    .map(drop)
}

/// Has the kernel take a limit with room for what is ours. Only the privileged may raise the hard
/// one: others have as much room as there was below it.
fn tell_with_room(at: usize, limit: rlimit, kernels: rlimit, room: u64) -> Result<(), i32> {
    let with = |hard| rlimit {
        rlim_cur: limit.rlim_cur.saturating_add(room).min(hard),
        rlim_max: hard,
    };
    let hard = limit.rlim_max.saturating_add(room);
    match tell(0, at, with(hard)) {
        Err(libc::EPERM) => tell(0, at, with(hard.min(kernels.rlim_max))),
        told => told,
    }
}

/// Sets a limit of the calling process.
pub fn set(at: usize, limit: rlimit) -> Result<(), i32> {
    if limit.rlim_cur > limit.rlim_max {
        return Err(libc::EINVAL);
    }
    calm(|| {
        let _only = vforked().is_none().then(|| CHANGING.lock());
        set_alone(at, limit)
    })
}

fn set_alone(at: usize, limit: rlimit) -> Result<(), i32> {
    let kernels = kernels(at)?;
    let room = OURS[at].load(Relaxed).saturating_add(SPARE);
    let seen = seen()[at].unwrap_or(kernels);
    if limit.rlim_max > seen.rlim_max {
        // The kernel decides whether the program may, so it is asked for more than it has.
        let least = kernels.rlim_max.saturating_add(1);
        let hard = limit.rlim_max.saturating_add(room).max(least);
        let raised = rlimit {
            rlim_cur: limit.rlim_cur.saturating_add(room),
            rlim_max: hard,
        };
        tell(0, at, raised)?;
    } else {
        tell_with_room(at, limit, kernels, room)?;
    }
    note(at, limit);
    Ok(())
}

/// Makes room beside the limits that another program has left this one, as far as it may; its own
/// it sees. `needed` is what the device takes.
pub fn adopt(needed: u64) {
    for (at, known) in KNOWN.iter().enumerate() {
        let Ok(limit) = kernels(at) else { continue };
        let room = needed.saturating_add(SPARE + range_bytes());
        let is_finite = limit.rlim_cur != RLIM_INFINITY;
        if is_finite && tell_with_room(at, limit, limit, room).is_ok() {
            let has_more = kernels(at).is_ok_and(|now| now.rlim_cur > limit.rlim_cur);
            known.set(has_more.then_some(limit));
        }
    }
    look();
}

/// Undoes [`adopt`]: there will be no device.
pub fn give_up() {
    for (at, known) in KNOWN.iter().enumerate() {
        if let Some(limit) = known.get() {
            let _ = tell(0, at, limit);
        }
        known.set(None);
    }
    look();
}

/// Learns what of this process's memory is ours, at the end of the start. `before` is what the
/// process had before, and `needed` what the device takes, if the kernel does not say.
pub fn learn(before: Option<[u64; 2]>, needed: u64) {
    let after = memory_use();
    for (at, ours) in OURS.iter().enumerate() {
        let grown = before
            .zip(after)
            .map(|(before, after)| after[at].saturating_sub(before[at]));
        ours.store(grown.unwrap_or(needed) + range_bytes(), Relaxed);
    }
}

/// Whether memory of the device is to be held against a limit.
#[inline]
pub fn is_any() -> bool {
    ANY.load(Relaxed)
}

/// What the program had outside of the device when the kernel last said so.
static OUTSIDE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Whether the limits have room for so many bytes more. Of the device the program has some, of
/// which some are closed; others are free and [shut](sluice_runtime::Space::shut).
#[cold]
pub fn have_room(bytes: u64, is_data: bool, [used, closed, shut]: [u64; 3]) -> bool {
    // What cannot be accessed is no data to the kernel.
    let hidden = [0, closed + shut];
    let on_device = [used, used - closed];
    let limits = KNOWN.each_ref().map(Known::get);
    let now = memory_use();
    (0..OF_MEMORY.len()).all(|at| {
        if let Some(now) = now {
            let outside = (now[at] + hidden[at]).saturating_sub(OURS[at].load(Relaxed));
            OUTSIDE[at].store(outside, Relaxed);
        }
        let limit = limits[at].map_or(RLIM_INFINITY, |limit| limit.rlim_cur);
        let has = OUTSIDE[at].load(Relaxed).saturating_add(on_device[at]);
        let is_counted = at == 0 || is_data;
        !is_counted || has.saturating_add(bytes) <= limit
    })
}

/// Makes a call that returns only if this process did not become another program, which is to have
/// the limits that this one sees. The call gets the list of its environment, `env` or a longer one.
///
/// A hard limit that may not be raised again, if there is no such program, stays what it is: the
/// environment has the program's.
///
/// # Safety
/// A list of strings that ends with a null pointer, or null.
pub unsafe fn handed_on<R>(
    env: *const *const c_char,
    call: impl FnOnce(*const *const c_char) -> R,
) -> R {
    let (seen, has_own_memory) = (seen(), vforked().is_none());
    let mut longer = None;
    let before = [0, 1].map(|at| {
        let (own, before) = (seen[at]?, kernels(at).ok()?);
        if has_own_memory && !may_raise(at, before) {
            // SAFETY: as the caller says.
            longer = longer.take().or_else(|| unsafe { Environment::of(env) });
            let left = kernels(at).ok()?;
            let rlim_cur = own.rlim_cur.min(left.rlim_max);
            return tell(0, at, rlimit { rlim_cur, ..left })
                .is_ok()
                .then_some(left);
        }
        tell(0, at, own).is_ok().then_some(before)
    });
    let result = call(longer.as_ref().map_or(env, Environment::as_ptr));
    for (at, kernels) in before.into_iter().enumerate() {
        let Some(kernels) = kernels else { continue };
        if tell(0, at, kernels).is_err()
            && let Some(own) = seen[at]
        {
            // What was lowered may not be raised again. The rest may.
            let rlim_cur = kernels.rlim_cur.min(own.rlim_max);
            let _ = tell(0, at, rlimit { rlim_cur, ..own });
        }
    }
    result
}

/// Whether a hard limit may be raised, at the end of which it is what it was. If not, what is as
/// good as none may have become one.
fn may_raise(at: usize, limit: rlimit) -> bool {
    let rlim_max = limit.rlim_max.min(RLIM_INFINITY - 1);
    let below = rlimit {
        rlim_cur: limit.rlim_cur.min(rlim_max),
        rlim_max,
    };
    let above = rlimit {
        rlim_max: rlim_max + 1,
        ..below
    };
    tell(0, at, below).is_ok() && tell(0, at, above).is_ok() && tell(0, at, limit).is_ok()
}

/// By this variable a program that is spawned learns its limits: the kernel's are larger.
const VARIABLE: &str = "SLUICE_LIMITS";

/// The environment of a program that is to be spawned, with the limits that it is to see.
pub struct Environment {
    text: CString,
    list: Vec<*const c_char>,
}

impl Environment {
    /// `None` where no limit is set, and for a program that has no device.
    ///
    /// # Safety
    /// A list of strings that ends with a null pointer, or null.
    pub unsafe fn of(env: *const *const c_char) -> Option<Environment> {
        let seen = seen();
        if seen.iter().all(Option::is_none) || env.is_null() {
            return None;
        }
        let numbers = seen.map(|limit| match limit {
            Some(limit) => format!("{},{}", limit.rlim_cur, limit.rlim_max),
            None => String::new(),
        });
        let text = CString::new(format!("{VARIABLE}={}", numbers.join(";"))).ok()?;
        let (mut list, mut has_device, mut at) = (Vec::new(), false, env);
        // SAFETY: the program's list and its strings, to its end.
        unsafe {
            while !(*at).is_null() {
                let name = CStr::from_ptr(*at)
                    .to_bytes()
                    .split(|byte| *byte == b'=')
                    .next();
                has_device |= name == Some(sluice_abi::SESSION_VAR.as_bytes());
                list.push(*at);
                at = at.add(1);
            }
        }
        list.extend([text.as_ptr(), core::ptr::null()]);
        has_device.then_some(Environment { text, list })
    }

    /// The list.
    pub fn as_ptr(&self) -> *const *const c_char {
        debug_assert!(self.list.contains(&self.text.as_ptr()));
        self.list.as_ptr()
    }
}

/// Takes the limits from the environment, where the process that spawned this program left them.
/// Says whether there were any.
pub fn take_from_environment() -> bool {
    let Some(text) = std::env::var(VARIABLE).ok() else {
        return false;
    };
    // SAFETY: before the program's `main`, and a terminated name.
    unsafe { libc::unsetenv(c"SLUICE_LIMITS".as_ptr()) };
    for (known, numbers) in KNOWN.iter().zip(text.split(';')) {
        let mut numbers = numbers.split(',').map_while(|number| number.parse().ok());
        if let (Some(rlim_cur), Some(rlim_max)) = (numbers.next(), numbers.next()) {
            known.set(Some(rlimit { rlim_cur, rlim_max }));
        }
    }
    look();
    true
}

/// Gives a program without a device, which was just started, the limits that this one sees.
pub fn give_to(pid: pid_t) {
    for (at, limit) in seen().into_iter().enumerate() {
        if let Some(limit) = limit {
            // It may have ended, or have become another user's.
            let _ = tell(pid, at, limit);
        }
    }
}

/// What a shell does first to have the limits that this process sees; nothing if those are the
/// kernel's.
pub fn for_shell() -> String {
    let mut text = String::new();
    for (limit, letter) in seen().into_iter().zip(["v", "d"]) {
        let Some(limit) = limit else { continue };
        for (kind, bytes) in [("S", limit.rlim_cur), ("H", limit.rlim_max)] {
            let value = match bytes {
                RLIM_INFINITY => "unlimited".into(),
                _ => (bytes >> 10).to_string(),
            };
            text += &format!("ulimit -{kind}{letter} {value}; ");
        }
    }
    text
}
