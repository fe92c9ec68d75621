//! What an access does, from QEMU's description of it.

use crate::api::{READS, WRITES, api};
use sluice_units::PAGE_BYTES;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// By QEMU's description of an access: what it has said of it. A description is a small number of
/// which a program uses a few dozens.
static KNOWN: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

/// What an access does.
#[derive(Clone, Copy)]
pub struct What(u32);

impl What {
    const STORES: u32 = 1 << 16;
    const LOADS: u32 = 1 << 17;

    /// What QEMU describes.
    #[inline]
    pub fn of(info: u32) -> What {
        let slot = &KNOWN[(info ^ (info >> 8) ^ (info >> 16)) as usize & 255];
        let known = slot.load(Relaxed);
        if known >> 32 == u64::from(info) && known != 0 {
            return What(known as u32);
        }
        let what = What::ask(info);
        slot.store(u64::from(info) << 32 | u64::from(what.0), Relaxed);
        what
    }

    fn ask(info: u32) -> What {
        // SAFETY: QEMU passed the description to the callback that is running.
        let (shift, store) = unsafe { ((api().size_shift)(info), (api().is_store)(info)) };
        // QEMU reports an atomic access once, as a store. That it loads too is in the bits above
        // the operation's.
        let atomic = info >> 16 == (READS | WRITES) as u32;
        let stores = if store { What::STORES } else { 0 };
        let loads = if atomic || !store { What::LOADS } else { 0 };
        What(1 << shift.min(15) | stores | loads)
    }

    /// How many bytes the access reads or writes.
    pub fn size(self) -> u16 {
        self.0 as u16
    }

    fn of_size(self, size: u16) -> What {
        What(self.0 & !u32::from(u16::MAX) | u32::from(size))
    }

    /// Whether it reads. One that does both reads first.
    pub fn loads(self) -> bool {
        self.0 & What::LOADS != 0
    }

    /// Whether it writes.
    pub fn stores(self) -> bool {
        self.0 & What::STORES != 0
    }
}

/// Where an access is, and what it does there: guest-physical in a machine, and nothing if it is
/// not to memory; as the program has it elsewhere. In a machine an access across a page's end is
/// two if the next page's memory is not the next.
#[inline]
pub fn in_memory<const SYSTEM: bool>(info: u32, address: u64) -> impl Iterator<Item = (u64, What)> {
    let what = What::of(info);
    let left = (PAGE_BYTES - address % PAGE_BYTES) as u16;
    let pieces = if !SYSTEM {
        [Some((address, what)), None]
    } else if what.size() <= left {
        [physical(info, address).map(|at| (at, what)), None]
    } else {
        across(info, address, what, left)
    };
    pieces.into_iter().flatten()
}

#[cold]
fn across(info: u32, address: u64, what: What, left: u16) -> [Option<(u64, What)>; 2] {
    let first = physical(info, address);
    // QEMU has just found both pages, and asks no page table anew.
    let next = physical(info, address.wrapping_add(left.into()));
    match (first, next) {
        (Some(at), Some(next)) if at + u64::from(left) == next => [Some((at, what)), None],
        _ => [
            first.map(|at| (at, what.of_size(left))),
            next.map(|at| (at, what.of_size(what.size() - left))),
        ],
    }
}

#[inline]
fn physical(info: u32, address: u64) -> Option<u64> {
    let api = api();
    // SAFETY: QEMU passed the access to the callback that is running; the handle is not kept.
    unsafe {
        let at = (api.hwaddr)(info, address);
        let is_memory = !at.is_null() && !(api.hwaddr_is_io)(at);
        is_memory.then(|| (api.hwaddr_physical)(at))
    }
}
