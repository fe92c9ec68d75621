//! QEMU's plugin interface: the functions that this plugin calls, found by name when it is loaded.
//!
//! One file serves every version of the interface, 1 (QEMU 7.2) to 7 (QEMU 11.1): two functions
//! changed, and in 7 all callbacks, see [`crate::callbacks`]. A plugin states its version in a
//! variable, which QEMU reads after the constructors have run; ours looks for what the newer
//! versions brought.

use crate::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The version that QEMU reads: of the interface that this QEMU has.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "QEMU gives the name")]
pub static qemu_plugin_version: AtomicI32 = AtomicI32::new(1);

/// What each version brought first, the newest first.
const VERSIONS: [(&CStr, i32); 5] = [
    // Brought by 6 (QEMU 11.0). Only `STATED` distinguishes 6 from 7, which brought nothing new by
    // name.
    (c"qemu_plugin_register_vcpu_syscall_filter_cb", 7),
    (c"qemu_plugin_translate_vaddr", 5),
    (c"qemu_plugin_read_memory_vaddr", 4),
    (c"qemu_plugin_request_time_control", 3),
    (c"qemu_plugin_scoreboard_new", 2),
];

/// The environment variable that says which version to state.
const STATED: &CStr = c"SLUICE_QEMU_INTERFACE";

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = state_version;

extern "C" fn state_version() {
    let brought = || VERSIONS.iter().find(|(name, _)| !symbol(name).is_null());
    let version = stated().unwrap_or_else(|| brought().map_or(1, |(_, version)| *version));
    qemu_plugin_version.store(version, Relaxed);
}

fn stated() -> Option<i32> {
    // SAFETY: QEMU has one thread yet; a string that is found ends in a zero.
    let text = unsafe {
        let found = libc::getenv(STATED.as_ptr());
        (!found.is_null()).then(|| CStr::from_ptr(found))?
    };
    text.to_str().ok()?.parse().ok()
}

/// The version of the interface that was stated.
pub fn version() -> i32 {
    qemu_plugin_version.load(Relaxed)
}

/// The number by which QEMU knows a plugin.
pub type Id = u64;
/// QEMU's translation block.
pub enum Block {}
/// QEMU's instruction of a block.
pub enum Insn {}
/// QEMU's guest-physical address of an access.
pub enum HwAddr {}

/// A callback may not look at registers.
pub const NO_REGS: c_int = 0;
/// Accesses that load, and those that store. QEMU 7.2 confuses them when it is asked for one kind
/// only.
pub const READS: c_int = 1;
/// See [`READS`].
pub const WRITES: c_int = 2;

/// The beginning of QEMU's description of itself.
#[repr(C)]
pub struct Info {
    target: *const c_char,
    version_min: c_int,
    version_now: c_int,
    system: bool,
}

impl Info {
    /// The guest's architecture, such as "x86_64".
    pub fn target(&self) -> &str {
        // SAFETY: QEMU gives a string that ends in a zero and lives as long as the call.
        unsafe { CStr::from_ptr(self.target) }
            .to_str()
            .unwrap_or_default()
    }

    /// Whether a whole machine is emulated.
    pub fn is_system(&self) -> bool {
        self.system
    }
}

/// Takes a callback, whose type depends on the version, and from 7 on what it is called with.
/// Before 7 flushes, CPUs and translations have two parameters: the third is in a register that
/// they do not look at.
pub type Ask = unsafe extern "C" fn(Id, *const c_void, *mut c_void);
/// A function that is not the same in all versions. From 3 on it copies bytes into a buffer,
/// and says how many.
pub type InsnData = unsafe extern "C" fn(*const Insn, *mut u8, usize) -> usize;
/// Up to version 2 it returns their address.
pub type InsnDataTo2 = unsafe extern "C" fn(*const Insn) -> *const u8;
/// Called when a block or instruction is executed.
pub type OfExecution = extern "C" fn(c_uint, *mut c_void);
/// Called when memory is accessed: CPU, what, virtual address, the caller's own.
pub type OfAccess = extern "C" fn(c_uint, u32, u64, *mut c_void);

macro_rules! api {
    ($($(#[$doc:meta])* $field:ident = $name:literal: $type:ty),* $(,)?) => {
        /// QEMU's functions.
        pub struct Api { $($(#[$doc])* pub $field: $type,)* }

        impl Api {
            fn find() -> Result<Api, Error> {
                Ok(Api { $($field: {
                    let found = symbol($name);
                    if found.is_null() {
                        let name = $name.to_string_lossy().into_owned();
                        return Err(Error::NoFunction(name));
                    }
                    // SAFETY: a function of this name has this type in all versions.
                    unsafe { std::mem::transmute::<*mut c_void, $type>(found) }
                },)* })
            }
        }
    };
}

api! {
    /// Asks for a call for each CPU that is made.
    on_cpu = c"qemu_plugin_register_vcpu_init_cb": Ask,
    /// For each CPU that has ended.
    on_cpu_end = c"qemu_plugin_register_vcpu_exit_cb": Ask,
    /// For each CPU that has nothing to do.
    on_idle = c"qemu_plugin_register_vcpu_idle_cb": Ask,
    /// For each block that is translated.
    on_translation = c"qemu_plugin_register_vcpu_tb_trans_cb": Ask,
    /// For each time that a block is executed.
    on_block = c"qemu_plugin_register_vcpu_tb_exec_cb":
        unsafe extern "C" fn(*mut Block, OfExecution, c_int, *mut c_void),
    /// For each access that an instruction makes.
    on_access = c"qemu_plugin_register_vcpu_mem_cb":
        unsafe extern "C" fn(*mut Insn, OfAccess, c_int, c_int, *mut c_void),
    /// At the end.
    on_exit = c"qemu_plugin_register_atexit_cb": Ask,
    /// When all translations have been thrown away.
    on_flush = c"qemu_plugin_register_flush_cb": Ask,
    /// Bytes of an instruction.
    insn_size = c"qemu_plugin_insn_size": unsafe extern "C" fn(*const Insn) -> usize,
    /// They themselves; see [`insn_bytes`].
    insn_data = c"qemu_plugin_insn_data": InsnData,
    /// Instructions of a block.
    block_insns = c"qemu_plugin_tb_n_insns": unsafe extern "C" fn(*const Block) -> usize,
    /// An instruction of a block.
    block_insn = c"qemu_plugin_tb_get_insn":
        unsafe extern "C" fn(*const Block, usize) -> *mut Insn,
    /// The size of an access, as a power of two.
    size_shift = c"qemu_plugin_mem_size_shift": unsafe extern "C" fn(u32) -> c_uint,
    /// Whether it stores.
    is_store = c"qemu_plugin_mem_is_store": unsafe extern "C" fn(u32) -> bool,
    /// Where an access is in the guest's physical memory; null for a program.
    hwaddr = c"qemu_plugin_get_hwaddr": unsafe extern "C" fn(u32, u64) -> *mut HwAddr,
    /// Whether that is not memory.
    hwaddr_is_io = c"qemu_plugin_hwaddr_is_io": unsafe extern "C" fn(*const HwAddr) -> bool,
    /// The address.
    hwaddr_physical = c"qemu_plugin_hwaddr_phys_addr":
        unsafe extern "C" fn(*const HwAddr) -> u64,
}

/// Finds QEMU's functions; once, when the plugin is installed.
///
/// # Errors
/// Names one that is missing.
pub fn find() -> Result<&'static Api, Error> {
    let api = Api::find()?;
    Ok(API.get_or_init(|| api))
}

/// QEMU's functions.
///
/// # Panics
/// If [`find`] has not succeeded.
#[inline]
pub fn api() -> &'static Api {
    API.get().expect("found when the plugin was installed")
}

/// The bytes of an instruction, which are at most as many as x86 has, and how many they are.
///
/// # Safety
/// An instruction of the block of the callback that is running.
pub unsafe fn insn_bytes(insn: *const Insn) -> ([u8; INSN_MAX], usize) {
    let (api, mut bytes) = (api(), [0; INSN_MAX]);
    // SAFETY: as the caller says; the function has the type of its version.
    unsafe {
        let size = (api.insn_size)(insn).min(INSN_MAX);
        if version() >= 3 {
            (api.insn_data)(insn, bytes.as_mut_ptr(), size);
        } else {
            let data = std::mem::transmute::<InsnData, InsnDataTo2>(api.insn_data)(insn);
            bytes[..size].copy_from_slice(std::slice::from_raw_parts(data, size));
        }
        (bytes, size)
    }
}

/// Bytes of the longest instruction.
pub const INSN_MAX: usize = 15;

static API: OnceLock<Api> = OnceLock::new();

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a string that ends in a zero; the result is only compared, or cast by our caller.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}
