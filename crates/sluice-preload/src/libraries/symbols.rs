//! Functions of the C library's allocator that a program looks up by name, past the hooks: Python's
//! `ctypes.CDLL("libc.so.6").free`, or a library that seeks the next definition. What is allocated
//! on the device must be freed there, so they find the hooks.

use crate::allocator::malloc;
use crate::device::{Heap, heap};
use crate::libraries::{libc_names, other_libc};
use crate::next::{Lookup, VersionLookup, lookup, version_lookup};
use core::ffi::CStr;
use libc::{c_char, c_void};

/// The hook of this name.
fn hook(name: &CStr) -> Option<usize> {
    Some(match name.to_bytes() {
        b"malloc" => malloc::malloc as *const () as usize,
        b"free" => malloc::free as *const () as usize,
        b"cfree" => malloc::free as *const () as usize,
        b"__libc_reallocarray" => malloc::reallocarray as *const () as usize,
        b"calloc" => malloc::calloc as *const () as usize,
        b"realloc" => malloc::realloc as *const () as usize,
        b"reallocarray" => malloc::reallocarray as *const () as usize,
        b"memalign" => malloc::memalign as *const () as usize,
        b"aligned_alloc" => malloc::aligned_alloc as *const () as usize,
        b"posix_memalign" => malloc::posix_memalign as *const () as usize,
        b"valloc" => malloc::valloc as *const () as usize,
        b"pvalloc" => malloc::pvalloc as *const () as usize,
        b"malloc_usable_size" => malloc::malloc_usable_size as *const () as usize,
        b"__libc_malloc" => libc_names::__libc_malloc as *const () as usize,
        b"__libc_free" => libc_names::__libc_free as *const () as usize,
        b"__libc_calloc" => libc_names::__libc_calloc as *const () as usize,
        b"__libc_realloc" => libc_names::__libc_realloc as *const () as usize,
        b"__libc_memalign" => libc_names::__libc_memalign as *const () as usize,
        b"__libc_valloc" => libc_names::__libc_valloc as *const () as usize,
        b"__libc_pvalloc" => libc_names::__libc_pvalloc as *const () as usize,
        _ => return None,
    })
}

/// The hook in place of what the program would find; 0 where there is none.
unsafe extern "C" fn found(handle: *mut c_void, name: *const c_char) -> usize {
    other_libc::meet(handle);
    if heap() != Heap::Device || name.is_null() || handle == libc::RTLD_DEFAULT {
        return 0;
    }
    // SAFETY: the program's name.
    let name = unsafe { CStr::from_ptr(name) };
    let Some(hook) = hook(name) else { return 0 };
    // SAFETY: the program's handle, and ours.
    let is_libcs =
        || unsafe { lookup()(handle, name.as_ptr()) == lookup()(libc::RTLD_NEXT, name.as_ptr()) };
    if handle == libc::RTLD_NEXT || is_libcs() {
        hook
    } else {
        0
    }
}

/// As above for a version of the name, which no hook has: where the program names no library it
/// would find the C library's as well.
unsafe extern "C" fn found_version(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
) -> usize {
    other_libc::meet(handle);
    if heap() != Heap::Device || name.is_null() || version.is_null() {
        return 0;
    }
    // SAFETY: the program's name.
    let Some(hook) = hook(unsafe { CStr::from_ptr(name) }) else {
        return 0;
    };
    // SAFETY: the program's handle and version, and ours.
    let of = |handle| unsafe { version_lookup()(handle, name, version) };
    let libcs = of(libc::RTLD_NEXT);
    let is_libcs = !libcs.is_null() && (handle == libc::RTLD_NEXT || of(handle) == libcs);
    if is_libcs { hook } else { 0 }
}

extern "C" fn behind() -> Lookup {
    lookup()
}

extern "C" fn behind_version() -> VersionLookup {
    version_lookup()
}

/// Goes on by a jump: what is next depends on the caller.
///
/// # Safety
/// C contract of `dlsym`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {found}",
        "test rax, rax",
        "jne 2f",
        "call {behind}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        "2:",
        "add rsp, 24",
        "ret",
        found = sym found,
        behind = sym behind,
    );
}

/// As above, for the other architecture.
///
/// # Safety
/// C contract of `dlsym`.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "bl {found}",
        "cbnz x0, 2f",
        "bl {behind}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        "2:",
        "ldp x29, x30, [sp], #32",
        "ret",
        found = sym found,
        behind = sym behind,
    );
}

/// Goes on by a jump, as `dlsym` does.
///
/// # Safety
/// C contract of `dlvsym`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlvsym(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
) -> *mut c_void {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "call {found}",
        "test rax, rax",
        "jne 2f",
        "call {behind}",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        "2:",
        "add rsp, 24",
        "ret",
        found = sym found_version,
        behind = sym behind_version,
    );
}

/// As above, for the other architecture.
///
/// # Safety
/// C contract of `dlvsym`.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlvsym(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
) -> *mut c_void {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-48]!",
        "stp x0, x1, [sp, #16]",
        "str x2, [sp, #32]",
        "bl {found}",
        "cbnz x0, 2f",
        "bl {behind}",
        "mov x16, x0",
        "ldr x2, [sp, #32]",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #48",
        "br x16",
        "2:",
        "ldp x29, x30, [sp], #48",
        "ret",
        found = sym found_version,
        behind = sym behind_version,
    );
}
