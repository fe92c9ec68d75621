//! A simulation behind the C interface, and what may be done with it when.

use crate::api::{
    Completion, OnDone, SLUICE_BUSY, SLUICE_FAILED, SLUICE_FULL, SLUICE_INVALID, SLUICE_OK,
};
use core::ffi::c_void;
use sluice_config::{describe_fabric, parse_fabric};
use sluice_net::{Access, Completed, Fabric, FabricConfig, FabricSpec, Refusal, RequesterId};
use sluice_units::{LINE_BYTES, Ps};
use std::cell::{Cell, RefCell};
use std::ffi::CString;

/// A fabric with its clock. Reached by shared references only: while a callback runs, the program
/// may send, ask and look, and each of these borrows the fabric for its own duration.
pub struct Inner {
    fabric: RefCell<Fabric>,
    config: FabricConfig,
    on_done: Cell<Option<(OnDone, *mut c_void)>>,
    /// Whether time is moving: a callback may not move it again, or end the simulation.
    is_advancing: Cell<bool>,
    /// Whether a panic has left it in no known state.
    is_broken: Cell<bool>,
    error: RefCell<CString>,
}

/// A C text of any text.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

impl Inner {
    /// A fabric from the text of a TOML file called `file`.
    pub fn of_text(text: &str, file: &str, seed: u64) -> Result<Inner, String> {
        let spec = parse_fabric(text, file).map_err(|error| error.to_string())?;
        Inner::new(&spec, seed)
    }

    /// A fabric that comes with Sluice, or from a file.
    pub fn of_file(fabric: &str, seed: u64) -> Result<Inner, String> {
        let described = describe_fabric(fabric).map_err(|error| error.to_string())?;
        Inner::new(&described.spec, seed)
    }

    fn new(spec: &FabricSpec, seed: u64) -> Result<Inner, String> {
        let config = FabricConfig::new(spec, seed).map_err(|error| error.to_string())?;
        let fabric = sluice_plugin_memory::fabric(&config).map_err(|error| error.to_string())?;
        Ok(Inner {
            fabric: RefCell::new(fabric),
            config,
            on_done: Cell::new(None),
            is_advancing: Cell::new(false),
            is_broken: Cell::new(false),
            error: RefCell::default(),
        })
    }

    /// Notes what is wrong.
    pub fn refuse(&self, status: i32, message: &str) -> i32 {
        self.error.replace(c_text(message));
        status
    }

    /// What was noted last; the text stays until the next one.
    pub fn error(&self) -> *const core::ffi::c_char {
        self.error.borrow().as_ptr()
    }

    /// After a panic nothing is done any more.
    pub fn break_down(&self) {
        self.is_broken.set(true);
        self.is_advancing.set(false);
    }

    /// Whether a panic has ended it.
    pub fn is_broken(&self) -> bool {
        self.is_broken.get()
    }

    /// Whether it must not be ended now.
    pub fn is_advancing(&self) -> bool {
        self.is_advancing.get()
    }

    /// Whom to call when requests are done.
    pub fn call(&self, on_done: Option<OnDone>, context: *mut c_void) {
        self.on_done.set(on_done.map(|on_done| (on_done, context)));
    }

    /// How many requesters there are.
    pub fn requesters(&self) -> u32 {
        self.config.requesters.len() as u32
    }

    /// Bytes that a requester reaches from address 0 on; 0 if there is no such requester.
    pub fn reach(&self, requester: u32) -> u64 {
        let requester = self.requester(requester);
        requester.map_or(0, |requester| self.config.reach(requester))
    }

    fn requester(&self, requester: u32) -> Option<RequesterId> {
        (requester < self.requesters()).then_some(RequesterId(requester))
    }

    /// Whether a requester can send now.
    pub fn can_send(&self, requester: u32) -> bool {
        let requester = self.requester(requester);
        requester.is_some_and(|requester| self.fabric.borrow().has_room(requester))
    }

    /// Sends a request now.
    pub fn send(&self, requester: u32, addr: u64, is_write: bool, tag: u64) -> i32 {
        let Some(requester) = self.requester(requester) else {
            let most = self.requesters();
            let message = format!("there is no requester {requester}; there are {most}, from 0 on");
            return self.refuse(SLUICE_INVALID, &message);
        };
        let pattern = self.config.requesters[requester.index()].pattern.name;
        if pattern != "external" {
            let name = self.config.graph.name(requester.node());
            let message = format!(
                "`{name}` sends requests of its own (requester.pattern = {pattern}); give it \
                 pattern = \"external\""
            );
            return self.refuse(SLUICE_INVALID, &message);
        }
        let access = Access {
            addr: addr / LINE_BYTES * LINE_BYTES,
            is_write,
        };
        let mut fabric = self.fabric.borrow_mut();
        let now = fabric.now();
        match fabric.send(now, requester, access, tag) {
            Ok(()) => SLUICE_OK,
            Err(Refusal::Full) => self.refuse(SLUICE_FULL, &Refusal::Full.to_string()),
            Err(refusal) => {
                let who = self.config.requester_name(requester);
                let message = format!("{addr:#x} from {who}: {refusal}");
                self.refuse(SLUICE_INVALID, &message)
            }
        }
    }

    /// The time up to which everything has happened.
    pub fn now(&self) -> u64 {
        self.fabric.borrow().now().0
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<u64> {
        let mut fabric = self.fabric.borrow_mut();
        fabric.begin_issuing();
        fabric.next_at().map(|at| at.0)
    }

    /// Requests that are under way.
    pub fn in_flight(&self) -> u64 {
        self.fabric.borrow().in_flight()
    }

    /// Moves time on, and calls back for each request that is done.
    pub fn advance(&self, until: u64) -> i32 {
        if self.is_advancing.replace(true) {
            return self.refuse(SLUICE_BUSY, "time is moving: a callback cannot move it");
        }
        let status = self.advance_to(Ps(until));
        self.is_advancing.set(false);
        status
    }

    /// Event by event, so that a callback sends at the time of what it was told.
    fn advance_to(&self, until: Ps) -> i32 {
        let mut done: Vec<Completed> = Vec::new();
        loop {
            let mut fabric = self.fabric.borrow_mut();
            fabric.begin_issuing();
            let next = fabric.next_at().map_or(until, |next| next.min(until));
            if let Err(deadlock) = fabric.advance(next, &mut |completed| done.push(completed)) {
                return self.refuse(SLUICE_FAILED, &deadlock.to_string());
            }
            let is_last = next == until && fabric.next_at().is_none_or(|next| next > until);
            drop(fabric);
            if done.is_empty() && is_last {
                return SLUICE_OK;
            }
            done.drain(..).for_each(|completed| self.tell(&completed));
        }
    }

    fn tell(&self, completed: &Completed) {
        let Some((on_done, context)) = self.on_done.get() else {
            return;
        };
        let completion = Completion {
            tag: completed.tag,
            at_ps: completed.at.0,
            latency_ps: completed.latency.0,
            requester: completed.requester.0,
            is_write: completed.is_write,
        };
        // SAFETY: the program gave the function with its context, and the completion lives until
        // it returns. No borrow of the fabric is held.
        unsafe { on_done(context, &completion) }
    }

    /// Begins to count anew.
    pub fn restart_statistics(&self) {
        self.fabric.borrow_mut().begin();
    }

    /// What was counted until now, as one JSON object.
    pub fn statistics(&self) -> String {
        let mut fabric = self.fabric.borrow_mut();
        fabric.end();
        let figures = sluice_simulation::fabric_figures(&fabric, &self.config);
        sluice_results::to_json(&figures).to_string()
    }
}
