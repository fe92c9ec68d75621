//! Mappings made and changed by raw system calls.

use crate::{PAGE, sys};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// The highest number of a NUMA node that Linux can have.
pub const NODE_MAX: u64 = 1023;
const NODE_WORDS: usize = (NODE_MAX as usize + 1) / 64;

/// `mmap` by raw system call; the result is an address or an errno.
///
/// # Safety
/// As for `mmap(2)`: a fixed mapping replaces what was there.
pub unsafe fn raw_mmap(
    addr: usize,
    len: usize,
    prot: i32,
    flags: i32,
    fd: i32,
    offset: i64,
) -> Result<usize, i32> {
    // SAFETY: the caller vouches for the range.
    unsafe { sys!(libc::SYS_mmap, addr, len, prot, flags, fd, offset) }
}

/// `munmap` by raw system call.
///
/// # Safety
/// Nothing may use the range afterwards.
pub unsafe fn raw_munmap(addr: usize, len: usize) -> Result<(), i32> {
    // SAFETY: the caller vouches for the range.
    unsafe { sys!(libc::SYS_munmap, addr, len) }.map(drop)
}

/// `madvise` by raw system call.
///
/// # Safety
/// As for `madvise(2)`: `MADV_DONTNEED` drops the contents of private memory.
pub unsafe fn raw_madvise(addr: usize, len: usize, advice: i32) -> Result<(), i32> {
    // SAFETY: the caller vouches for the range.
    unsafe { sys!(libc::SYS_madvise, addr, len, advice) }.map(drop)
}

/// Has pages that come into a range from now on be of a NUMA node, and of no other.
///
/// # Errors
/// What the kernel says: `EINVAL` of a node that it does not have.
pub fn bind_to_node(start: usize, len: usize, node: u64) -> Result<(), i32> {
    let mut mask = [0u64; NODE_WORDS];
    let word = mask.get_mut(node as usize / 64).ok_or(libc::EINVAL)?;
    *word = 1 << (node % 64);
    // The kernel reads one bit less than the argument says.
    let (at, bits) = (mask.as_ptr() as usize, NODE_MAX + 2);
    // SAFETY: no content changes, and the mask has as many bits as are read.
    unsafe { sys!(libc::SYS_mbind, start, len, libc::MPOL_BIND, at, bits, 0) }.map(drop)
}

/// `mprotect` by raw system call.
///
/// # Safety
/// As for `mprotect(2)`.
pub unsafe fn raw_mprotect(addr: usize, len: usize, prot: i32) -> Result<(), i32> {
    // SAFETY: the caller vouches for the range.
    unsafe { sys!(libc::SYS_mprotect, addr, len, prot) }.map(drop)
}

/// Drops the page-table entries of a range (and the pages themselves when private).
///
/// # Safety
/// The range must be memory whose contents may go.
pub unsafe fn dont_need(addr: usize, len: usize) -> Result<(), i32> {
    // SAFETY: passed on.
    unsafe { raw_madvise(addr, len, libc::MADV_DONTNEED) }
}

/// Whether memory of this process is a file's since [`fill_from`].
static HAS_FILLED: AtomicBool = AtomicBool::new(false);

/// Whether `MADV_DONTNEED` may bring the contents of a file back instead of zeros.
pub fn has_filled() -> bool {
    HAS_FILLED.load(Relaxed)
}

/// Fills memory with a part of a file. Where both begin on a page the memory's pages become the
/// file's, of which it has copies as soon as it changes them: that takes no time and no memory,
/// however large it is.
///
/// # Safety
/// The owner of the memory, which takes it back, expects of it what [`has_filled`] says. The file
/// becomes no shorter as long as the memory is used.
pub unsafe fn fill_from(memory: &mut [u8], file: &File, at: u64) -> std::io::Result<()> {
    let start = memory.as_ptr() as usize;
    let pages = match start.is_multiple_of(PAGE) && at.is_multiple_of(PAGE as u64) {
        true => memory.len() / PAGE * PAGE,
        false => 0,
    };
    if pages > 0 {
        HAS_FILLED.store(true, Relaxed);
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: whole pages of the memory, which nobody else uses meanwhile.
        unsafe { raw_mmap(start, pages, prot, flags, file.as_raw_fd(), at as i64) }
            .map_err(std::io::Error::from_raw_os_error)?;
    }
    file.read_exact_at(&mut memory[pages..], at + pages as u64)
}

/// Keeps a range on 4 KiB pages: an eviction is one page.
///
/// # Safety
/// The range must be mapped.
pub unsafe fn no_huge_pages(addr: usize, len: usize) -> Result<(), i32> {
    // SAFETY: advice only. A kernel without huge pages answers EINVAL, which is as good.
    match unsafe { raw_madvise(addr, len, libc::MADV_NOHUGEPAGE) } {
        Err(libc::EINVAL) => Ok(()),
        other => other,
    }
}

/// Makes a present page writable now, which gives it back to this process after a fork.
///
/// # Safety
/// The page must be mapped by this process.
pub unsafe fn populate_write(page: usize) -> Result<(), i32> {
    const MADV_POPULATE_WRITE: i32 = 23;
    // SAFETY: the contents stay as they are.
    unsafe { raw_madvise(page, PAGE, MADV_POPULATE_WRITE) }
}

/// A mapping that is unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    addr: usize,
    len: usize,
}

impl Mapping {
    /// Private anonymous memory, without swap reservation, on small pages.
    pub fn anonymous(len: usize) -> Result<Mapping, i32> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let addr = unsafe { raw_mmap(0, len, prot, flags, -1, 0)? };
        // SAFETY: just mapped.
        unsafe { no_huge_pages(addr, len)? };
        Ok(Mapping { addr, len })
    }

    /// Puts a page that nobody may access at each end, where nothing is mapped yet, so that what is
    /// mapped later is no neighbour. They stay when the mapping goes.
    pub fn fence(&self) {
        self.fence_below();
        fence_at(self.addr + self.len);
    }

    /// Puts one below it alone: what is mapped there may be written to past its end. Pages at
    /// both ends make forks 5 % slower.
    pub fn fence_below(&self) {
        fence_at(self.addr - PAGE);
    }

    /// Leaves the mapping out of core files.
    pub fn keep_from_core_files(&self) {
        // SAFETY: advice only, and a kernel without it does no harm.
        let _ = unsafe { raw_madvise(self.addr, self.len, libc::MADV_DONTDUMP) };
    }

    /// A shared mapping of a file from its start.
    pub fn shared(fd: i32, len: usize) -> Result<Mapping, i32> {
        Mapping::shared_from(fd, 0, len)
    }

    /// A shared mapping of a file from an offset.
    pub fn shared_from(fd: i32, offset: i64, len: usize) -> Result<Mapping, i32> {
        Mapping::of_file(fd, offset, len, libc::PROT_READ | libc::PROT_WRITE)
    }

    /// A shared mapping of a file from its start, which can only be read.
    pub fn shared_read_only(fd: i32, len: usize) -> Result<Mapping, i32> {
        Mapping::of_file(fd, 0, len, libc::PROT_READ)
    }

    fn of_file(fd: i32, offset: i64, len: usize, prot: i32) -> Result<Mapping, i32> {
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let addr = unsafe { raw_mmap(0, len, prot, libc::MAP_SHARED, fd, offset)? };
        Ok(Mapping { addr, len })
    }

    /// Moves to the addresses of another mapping of the same length, which goes.
    pub fn take_place_of(&mut self, other: Mapping) {
        if self.len != other.len {
            return;
        }
        let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let (from, to, len) = (self.addr, other.addr, self.len);
        // SAFETY: both are ours alone. What is at the new place is replaced.
        if unsafe { sys!(libc::SYS_mremap, from, len, len, how, to) }.is_ok() {
            self.addr = to;
            core::mem::forget(other);
        }
    }

    /// Where the mapping begins.
    pub fn addr(&self) -> usize {
        self.addr
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the mapping has no bytes; it never has.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether an address lies inside.
    pub fn contains(&self, addr: usize) -> bool {
        addr.wrapping_sub(self.addr) < self.len
    }
}

/// A page that nobody may access, if nothing is mapped there.
fn fence_at(at: usize) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: the kernel maps nothing where something is.
    let _ = unsafe { raw_mmap(at, PAGE, libc::PROT_NONE, flags, -1, 0) };
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; its users hold borrows of it.
        let _ = unsafe { raw_munmap(self.addr, self.len) };
    }
}

/// Whether a file is kept in memory: of `memfd_create`, `shm_open` or a tmpfs, whatever
/// the size of its pages.
pub fn is_memory_file(fd: i32) -> bool {
    const KINDS: [i64; 2] = [libc::TMPFS_MAGIC, libc::HUGETLBFS_MAGIC];
    // SAFETY: plain data, for which zeros are valid.
    let mut told: libc::statfs = unsafe { core::mem::zeroed() };
    // SAFETY: the buffer is live.
    let asked = unsafe { sys!(libc::SYS_fstatfs, fd, &raw mut told) };
    asked.is_ok() && KINDS.contains(&told.f_type)
}

/// An anonymous file in memory of `len` bytes.
pub fn memfd(len: usize) -> Result<i32, i32> {
    let name = c"sluice";
    // SAFETY: a static, terminated name.
    let fd = unsafe { sys!(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC)? };
    // SAFETY: our own descriptor.
    unsafe { sys!(libc::SYS_ftruncate, fd, len)? };
    Ok(fd as i32)
}

/// Gives a page of a file memory, filled with zeros if it had none.
pub fn fallocate(fd: i32, offset: u64, len: usize) -> Result<(), i32> {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_fallocate, fd, 0, offset, len) }.map(drop)
}

/// Device and inode number of an open file: the same file has the same pair.
pub fn file_identity(fd: i32) -> Option<(u64, u64)> {
    // SAFETY: stat is plain data, for which zeros are valid.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: the buffer is a live stat.
    let asked = unsafe { sys!(libc::SYS_fstat, fd, &raw mut stat) };
    asked.ok().map(|_| (stat.st_dev, stat.st_ino))
}
