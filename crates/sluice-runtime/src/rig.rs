//! An engine in the tests' own process, whose faults a test takes and answers itself.

use crate::engine::Engine;
use crate::engine::state::{Plan, Wait};
use crate::session::settings::LiveSettings;
use crate::session::{OnDevice, Session, Store, Trap};
use sluice_abi::{LOCK_FILE, SESSION_MARK};
use sluice_model::{DeviceConfig, RawConfig};
use sluice_region::PAGE;

/// Time of the device between two accesses: far more than any takes.
const STEP_NS: u64 = 50_000_000;

/// A heap of 4096 pages with four of them in its cache, unless the settings say otherwise.
pub fn engine(settings: &[(&str, &str)]) -> &'static Engine {
    let folder = tempfile::tempdir().expect("room");
    std::fs::write(folder.path().join(LOCK_FILE), SESSION_MARK).expect("room");
    let session = Session {
        dir: folder.path().to_path_buf(),
        ..session(settings)
    };
    Engine::start(session).expect("a device")
}

/// Gives back all that an engine has, its descriptors too: its test made it, and has ended.
///
/// # Safety
/// Nobody uses it from now on.
pub unsafe fn end(engine: &'static Engine) {
    engine.core().host.threads.give_up(true);
    engine.session.hold.give_up();
    // SAFETY: leaked when it was made, and nobody's, by contract.
    drop(unsafe { Box::from_raw(core::ptr::from_ref(engine).cast_mut()) });
}

/// The session of such an engine, without a folder.
pub fn session(settings: &[(&str, &str)]) -> Session {
    let mut raw = DeviceConfig::builder();
    let small = [("device.capacity", "16MiB"), ("cache.capacity", "16KiB")];
    let mut live = RawConfig::of(LiveSettings::PARAMS);
    for (key, value) in small.iter().chain(settings) {
        let of = match LiveSettings::has(key) {
            true => &mut live,
            false => &mut raw,
        };
        of.set(key, value).expect("a value of its kind");
    }
    Session {
        hold: Default::default(),
        dir: Default::default(),
        seed: 1,
        trap: Trap::Signal,
        place: OnDevice::Heap,
        kinds: Default::default(),
        store: Store::Memory,
        mmap_min: 0,
        record: 0,
        sample_ns: 0,
        watch: 0,
        profile: 0,
        handlers: 1,
        ring: false,
        ring_poll_ns: 0,
        settings: LiveSettings::new(live),
        device: DeviceConfig::new(&raw).expect("a device"),
    }
}

/// The address of a page.
pub fn page(engine: &Engine, lpn: u64) -> usize {
    engine.arena().0 + lpn as usize * PAGE
}

/// A fault on a page, long after all that was before; what is to be waited for, if anything is.
pub fn begin(engine: &Engine, step: u64, lpn: u64, write: bool) -> Option<Wait> {
    let seen_ns = engine.started_ns + step * STEP_NS;
    match engine.trap(page(engine, lpn), write, seen_ns, || 1) {
        Some(Plan::Wait(wait)) => Some(wait),
        Some(Plan::Done) => None,
        other => panic!("{other:?} for page {lpn}"),
    }
}

/// A fault on a page that is not there, and its answer.
pub fn touch(engine: &Engine, step: u64, lpn: u64, write: bool) {
    let wait = begin(engine, step, lpn, write).expect("a page that is not there");
    assert!(engine.fill(&wait, wait.act_ns));
    assert!(is_there(engine, lpn), "page {lpn}");
}

/// Whether a page has memory in the program.
pub fn is_there(engine: &Engine, lpn: u64) -> bool {
    engine.core().host.pagemap.is_present(page(engine, lpn))
}

/// Stores to a page that is there.
pub fn store(engine: &Engine, lpn: u64, value: u64) {
    assert!(is_there(engine, lpn), "a fault here ends the test");
    // SAFETY: a page of the arena that is mapped, writable.
    unsafe { (page(engine, lpn) as *mut u64).write_volatile(value) };
}

/// Loads from a page that is there.
pub fn load(engine: &Engine, lpn: u64) -> u64 {
    assert!(is_there(engine, lpn), "a fault here ends the test");
    // SAFETY: a page of the arena that is mapped.
    unsafe { (page(engine, lpn) as *const u64).read_volatile() }
}
