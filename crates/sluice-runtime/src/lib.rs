//! The live runtime: from a page fault to a NAND read and back, in wall-clock time.
//!
//! Follow a trap: [`faults::handler`] (event mode) or [`faults::signal`] (signal mode) learns of a
//! fault and calls [`Engine::trap`], which asks `sluice_model::Device::access` when the page may
//! appear. The model has [`host::Host`] unmap the page that leaves the cache, [`faults::pace`]
//! waits for the deadline, and [`Engine::fill`] maps the page. Nothing on that way allocates,
//! prints, or touches device memory.

mod allowance;
mod calls;
mod clock;
mod control;
mod ending;
mod engine;
pub mod fatal;
mod faults;
mod fork;
mod host;
mod lock;
mod measures;
mod memory;
mod process;
#[cfg(test)]
mod rig;
mod session;
pub mod shmem;
mod store;
mod threads;

pub use calls::file_ranges::{FilePart, drop_view};
pub use calls::single::is_programs_only_thread;
pub use calls::stay::{may_be_placed, may_stay};
pub use calls::told::Hint;
pub use clock::{now_ns, with_same_clock};
pub use engine::Engine;
pub use engine::state::{Plan, Wait};
pub use faults::signal::{
    chain as chain_signal, install as install_signal, is_ours as signal_is_ours,
};
pub use lock::{Guard, Lock};
pub use measures::profile::Calls;
pub use memory::heap::{allow as allow_heap, needed as heap_needs};
pub use memory::maps::{is_alike, may_access};
pub use memory::memory_use::memory_use;
pub use memory::shared::SharedBacking;
pub use memory::sources::FileKind;
pub use memory::space::Space;
pub use memory::spare::Spare;
pub use process::descriptors::{first_guarded, is_guarded};
pub use process::filter::{is_set as has_filter, note as note_filter, sent_back};
pub use process::limits::with_own_files;
pub use process::root::keep as keep_root;
pub use process::sent::{
    begin_fork, begin_in_child, end_fork, hold_signals, is_forker, leave_open, restore_signals,
};
pub use process::witness::stand_for as witness;
pub use session::contents;
pub use session::copies;
pub use session::error::{SessionError, StartError};
pub use session::files::{has_begun, is_first_process};
pub use session::kinds::{KindError, Kinds};
pub use session::settings::{LiveSettings, MigrationPolicy, OnLongDelay};
pub use session::{BUILD, OnDevice, Session, Store, Trap};
pub use threads::affinity::{
    await_cpus, choose as choose_cpus, need_cpus, need_cpus_for_a_while, need_cpus_no_longer,
};
pub use threads::calm::{calm, is_calm};
pub use threads::hired::dismiss as dismiss_threads;
pub use threads::thread::{
    is_own as is_runtimes_thread, prepare as prepare_threads, running as running_threads,
    stay_above,
};
