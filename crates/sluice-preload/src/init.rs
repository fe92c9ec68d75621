//! Start, fork and end of the device of this process.

use crate::heap::SPACE;
use crate::{fork, malloc, mask, old_signals, system};
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering::*};
use sluice_runtime::{Engine, Place, Session, Space, StartError, Trap};
use std::path::Path;

static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(core::ptr::null_mut());
static SOURCE: AtomicU8 = AtomicU8::new(Heap::Early as u8);

/// Where the malloc family takes memory from.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Heap {
    /// Before the constructor ran: the library's own range.
    Early = 0,
    /// The device.
    Device = 1,
    /// The allocator after us.
    Next = 2,
}

/// The source in force.
pub fn heap() -> Heap {
    match SOURCE.load(Relaxed) {
        1 => Heap::Device,
        2 => Heap::Next,
        _ => Heap::Early,
    }
}

/// The device, once there is one.
pub fn engine() -> Option<&'static Engine> {
    // SAFETY: leaked at start, never freed.
    unsafe { ENGINE.load(Acquire).as_ref() }
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = construct;

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destruct;

extern "C" fn construct() {
    let heap = match std::env::var_os(sluice_abi::SESSION_VAR) {
        None => Heap::Next,
        Some(dir) => {
            sluice_runtime::fatal::on_panic();
            match start(Path::new(&dir)) {
                Ok(heap) => heap,
                Err(e) => refuse_session(Path::new(&dir), &e.0),
            }
        }
    };
    SOURCE.store(heap as u8, Release);
}

extern "C" fn destruct() {
    if let Some(engine) = engine() {
        engine.finish();
    }
}

/// Runs `f` with the malloc family taking from the library's own range, as before the start.
/// Only while the process has one thread.
pub fn off_device(f: impl FnOnce()) {
    let before = SOURCE.swap(Heap::Early as u8, AcqRel);
    f();
    SOURCE.store(before, Release);
}

/// The same before the program's `main`. The command that made the session need not tell it again.
fn refuse_session(dir: &Path, why: &str) -> ! {
    let _ = std::fs::write(dir.join(sluice_abi::REFUSAL_FILE), why);
    refuse(&format!("{}: {why}", own_path()))
}

/// Where this library was loaded from.
fn own_path() -> String {
    // SAFETY: zeros are a valid Dl_info; an address of this library, and a name that it keeps.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(own_path as *const libc::c_void, &mut info) == 0 {
            return "the preload library".into();
        }
        let name = core::ffi::CStr::from_ptr(info.dli_fname);
        name.to_string_lossy().into_owned()
    }
}

/// Ends a program that cannot get its device: running it without would measure something else.
pub fn refuse(why: &str) -> ! {
    let line = format!("sluice: {why}\n");
    // SAFETY: a live buffer; `_exit` runs nothing of the program's.
    unsafe {
        libc::syscall(libc::SYS_write, 2, line.as_ptr(), line.len());
        libc::_exit(2)
    }
}

fn start(dir: &Path) -> Result<Heap, StartError> {
    let session = Session::load(dir).map_err(|e| StartError(e.to_string()))?;
    let place = session.place.clone();
    let trap = session.trap;
    let engine: &'static Engine = Box::leak(Box::new(Engine::start(session)?));
    mask::resolve();
    old_signals::resolve();
    system::find_loader();
    match trap {
        Trap::Event => {
            sluice_runtime::start_handlers(engine)
                .map_err(|e| StartError(format!("starting the handler thread: errno {e}")))?;
        }
        Trap::Signal => {
            if !sluice_runtime::install_signal(engine) {
                return Err(StartError("cannot install a SIGBUS handler".into()));
            }
            if !system::find_stream_buffers() {
                return Err(StartError(
                    "this C library does not tell where its streams \
                    allocate; use --trap event"
                        .into(),
                ));
            }
        }
    }
    engine.calibrate();
    sluice_runtime::start_control(engine)
        .map_err(|e| StartError(format!("starting the control thread: errno {e}")))?;
    fork::register();
    let own_allocator = !malloc::next_is_libc();
    *SPACE.lock() = Some(Space::new(engine.arena().1 / sluice_region::PAGE));
    ENGINE.store(core::ptr::from_ref(engine).cast_mut(), Release);
    Ok(if place == Place::Heap && !own_allocator {
        Heap::Device
    } else {
        Heap::Next
    })
}
