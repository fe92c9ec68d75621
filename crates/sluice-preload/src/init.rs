//! Start, fork and end of the device of this process.

use crate::heap::SPACE;
use crate::{altstack, fork, kin, malloc, mask, old_signals, system};
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering::*};
use sluice_runtime::{Engine, Place, Session, Space, StartError, Trap, with_all_numbers};
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
    kin::check();
    engine_in_any_child()
}

/// The same between a fork and the end of its handlers.
pub fn engine_in_any_child() -> Option<&'static Engine> {
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
            match with_all_numbers(|| start(Path::new(&dir))) {
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

/// The same before the program's `main`. The command that made the session need not tell it again.
fn refuse_session(dir: &Path, why: &str) -> ! {
    Session::note_refusal(dir, why);
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
    sluice_region::fatal(format_args!("{why}"))
}

fn start(dir: &Path) -> Result<Heap, StartError> {
    let session = Session::load(dir).map_err(|e| StartError(e.to_string()))?;
    let place = session.place.clone();
    let trap = session.trap;
    let os = |what: &'static str| {
        move |errno: i32| {
            let why = std::io::Error::from_raw_os_error(errno);
            StartError(format!("{what}: {why}"))
        }
    };
    if sluice_region::is_valgrind() {
        return Err(StartError(sluice_region::OpenError::Valgrind.to_string()));
    }
    sluice_runtime::prepare_threads(session.threads()).map_err(os("memory for threads"))?;
    if trap == Trap::Event {
        sluice_runtime::start_service().map_err(os("starting the service thread"))?;
    }
    let engine = Engine::start(session)?;
    mask::resolve();
    old_signals::resolve();
    match trap {
        Trap::Event => {}
        Trap::Signal => {
            system::find_loader();
            engine
                .guard_descriptors()
                .map_err(os("moving a descriptor"))?;
            altstack::start().map_err(os("a stack for signals"))?;
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
    engine.start_threads(sluice_region::cpu_now())?;
    engine.calibrate();
    fork::register();
    kin::mark().map_err(os("marking children"))?;
    let own_allocator = !malloc::next_is_libc();
    *SPACE.lock() = Some(Space::new(engine.arena().1 / sluice_region::PAGE));
    ENGINE.store(core::ptr::from_ref(engine).cast_mut(), Release);
    if place != Place::Heap || own_allocator {
        return Ok(Heap::Next);
    }
    move_break();
    Ok(Heap::Device)
}

/// Moves the program's break as the C library's allocator does when it is first asked, which nobody
/// will do now. Programs that use the break themselves find memory before it.
fn move_break() {
    const FIRST_BYTES: libc::intptr_t = 33 * sluice_region::PAGE as libc::intptr_t;
    // SAFETY: new memory, which nobody uses. Where there is none, the break stays.
    unsafe { libc::sbrk(FIRST_BYTES) };
}
