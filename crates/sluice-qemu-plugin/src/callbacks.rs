//! The callbacks that QEMU makes once for a plugin, whatever its version.
//!
//! Up to version 6 of the interface they begin with the plugin's number, from 7 on they end with a
//! pointer of the plugin's own. Neither is needed here.

use crate::api::{self, Block, Id, api};
use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// The callbacks of a mode of the plugin.
pub struct Callbacks {
    /// A CPU is there.
    pub begins: fn(c_uint),
    /// It has nothing to do.
    pub rests: fn(c_uint),
    /// It has ended.
    pub leaves: fn(c_uint),
    /// A block was translated, which may be looked at during the call.
    pub translated: unsafe fn(*mut Block),
    /// All translations have been thrown away.
    pub flushed: Option<fn()>,
    /// QEMU ends, and its CPUs have stopped.
    pub ends: fn(),
}

static ASKED: OnceLock<Callbacks> = OnceLock::new();

fn asked() -> &'static Callbacks {
    ASKED.get().expect("set before QEMU was asked")
}

/// Asks QEMU for the callbacks; once, when the plugin is installed.
pub fn ask(id: Id, callbacks: Callbacks) {
    let flushes = callbacks.flushed.is_some();
    let _ = ASKED.set(callbacks);
    let (begins, rests, leaves, translated) = match api::version() {
        ..7 => (
            begins_to_6 as *const c_void,
            rests_to_6 as *const c_void,
            leaves_to_6 as *const c_void,
            translated_to_6 as *const c_void,
        ),
        _ => (
            begins as *const c_void,
            rests as *const c_void,
            leaves as *const c_void,
            self::translated as *const c_void,
        ),
    };
    let api = api();
    // SAFETY: callbacks of the version's types, that live as long as the process. The last two look
    // at no parameter, and so are of either type.
    unsafe {
        (api.on_cpu)(id, begins, null_mut());
        (api.on_cpu_end)(id, leaves, null_mut());
        (api.on_idle)(id, rests, null_mut());
        (api.on_translation)(id, translated, null_mut());
        (api.on_exit)(id, ends as *const c_void, null_mut());
        if flushes {
            (api.on_flush)(id, flushed as *const c_void, null_mut());
        }
    }
}

extern "C" fn begins_to_6(_: Id, cpu: c_uint) {
    (asked().begins)(cpu);
}

extern "C" fn begins(cpu: c_uint, _: *mut c_void) {
    (asked().begins)(cpu);
}

extern "C" fn rests_to_6(_: Id, cpu: c_uint) {
    (asked().rests)(cpu);
}

extern "C" fn rests(cpu: c_uint, _: *mut c_void) {
    (asked().rests)(cpu);
}

extern "C" fn leaves_to_6(_: Id, cpu: c_uint) {
    (asked().leaves)(cpu);
}

extern "C" fn leaves(cpu: c_uint, _: *mut c_void) {
    (asked().leaves)(cpu);
}

extern "C" fn translated_to_6(_: Id, block: *mut Block) {
    // SAFETY: the block that QEMU passed.
    unsafe { (asked().translated)(block) };
}

extern "C" fn translated(block: *mut Block, _: *mut c_void) {
    // SAFETY: the block that QEMU passed.
    unsafe { (asked().translated)(block) };
}

extern "C" fn flushed() {
    if let Some(flushed) = asked().flushed {
        flushed();
    }
}

extern "C" fn ends() {
    (asked().ends)();
}
