//! The memory that workloads measure, and scratch memory beside it.
//!
//! A measured buffer comes from exactly one `mmap`, so that a program that places memory elsewhere
//! sees one request. Scratch memory is a shared mapping of a memfd: bookkeeping kept there stays
//! out of the measured memory even where anonymous memory and the heap are placed.

use std::ffi::CStr;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

use crate::numa::NODES_MAX;

const WORD: usize = size_of::<u64>();
const LARGE_PAGE: usize = 2 << 20;
const SCRATCH_NAME: &CStr = c"workload-scratch";

/// One private or shared mapping, unmapped when dropped. A device may have more mapped than was
/// asked for.
pub struct Buffer {
    base: NonNull<u8>,
    len: usize,
    mapped: usize,
    fresh: bool,
}

// SAFETY: a buffer hands out atomics only; the mapping outlives every borrow of it. Needed
// so that threads can share one buffer.
unsafe impl Sync for Buffer {}
// SAFETY: as for `Sync`: nothing in it belongs to the thread that mapped it.
unsafe impl Send for Buffer {}

impl Buffer {
    /// `len` zero bytes from one anonymous private mapping.
    ///
    /// # Errors
    /// What the kernel says, when it refuses the mapping.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, true)
    }

    /// The first `len` bytes of the file at `path`, shared; the file is made, or extended to
    /// `len`, when it is not there or shorter.
    ///
    /// # Errors
    /// What the system says, when it refuses to open, extend or map the file.
    pub fn file(path: &Path, len: usize) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let meta = file.metadata()?;
        // A character device (DAX) has a length of zero here and a size of its own.
        if meta.is_file() && meta.len() < len as u64 {
            file.set_len(len as u64)?;
        }
        // DAX devices are mapped in whole large pages.
        let mapped = match meta.is_file() {
            true => len,
            false => len.next_multiple_of(LARGE_PAGE),
        };
        let fresh = meta.is_file() && meta.len() == 0;
        let mut buffer = map(mapped, libc::MAP_SHARED, file.as_raw_fd(), fresh)?;
        buffer.len = len;
        Ok(buffer)
    }

    /// `file` when a path is given, else `anonymous`.
    ///
    /// # Errors
    /// As for those two.
    pub fn open(path: Option<&Path>, len: usize) -> io::Result<Self> {
        path.map_or_else(|| Self::anonymous(len), |path| Self::file(path, len))
    }

    /// Bytes that were asked for.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len
    }

    /// Whether the mapping was known to hold zeros only when it was made.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Address of the first byte.
    #[must_use]
    pub fn base(&self) -> usize {
        self.base.as_ptr().expose_provenance()
    }

    /// The word at a byte offset.
    ///
    /// # Panics
    /// If the offset is not a multiple of 8 or lies outside the mapping.
    #[inline(always)]
    #[must_use]
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(WORD) && offset <= self.len - WORD);
        // SAFETY: inside the mapping, aligned, and only ever reached through atomics. Needed
        // because a plain reference may not point to memory that others change.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }

    /// The word at an address that was itself read from the buffer: nothing when it points
    /// outside or is not aligned, which means that the buffer's content is damaged.
    ///
    /// The check predicts well and is not on the path of dependent loads.
    #[inline(always)]
    #[must_use]
    pub fn word_at(&self, address: u64) -> Option<&AtomicU64> {
        let offset = (address as usize).wrapping_sub(self.base.as_ptr().addr());
        if !offset.is_multiple_of(WORD) || offset > self.len - WORD {
            return None;
        }
        let word = ptr::with_exposed_provenance_mut::<u64>(address as usize);
        // SAFETY: as in `word`, with the same checks. Built from the loaded address so that
        // the next load depends on nothing but the one before.
        Some(unsafe { AtomicU64::from_ptr(word) })
    }

    /// Says how a range of bytes will be used.
    ///
    /// # Errors
    /// What the kernel says.
    ///
    /// # Panics
    /// If the range is not in the buffer.
    pub fn advise(&self, offset: usize, len: usize, advice: i32) -> io::Result<()> {
        assert!(offset + len <= self.len);
        let start = self.base.as_ptr().wrapping_add(offset);
        // SAFETY: a range of our own mapping, and advice that changes no content.
        let rc = unsafe { libc::madvise(start.cast(), len, advice) };
        match rc {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Has all pages that are not there yet come from a NUMA node, and from no other.
    ///
    /// # Errors
    /// What the kernel says: `EINVAL` of a node that it does not have.
    ///
    /// # Panics
    /// If the number is beyond those that a mask here can name.
    pub fn bind(&self, node: u32) -> io::Result<()> {
        let mut mask = [0u64; (NODES_MAX / u64::BITS) as usize];
        mask[(node / u64::BITS) as usize] |= 1 << (node % u64::BITS);
        // The kernel reads one bit less than the argument says.
        let bits = u64::from(NODES_MAX) + 1;
        let (start, mode) = (self.base.as_ptr(), libc::MPOL_BIND);
        // SAFETY: a range of our own mapping, and a mask with as many bits as are read. By number:
        // the C library has no such function.
        let rc = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                start,
                self.mapped,
                mode,
                &raw const mask,
                bits,
                0,
            )
        };
        match rc {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Keeps a range of bytes in memory until the buffer is dropped.
    ///
    /// # Errors
    /// What the kernel says.
    ///
    /// # Panics
    /// If the range is not in the buffer.
    pub fn lock(&self, offset: usize, len: usize) -> io::Result<()> {
        assert!(offset + len <= self.len);
        let start = self.base.as_ptr().wrapping_add(offset);
        // SAFETY: a range of our own mapping.
        match unsafe { libc::mlock(start.cast(), len) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Asks the kernel for base pages only, so that a run is comparable with one whose memory
    /// is managed page by page.
    ///
    /// # Errors
    /// What the kernel says, unless it knows no huge pages at all.
    pub fn small_pages(&self) -> io::Result<()> {
        // SAFETY: the range is our own mapping and the advice changes no content.
        let rc =
            unsafe { libc::madvise(self.base.as_ptr().cast(), self.len, libc::MADV_NOHUGEPAGE) };
        match io::Error::last_os_error() {
            error if rc != 0 && error.raw_os_error() != Some(libc::EINVAL) => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and every borrow of it has ended.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped) };
    }
}

/// Zeroed `u32` cells of scratch memory, owned by one user.
pub struct Scratch {
    memory: Buffer,
    cells: usize,
}

impl Scratch {
    /// `cells` zeros.
    ///
    /// # Errors
    /// What the system says, when it refuses the memory.
    pub fn new(cells: usize) -> io::Result<Self> {
        let len = cells
            .max(1)
            .checked_mul(size_of::<u32>())
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let len = len.next_multiple_of(WORD);
        // SAFETY: the name is a C string; the descriptor is checked below.
        let fd = unsafe { libc::memfd_create(SCRATCH_NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor just made and owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let file = std::fs::File::from(fd);
        file.set_len(len as u64)?;
        Ok(Self {
            memory: map(len, libc::MAP_SHARED, file.as_raw_fd(), true)?,
            cells,
        })
    }

    pub fn cells(&mut self) -> &mut [u32] {
        // SAFETY: the memfd was made here and its descriptor is closed, so this mapping is the
        // only way to the memory, and `&mut self` the only way to the mapping. Needed because
        // a `Vec` of this size would itself be an anonymous mapping.
        unsafe { std::slice::from_raw_parts_mut(self.memory.base.as_ptr().cast(), self.cells) }
    }
}

fn map(len: usize, flags: i32, fd: i32, fresh: bool) -> io::Result<Buffer> {
    assert!(
        len >= WORD && len.is_multiple_of(WORD),
        "a buffer of {len} bytes"
    );
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: no fixed address, so no mapping of ours is replaced; the result is checked.
    // Called through libc, not a system call of our own, so that preloaded hooks see it.
    let base = unsafe { libc::mmap(ptr::null_mut(), len, access, flags, fd, 0) };
    match NonNull::new(base.cast::<u8>()) {
        Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(Buffer {
            base,
            len,
            mapped: len,
            fresh,
        }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn addresses_outside_or_askew_are_refused() {
        let buffer = Buffer::anonymous(8192).unwrap();
        let base = buffer.base() as u64;
        buffer.word(8184).store(7, Relaxed);
        assert_eq!(
            buffer.word_at(base + 8184).map(|w| w.load(Relaxed)),
            Some(7)
        );
        for bad in [0, base - 8, base + 4, base + 8185, base + 8192, u64::MAX] {
            assert!(buffer.word_at(bad).is_none(), "{bad:#x}");
        }
    }

    #[test]
    fn files_are_made_extended_and_shared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory");
        let first = Buffer::file(&path, 4096).unwrap();
        assert!(first.is_fresh());
        first.word(0).store(0x5a, Relaxed);
        drop(first);
        let longer = Buffer::file(&path, 65536).unwrap();
        assert!(!longer.is_fresh());
        assert_eq!(longer.word(0).load(Relaxed), 0x5a);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 65536);
        let shorter = Buffer::file(&path, 4096).unwrap();
        assert_eq!(shorter.bytes(), 4096);
        assert_eq!(
            std::fs::metadata(&path).unwrap().len(),
            65536,
            "never truncated"
        );
    }

    /// Every host has a node 0.
    #[test]
    fn memory_is_bound_to_the_node_that_is_named() {
        let buffer = Buffer::anonymous(8192).unwrap();
        buffer.bind(0).unwrap();
        buffer.word(0).store(1, Relaxed);
        let maps = std::fs::read_to_string("/proc/self/numa_maps").unwrap();
        let line = maps
            .lines()
            .find(|line| line.starts_with(&format!("{:x} ", buffer.base())));
        let line = line.expect("a line of the mapping");
        assert!(line.contains("bind:0") && line.contains("N0=1"), "{line}");
        let refused = buffer.bind(NODES_MAX - 1).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn scratch_starts_at_zero() {
        let mut scratch = Scratch::new(1001).unwrap();
        assert_eq!(scratch.cells().len(), 1001);
        assert!(scratch.cells().iter().all(|c| *c == 0));
        scratch.cells()[1000] = 9;
        assert_eq!(scratch.cells()[1000], 9);
    }

    /// What the kernel says of the mapping that begins at an address: its flags, two letters each.
    fn flags(base: usize) -> Option<String> {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines();
        lines.find(|line| line.starts_with(&format!("{base:x}-")))?;
        let line = lines.find_map(|line| line.strip_prefix("VmFlags: "));
        Some(format!(" {}", line.expect("flags of a mapping")))
    }

    /// Whole mappings of its own: neighbours that are alike would be one to the kernel.
    #[test]
    fn hints_reach_the_kernel() {
        let buffer = Buffer::anonymous(4096).unwrap();
        buffer.small_pages().unwrap();
        let found = flags(buffer.base()).expect("a mapping");
        assert!(found.contains(" nh"), "{found}");
        buffer.advise(0, 4096, libc::MADV_SEQUENTIAL).unwrap();
        let found = flags(buffer.base()).expect("a mapping");
        assert!(found.contains(" sr"), "{found}");
        buffer.lock(0, 4096).unwrap();
        let found = flags(buffer.base()).expect("a mapping");
        assert!(found.contains(" lo"), "{found}");
        assert_eq!(
            buffer.advise(0, 4096, -1).unwrap_err().raw_os_error(),
            Some(libc::EINVAL)
        );
        let whole = Buffer::anonymous(4096).unwrap();
        whole.lock(1, 4095).unwrap();
        let last = std::panic::AssertUnwindSafe(&whole);
        for (offset, len) in [(0, 4097), (4096, 1), (1, 4096)] {
            let lock = std::panic::catch_unwind(|| last.lock(offset, len));
            let advise = std::panic::catch_unwind(|| last.advise(offset, len, libc::MADV_NORMAL));
            assert!(lock.is_err() && advise.is_err(), "{offset} {len}");
        }
    }

    #[test]
    fn advice_is_of_its_range_alone() {
        let buffer = Buffer::anonymous(4 * 4096).unwrap();
        (0..4).for_each(|page| buffer.word(page * 4096).store(7, Relaxed));
        buffer.advise(4096, 2 * 4096, libc::MADV_DONTNEED).unwrap();
        let left = [0, 1, 2, 3].map(|page| buffer.word(page * 4096).load(Relaxed));
        assert_eq!(left, [7, 0, 0, 7]);
        buffer.advise(3 * 4096, 4096, libc::MADV_DONTNEED).unwrap();
        assert_eq!(buffer.word(3 * 4096).load(Relaxed), 0);
    }

    #[test]
    fn words_outside_are_a_mistake_of_the_program() {
        let buffer = Buffer::anonymous(4096).unwrap();
        buffer.word(4088).store(3, Relaxed);
        assert_eq!(buffer.word(4088).load(Relaxed), 3);
        let buffer = std::panic::AssertUnwindSafe(&buffer);
        for offset in [4, 4092, 4096, 8192] {
            assert!(
                std::panic::catch_unwind(|| buffer.word(offset)).is_err(),
                "{offset}"
            );
        }
    }

    /// A process has room for some 65,000 mappings.
    #[test]
    fn what_is_dropped_is_unmapped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory");
        let base = {
            let buffer = Buffer::file(&path, 3 * 4096).unwrap();
            buffer.base()
        };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(
            !maps.contains(&path.display().to_string()),
            "{base:x} is still mapped"
        );
        let other = Buffer::open(Some(&path), 4096).unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps
            .lines()
            .find(|line| line.ends_with(&path.display().to_string()));
        assert!(line.expect("a mapping").contains("rw-s"), "{line:?}");
        assert_eq!(other.bytes(), 4096);
        assert!(Buffer::open(None, 4096).unwrap().is_fresh());
    }

    /// In a file that is shorter only what is missing is added.
    #[test]
    fn a_file_is_extended_to_the_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory");
        for (before, due) in [(4095, 4096), (4096, 4096), (4097, 4097)] {
            std::fs::write(&path, vec![1; before]).unwrap();
            let buffer = Buffer::file(&path, 4096).unwrap();
            assert!(!buffer.is_fresh());
            assert_eq!(std::fs::metadata(&path).unwrap().len(), due);
        }
    }

    #[test]
    fn scratch_is_no_anonymous_memory_and_has_an_end() {
        let mut none = Scratch::new(0).unwrap();
        assert!(none.cells().is_empty());
        let mut some = Scratch::new(3).unwrap();
        let base = some.cells().as_ptr() as usize;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps
            .lines()
            .find(|line| line.starts_with(&format!("{base:x}-")));
        assert!(
            line.expect("a mapping").contains("/memfd:workload-scratch"),
            "{line:?}"
        );
        let refused = Scratch::new(usize::MAX / 2).err().expect("no such memory");
        assert_eq!(refused.kind(), io::ErrorKind::OutOfMemory);
    }
}
