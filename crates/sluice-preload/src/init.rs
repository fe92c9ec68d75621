//! Start and end of the device of this process.

use crate::allocator::heap::SPACE;
use crate::allocator::{limits, malloc, profile, system};
use crate::device::{Heap, engine, mark, publish, refuse, take_from};
use crate::internal;
use crate::memory::behind;
use crate::processes::{ends, fork, parents};
use crate::signals::{altstack, dispatch, mask, old_signals};
use sluice_runtime::copies::session_variable;
use sluice_runtime::{
    Engine, OnDevice, Session, SessionError, Space, StartError, Trap, allow_heap, dismiss_threads,
    has_begun, heap_needs, memory_use, running_threads, sent_back, stay_above, with_own_files,
};
use std::io::ErrorKind;
use std::path::Path;

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = construct;

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destruct;

extern "C" fn construct() {
    ends::resolve();
    dispatch::resolve();
    let heap = match std::env::var_os(session_variable(&own_path())) {
        None => Heap::Next,
        Some(dir) => {
            sluice_runtime::fatal::on_panic();
            let started = with_own_files(|| start(Path::new(&dir)));
            match started.inspect_err(|_| dismiss_threads()) {
                Ok(heap) => heap,
                Err(e) if does_without(Path::new(&dir), &e) => {
                    limits::give_up();
                    Heap::Next
                }
                Err(e) => refuse_session(Path::new(&dir), &e.to_string()),
            }
        }
    };
    if heap == Heap::Next && engine().is_none() {
        internal::shrink();
    }
    take_from(heap);
}

extern "C" fn destruct() {
    if let Some(engine) = engine() {
        sluice_runtime::shmem::client::end();
        engine.finish();
    }
}

/// Whether a program that the run's own program started, or became, goes on off the device, as
/// under `sudo`, and the command counts it. It cannot reach the session or the device's file, as
/// another user or in a sandbox, or its limits or filters leave no room for the device.
fn does_without(dir: &Path, error: &StartError) -> bool {
    let cannot_have_it = match error {
        StartError::Session(SessionError::File { source, .. })
        | StartError::DeviceFile { source, .. } => matches!(
            source.kind(),
            ErrorKind::PermissionDenied | ErrorKind::NotFound
        ),
        StartError::SentBack(_) => true,
        error => error.is_beyond_a_limit() && running_threads() == 0,
    };
    cannot_have_it && !is_runs_own_program(dir)
}

/// Whether this is the program that the command was given.
fn is_runs_own_program(dir: &Path) -> bool {
    // SAFETY: no pointers.
    let parent = unsafe { libc::getppid() };
    parents::command_of(dir) == Some(parent) && !has_begun(dir)
}

/// Refuses to start, before the program's `main`. The session's folder has a note of it, so that
/// the command that made it does not print it again.
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

fn start(dir: &Path) -> Result<Heap, StartError> {
    // First: without a device they are the kernel's to keep.
    let has_limits = limits::take_from_environment();
    // Next: reading the session makes such calls.
    if let Some(call) = sent_back() {
        return Err(StartError::SentBack(call));
    }
    internal::keep_from_core_files();
    let session = Session::load(dir)?;
    let needed = heap_needs(&session);
    if !has_limits && !is_runs_own_program(dir) {
        limits::adopt(needed);
    }
    allow_heap(&session)?;
    let before = memory_use();
    if matches!(session.place, OnDevice::Dax(_)) {
        behind::find();
    }
    let shares = session.kinds.shared;
    let has_heap = session.place == OnDevice::Heap && session.kinds.heap;
    let trap = session.trap;
    let profiled = session.profile;
    let os = |what| move |errno| StartError::System { what, errno };
    if sluice_region::is_valgrind() {
        return Err(StartError::Descriptor(sluice_region::OpenError::Valgrind));
    }
    sluice_runtime::prepare_threads(session.threads()).map_err(os("memory for threads"))?;
    let cpu = sluice_region::cpu_now();
    if trap == Trap::Event {
        stay_above(sluice_region::real_time_priority());
    }
    let engine = match trap {
        Trap::Event => Engine::start_with_threads(session, cpu)?,
        Trap::Signal => {
            session.hire()?;
            Engine::start(session)?
        }
    };
    mask::resolve();
    old_signals::resolve();
    if trap == Trap::Signal {
        start_signal_mode(engine)?;
        engine.start_threads(cpu)?;
    }
    engine.calibrate();
    fork::register();
    if shares {
        ends::watch_quick();
    }
    parents::know(dir);
    mark().map_err(os("marking children"))?;
    let own_allocator = !malloc::next_is_libc();
    *SPACE.lock() = Some(Space::new(engine.arena().1 / sluice_region::PAGE));
    publish(engine);
    limits::learn(before, needed);
    profile::look_from(profiled);
    if !has_heap || own_allocator {
        return Ok(Heap::Next);
    }
    move_break();
    Ok(Heap::Device)
}

/// Sees to it that each thread can take the signal of its misses.
fn start_signal_mode(engine: &'static Engine) -> Result<(), StartError> {
    let os = |what| move |errno| StartError::System { what, errno };
    system::find_loader();
    engine
        .guard_descriptors()
        .map_err(os("moving a descriptor"))?;
    altstack::start().map_err(os("a stack for signals"))?;
    if !sluice_runtime::install_signal(engine) {
        return Err(StartError::Handler);
    }
    match system::find_stream_buffers() {
        true => Ok(()),
        false => Err(StartError::Streams),
    }
}

/// Moves the program's break as the C library's allocator does when it is first asked, which nobody
/// will do now. Programs that use the break themselves find memory before it.
fn move_break() {
    const FIRST_BYTES: libc::intptr_t = 33 * sluice_region::PAGE as libc::intptr_t;
    // SAFETY: new memory, which nobody uses. Where there is none, the break stays.
    unsafe { libc::sbrk(FIRST_BYTES) };
}
