//! A fabric that a program steps by its own clock: what may be done with it when.

use crate::seats::{Learnt, Seats};
use sluice_config::{describe_fabric, parse_fabric};
use sluice_host::{Ask, AskFor, Peer};
use sluice_net::{
    Access, Completed, Fabric, FabricConfig, FabricError, FabricSpec, Refusal, RequesterId,
    Standstill,
};
use sluice_units::{LINE_BYTES, Ps};
use std::cell::{Cell, RefCell};
use thiserror::Error;

/// Why there is no fabric.
#[derive(Debug, Error)]
pub enum NewError {
    /// Its file is wrong, or there is none.
    #[error(transparent)]
    File(#[from] sluice_config::Error),
    /// What the file describes cannot be.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// It has simulated hosts, which no caller's clock drives.
    #[error("`{host}` is a simulated host: such fabrics run by `sluice fabric run` alone")]
    Host {
        /// The first of them.
        host: String,
    },
}

/// Why a request was not sent.
#[derive(Debug, Error)]
pub enum SendError {
    /// There is no such requester.
    #[error("there is no requester {requester}; there are {requesters}, from 0 on")]
    NoRequester {
        /// The number given.
        requester: u32,
        /// How many there are.
        requesters: u32,
    },
    /// The requester has a pattern.
    #[error(
        "`{requester}` sends requests of its own (requester.pattern = {pattern}); give it pattern \
         = \"external\""
    )]
    HasPattern {
        /// What it is called.
        requester: String,
        /// Its pattern.
        pattern: &'static str,
    },
    /// The requester has as many requests under way as it can.
    #[error("{}", Refusal::Full)]
    Full,
    /// A host of the program's is there, which asks for lines.
    #[error("a host is at {requester}: it asks for lines with sluice_ask")]
    HasHost {
        /// What the requester is called.
        requester: String,
    },
    /// No host of the program's is there.
    #[error("no host is at {requester}: sluice_take_host puts one there")]
    NoHost {
        /// What the requester is called.
        requester: String,
    },
    /// The requester has sent requests, whose lines its cache may have.
    #[error("{requester} has sent requests: a host can come before the first one only")]
    HasSent {
        /// What the requester is called.
        requester: String,
    },
    /// A host cannot be so.
    #[error("{what}: {given}; expected {least} to {most}")]
    NoSuchHost {
        /// What is wrong of it.
        what: &'static str,
        /// What was given.
        given: u64,
        /// The least that can be.
        least: u64,
        /// The most that can be.
        most: u64,
    },
    /// Nothing has that number.
    #[error("there is nothing to ask for with the number {what}; expected 0 to 3")]
    NoAsk {
        /// The number given.
        what: u32,
    },
    /// The tag names something that is under way.
    #[error("tag {tag} of {requester} names something that is under way")]
    TagUsed {
        /// The tag given.
        tag: u32,
        /// The requester that was to ask.
        requester: String,
    },
    /// The fabric does not take the request.
    #[error("{addr:#x} from {requester}: {refusal}")]
    Refused {
        /// The address given.
        addr: u64,
        /// The requester that was to send it.
        requester: String,
        /// What the fabric has against the request.
        #[source]
        refusal: Refusal,
    },
}

/// Why time was not moved.
#[derive(Debug, Error)]
pub enum AdvanceError {
    /// It is being moved.
    #[error("time is moving: a callback cannot move it")]
    Busy,
    /// Nothing can happen any more.
    #[error(transparent)]
    Standstill(#[from] Standstill),
    /// Where the clock would end.
    #[error("{until} ps is no time to advance to: expected up to {} ps", TIME_MAX.0)]
    Never {
        /// The time given.
        until: u64,
    },
}

/// The last time that a program can advance to. What is under way then still ends on the clock.
pub const TIME_MAX: Ps = Ps::LAST;

/// Lines that a host of the program's can have, and misses at once.
const LINES_MAX: u64 = 1 << 24;
const MISSES_MAX: u64 = 1 << 12;
/// How long a host can take to look up a line: a second.
const LOOK_UP_MAX: Ps = Ps::from_ms(1_000);

/// A fabric with its clock. Reached by shared references only: while time moves, the program may
/// send, ask and look, and each of these borrows the fabric for its own duration.
pub struct SteppedFabric {
    fabric: RefCell<Fabric>,
    config: FabricConfig,
    seats: RefCell<Seats>,
    /// Whether time is moving: it cannot be moved again meanwhile, nor can the fabric be dropped.
    is_advancing: Cell<bool>,
}

/// Says that time is moving, for as long as it lives.
struct Advancing<'a>(&'a Cell<bool>);

impl Drop for Advancing<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl SteppedFabric {
    /// A fabric from the text of a TOML file called `file`.
    pub fn of_text(text: &str, file: &str, seed: u64) -> Result<SteppedFabric, NewError> {
        SteppedFabric::new(&parse_fabric(text, file)?, seed)
    }

    /// A fabric that comes with Sluice, or from a file.
    pub fn of_file(fabric: &str, seed: u64) -> Result<SteppedFabric, NewError> {
        SteppedFabric::new(&describe_fabric(fabric)?.given, seed)
    }

    fn new(spec: &FabricSpec, seed: u64) -> Result<SteppedFabric, NewError> {
        let config = FabricConfig::new(spec, seed)?;
        if let Some(number) = config.requesters.iter().position(|it| it.is_host) {
            let node = RequesterId(number as u32).node();
            let host = config.graph.name(node).to_owned();
            return Err(NewError::Host { host });
        }
        let fabric = sluice_plugin_memory::fabric(&config)?;
        Ok(SteppedFabric {
            fabric: RefCell::new(fabric),
            config,
            seats: RefCell::default(),
            is_advancing: Cell::new(false),
        })
    }

    /// Whether it must not be dropped now.
    pub fn is_advancing(&self) -> bool {
        self.is_advancing.get()
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
        let is_sender = |_: &RequesterId| !self.seats.borrow().has(requester);
        let sender = self.external(requester).ok().filter(is_sender);
        sender.is_some_and(|sender| self.fabric.borrow().has_room(sender))
    }

    /// Sends a request now.
    pub fn send(
        &self,
        requester: u32,
        addr: u64,
        is_write: bool,
        tag: u64,
    ) -> Result<(), SendError> {
        let sender = self.external(requester)?;
        if self.seats.borrow().has(requester) {
            let requester = self.config.requester_name(sender);
            return Err(SendError::HasHost { requester });
        }
        let access = Access {
            addr: addr / LINE_BYTES * LINE_BYTES,
            is_write,
        };
        let mut fabric = self.fabric.borrow_mut();
        let now = fabric.now();
        let sent = fabric.send(now, sender, access, tag);
        sent.map_err(|refusal| match refusal {
            Refusal::Full => SendError::Full,
            refusal => SendError::Refused {
                addr,
                requester: self.config.requester_name(sender),
                refusal,
            },
        })
    }

    /// A requester that sends what the program says.
    fn external(&self, requester: u32) -> Result<RequesterId, SendError> {
        let sender = self.requester(requester).ok_or(SendError::NoRequester {
            requester,
            requesters: self.requesters(),
        })?;
        let pattern = self.config.requesters[sender.index()].pattern.name;
        if pattern != "external" {
            let requester = self.config.graph.name(sender.node()).to_owned();
            return Err(SendError::HasPattern { requester, pattern });
        }
        Ok(sender)
    }

    /// Puts a host of the program's at a requester.
    pub fn take_host(&self, requester: u32, peer: &Peer) -> Result<(), SendError> {
        let id = self.external(requester)?;
        for (what, given, least, most) in [
            ("lines", peer.lines.into(), 1, LINES_MAX),
            ("misses", peer.misses.into(), 1, MISSES_MAX),
            ("look_up_ps", peer.look_up.0, 0, LOOK_UP_MAX.0),
        ] {
            if !(least..=most).contains(&given) {
                return Err(SendError::NoSuchHost {
                    what,
                    given,
                    least,
                    most,
                });
            }
        }
        let name = || self.config.requester_name(id);
        if self.seats.borrow().has(requester) {
            return Err(SendError::HasHost { requester: name() });
        }
        let mut fabric = self.fabric.borrow_mut();
        if fabric.has_sent(id) {
            return Err(SendError::HasSent { requester: name() });
        }
        fabric.take_host(id, peer);
        self.seats.borrow_mut().take(requester, peer.misses);
        Ok(())
    }

    /// A host asks for a line now, or gives one up.
    pub fn ask(
        &self,
        requester: u32,
        addr: u64,
        what: AskFor,
        may_delay: bool,
        tag: u32,
    ) -> Result<(), SendError> {
        let id = self.external(requester)?;
        let name = || self.config.requester_name(id);
        let mut seats = self.seats.borrow_mut();
        if !seats.has(requester) {
            return Err(SendError::NoHost { requester: name() });
        }
        let is_line = matches!(what, AskFor::Line | AskFor::Owned);
        if is_line && !seats.has_room(requester) {
            return Err(SendError::Full);
        }
        let is_answered = what != AskFor::Drop;
        if is_answered && seats.is_used(requester, tag) {
            let requester = name();
            return Err(SendError::TagUsed { tag, requester });
        }
        let mut fabric = self.fabric.borrow_mut();
        let ask = Ask {
            at: fabric.now(),
            addr: addr / LINE_BYTES * LINE_BYTES,
            what,
            may_delay,
            tag,
        };
        fabric.ask(id, &ask).map_err(|refusal| SendError::Refused {
            addr,
            requester: name(),
            refusal,
        })?;
        if is_answered {
            seats.ask(requester, tag, what, ask.addr);
        }
        Ok(())
    }

    /// The time up to which everything has happened.
    pub fn now(&self) -> Ps {
        self.fabric.borrow().now()
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<Ps> {
        let mut fabric = self.fabric.borrow_mut();
        fabric.begin_issuing();
        match fabric.has_news() {
            true => Some(fabric.now()),
            false => fabric.next_at(),
        }
    }

    /// Requests that are under way, and what hosts have asked for and not learnt.
    pub fn in_flight(&self) -> u64 {
        let (fabric, seats) = (self.fabric.borrow(), self.seats.borrow());
        let of_hosts = seats.requesters().map(RequesterId);
        let sent: u64 = of_hosts.map(|host| fabric.outstanding(host)).sum();
        fabric.in_flight() - sent + seats.asked()
    }

    /// Moves time on, and reports each request that is done, and what hosts learn.
    ///
    /// Event by event: a request that `tell` or `learn` sends leaves at the time of the event that
    /// it was called for.
    pub fn advance(
        &self,
        until: Ps,
        tell: impl Fn(&Completed),
        learn: impl Fn(&Learnt),
    ) -> Result<(), AdvanceError> {
        if self.is_advancing.replace(true) {
            return Err(AdvanceError::Busy);
        }
        let _advancing = Advancing(&self.is_advancing);
        if until > TIME_MAX {
            return Err(AdvanceError::Never { until: until.0 });
        }
        let mut done: Vec<Completed> = Vec::new();
        let mut learnt: Vec<Learnt> = Vec::new();
        loop {
            let mut fabric = self.fabric.borrow_mut();
            fabric.begin_issuing();
            // What a host has learnt without an event is of now.
            let next = match fabric.has_news() {
                true => fabric.now(),
                false => fabric.next_at().map_or(until, |next| next.min(until)),
            };
            let moved = fabric.advance(next, &mut |completed| done.push(completed));
            let is_last = next >= until && fabric.next_at().is_none_or(|next| next > until);
            while let Some(event) = fabric.take_event() {
                learnt.extend(self.seats.borrow_mut().learn(&event));
            }
            drop(fabric);
            // What hosts ask for is in what they learn.
            done.retain(|completed| !self.seats.borrow().has(completed.requester.0));
            if done.is_empty() && learnt.is_empty() && is_last && moved.is_ok() {
                return Ok(());
            }
            learnt.drain(..).for_each(|event| learn(&event));
            done.drain(..).for_each(|completed| tell(&completed));
            // What was done before nothing could happen any more has been reported.
            moved?;
        }
    }

    /// Begins to count anew.
    pub fn restart_statistics(&self) {
        self.fabric.borrow_mut().begin();
    }

    /// What was counted until now, as one JSON object; nothing if some wait for ever, while time
    /// moves for others.
    pub fn statistics(&self) -> Result<String, AdvanceError> {
        let mut fabric = self.fabric.borrow_mut();
        fabric.end();
        fabric.check_credits()?;
        let figures = sluice_simulation::fabric_figures(&fabric, &self.config);
        Ok(sluice_results::to_json(&figures).to_string())
    }
}
