//! System calls that read a name and little else, for signal mode; see [`super::calls`].

use crate::bytes::answers::status;
use crate::bytes::buffers::{Buffers, Code, One, Text, is_readable, signal_engine, with_pages};
use crate::bytes::piece::{Piece, Place};
use crate::next;
use crate::signals::dispatch::by_libc;
use crate::threads::asked::no_such_call;
use crate::tried_again;
use core::ptr::copy_nonoverlapping;
use libc::utimbuf;
use libc::{
    FILE, c_char, c_int, c_long, c_uint, c_ulong, c_void, dev_t, gid_t, key_t, mode_t, mq_attr,
};
use libc::{mqd_t, pthread_t, size_t, ssize_t, statvfs as Statvfs, timeval, uid_t};
use sluice_region::PAGE;
use sluice_runtime::Engine;

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
    c"umount" umount = next_umount (path: *const c_char) -> c_int, Text(path);
    c"umount2" umount2 = next_umount2 (path: *const c_char, flags: c_int) -> c_int, Text(path);
    c"pathconf" pathconf = next_pathconf
        (path: *const c_char, what: c_int) -> c_long, Text(path);
    c"ftok" ftok = next_ftok(path: *const c_char, project: c_int) -> key_t, Text(path);
    c"lchmod" lchmod = next_lchmod(path: *const c_char, mode: mode_t) -> c_int, Text(path);
    c"mkfifoat" mkfifoat = next_mkfifoat
        (dir: c_int, path: *const c_char, mode: mode_t) -> c_int, Text(path);
    c"mknodat" mknodat = next_mknodat
        (dir: c_int, path: *const c_char, mode: mode_t, device: dev_t) -> c_int, Text(path);
    c"futimesat" futimesat = next_futimesat
        (dir: c_int, path: *const c_char, times: *const timeval) -> c_int, Text(path);
    c"fanotify_mark" fanotify_mark = next_fanotify_mark
        (fd: c_int, how: c_uint, events: u64, dir: c_int, path: *const c_char) -> c_int,
        Text(path);
    c"name_to_handle_at" name_to_handle_at = next_name_to_handle_at
        (dir: c_int, path: *const c_char, to: *mut c_uint, mount: *mut c_int,
         flags: c_int) -> c_int, (Text(path), (Handle(to), One(mount)));
    c"open_by_handle_at" open_by_handle_at = next_open_by_handle_at
        (mount: c_int, from: *mut c_uint, flags: c_int) -> c_int, Handle(from);
    c"mq_open" mq_open = next_mq_open
        (name: *const c_char, flags: c_int, mode: mode_t, of: *const mq_attr) -> mqd_t,
        (Text(name), One(of));
    c"__mq_open_2" __mq_open_2 = next_mq_open_2(name: *const c_char, flags: c_int) -> mqd_t,
        Text(name);
    c"mq_unlink" mq_unlink = next_mq_unlink(name: *const c_char) -> c_int, Text(name);
    c"acct" acct = next_acct(path: *const c_char) -> c_int, Text(path);
    c"swapon" swapon = next_swapon(path: *const c_char, flags: c_int) -> c_int, Text(path);
    c"swapoff" swapoff = next_swapoff(path: *const c_char) -> c_int, Text(path);
    c"pivot_root" pivot_root = next_pivot_root
        (new: *const c_char, old: *const c_char) -> c_int, (Text(new), Text(old));
    c"open_tree" open_tree = next_open_tree or no_such_call
        (dir: c_int, path: *const c_char, flags: c_uint) -> c_int, Text(path);
    c"move_mount" move_mount = next_move_mount or no_such_call
        (dir: c_int, from: *const c_char, into: c_int, to: *const c_char, flags: c_uint) -> c_int,
        (Text(from), Text(to));
    c"fsopen" fsopen = next_fsopen or no_such_call
        (kind: *const c_char, flags: c_uint) -> c_int, Text(kind);
    c"fspick" fspick = next_fspick or no_such_call
        (dir: c_int, path: *const c_char, flags: c_uint) -> c_int, Text(path);
    c"fsconfig" fsconfig = next_fsconfig or no_such_call
        (fd: c_int, what: c_uint, key: *const c_char, value: *const c_void, more: c_int) -> c_int,
        (Text(key), One(value.cast::<[u8; 256]>()));
    c"mount_setattr" mount_setattr = next_mount_setattr or no_such_call
        (dir: c_int, path: *const c_char, flags: c_uint, of: *const c_void, n: size_t) -> c_int,
        (Text(path), (of, n));
    c"delete_module" delete_module = next_delete_module
        (name: *const c_char, flags: c_uint) -> c_int, Text(name);
    c"setmntent" setmntent = next_setmntent
        (path: *const c_char, mode: *const c_char) -> *mut FILE, Text(path);
    c"catopen" catopen = next_catopen(name: *const c_char, flags: c_int) -> isize, Text(name);
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

/// A file's handle, which begins with the bytes that it has room for, and its kind.
struct Handle(*mut c_uint);

impl Buffers for Handle {
    fn touch(&self, engine: &Engine) -> bool {
        if !is_readable(engine, self.0 as usize) {
            return false;
        }
        // SAFETY: the program's, which can be read.
        let bytes = unsafe { self.0.read_unaligned() } as size_t + size_of::<[c_uint; 2]>();
        (self.0.cast::<c_void>().cast_const(), bytes).touch(engine)
    }
}

/// `mknod` of programs that are older than version 2.33 of the C library.
///
/// # Safety
/// C contract of the function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __xmknodat(
    version: c_int,
    dir: c_int,
    path: *const c_char,
    mode: mode_t,
    device: *const dev_t,
) -> c_int {
    // SAFETY: the program's; passed on.
    let device = unsafe { *device };
    if version != 0 || c_uint::try_from(device).is_err() {
        return status(Err(libc::EINVAL));
    }
    let args = [
        dir as usize,
        path as usize,
        mode as usize,
        device as usize,
        0,
        0,
    ];
    // SAFETY: passed on.
    let call = || unsafe { by_libc(libc::SYS_mknodat, args) as c_int };
    with_pages(Text(path), call)
}

/// # Safety
/// C contract of the function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __xmknod(
    version: c_int,
    path: *const c_char,
    mode: mode_t,
    device: *const dev_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe { __xmknodat(version, libc::AT_FDCWD, path, mode, device) }
}

next!(next_mount: c"mount"(source: *const c_char, target: *const c_char, kind: *const c_char,
    flags: c_ulong, data: *const c_void) -> c_int);

/// The kernel reads a page from `data` on, and takes what it finds before a missing one for all.
///
/// # Safety
/// C contract of `mount`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mount(
    source: *const c_char,
    target: *const c_char,
    kind: *const c_char,
    flags: c_ulong,
    data: *const c_void,
) -> c_int {
    let place = Place::new();
    let at = data as usize;
    let served = signal_engine().and_then(|engine| {
        let run = engine.served_run(at, at.saturating_add(PAGE), false)?;
        let is_first = run.start == at && !data.is_null();
        is_first.then_some(run.len())
    });
    let own = served.and_then(|bytes| Some((Piece::new(&place, PAGE)?, bytes)));
    let given = own.as_ref().map_or(data, |(piece, bytes)| {
        // SAFETY: the program's memory, which the device serves; ours has a page.
        unsafe {
            piece.at.write_bytes(0, PAGE);
            copy_nonoverlapping(data.cast(), piece.at, *bytes);
        }
        piece.at.cast_const().cast()
    });
    let names = ((Text(source), Text(target)), Text(kind));
    // SAFETY: passed on, or memory of ours with the same in it.
    with_pages(names, || unsafe {
        next_mount(source, target, kind, flags, given)
    })
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
