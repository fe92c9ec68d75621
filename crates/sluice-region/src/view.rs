//! Files behind memory: views of them from which pages are read in, their way back to the kernel,
//! and leases, by which the kernel says that a file is about to be changed.

use crate::{PAGE, raw_mmap, raw_mprotect, raw_munmap, stat, sys};

/// A file system of a process, which may be the one that waits for its own page.
const FUSE_SUPER_MAGIC: i64 = 0x6573_5546;

/// Whether an open file is a regular one, whose pages some kernel reads and no process.
pub fn is_plain_file(fd: i32) -> bool {
    // SAFETY: plain data, for which zeros are valid.
    let mut told: libc::statfs = unsafe { core::mem::zeroed() };
    // SAFETY: the buffer is live.
    let asked = unsafe { sys!(libc::SYS_fstatfs, fd, &raw mut told) };
    let is_regular = stat(fd).is_ok_and(|told| told.st_mode & libc::S_IFMT == libc::S_IFREG);
    let has_huge_pages = told.f_type == libc::HUGETLBFS_MAGIC;
    asked.is_ok() && is_regular && told.f_type != FUSE_SUPER_MAGIC && !has_huge_pages
}

/// Part of a file, mapped to be read, for nobody but the runtime.
pub fn map_view(len: usize, is_shared: bool, fd: i32, offset: i64) -> Result<usize, i32> {
    let flags = match is_shared {
        true => libc::MAP_SHARED,
        false => libc::MAP_PRIVATE,
    };
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    unsafe { raw_mmap(0, len, libc::PROT_READ, flags, fd, offset) }
}

/// Puts part of a view where the program has memory, which goes, with the program's protection. An
/// empty copy of it stays behind.
///
/// # Safety
/// Both are whole pages, of a view that nobody reads and of memory that the program gives up.
pub unsafe fn hand_over_view(view: usize, to: usize, len: usize, prot: i32) -> Result<(), i32> {
    let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
    // SAFETY: passed on. Protected first, so that the program never sees another protection.
    unsafe {
        raw_mprotect(view, len, prot)?;
        sys!(libc::SYS_mremap, view, len, len, how, to).map(drop)
    }
}

/// Unmaps part of a view.
///
/// # Safety
/// Nobody reads it any more.
pub unsafe fn unmap_view(view: usize, len: usize) {
    // SAFETY: passed on.
    let _ = unsafe { raw_munmap(view, len) };
}

/// Has the kernel begin to read a page of a view.
pub fn read_ahead(page: usize) {
    // SAFETY: advice only.
    let _ = unsafe { crate::raw_madvise(page, PAGE, libc::MADV_WILLNEED) };
}

/// Copies a page that may lie behind the end of its file, from which a plain load would not return.
///
/// # Errors
/// `EFAULT` if it does.
pub fn read_page(to: usize, from: usize) -> Result<(), i32> {
    transfer(libc::SYS_process_vm_readv, to, from)
}

/// Copies to a page that may lie behind the end of its file.
///
/// # Errors
/// `EFAULT` if it does.
pub fn write_page(to: usize, from: usize) -> Result<(), i32> {
    transfer(libc::SYS_process_vm_writev, from, to)
}

fn transfer(number: i64, local: usize, remote: usize) -> Result<(), i32> {
    let part = |at: usize| libc::iovec {
        iov_base: at as *mut _,
        iov_len: PAGE,
    };
    let (local, remote) = (part(local), part(remote));
    // SAFETY: the local page is the caller's; of the other one the kernel checks each byte.
    let moved = unsafe {
        let (local, remote) = (&raw const local, &raw const remote);
        sys!(number, libc::getpid(), local, 1, remote, 1, 0)?
    };
    match moved == PAGE {
        true => Ok(()),
        false => Err(libc::EFAULT),
    }
}

/// A lease of a file that nobody may write to while it is held. A process that opens the file for
/// writing, or cuts it, waits in the kernel until the lease is given up.
#[derive(Debug)]
pub struct Lease {
    fd: i32,
}

impl Lease {
    /// Takes a lease of the file that a thread of this process has open under a number.
    ///
    /// # Errors
    /// `EAGAIN` if somebody has the file open for writing, `EACCES` if it is another user's,
    /// `EINVAL` if its file system has no leases.
    pub fn take(thread: u32, number: i32) -> Result<Lease, i32> {
        let mut path = [0u8; 64];
        write_path(&mut path, thread, number);
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: a live, terminated path.
        let fd = unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags)? };
        let lease = Lease { fd: fd as i32 };
        // What the kernel says by a signal says it to this thread, which blocks all of them.
        let owner = [0i32, crate::thread_id() as i32];
        const F_SETOWN_EX: i32 = 15;
        // SAFETY: a live structure: its kind (a thread), and the number.
        unsafe {
            sys!(libc::SYS_fcntl, lease.fd, F_SETOWN_EX, &raw const owner)?;
            sys!(libc::SYS_fcntl, lease.fd, libc::F_SETLEASE, libc::F_RDLCK)?;
        }
        Ok(lease)
    }

    /// Whether somebody waits for it to be given up, or has it no longer.
    pub fn is_wanted(&self) -> bool {
        // SAFETY: no pointers.
        let held = unsafe { sys!(libc::SYS_fcntl, self.fd, libc::F_GETLEASE, 0) };
        held != Ok(libc::F_RDLCK as usize)
    }

    /// Forgets it without a call: its descriptor is another table's.
    pub fn forget(self) {
        core::mem::forget(self);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // SAFETY: our own descriptor; no pointers.
        unsafe {
            let _ = sys!(libc::SYS_fcntl, self.fd, libc::F_SETLEASE, libc::F_UNLCK);
            let _ = sys!(libc::SYS_close, self.fd);
        }
    }
}

/// The path of a thread's descriptor, terminated.
fn write_path(to: &mut [u8; 64], thread: u32, number: i32) {
    use std::io::Write;
    let mut room = &mut to[..];
    // 64 bytes have room for two numbers of ten digits.
    let _ = write!(room, "/proc/self/task/{thread}/fd/{number}\0");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    fn file(bytes: usize) -> std::fs::File {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![7; bytes]).unwrap();
        std::fs::File::open(file.path()).unwrap()
    }

    #[test]
    fn a_page_behind_the_end_of_its_file_is_an_error() {
        let file = file(PAGE + 1);
        let view = map_view(3 * PAGE, false, file.as_raw_fd(), 0).unwrap();
        let page = vec![0u8; PAGE];
        assert_eq!(read_page(page.as_ptr() as usize, view), Ok(()));
        assert_eq!(page, [7; PAGE]);
        assert_eq!(read_page(page.as_ptr() as usize, view + PAGE), Ok(()));
        assert_eq!((page[0], page[1]), (7, 0));
        let behind = read_page(page.as_ptr() as usize, view + 2 * PAGE);
        assert_eq!(behind, Err(libc::EFAULT));
        // SAFETY: nobody else knows of it.
        unsafe { unmap_view(view, 3 * PAGE) };
    }

    #[test]
    fn a_lease_is_wanted_by_who_opens_the_file_for_writing() {
        // The kernel says so by a signal as well.
        let all = u64::MAX;
        // SAFETY: a live set of signals, of this thread.
        unsafe {
            sys!(
                libc::SYS_rt_sigprocmask,
                libc::SIG_BLOCK,
                &raw const all,
                0,
                8
            )
            .unwrap()
        };
        let named = tempfile::NamedTempFile::new().unwrap();
        let path = named.path().to_owned();
        let (reading, named) = (std::fs::File::open(&path).unwrap(), named.into_temp_path());
        let take = || Lease::take(crate::thread_id(), reading.as_raw_fd());
        let writing = std::fs::File::options().write(true).open(&path).unwrap();
        assert_eq!(take().err(), Some(libc::EAGAIN));
        drop(writing);
        let lease = take().unwrap();
        assert!(!lease.is_wanted());
        let other = std::thread::spawn({
            let path = path.clone();
            move || std::fs::File::options().append(true).open(path).is_ok()
        });
        while !lease.is_wanted() {
            std::thread::yield_now();
        }
        drop(lease);
        assert!(other.join().unwrap());
        drop(named);
    }

    #[test]
    fn memory_and_devices_are_no_plain_files() {
        assert!(is_plain_file(file(1).as_raw_fd()));
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        assert!(!is_plain_file(zeros.as_raw_fd()) && !is_plain_file(-1));
    }
}
