//! System calls that read a name and little else, for signal mode; see [`crate::calls`].

use crate::buffers::{Answer, One, Text, with_pages};
use crate::next;
use libc::{c_char, c_int, c_uint, c_ulong, c_void, dev_t, gid_t, mode_t, pthread_t, size_t};
use libc::{ssize_t, statvfs as Statvfs, timeval, uid_t, utimbuf};

macro_rules! hooks {
    ($($name:ident = $next:ident $symbol:literal
       ($($arg:ident: $type:ty),*) -> $ret:ty, $buffers:expr;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> $ret);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            // SAFETY: passed on.
            with_pages($buffers, || unsafe { $next($($arg),*) })
        }
    )+};
}

hooks! {
    statvfs = next_statvfs c"statvfs" (path: *const c_char, to: *mut Statvfs) -> c_int, Text(path);
    statvfs64 = next_statvfs64 c"statvfs64"
        (path: *const c_char, to: *mut Statvfs) -> c_int, Text(path);
    euidaccess = next_euidaccess c"euidaccess"
        (path: *const c_char, mode: c_int) -> c_int, Text(path);
    eaccess = next_eaccess c"eaccess" (path: *const c_char, mode: c_int) -> c_int, Text(path);
    chown = next_chown c"chown"
        (path: *const c_char, user: uid_t, group: gid_t) -> c_int, Text(path);
    lchown = next_lchown c"lchown"
        (path: *const c_char, user: uid_t, group: gid_t) -> c_int, Text(path);
    fchownat = next_fchownat c"fchownat"
        (dir: c_int, path: *const c_char, user: uid_t, group: gid_t, flags: c_int) -> c_int,
        Text(path);
    fchmodat = next_fchmodat c"fchmodat"
        (dir: c_int, path: *const c_char, mode: mode_t, flags: c_int) -> c_int, Text(path);
    linkat = next_linkat c"linkat"
        (dir: c_int, from: *const c_char, into: c_int, to: *const c_char, flags: c_int) -> c_int,
        (Text(from), Text(to));
    symlinkat = next_symlinkat c"symlinkat"
        (from: *const c_char, dir: c_int, to: *const c_char) -> c_int, (Text(from), Text(to));
    renameat2 = next_renameat2 c"renameat2"
        (dir: c_int, from: *const c_char, into: c_int, to: *const c_char, flags: c_uint) -> c_int,
        (Text(from), Text(to));
    remove = next_remove c"remove" (path: *const c_char) -> c_int, Text(path);
    creat = next_creat c"creat" (path: *const c_char, mode: mode_t) -> c_int, Text(path);
    creat64 = next_creat64 c"creat64" (path: *const c_char, mode: mode_t) -> c_int, Text(path);
    mkfifo = next_mkfifo c"mkfifo" (path: *const c_char, mode: mode_t) -> c_int, Text(path);
    mknod = next_mknod c"mknod"
        (path: *const c_char, mode: mode_t, device: dev_t) -> c_int, Text(path);
    utime = next_utime c"utime"
        (path: *const c_char, times: *const utimbuf) -> c_int, (Text(path), One(times));
    utimes = next_utimes c"utimes"
        (path: *const c_char, times: *const timeval) -> c_int,
        (Text(path), One(times.cast::<[timeval; 2]>()));
    lutimes = next_lutimes c"lutimes"
        (path: *const c_char, times: *const timeval) -> c_int,
        (Text(path), One(times.cast::<[timeval; 2]>()));
    inotify_add_watch = next_inotify_add_watch c"inotify_add_watch"
        (fd: c_int, path: *const c_char, events: u32) -> c_int, Text(path);
    mount = next_mount c"mount"
        (source: *const c_char, target: *const c_char, kind: *const c_char, flags: c_ulong,
         data: *const c_void) -> c_int,
        ((Text(source), Text(target)), (Text(kind), Text(data.cast())));
    umount = next_umount c"umount" (path: *const c_char) -> c_int, Text(path);
    umount2 = next_umount2 c"umount2" (path: *const c_char, flags: c_int) -> c_int, Text(path);
    memfd_create = next_memfd_create c"memfd_create"
        (name: *const c_char, flags: c_uint) -> c_int, Text(name);
}

hooks! {
    setxattr = next_setxattr c"setxattr"
        (path: *const c_char, name: *const c_char, value: *const c_void, n: size_t,
         flags: c_int) -> c_int,
        (Text(path), (Text(name), (value, n)));
    getxattr = next_getxattr c"getxattr"
        (path: *const c_char, name: *const c_char, to: *mut c_void, n: size_t) -> ssize_t,
        (Text(path), (Text(name), (to.cast_const(), n)));
    listxattr = next_listxattr c"listxattr"
        (path: *const c_char, to: *mut c_void, n: size_t) -> ssize_t,
        (Text(path), (to.cast_const(), n));
    removexattr = next_removexattr c"removexattr"
        (path: *const c_char, name: *const c_char) -> c_int, (Text(path), Text(name));
    lsetxattr = next_lsetxattr c"lsetxattr"
        (path: *const c_char, name: *const c_char, value: *const c_void, n: size_t,
         flags: c_int) -> c_int,
        (Text(path), (Text(name), (value, n)));
    lgetxattr = next_lgetxattr c"lgetxattr"
        (path: *const c_char, name: *const c_char, to: *mut c_void, n: size_t) -> ssize_t,
        (Text(path), (Text(name), (to.cast_const(), n)));
    llistxattr = next_llistxattr c"llistxattr"
        (path: *const c_char, to: *mut c_void, n: size_t) -> ssize_t,
        (Text(path), (to.cast_const(), n));
    lremovexattr = next_lremovexattr c"lremovexattr"
        (path: *const c_char, name: *const c_char) -> c_int, (Text(path), Text(name));
    fsetxattr = next_fsetxattr c"fsetxattr"
        (fd: c_int, name: *const c_char, value: *const c_void, n: size_t, flags: c_int) -> c_int,
        ((), (Text(name), (value, n)));
    fgetxattr = next_fgetxattr c"fgetxattr"
        (fd: c_int, name: *const c_char, to: *mut c_void, n: size_t) -> ssize_t,
        ((), (Text(name), (to.cast_const(), n)));
    flistxattr = next_flistxattr c"flistxattr"
        (fd: c_int, to: *mut c_void, n: size_t) -> ssize_t, ((), (to.cast_const(), n));
    fremovexattr = next_fremovexattr c"fremovexattr"
        (fd: c_int, name: *const c_char) -> c_int, ((), Text(name));
}

/// What functions of threads return: 0 or an error.
#[derive(Clone, Copy)]
struct Code(c_int);

impl Answer for Code {
    fn met_missing_page(&self) -> bool {
        self.0 == libc::EFAULT
    }
}

macro_rules! of_threads {
    ($($name:ident = $next:ident $symbol:literal
       ($($arg:ident: $type:ty),*), $buffers:expr;)+) => {$(
        next!($next: $symbol($($arg: $type),*) -> c_int);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: passed on.
            with_pages($buffers, || Code(unsafe { $next($($arg),*) })).0
        }
    )+};
}

of_threads! {
    pthread_setname_np = next_setname c"pthread_setname_np"
        (thread: pthread_t, name: *const c_char), Text(name);
    pthread_getname_np = next_getname c"pthread_getname_np"
        (thread: pthread_t, to: *mut c_char, n: size_t),
        (to.cast::<c_void>().cast_const(), n);
    pthread_getaffinity_np = next_getaffinity c"pthread_getaffinity_np"
        (thread: pthread_t, n: size_t, to: *mut c_void), (to.cast_const(), n);
}
