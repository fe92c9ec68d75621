//! The functions of `sluice_control.h`.
//!
//! None of them unwinds, and all can be called from any thread.

use crate::connection::Connection;
use crate::error::Error;
use crate::handle::{Handle, Where, pages_operation};
use crate::outputs::{put, put_text};
use crate::powercut::{Budget, power_cut};
use core::ffi::{CStr, c_char, c_void};
use sluice_abi::{Completion, Counter, Reason, Request, Status, Text};
use std::ptr::null_mut;

/// Version of this interface: that of the header and `sluice_ctl_abi()` of the library must be
/// equal.
pub const SLUICE_CTL_ABI: u32 = 1;

/// Carried out, and something changed.
pub const SLUICE_CTL_DONE: i32 = 0;
/// Carried out, and nothing was to be done: all was so already.
pub const SLUICE_CTL_NOTHING: i32 = 1;
/// Some pages were refused, for the reason in the result.
pub const SLUICE_CTL_PARTLY: i32 = 2;
/// Every page was refused, or the parameters or a power cut were. Nothing changed.
pub const SLUICE_CTL_REFUSED: i32 = 3;
/// The command is still under way.
pub const SLUICE_CTL_PENDING: i32 = 4;
/// This program is not under Sluice and in no guest of it.
pub const SLUICE_CTL_NOT_HERE: i32 = -1;
/// The program is under Sluice, but has no control ring.
pub const SLUICE_CTL_NO_RING: i32 = -2;
/// All channels of the ring are taken, or as many commands are under way as can be.
pub const SLUICE_CTL_BUSY: i32 = -3;
/// The device has gone, or this is the child of a fork: open again there.
pub const SLUICE_CTL_GONE: i32 = -4;
/// The range is empty, or not all of it is on the device.
pub const SLUICE_CTL_RANGE: i32 = -5;
/// A null pointer, a text that is not UTF-8 or too long, an unknown operation or counter, or the
/// number of no command that is under way.
pub const SLUICE_CTL_INVALID: i32 = -6;
/// The device could not be reached for another reason, such as missing permission.
pub const SLUICE_CTL_FAILED: i32 = -7;

/// Bring pages in, and keep them until they are unpinned.
pub const SLUICE_CTL_PIN: u32 = 1;
/// Let pinned pages leave again.
pub const SLUICE_CTL_UNPIN: u32 = 2;
/// Bring pages in.
pub const SLUICE_CTL_PREFETCH: u32 = 3;
/// Take pages out of the cache, programming those that were written.
pub const SLUICE_CTL_EVICT: u32 = 4;
/// Program the pages that were written; they stay cached.
pub const SLUICE_CTL_FLUSH: u32 = 5;
/// Let those that are cached be the next to leave.
pub const SLUICE_CTL_COLD: u32 = 8;
/// Takes back every advice on them.
pub const SLUICE_CTL_NORMAL: u32 = 9;
/// They will be accessed in no order: accesses to them bring no other page in.
pub const SLUICE_CTL_RANDOM: u32 = 10;
/// They will be accessed in order: the next are brought in, those passed are cold.
pub const SLUICE_CTL_SEQUENTIAL: u32 = 11;

/// The page is in the device's cache, or on its way there.
pub const SLUICE_CTL_CACHED: u8 = 1;
/// The page is mapped: loads and stores run at full speed.
pub const SLUICE_CTL_MAPPED: u8 = 2;
/// The page is pinned.
pub const SLUICE_CTL_PINNED: u8 = 4;
/// The page has moved to host memory (`host.migration.policy`).
pub const SLUICE_CTL_IN_HOST: u8 = 8;

/// The device of this program, or of the guest that it runs in.
pub struct Ctl(Handle);

/// What became of the pages of a command.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CtlResult {
    /// Pages of the range.
    pub pages: u64,
    /// Those for which something was done.
    pub changed: u64,
    /// Pages that were so already.
    pub already: u64,
    /// Pages that were refused.
    pub refused: u64,
    /// When it was done, nanoseconds since the device was started.
    pub done_ns: u64,
    /// Why the first page was refused that was: for `sluice_ctl_reason_text`.
    pub reason: u32,
    /// Zero.
    pub reserved: u32,
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_ctl_abi() -> u32 {
    SLUICE_CTL_ABI
}

/// Opens the device of this program, or of the guest that it runs in. Null if there is none, with
/// the cause in `error` if that is not null: a program runs on without.
///
/// # Safety
/// `error` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_open(error: *mut i32) -> *mut Ctl {
    let (code, ctl) = match Handle::open() {
        Ok(handle) => (SLUICE_CTL_DONE, Box::into_raw(Box::new(Ctl(handle)))),
        Err(why) => (code_of(&why), null_mut()),
    };
    // SAFETY: the caller's promise.
    unsafe { put(error, code) };
    ctl
}

/// Closes it. A null pointer is allowed. Pinned pages stay pinned.
///
/// # Safety
/// The device was opened and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_close(ctl: *mut Ctl) {
    if !ctl.is_null() {
        // SAFETY: made by `sluice_ctl_open`.
        drop(unsafe { Box::from_raw(ctl) });
    }
}

/// Sends a command, one of `SLUICE_CTL_PIN` to `SLUICE_CTL_SEQUENTIAL`, for the pages that a range
/// of this program's memory touches, and waits for its end. In a guest a page must have been
/// touched before.
///
/// # Safety
/// The device is open; `result` is null or can be written. The range is not read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_command(
    ctl: *const Ctl,
    operation: u32,
    start: *const c_void,
    len: usize,
    result: *mut CtlResult,
) -> i32 {
    let at = Where::Address(start as u64);
    // SAFETY: the caller's promise.
    unsafe { command(ctl, operation, at, len as u64, result) }
}

/// Sends a command as `sluice_ctl_command` does, for a range of bytes of the device.
///
/// # Safety
/// As for `sluice_ctl_command`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_command_bytes(
    ctl: *const Ctl,
    operation: u32,
    start: u64,
    len: u64,
    result: *mut CtlResult,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { command(ctl, operation, Where::Byte(start), len, result) }
}

/// Sends a command and does not wait. `number` is what `sluice_ctl_end` takes. In a guest the
/// range must be in one piece on the device, or it is `SLUICE_CTL_RANGE`.
///
/// # Safety
/// As for `sluice_ctl_command`, and `number` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_send(
    ctl: *const Ctl,
    operation: u32,
    start: *const c_void,
    len: usize,
    number: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(ctl) = (unsafe { ctl.as_ref() }).filter(|_| !number.is_null()) else {
        return SLUICE_CTL_INVALID;
    };
    let Some(operation) = pages_operation(operation) else {
        return SLUICE_CTL_INVALID;
    };
    match ctl
        .0
        .send(operation, Where::Address(start as u64), len as u64)
    {
        Ok(sent) => {
            // SAFETY: not null; the caller's promise.
            unsafe { put(number, sent) };
            SLUICE_CTL_PENDING
        }
        Err(why) => code_of(&why),
    }
}

/// Takes memory of the device, of whole pages of zeros, whatever else `sluice run --place` places.
/// To be given back by `sluice_free`. NULL with `errno`: `ENODEV` if the program is not under
/// `sluice run`, where this is another function of the same name; `ENOTSUP` if the device is a
/// file (`--place dax:`); `ENOMEM` if it is full; `EINVAL` for no bytes.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_alloc(bytes: usize) -> *mut c_void {
    let _ = bytes;
    // SAFETY: this thread's own.
    unsafe { *libc::__errno_location() = libc::ENODEV };
    null_mut()
}

/// Gives back what `sluice_alloc` gave for so many bytes; null is nothing. -1 with `errno` `EINVAL`
/// if that is no memory of the device.
///
/// # Safety
/// Nothing uses the memory any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_free(memory: *mut c_void, bytes: usize) -> i32 {
    let _ = bytes;
    if memory.is_null() {
        return 0;
    }
    // SAFETY: this thread's own.
    unsafe { *libc::__errno_location() = libc::EINVAL };
    -1
}

/// Marks this moment by a name of up to 64 letters, digits, `-`, `_` and `.`: the result of `sluice
/// run`, or of `--simulate` in a guest too, has the figures from each mark to the next. Needs no
/// control ring. `SLUICE_CTL_NOT_HERE` if the program is under neither; `SLUICE_CTL_FAILED` if it
/// has set 64 marks, which a simulation cannot say.
///
/// # Safety
/// `name` is null or a text that ends in a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_mark(name: *const c_char) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { crate::simulated::mark_here(name) }
}

const _: () = assert!(SLUICE_CTL_DONE == sluice_abi::MARK_DONE);
const _: () = assert!(SLUICE_CTL_NOT_HERE == sluice_abi::MARK_NOT_HERE);
const _: () = assert!(SLUICE_CTL_INVALID == sluice_abi::MARK_INVALID);
const _: () = assert!(SLUICE_CTL_FAILED == sluice_abi::MARK_FAILED);

/// The end of a command that was sent: waits for it if `wait`, or says `SLUICE_CTL_PENDING`. An end
/// is reported once.
///
/// # Safety
/// The device is open; `result` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_end(
    ctl: *const Ctl,
    number: u64,
    wait: bool,
    result: *mut CtlResult,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(ctl) = (unsafe { ctl.as_ref() }) else {
        return SLUICE_CTL_INVALID;
    };
    match ctl.0.end(number, wait) {
        // SAFETY: the caller's promise.
        Ok(Some(answer)) => unsafe { write_answer(&answer, result) },
        Ok(None) => SLUICE_CTL_PENDING,
        Err(why) => code_of(&why),
    }
}

/// Gives parameters of the device other values, all or none: `pairs` is `KEY=VALUE` with blanks
/// between them, such as `cache.policy=lru`. What was wrong is put into `why`, at most `room` bytes
/// with the zero at the end, if `why` is not null.
///
/// # Safety
/// The device is open, `pairs` a C text, and `why` null or of `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_set(
    ctl: *const Ctl,
    pairs: *const c_char,
    why: *mut c_char,
    room: usize,
) -> i32 {
    if ctl.is_null() || pairs.is_null() {
        return SLUICE_CTL_INVALID;
    }
    // SAFETY: not null; the caller's promise.
    let (ctl, pairs) = unsafe { (&*ctl, CStr::from_ptr(pairs)) };
    let Some(text) = pairs.to_str().ok().and_then(Text::new) else {
        return SLUICE_CTL_INVALID;
    };
    match ctl.0.with(|connection| connection.call(Request::Set(text))) {
        Ok(answer) => {
            // SAFETY: the caller's promise.
            unsafe { put_text(answer.text.as_str(), why, room) };
            code_of_status(answer.status)
        }
        Err(error) => code_of(&error),
    }
}

/// Cuts the power of this program's persistent device, which can still program so many pages of
/// those that only its cache has. That kills this program and all others of the session: there is
/// an answer only if it cannot be done.
///
/// # Safety
/// The device is open, or a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_power_cut(ctl: *const Ctl, pages: u64) -> i32 {
    // SAFETY: the caller's promise.
    let Some(ctl) = (unsafe { ctl.as_ref() }) else {
        return SLUICE_CTL_INVALID;
    };
    let cut = |connection: &mut Connection| power_cut(connection.place(), Budget::Pages(pages));
    match ctl.0.with(cut) {
        Ok(_) => SLUICE_CTL_DONE,
        Err(why) => code_of(&why),
    }
}

/// A counter by its name in docs/reference/formats.md, such as `misses`, after the device has
/// brought all of them up to date if `fresh`; otherwise without asking it.
///
/// # Safety
/// The device is open, `name` a C text, and `value` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_counter(
    ctl: *const Ctl,
    name: *const c_char,
    fresh: bool,
    value: *mut u64,
) -> i32 {
    if ctl.is_null() || name.is_null() || value.is_null() {
        return SLUICE_CTL_INVALID;
    }
    // SAFETY: not null; the caller's promise.
    let (ctl, name) = unsafe { (&*ctl, CStr::from_ptr(name)) };
    let of = |counter: &&Counter| name.to_str() == Ok(counter.name());
    let Some(counter) = Counter::ALL.iter().find(of) else {
        return SLUICE_CTL_INVALID;
    };
    let read = ctl.0.with(|connection| {
        if fresh {
            connection.call(Request::Stats)?;
        }
        Ok(connection.view().get(*counter))
    });
    match read {
        Ok(read) => {
            // SAFETY: not null; the caller's promise.
            unsafe { put(value, read) };
            SLUICE_CTL_DONE
        }
        Err(why) => code_of(&why),
    }
}

/// What is known of each page that a range touches, without asking the device: a byte of
/// `SLUICE_CTL_CACHED`, `SLUICE_CTL_MAPPED`, `SLUICE_CTL_PINNED` and `SLUICE_CTL_IN_HOST` for each
/// page into `out`.
///
/// # Safety
/// The device is open, and `out` has room for every page that the range touches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_residency(
    ctl: *const Ctl,
    start: *const c_void,
    len: usize,
    out: *mut u8,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(ctl) = (unsafe { ctl.as_ref() }).filter(|_| !out.is_null()) else {
        return SLUICE_CTL_INVALID;
    };
    match ctl.0.residency(start as u64, len as u64) {
        Ok(bytes) => {
            for (at, byte) in bytes.into_iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { out.add(at).write(byte) };
            }
            SLUICE_CTL_DONE
        }
        Err(why) => code_of(&why),
    }
}

/// Bytes of a page.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_ctl_page_bytes() -> u64 {
    sluice_region::PAGE as u64
}

/// Bytes of the device; 0 of a null pointer.
///
/// # Safety
/// The device is open, or a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ctl_device_bytes(ctl: *const Ctl) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { ctl.as_ref() }.map_or(0, |ctl| ctl.0.bytes())
}

/// What a code of these functions means, in words that live for ever.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_ctl_text(code: i32) -> *const c_char {
    let text = match code {
        SLUICE_CTL_DONE => c"done",
        SLUICE_CTL_NOTHING => c"nothing to do",
        SLUICE_CTL_PARTLY => c"refused in part",
        SLUICE_CTL_REFUSED => c"refused",
        SLUICE_CTL_PENDING => c"under way",
        SLUICE_CTL_NOT_HERE => c"not under Sluice",
        SLUICE_CTL_NO_RING => c"no control ring: sluice run --control on",
        SLUICE_CTL_BUSY => c"all channels are taken, or as many commands under way as can be",
        SLUICE_CTL_GONE => c"the device has gone, or this is the child of a fork",
        SLUICE_CTL_RANGE => c"the range is empty or not on the device",
        SLUICE_CTL_INVALID => c"an argument that cannot be",
        _ => c"the device could not be reached",
    };
    text.as_ptr()
}

/// Why a page was refused, in words that live for ever.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_ctl_reason_text(reason: u32) -> *const c_char {
    let text = match Reason::of(reason) {
        Some(Reason::SetPinned) => c"as many pages of its set are pinned as cache.pin_max allows",
        Some(Reason::Pinned) => c"it is pinned: unpin it first",
        Some(Reason::NoRoom) => c"the cache has no room for more of them",
        Some(Reason::OffDevice) => c"its protection was changed, so it left the device",
        Some(Reason::Held) => c"the kernel holds it in place",
        Some(Reason::NoCache) => c"the device has no cache",
        Some(Reason::Store) => c"its store cannot keep it",
        Some(Reason::ReadOnly) => c"too many flash blocks have failed",
        Some(Reason::None) | None => c"",
    };
    text.as_ptr()
}

/// # Safety
/// As for `sluice_ctl_command`.
unsafe fn command(
    ctl: *const Ctl,
    operation: u32,
    at: Where,
    len: u64,
    result: *mut CtlResult,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(ctl) = (unsafe { ctl.as_ref() }) else {
        return SLUICE_CTL_INVALID;
    };
    let Some(operation) = pages_operation(operation) else {
        return SLUICE_CTL_INVALID;
    };
    match ctl.0.command(operation, at, len) {
        // SAFETY: the caller's promise.
        Ok(answer) => unsafe { write_answer(&answer, result) },
        Err(why) => code_of(&why),
    }
}

/// # Safety
/// `result` is null or can be written.
unsafe fn write_answer(answer: &Completion, result: *mut CtlResult) -> i32 {
    let told = CtlResult {
        pages: answer.pages,
        changed: answer.changed,
        already: answer.already,
        refused: answer.refused,
        done_ns: answer.done_ns,
        reason: answer.reason as u32,
        reserved: 0,
    };
    // SAFETY: the caller's promise.
    unsafe { put(result, told) };
    code_of_status(answer.status)
}

fn code_of_status(status: Status) -> i32 {
    match status {
        Status::Done => SLUICE_CTL_DONE,
        Status::Nothing => SLUICE_CTL_NOTHING,
        Status::Partly => SLUICE_CTL_PARTLY,
        Status::Refused => SLUICE_CTL_REFUSED,
        Status::BadRange => SLUICE_CTL_RANGE,
        _ => SLUICE_CTL_INVALID,
    }
}

fn code_of(error: &Error) -> i32 {
    match error {
        Error::NotHere | Error::NoDevice(_) | Error::NotUnderSluice(_) => SLUICE_CTL_NOT_HERE,
        Error::NoRing(_) => SLUICE_CTL_NO_RING,
        Error::Busy(_) | Error::Full(_) => SLUICE_CTL_BUSY,
        Error::Gone => SLUICE_CTL_GONE,
        Error::NotOnDevice(_) => SLUICE_CTL_RANGE,
        Error::NotUnderWay(_) => SLUICE_CTL_INVALID,
        Error::NotPersistent(_) | Error::PowerInGuest => SLUICE_CTL_REFUSED,
        _ => SLUICE_CTL_FAILED,
    }
}
