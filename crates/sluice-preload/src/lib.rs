//! `libsluice_preload.so`: places a program's memory on the emulated device.
//!
//! Loaded by `LD_PRELOAD` (see `sluice run`). Without a session in the environment it does nothing.
//! Hooks allocate nothing and print nothing; what they need is resolved in the constructor.

mod advice;
mod affinity;
mod aio;
mod aliases;
mod altstack;
mod answers;
mod behind;
mod beside;
mod bounce;
mod buffers;
mod calls;
mod cancelled;
mod change;
mod contexts;
mod deferred;
mod descriptors;
mod device;
mod dispatch;
mod ends;
mod exec;
mod exec_lists;
mod explicit;
mod files;
mod fork;
mod futex;
mod heap;
mod helpers;
mod init;
mod internal;
mod io;
mod jump;
mod kin;
mod libc_names;
mod limit_calls;
mod limits;
mod load;
mod locked;
mod locks;
mod malloc;
mod many;
mod map;
mod marks;
mod mask;
mod moved;
mod names;
mod namespaces;
mod next;
mod numbers;
mod old_signals;
mod own_threads;
mod own_uffd;
mod owned;
mod parts;
mod persist;
mod piece;
mod process_advice;
mod profile;
mod queues;
mod same_stacks;
mod shared;
mod spawn;
mod static_tls;
mod status;
mod stay;
mod streams;
mod symbols;
mod system;
mod taken;
mod waits;
mod wanted;
mod wishes;

#[global_allocator]
static INTERNAL: internal::Internal = internal::Internal;
