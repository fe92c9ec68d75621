//! A program's own scans of its page tables (`PAGEMAP_SCAN`), where they protect the pages that
//! they find.
//!
//! The runtime protects the device's pages itself, to learn which are written. A page that a scan
//! protects again would be taken for clean, and its bytes be lost. The kernel passes over memory
//! without a userfaultfd in such a scan, and to the program that of the device has none.

use crate::bytes::buffers::are_readable;
use crate::memory::parts::on_device_from;
use libc::c_ulong;
use sluice_region::PAGE;
use sluice_runtime::Engine;

/// The request, and flags of its argument (`linux/fs.h`).
pub const SCAN: c_ulong = 0xC060_6610;
const PROTECTS: u64 = 1;
const MUST_PROTECT: u64 = 2;

/// The argument.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: *const Region,
    room: u64,
    max_pages: u64,
    inverted: u64,
    mask: u64,
    any_of: u64,
    told: u64,
}

/// What it finds.
#[derive(Clone, Copy)]
#[repr(C)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// The answer to a scan that would protect memory of the device; `None` if it is all the kernel's
/// affair. `call` asks the kernel for a part.
pub fn scan(
    engine: &Engine,
    argument: *mut Scan,
    call: impl Fn(&mut Scan) -> Result<u64, i32>,
) -> Option<Result<u64, i32>> {
    if argument.is_null() || !are_readable(engine, argument.cast(), size_of::<Scan>()) {
        return None;
    }
    // SAFETY: memory of the program's that can be read.
    let asked = unsafe { argument.read_unaligned() };
    let end = asked.end.checked_next_multiple_of(PAGE as u64)?;
    let is_range = asked.start.is_multiple_of(PAGE as u64) && asked.start < end;
    if asked.flags & (PROTECTS | MUST_PROTECT) == 0 || !is_range {
        return None;
    }
    let (to, is_on) = passed_over(engine, asked.start as usize, end as usize);
    if !is_on && to as u64 == end {
        return None;
    }
    // What the kernel refuses whatever the range.
    let nothing = call(&mut Scan {
        end: asked.start,
        ..asked
    });
    let done = nothing.and_then(|_| by_parts(engine, &Scan { end, ..asked }, call));
    Some(done.map(|(found, walk_end)| {
        // SAFETY: as above; the kernel would write there.
        unsafe { (&raw mut (*argument).walk_end).write_unaligned(walk_end) };
        found
    }))
}

/// How far a range is alike from its start on, and whether the device or the runtime has a
/// userfaultfd for it: the runtime's own memory has one, too.
fn passed_over(engine: &Engine, at: usize, end: usize) -> (usize, bool) {
    match engine.own_from(at, end) {
        (to, false) => on_device_from(engine, at, to),
        own => own,
    }
}

/// Regions found, and how far the scan has come.
fn by_parts(
    engine: &Engine,
    asked: &Scan,
    call: impl Fn(&mut Scan) -> Result<u64, i32>,
) -> Result<(u64, u64), i32> {
    let (mut at, mut found, mut left) = (asked.start, 0, asked.max_pages);
    while at < asked.end {
        let (to, is_on) = passed_over(engine, at as usize, asked.end as usize);
        let to = to as u64;
        if is_on && asked.flags & MUST_PROTECT != 0 {
            return Err(libc::EPERM);
        }
        if !is_on {
            let regions = asked.regions.wrapping_add(found as usize);
            let mut part = Scan {
                start: at,
                end: to,
                regions,
                room: asked.room - found,
                max_pages: left,
                ..*asked
            };
            let more = call(&mut part)?;
            found += more;
            left = left.saturating_sub(pages(regions, more));
            let is_full =
                asked.room > 0 && (found == asked.room || asked.max_pages > 0 && left == 0);
            if part.walk_end < to || is_full {
                return Ok((found, part.walk_end));
            }
        }
        at = to;
    }
    Ok((found, asked.end))
}

fn pages(regions: *const Region, count: u64) -> u64 {
    let bytes = |at: u64| {
        // SAFETY: the kernel has just written so many there.
        let region = unsafe { regions.wrapping_add(at as usize).read_unaligned() };
        region.end - region.start
    };
    (0..count).map(bytes).sum::<u64>() / PAGE as u64
}
