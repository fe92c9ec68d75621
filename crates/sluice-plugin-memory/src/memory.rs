//! A shared object with a memory model in it: loaded, checked, called.

use core::ffi::c_void;
use libloading::os::unix::Library;
use sluice_abi::{Memory, MemorySpace, SLUICE_MEMORY_ABI, SLUICE_NEVER};
use sluice_net::{Answer, ExternalMemory, MemoryRequest, PacketId};
use sluice_plugin::library::{self, LibraryError, Loaded};
use sluice_units::Ps;
use std::cell::Cell;
use std::ffi::CString;

type OnRequest = unsafe extern "C" fn(*mut c_void, u64, u32, u64, bool) -> u64;
type NextAt = unsafe extern "C" fn(*mut c_void) -> u64;
type OnDone = unsafe extern "C" fn(*mut c_void, u32);
type OnAdvance = unsafe extern "C" fn(*mut c_void, u64, Option<OnDone>, *mut c_void);

/// How long a request can take, and the last time that a model can want to be advanced to: sums of
/// such times stay on the clock.
const LONGEST: Ps = Ps::from_ms(1_000);
const LAST: Ps = Ps(1 << 62);
/// How often in a row a model that owes an answer can be advanced and report nothing. One with a
/// clock of a nanosecond is given 16 ms.
const SILENT_MAX: u32 = 1 << 24;

/// A memory model made by an object. Its answers are checked: what cannot be is counted, and the
/// request is done at once.
pub struct ObjectMemory {
    state: *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    request: OnRequest,
    next_at: Option<NextAt>,
    advance: Option<OnAdvance>,
    /// By id: whether the model owes an answer.
    owed: Vec<bool>,
    /// How many answers it owes.
    owes: usize,
    /// When it was advanced last, if no request has come since.
    advanced: Option<Ps>,
    /// When it last reported a request as done, or began to owe an answer.
    since: Ps,
    /// How often it was advanced since then.
    silent: u32,
    refused: Cell<u64>,
    /// Keeps the code mapped.
    _library: Library,
}

/// Loads an object and makes its memory model.
///
/// # Errors
/// What is wrong with it.
pub fn load(
    path: &str,
    argument: &str,
    capacity: u64,
    seed: u64,
) -> Result<ObjectMemory, LibraryError> {
    let loaded = library::load::<Memory>(path, "memory", SLUICE_MEMORY_ABI)?;
    let memory = loaded.symbol;
    let build = loaded.must("build", memory.build)?;
    let destroy = loaded.must("destroy", memory.destroy)?;
    let request = loaded.must("request", memory.request)?;
    let (next_at, advance) = (memory.next_at, memory.advance);
    if next_at.is_some() != advance.is_some() {
        return Err(LibraryError::Half {
            first: "next_at",
            second: "advance",
        });
    }
    let text = CString::new(argument).map_err(|_| LibraryError::Zero { name: "argument" })?;
    let space = MemorySpace {
        capacity,
        seed,
        argument: text.as_ptr(),
    };
    // SAFETY: the interface: a live space, read during the call.
    let state = unsafe { build(&space) };
    if state.is_null() {
        return Err(LibraryError::Build);
    }
    let Loaded { library, .. } = loaded;
    Ok(ObjectMemory {
        state,
        destroy,
        request,
        next_at,
        advance,
        owed: Vec::new(),
        owes: 0,
        advanced: None,
        since: Ps::ZERO,
        silent: 0,
        refused: Cell::new(0),
        _library: library,
    })
}

impl ExternalMemory for ObjectMemory {
    fn request(&mut self, now: Ps, request: MemoryRequest) -> Answer {
        let MemoryRequest { id, addr, is_write } = request;
        // SAFETY: the interface: a state that `build` made, not destroyed yet.
        let at = unsafe { (self.request)(self.state, now.0, id.0, addr, is_write) };
        self.advanced = None;
        if (now.0..=(now + LONGEST).0).contains(&at) {
            return Answer::At(Ps(at));
        }
        // Without `advance` nothing would ever report it as done.
        if at != SLUICE_NEVER || self.advance.is_none() {
            self.refuse();
            return Answer::At(now);
        }
        let index = id.index();
        if index >= self.owed.len() {
            self.owed.resize(index + 1, false);
        }
        if self.owes == 0 {
            (self.since, self.silent) = (now, 0);
        }
        self.owes += usize::from(!std::mem::replace(&mut self.owed[index], true));
        Answer::Later
    }

    fn next_at(&self) -> Option<Ps> {
        let next_at = self.next_at?;
        // SAFETY: as in `request`.
        let at = unsafe { next_at(self.state) };
        let last = match self.owes {
            0 => LAST,
            _ => self.since + LONGEST,
        };
        // All that is done by then it has reported. It would be advanced to the same time without
        // end.
        let is_past = self.advanced.is_some_and(|now| at <= now.0);
        let is_silent = self.owes > 0 && self.silent > SILENT_MAX;
        let is_refused = is_past || is_silent || at > last.0;
        if at != SLUICE_NEVER && is_refused {
            self.refuse();
        }
        (!is_refused).then_some(Ps(at))
    }

    fn advance(&mut self, now: Ps, done: &mut dyn FnMut(PacketId)) {
        let Some(advance) = self.advance else { return };
        self.advanced = Some(now);
        self.silent = self.silent.saturating_add(1);
        let mut context = Context {
            now,
            since: &mut self.since,
            silent: &mut self.silent,
            owed: &mut self.owed,
            owes: &mut self.owes,
            refused: &self.refused,
            done,
        };
        let context = (&raw mut context).cast::<c_void>();
        // SAFETY: as in `request`; the context lives until the call returns, and `on_done` is the
        // function that takes it for what it is.
        unsafe { advance(self.state, now.0, Some(on_done), context) }
    }

    fn answers_at_once(&self) -> bool {
        self.advance.is_none()
    }

    fn refused(&self) -> u64 {
        self.refused.get()
    }
}

impl ObjectMemory {
    /// Counts an answer that could not be.
    fn refuse(&self) {
        self.refused.set(self.refused.get() + 1);
    }
}

/// What `on_done` works on.
struct Context<'a> {
    now: Ps,
    since: &'a mut Ps,
    silent: &'a mut u32,
    owed: &'a mut Vec<bool>,
    owes: &'a mut usize,
    refused: &'a Cell<u64>,
    done: &'a mut dyn FnMut(PacketId),
}

/// What a model calls for each request that is done.
unsafe extern "C" fn on_done(context: *mut c_void, id: u32) {
    // SAFETY: the context that `advance` gave, during its call.
    let context = unsafe { &mut *context.cast::<Context<'_>>() };
    match context.owed.get_mut(id as usize) {
        Some(owed) if *owed => {
            *owed = false;
            *context.owes -= 1;
            (*context.since, *context.silent) = (context.now, 0);
            (context.done)(PacketId(id));
        }
        // The id is not one of its requests, or was reported before.
        _ => context.refused.set(context.refused.get() + 1),
    }
}

impl Drop for ObjectMemory {
    fn drop(&mut self) {
        // SAFETY: made by `build` of the same object, and not used again.
        unsafe { (self.destroy)(self.state) }
    }
}
