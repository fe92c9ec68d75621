//! The status of files. The links of a process's folder of threads are its threads, and the program
//! must find its own number there: Chromium counts them before it forks.

use crate::bytes::answers::status;
use crate::bytes::buffers::{One, Text, with_pages};
use crate::next;
use crate::signals::dispatch::by_libc;
use core::mem::MaybeUninit;
use libc::{c_char, c_int, c_uint, stat as Stat, statx as Statx};
use sluice_region::sys;
use sluice_runtime::running_threads;

macro_rules! hooks {
    ($($symbol:literal $name:ident = $next:ident
       ($($arg:ident: $type:ty),*), $buffers:expr, $to:ident;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> c_int);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: passed on.
            let result = with_pages($buffers, || unsafe { $next($($arg),*) });
            if result == 0 {
                // SAFETY: the C library has filled it.
                leave_out_own_threads(unsafe { &mut *$to });
            }
            result
        }
    )+};
}

hooks! {
    c"stat" stat = next_stat(path: *const c_char, to: *mut Stat), (Text(path), One(to)), to;
    c"stat64" stat64 = next_stat64(path: *const c_char, to: *mut Stat), (Text(path), One(to)), to;
    c"lstat" lstat = next_lstat(path: *const c_char, to: *mut Stat), (Text(path), One(to)), to;
    c"lstat64" lstat64 = next_lstat64
        (path: *const c_char, to: *mut Stat), (Text(path), One(to)), to;
    c"fstat" fstat = next_fstat(fd: c_int, to: *mut Stat), One(to), to;
    c"fstat64" fstat64 = next_fstat64(fd: c_int, to: *mut Stat), One(to), to;
    c"fstatat" fstatat = next_fstatat
        (dir: c_int, path: *const c_char, to: *mut Stat, flags: c_int),
        (Text(path), One(to)), to;
    c"fstatat64" fstatat64 = next_fstatat64
        (dir: c_int, path: *const c_char, to: *mut Stat, flags: c_int),
        (Text(path), One(to)), to;
    c"statx" statx = next_statx
        (dir: c_int, path: *const c_char, flags: c_int, mask: c_uint, to: *mut Statx),
        (Text(path), One(to)), to;
}

/// Whether an old program's `struct stat` is the kernel's.
fn is_known(version: c_int) -> bool {
    const NEWEST: c_int = if cfg!(target_arch = "x86_64") { 1 } else { 0 };
    (0..=NEWEST).contains(&version)
}

/// Functions of programs that are older than version 2.33 of the C library. A newer one has them
/// for these programs alone, so that no lookup finds it.
macro_rules! old_hooks {
    ($($name:ident($($arg:ident: $type:ty),*; $to:ident $(, $flags:ident)?), $path:expr,
       $number:ident($($given:expr),*);)+) => {$(
        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            version: c_int, $($arg: $type,)* $to: *mut Stat $(, $flags: c_int)?
        ) -> c_int {
            if !is_known(version) {
                return status(Err(libc::EINVAL));
            }
            let mut args = [0; 6];
            for (arg, given) in args.iter_mut().zip([$($given as usize),*]) {
                *arg = given;
            }
            // SAFETY: passed on.
            let call = || unsafe { by_libc(libc::$number, args) as c_int };
            let result = with_pages(($path, One($to)), call);
            if result == 0 {
                // SAFETY: the kernel has filled it.
                leave_out_own_threads(unsafe { &mut *$to });
            }
            result
        }
    )+};
}

old_hooks! {
    __xstat(path: *const c_char; to), Text(path), SYS_newfstatat(libc::AT_FDCWD, path, to, 0);
    __lxstat(path: *const c_char; to), Text(path),
        SYS_newfstatat(libc::AT_FDCWD, path, to, libc::AT_SYMLINK_NOFOLLOW);
    __fxstat(fd: c_int; to), (), SYS_fstat(fd, to);
    __fxstatat(dir: c_int, path: *const c_char; to, flags), Text(path),
        SYS_newfstatat(dir, path, to, flags);
}

/// What the kernel says of a file.
trait Status {
    /// Device and inode of what may be a folder of threads: in `/proc` folders have no size.
    fn folder(&self) -> Option<(u64, u64)>;
    fn lower_links(&mut self, by: u32);
}

fn is_folder(mode: u32) -> bool {
    mode & libc::S_IFMT == libc::S_IFDIR
}

impl Status for Stat {
    fn folder(&self) -> Option<(u64, u64)> {
        let may_be = is_folder(self.st_mode) && self.st_size == 0;
        may_be.then_some((self.st_dev, self.st_ino))
    }

    fn lower_links(&mut self, by: u32) {
        self.st_nlink = self.st_nlink.saturating_sub(by.into());
    }
}

impl Status for Statx {
    fn folder(&self) -> Option<(u64, u64)> {
        let may_be = is_folder(self.stx_mode.into()) && self.stx_size == 0;
        let device = || libc::makedev(self.stx_dev_major, self.stx_dev_minor);
        may_be.then(|| (device(), self.stx_ino))
    }

    fn lower_links(&mut self, by: u32) {
        self.stx_nlink = self.stx_nlink.saturating_sub(by);
    }
}

/// Leaves the runtime's threads out of a status, if it is of the folder of this process's threads.
fn leave_out_own_threads(status: &mut impl Status) {
    let own = running_threads();
    if own == 0 {
        return;
    }
    if let Some(folder) = status.folder()
        && folder_of_threads() == Some(folder)
    {
        status.lower_links(own as u32);
    }
}

/// The folder of this process's threads.
fn folder_of_threads() -> Option<(u64, u64)> {
    let path = c"/proc/self/task".as_ptr();
    let mut status = MaybeUninit::<Stat>::zeroed();
    let to = status.as_mut_ptr();
    // SAFETY: a terminated path, and room for the answer. Zeros are a status.
    unsafe {
        sys!(libc::SYS_newfstatat, libc::AT_FDCWD, path, to, 0).ok()?;
        status.assume_init().folder()
    }
}
