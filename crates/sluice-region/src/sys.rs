//! Layouts and numbers of the kernel interface, as in `linux/userfaultfd.h` and `linux/fs.h`.

use core::mem::size_of;

pub const UFFD_API: u64 = 0xAA;
pub const UFFD_USER_MODE_ONLY: i32 = 1;

pub const FEATURE_MISSING_SHMEM: u64 = 1 << 5;
pub const FEATURE_SIGBUS: u64 = 1 << 7;
pub const FEATURE_THREAD_ID: u64 = 1 << 8;
pub const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
pub const FEATURE_WP_HUGETLBFS_SHMEM: u64 = 1 << 12;
pub const FEATURE_WP_ASYNC: u64 = 1 << 15;
pub const FEATURE_MOVE: u64 = 1 << 16;

pub const REGISTER_MISSING: u64 = 1;
pub const REGISTER_WP: u64 = 2;
pub const REGISTER_MINOR: u64 = 4;

pub const EVENT_PAGEFAULT: u8 = 0x12;
pub const PAGEFAULT_FLAG_WRITE: u64 = 1;

pub const MODE_DONTWAKE: u64 = 1;
pub const MODE_WP: u64 = 2;
pub const WRITEPROTECT_WP: u64 = 1;

const fn iowr(group: u8, number: u8, size: usize) -> u64 {
    (3 << 30) | ((size as u64) << 16) | ((group as u64) << 8) | number as u64
}
const fn ior(group: u8, number: u8, size: usize) -> u64 {
    (2 << 30) | ((size as u64) << 16) | ((group as u64) << 8) | number as u64
}

#[repr(C)]
#[derive(Default)]
pub struct UffdioApi {
    pub api: u64,
    pub features: u64,
    pub ioctls: u64,
}
#[repr(C)]
#[derive(Default)]
pub struct UffdioRange {
    pub start: u64,
    pub len: u64,
}
#[repr(C)]
#[derive(Default)]
pub struct UffdioRegister {
    pub range: UffdioRange,
    pub mode: u64,
    pub ioctls: u64,
}
/// Copy and move share one layout: destination, source, length, mode, result.
#[repr(C)]
#[derive(Default)]
pub struct UffdioTransfer {
    pub dst: u64,
    pub src: u64,
    pub len: u64,
    pub mode: u64,
    pub done: i64,
}
#[repr(C)]
#[derive(Default)]
pub struct UffdioContinue {
    pub range: UffdioRange,
    pub mode: u64,
    pub mapped: i64,
}
#[repr(C)]
#[derive(Default)]
pub struct UffdioWriteProtect {
    pub range: UffdioRange,
    pub mode: u64,
}
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct UffdMsg {
    pub event: u8,
    pub reserved1: u8,
    pub reserved2: u16,
    pub reserved3: u32,
    pub flags: u64,
    pub address: u64,
    pub thread: u32,
    pub pad: u32,
}

pub const UFFDIO_API: u64 = iowr(0xAA, 0x3F, size_of::<UffdioApi>());
pub const UFFDIO_REGISTER: u64 = iowr(0xAA, 0x00, size_of::<UffdioRegister>());
pub const UFFDIO_UNREGISTER: u64 = ior(0xAA, 0x01, size_of::<UffdioRange>());
pub const UFFDIO_WAKE: u64 = ior(0xAA, 0x02, size_of::<UffdioRange>());
pub const UFFDIO_COPY: u64 = iowr(0xAA, 0x03, size_of::<UffdioTransfer>());
pub const UFFDIO_MOVE: u64 = iowr(0xAA, 0x05, size_of::<UffdioTransfer>());
pub const UFFDIO_WRITEPROTECT: u64 = iowr(0xAA, 0x06, size_of::<UffdioWriteProtect>());
pub const UFFDIO_CONTINUE: u64 = iowr(0xAA, 0x07, size_of::<UffdioContinue>());
pub const USERFAULTFD_IOC_NEW: u64 = 0xAA00;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct PageRegion {
    pub start: u64,
    pub end: u64,
    pub categories: u64,
}
#[repr(C)]
#[derive(Default)]
pub struct PmScanArg {
    pub size: u64,
    pub flags: u64,
    pub start: u64,
    pub end: u64,
    pub walk_end: u64,
    pub vec: u64,
    pub vec_len: u64,
    pub max_pages: u64,
    pub category_inverted: u64,
    pub category_mask: u64,
    pub category_anyof_mask: u64,
    pub return_mask: u64,
}
pub const PAGE_IS_WRITTEN: u64 = 1 << 1;
pub const PAGE_IS_FILE: u64 = 1 << 2;
pub const PAGE_IS_PRESENT: u64 = 1 << 3;
pub const PAGE_IS_SWAPPED: u64 = 1 << 4;
pub const PAGEMAP_SCAN: u64 = iowr(b'f', 16, size_of::<PmScanArg>());

const _: () = assert!(size_of::<UffdMsg>() == 32);
const _: () = assert!(size_of::<PmScanArg>() == 96);
