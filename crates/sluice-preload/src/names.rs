//! System calls that read a name and little else, for signal mode; see [`crate::calls`].

use crate::buffers::{Answer, One, Text, with_pages};
use crate::next;
use crate::tried_again;
use libc::{c_char, c_int, c_uint, c_ulong, c_void, dev_t, gid_t, mode_t, pthread_t, size_t};
use libc::{ssize_t, statvfs as Statvfs, timeval, uid_t, utimbuf};

tried_again! {
    c"statvfs" statvfs = next_statvfs (path: *const c_char, to: *mut Statvfs) -> c_int, Text(path);
    c"statvfs64" statvfs64 = next_statvfs64
        (path: *const c_char, to: *mut Statvfs) -> c_int, Text(path);
    c"euidaccess" euidaccess = next_euidaccess
        (path: *const c_char, mode: c_int) -> c_int, Text(path);
    c"eaccess" eaccess = next_eaccess (path: *const c_char, mode: c_int) -> c_int, Text(path);
    c"chown" chown = next_chown
        (path: *const c_char, user: uid_t, group: gid_t) -> c_int, Text(path);
    c"lchown" lchown = next_lchown
        (path: *const c_char, user: uid_t, group: gid_t) -> c_int, Text(path);
    c"fchownat" fchownat = next_fchownat
        (dir: c_int, path: *const c_char, user: uid_t, group: gid_t, flags: c_int) -> c_int,
        Text(path);
    c"fchmodat" fchmodat = next_fchmodat
        (dir: c_int, path: *const c_char, mode: mode_t, flags: c_int) -> c_int, Text(path);
    c"linkat" linkat = next_linkat
        (dir: c_int, from: *const c_char, into: c_int, to: *const c_char, flags: c_int) -> c_int,
        (Text(from), Text(to));
    c"symlinkat" symlinkat = next_symlinkat
        (from: *const c_char, dir: c_int, to: *const c_char) -> c_int, (Text(from), Text(to));
    c"renameat2" renameat2 = next_renameat2
        (dir: c_int, from: *const c_char, into: c_int, to: *const c_char, flags: c_uint) -> c_int,
        (Text(from), Text(to));
    c"remove" remove = next_remove (path: *const c_char) -> c_int, Text(path);
    c"creat" creat = next_creat (path: *const c_char, mode: mode_t) -> c_int, Text(path);
    c"creat64" creat64 = next_creat64 (path: *const c_char, mode: mode_t) -> c_int, Text(path);
    c"mkfifo" mkfifo = next_mkfifo (path: *const c_char, mode: mode_t) -> c_int, Text(path);
    c"mknod" mknod = next_mknod
        (path: *const c_char, mode: mode_t, device: dev_t) -> c_int, Text(path);
    c"utime" utime = next_utime
        (path: *const c_char, times: *const utimbuf) -> c_int, (Text(path), One(times));
    c"utimes" utimes = next_utimes
        (path: *const c_char, times: *const timeval) -> c_int,
        (Text(path), One(times.cast::<[timeval; 2]>()));
    c"lutimes" lutimes = next_lutimes
        (path: *const c_char, times: *const timeval) -> c_int,
        (Text(path), One(times.cast::<[timeval; 2]>()));
    c"inotify_add_watch" inotify_add_watch = next_inotify_add_watch
        (fd: c_int, path: *const c_char, events: u32) -> c_int, Text(path);
    c"mount" mount = next_mount
        (source: *const c_char, target: *const c_char, kind: *const c_char, flags: c_ulong,
         data: *const c_void) -> c_int,
        ((Text(source), Text(target)), (Text(kind), Text(data.cast())));
    c"umount" umount = next_umount (path: *const c_char) -> c_int, Text(path);
    c"umount2" umount2 = next_umount2 (path: *const c_char, flags: c_int) -> c_int, Text(path);
    c"memfd_create" memfd_create = next_memfd_create
        (name: *const c_char, flags: c_uint) -> c_int, Text(name);
}

tried_again! {
    c"setxattr" setxattr = next_setxattr
        (path: *const c_char, name: *const c_char, value: *const c_void, n: size_t,
         flags: c_int) -> c_int,
        (Text(path), (Text(name), (value, n)));
    c"getxattr" getxattr = next_getxattr
        (path: *const c_char, name: *const c_char, to: *mut c_void, n: size_t) -> ssize_t,
        (Text(path), (Text(name), (to.cast_const(), n)));
    c"listxattr" listxattr = next_listxattr
        (path: *const c_char, to: *mut c_void, n: size_t) -> ssize_t,
        (Text(path), (to.cast_const(), n));
    c"removexattr" removexattr = next_removexattr
        (path: *const c_char, name: *const c_char) -> c_int, (Text(path), Text(name));
    c"lsetxattr" lsetxattr = next_lsetxattr
        (path: *const c_char, name: *const c_char, value: *const c_void, n: size_t,
         flags: c_int) -> c_int,
        (Text(path), (Text(name), (value, n)));
    c"lgetxattr" lgetxattr = next_lgetxattr
        (path: *const c_char, name: *const c_char, to: *mut c_void, n: size_t) -> ssize_t,
        (Text(path), (Text(name), (to.cast_const(), n)));
    c"llistxattr" llistxattr = next_llistxattr
        (path: *const c_char, to: *mut c_void, n: size_t) -> ssize_t,
        (Text(path), (to.cast_const(), n));
    c"lremovexattr" lremovexattr = next_lremovexattr
        (path: *const c_char, name: *const c_char) -> c_int, (Text(path), Text(name));
    c"fsetxattr" fsetxattr = next_fsetxattr
        (fd: c_int, name: *const c_char, value: *const c_void, n: size_t, flags: c_int) -> c_int,
        ((), (Text(name), (value, n)));
    c"fgetxattr" fgetxattr = next_fgetxattr
        (fd: c_int, name: *const c_char, to: *mut c_void, n: size_t) -> ssize_t,
        ((), (Text(name), (to.cast_const(), n)));
    c"flistxattr" flistxattr = next_flistxattr
        (fd: c_int, to: *mut c_void, n: size_t) -> ssize_t, ((), (to.cast_const(), n));
    c"fremovexattr" fremovexattr = next_fremovexattr
        (fd: c_int, name: *const c_char) -> c_int, ((), Text(name));
}

/// What functions of threads return: 0 or an error.
#[derive(Clone, Copy)]
pub struct Code(pub c_int);

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
}
