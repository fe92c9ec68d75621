//! The broker's service.

use super::allow::Allow;
use super::error::Refusal;
use super::listen::Listening;
use super::wire::{ANSWER_MAX, Ended, read_request, send_answer};
use crate::command::CtlCommand;
use crate::error::CtlError;
use crate::outcome::Outcome;
use clap::Parser;
use rustix::net::sockopt::socket_peercred;
use sluice_units::Bytes;
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// What a client may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From when it is connected until it has said all, and again until it has heard the answer.
    pub message: Duration,
    /// How long it waits for commands of others.
    pub turn: Duration,
    /// Clients at a time, all together.
    pub clients: u32,
    /// Clients of one user at once.
    pub of_a_user: u32,
    /// Ranges of a command.
    pub ranges: usize,
    /// Bytes of all its ranges: pages are brought in one after another.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            message: Duration::from_secs(2),
            turn: Duration::from_secs(20),
            clients: 32,
            of_a_user: 4,
            ranges: 16,
            bytes: 64 << 20,
        }
    }
}

/// How often a client that waits for its turn looks.
const LOOK: Duration = Duration::from_millis(2);
/// How long nobody is taken after the system had no room for one more.
const REST: Duration = Duration::from_millis(50);

/// Carries a command out.
type Door = dyn Fn(&CtlCommand) -> Result<Outcome, CtlError> + Send + Sync;

/// A broker at work.
pub struct Serving {
    allow: Allow,
    limits: Limits,
    door: Box<Door>,
    /// One command at a time.
    turn: Mutex<()>,
    /// Clients of each user, by number.
    clients: Mutex<BTreeMap<u32, u32>>,
}

/// The words of a client.
#[derive(Debug, Parser)]
#[command(
    name = "sluice-guest",
    no_binary_name = true,
    disable_help_subcommand = true
)]
struct Words {
    #[command(subcommand)]
    command: CtlCommand,
}

/// A client's place. It is free again when this is dropped.
struct Place {
    of: Arc<Serving>,
    user: u32,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut clients = lock(&self.of.clients);
        if let Some(count) = clients.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                clients.remove(&self.user);
            }
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Serving {
    /// A broker that carries out by `door` what it allows.
    pub fn new(
        allow: Allow,
        limits: Limits,
        door: impl Fn(&CtlCommand) -> Result<Outcome, CtlError> + Send + Sync + 'static,
    ) -> Serving {
        Serving {
            allow,
            limits,
            door: Box::new(door),
            turn: Mutex::new(()),
            clients: Mutex::new(BTreeMap::new()),
        }
    }

    /// Answers clients until this process ends.
    pub fn run(self, listening: &Listening) -> ! {
        let serving = Arc::new(self);
        loop {
            match listening.0.accept() {
                Ok((client, _)) => serving.take(client),
                // Without descriptors or memory nobody is taken, and others go on meanwhile.
                Err(_) => std::thread::sleep(REST),
            }
        }
    }

    /// Gives a client a thread, if it may have one.
    fn take(self: &Arc<Serving>, client: UnixStream) {
        let Ok(peer) = socket_peercred(&client) else {
            return;
        };
        let Some(place) = self.place(peer.uid.as_raw()) else {
            // The kernel's buffer has room for so much; the broker does not wait if it has no room.
            let _ = client.set_nonblocking(true);
            let text = format!(
                "the broker is busy: {} clients of a user at a time, {} in all",
                self.limits.of_a_user, self.limits.clients
            );
            let _ = send_answer(&client, Ended::Failed, &text, Instant::now() + LOOK);
            return;
        };
        let work = move || place.of.serve(&client);
        // No room for a thread: the client sees its end.
        let _ = Builder::new().name("sluice-client".to_owned()).spawn(work);
    }

    fn place(self: &Arc<Serving>, user: u32) -> Option<Place> {
        let mut clients = lock(&self.clients);
        let all: u32 = clients.values().sum();
        let own = clients.get(&user).copied().unwrap_or(0);
        if all >= self.limits.clients || own >= self.limits.of_a_user {
            return None;
        }
        clients.insert(user, own + 1);
        let of = self.clone();
        Some(Place { of, user })
    }

    /// One request, and its answer. A client that breaks off is nobody's concern.
    fn serve(&self, client: &UnixStream) {
        let Ok(words) = read_request(client, Instant::now() + self.limits.message) else {
            return;
        };
        let (ended, text) = match self.answer(&words) {
            Ok(outcome) if outcome.text.len() > ANSWER_MAX => {
                let why = format!(
                    "{} bytes of answer; {ANSWER_MAX} can be sent: name a smaller range",
                    outcome.text.len()
                );
                (Ended::Failed, why)
            }
            Ok(outcome) => match outcome.is_done {
                true => (Ended::Done, outcome.text),
                false => (Ended::Refused, outcome.text),
            },
            Err(why) => (Ended::Failed, why.to_string()),
        };
        let _ = send_answer(client, ended, &text, Instant::now() + self.limits.message);
    }

    fn answer(&self, words: &[String]) -> Result<Outcome, Refusal> {
        let words = Words::try_parse_from(words).map_err(|why| {
            let text = why.to_string();
            let first = text.lines().next().unwrap_or_default();
            Refusal::Words(first.trim_start_matches("error: ").to_owned())
        })?;
        let command = words.command;
        self.allow.check(&command)?;
        self.check_size(&command)?;
        let _turn = self.turn()?;
        Ok((self.door)(&command)?)
    }

    fn check_size(&self, command: &CtlCommand) -> Result<(), Refusal> {
        let spans = command.spans();
        let sizes = spans.iter().map(|span| span.len.unwrap_or(u64::MAX));
        let bytes = sizes.fold(0u64, u64::saturating_add);
        match spans.len() <= self.limits.ranges && bytes <= self.limits.bytes {
            true => Ok(()),
            false => Err(Refusal::Size {
                ranges: self.limits.ranges,
                bytes: Bytes(self.limits.bytes),
            }),
        }
    }

    /// Waits until no other command is under way.
    fn turn(&self) -> Result<MutexGuard<'_, ()>, Refusal> {
        let until = Instant::now() + self.limits.turn;
        loop {
            match self.turn.try_lock() {
                Ok(turn) => return Ok(turn),
                Err(TryLockError::Poisoned(turn)) => return Ok(turn.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() > until => {
                    return Err(Refusal::Busy);
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
            }
        }
    }
}
