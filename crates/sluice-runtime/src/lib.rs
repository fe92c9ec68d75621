//! The live runtime: from a page fault to a NAND read and back, in wall-clock time.
//!
//! Follow a trap: [`handler`] (event mode) or [`signal`] (signal mode) learns of a fault and calls
//! [`Engine::trap`], which asks `sluice_model::Device::access` when the page may appear. The model
//! has [`host::Host`] unmap the page that leaves the cache, [`pace`] waits for the deadline, and
//! [`Engine::fill`] maps the page. Nothing on that way allocates, prints, or touches device memory.

mod active;
mod affinity;
mod allocations;
mod allowance;
mod calibrate;
mod calm;
mod clock;
pub mod contents;
mod control;
pub mod copies;
mod costs;
mod crowd;
mod descriptors;
mod desk;
mod durable;
mod ending;
mod engine;
mod entry;
mod error;
pub mod fatal;
mod file_ranges;
mod files;
mod filter;
mod folder;
mod fork;
mod gone;
mod groups;
mod hand_over;
mod handler;
mod heap;
mod hints;
mod hired;
mod hit;
mod hold;
mod host;
mod kinds;
mod leader;
mod limits;
mod loaded;
mod lock;
mod locked;
mod maps;
mod marks;
mod memory_use;
mod migration;
mod moves;
mod off_device;
mod pace;
mod private;
mod private_files;
mod profile;
mod programs;
mod progress;
mod ranges;
mod real_time;
mod record;
#[cfg(test)]
mod rig;
mod rings;
mod root;
mod sample;
mod sent;
mod session;
mod settings;
mod shared;
pub mod shmem;
mod signal;
mod single;
mod sources;
mod space;
mod spare;
mod state;
mod stats;
mod stay;
mod store;
#[cfg(any(target_arch = "aarch64", test))]
mod syndrome;
mod tasks;
mod thread;
mod timed;
mod told;
mod turn;
mod waited;
mod watch;
mod withdraw;
mod witness;
mod woken;

pub use affinity::{
    await_cpus, choose as choose_cpus, need_cpus, need_cpus_for_a_while, need_cpus_no_longer,
};
pub use calm::{calm, is_calm};
pub use clock::{now_ns, with_same_clock};
pub use descriptors::{first_guarded, is_guarded};
pub use engine::Engine;
pub use error::{SessionError, StartError};
pub use file_ranges::{FilePart, drop_view};
pub use files::has_been_there;
pub use filter::{is_set as has_filter, note as note_filter, sent_back};
pub use heap::{allow as allow_heap, needed as heap_needs};
pub use hired::dismiss as dismiss_threads;
pub use kinds::{KindError, Kinds};
pub use limits::with_own_files;
pub use lock::{Guard, Lock};
pub use maps::{is_alike, may_access};
pub use memory_use::memory_use;
pub use profile::Calls;
pub use root::keep as keep_root;
pub use sent::{
    begin_fork, begin_in_child, end_fork, hold_signals, is_forker, leave_open, restore_signals,
};
pub use session::{BUILD, OnDevice, Session, Store, Trap};
pub use settings::{LiveSettings, MigrationPolicy, OnLongDelay};
pub use shared::SharedBacking;
pub use signal::{chain as chain_signal, install as install_signal, is_ours as signal_is_ours};
pub use single::is_programs_only_thread;
pub use sources::FileKind;
pub use space::Space;
pub use spare::Spare;
pub use state::{Plan, Wait};
pub use stay::{may_be_placed, may_stay};
pub use thread::{
    is_own as is_runtimes_thread, prepare as prepare_threads, running as running_threads,
    stay_above,
};
pub use told::Hint;
pub use witness::stand_for as witness;
