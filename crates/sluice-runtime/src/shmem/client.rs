//! A process's side: which of its mappings of shared memory are on the session's device.
//!
//! All is done by the service thread, in whose table the descriptors are. Nobody waits for a page
//! of the device meanwhile, and the server waits for no process.

use super::agent;
use super::link::{Refusal, STATE, State};
use super::message::Window;
use crate::threads::thread;
use core::sync::atomic::{AtomicBool, Ordering::*};
use sluice_region::dont_need;
use std::path::Path;

/// Whether there ever was a mapping. Most programs have none, and their calls pay nothing.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Puts a mapping on the session's device, which was made just now. `Err` if it stays in DRAM.
pub fn place(dir: &Path, start: usize, len: usize) -> Result<(), i32> {
    thread::in_service(|| {
        let window = object_at(start, len)?;
        let mut state = STATE.lock();
        IN_USE.store(true, Release);
        state.connect(dir, agent::start)?;
        state.forget(start, start + len);
        state.place(window).map_err(Refusal::errno)?;
        // What the kernel has mapped by itself would never trap.
        // SAFETY: shared memory: only page-table entries go.
        let _ = unsafe { dont_need(start, len) };
        Ok(())
    })
}

/// Takes a range off the device that is about to be mapped otherwise, or not at all.
pub fn cut(start: usize, len: usize) {
    if !IN_USE.load(Acquire) {
        return;
    }
    let Some(end) = start.checked_add(len) else {
        return;
    };
    // Most of what a program unmaps is something else.
    if crate::calm(|| STATE.lock().windows.parts(start, end).next().is_none()) {
        return;
    }
    thread::in_service(|| STATE.lock().forget(start, end));
}

/// The mapping on the device that an address lies in: its first address and its bytes.
pub fn mapping_of(addr: usize) -> Option<(usize, usize)> {
    if !IN_USE.load(Acquire) {
        return None;
    }
    crate::calm(|| STATE.lock().windows.of(addr).map(|w| (w.start, w.len)))
}

/// How far a range of addresses is alike from its start on: the end of that part, and whether it
/// is of a mapping on the device.
pub fn alike_from(start: usize, end: usize) -> (usize, bool) {
    if !IN_USE.load(Acquire) {
        return (end, false);
    }
    crate::calm(|| STATE.lock().windows.alike_from(start, end))
}

/// The process ends: what it has written is known to the server. Where a lock is not to be had, as
/// in a signal's handler that came while its own thread had it, the server learns nothing.
pub fn end() {
    if IN_USE.load(Acquire) {
        thread::in_service_if_free(|| STATE.lock().say_end());
    }
}

/// Before a fork: nobody changes anything until it is done.
pub fn before_fork() {
    STATE.acquire();
}

/// After it, in the parent.
pub fn after_fork_in_parent() {
    STATE.release();
}

/// After it, in the child, by its service thread; the lock is held by the thread that forked. What
/// the child has of its parent's mappings stays on the device. Returns the bytes of which that is
/// not so.
pub fn after_fork_in_child(dir: &Path) -> usize {
    // SAFETY: held since `before_fork`, and there is no other thread.
    let left = start_anew(unsafe { STATE.get_held() }, dir);
    STATE.release();
    left
}

/// After it, in a child that has no device: the kernel serves all shared memory, whose contents
/// are there.
pub fn after_fork_off_device() {
    // SAFETY: held since `before_fork`, and there is no other thread.
    unsafe { STATE.get_held() }.forget_link();
    STATE.release();
}

/// All descriptors and threads of the runtime were gone for a moment. Returns the bytes that are
/// not on the device any more.
pub fn resume(dir: &Path) -> usize {
    start_anew(&mut STATE.lock(), dir)
}

/// Puts what was on the device by another way to the server there again. Returns the bytes that
/// stay in DRAM.
fn start_anew(state: &mut State, dir: &Path) -> usize {
    let windows = state.forget_link();
    if windows.is_empty() {
        return 0;
    }
    let is_connected = state.connect(dir, agent::start).is_ok();
    let mut stays = |window: &Window| {
        // What the program has kept from its children is not there: nothing of it is in DRAM.
        !(is_connected && matches!(state.place(*window), Ok(()) | Err(Refusal::NotMapped)))
    };
    let left = windows
        .into_iter()
        .filter(|window| stays(window))
        .map(|window| window.len);
    left.sum()
}

/// Which object of shared memory is mapped at an address, as `/proc/self/maps` says.
fn object_at(start: usize, len: usize) -> Result<Window, i32> {
    let maps = crate::memory::maps::read_maps()?;
    let lines = maps.split(|byte| *byte == b'\n');
    let mut found = lines.filter_map(|line| object_of(line).filter(|(w, _)| w.start == start));
    let (window, is_shared) = found.next().ok_or(libc::EINVAL)?;
    match is_shared && window.len >= len {
        true => Ok(Window { len, ..window }),
        false => Err(libc::EINVAL),
    }
}

/// The mapping of a line of `/proc/self/maps`, and whether it is shared.
fn object_of(line: &[u8]) -> Option<(Window, bool)> {
    let mut words = core::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, end) = words.next()?.split_once('-')?;
    let (start, end) = (hex(start)? as usize, hex(end)? as usize);
    let is_shared = words.next()?.ends_with('s');
    let offset = hex(words.next()?)?;
    let (major, minor) = words.next()?.split_once(':')?;
    let device = hex(major)? << 32 | hex(minor)?;
    let inode = words.next()?.parse().ok()?;
    let window = Window {
        start,
        len: end - start,
        device,
        inode,
        offset,
    };
    Some((window, is_shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_which_object_is_mapped() {
        let line = b"7f00-9f00 rw-s 00003000 00:01 1037 /dev/zero (deleted)";
        let (window, is_shared) = object_of(line).expect("a line");
        assert_eq!((window.start, window.len), (0x7f00, 0x2000));
        assert_eq!(
            (window.device, window.inode, window.offset),
            (1, 1037, 0x3000)
        );
        assert!(is_shared);
        let (_, is_shared) = object_of(b"0-1000 rw-p 0 fe:01 5 /a b").expect("a line");
        assert!(!is_shared);
        assert!(object_of(b"").is_none() && object_of(b"x").is_none());
    }

    /// Two mappings of one object have the same name, and two objects different ones.
    #[test]
    fn objects_have_names() {
        let [one, other] = [0, 1].map(|_| sluice_region::memfd(0x4000).expect("memory"));
        let map = |fd, offset| {
            sluice_region::Mapping::shared_from(fd, offset, 0x2000).expect("a mapping")
        };
        let maps = [map(one, 0), map(one, 0x1000), map(other, 0)];
        let named = maps
            .each_ref()
            .map(|m| object_at(m.addr(), 0x2000).expect("shared"));
        assert_eq!(named[0].inode, named[1].inode);
        assert_ne!(named[0].inode, named[2].inode);
        assert_eq!(named.map(|w| w.offset), [0, 0x1000, 0]);
        // SAFETY: our own descriptors.
        let _ = unsafe { [one, other].map(|fd| libc::close(fd)) };
    }
}
