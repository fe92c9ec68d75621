//! Hosts and agents whose messages take no time: one access after the other.

use super::cache::{Access, Cache, CacheOut, CacheSetup};
use super::dcoh::{Dcoh, DcohAction, DcohSetup};
use super::message::{Message, S2m};
use super::monitor::{Incoherence, Monitor};
use std::collections::BTreeMap;
use thiserror::Error;

/// What an access must never come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SerialError {
    /// It saw the wrong data, or left hosts incoherent.
    #[error(transparent)]
    Incoherent(#[from] Incoherence),
    /// It waits, and nothing moves.
    #[error("an access that never ended")]
    Endless,
}

/// Some hosts before some agents. Line `l` belongs to agent `l / interleave` modulo their number.
pub struct Serial {
    /// The hosts' caches.
    pub caches: Vec<Cache>,
    /// The devices' agents.
    pub agents: Vec<Dcoh>,
    interleave: u64,
    memory: BTreeMap<u64, u64>,
    monitor: Monitor,
    stores: u64,
    host_out: CacheOut,
    actions: Vec<DcohAction>,
}

impl Serial {
    /// Makes as many hosts as `agent.hosts`.
    pub fn new(cache: &CacheSetup, agent: &DcohSetup, agents: u32, interleave: u64) -> Serial {
        let cache = CacheSetup {
            watched: true,
            ..*cache
        };
        Serial {
            caches: (0..agent.hosts).map(|_| Cache::new(&cache)).collect(),
            agents: (0..agents).map(|_| Dcoh::new(agent)).collect(),
            interleave,
            memory: BTreeMap::new(),
            monitor: Monitor::default(),
            stores: 0,
            host_out: CacheOut::default(),
            actions: Vec::new(),
        }
    }

    fn agent_of(&self, line: u64) -> usize {
        (line / self.interleave % self.agents.len() as u64) as usize
    }

    /// One access from beginning to end. Returns whether the host's cache had it.
    ///
    /// # Errors
    /// If the access saw the wrong data, left hosts incoherent, or never ended.
    pub fn access(&mut self, host: u32, line: u64, store: bool) -> Result<bool, SerialError> {
        self.stores += u64::from(store);
        let stamp = store.then_some(self.stores);
        let mut out = std::mem::take(&mut self.host_out);
        let access = self.caches[host as usize].access(0, [line; 2], stamp, &mut out);
        self.host_out = out;
        let (hit, data) = match access {
            Access::Hit(data) => (true, data),
            Access::Waits => (false, self.carry(host)?),
        };
        self.note(host)?;
        match stamp {
            Some(stamp) => self.monitor.stored(line, stamp),
            None => self.monitor.loaded(host, line, data)?,
        }
        Ok(hit)
    }

    /// Reports to the monitor what changed at a host.
    fn note(&mut self, host: u32) -> Result<(), Incoherence> {
        for (line, state) in self.host_out.changes.drain(..) {
            self.monitor.changed(host, line, state)?;
        }
        Ok(())
    }

    /// Carries all that a host says to the agents, and all that follows. Returns the data of
    /// access 0.
    fn carry(&mut self, host: u32) -> Result<u64, SerialError> {
        let mut seen = None;
        let mut from = vec![(host, std::mem::take(&mut self.host_out.send))];
        while let Some((host, sent)) = from.pop() {
            for message in sent {
                let agent = self.agent_of(message.line);
                let message = Message {
                    peer: host,
                    ..message
                };
                self.agents[agent].receive(message, message.line, &mut self.actions);
                for said in self.act(agent) {
                    let to = said.peer;
                    let said = Message {
                        peer: agent as u32,
                        ..said
                    };
                    self.caches[to as usize].receive(said, &mut self.host_out);
                    self.note(to)?;
                    seen = self.host_out.done.drain(..).next_back().or(seen);
                    from.push((to, std::mem::take(&mut self.host_out.send)));
                }
            }
        }
        let (_, data) = seen.ok_or(SerialError::Endless)?;
        Ok(data)
    }

    /// Does what an agent wants, memory at once; returns what it sends.
    fn act(&mut self, agent: usize) -> Vec<S2m> {
        let mut sent = Vec::new();
        let mut at = 0;
        while let Some(action) = self.actions.get(at).copied() {
            at += 1;
            match action {
                DcohAction::Send(message) => sent.push(message),
                DcohAction::Write { line, data } => _ = self.memory.insert(line, data),
                DcohAction::Read { tracker, line, .. } => {
                    let data = self.memory.get(&line).copied().unwrap_or(0);
                    self.agents[agent].data(tracker, data, &mut self.actions);
                }
            }
        }
        self.actions.clear();
        sent
    }

    /// Checks made by the monitor so far.
    pub fn checked(&self) -> u64 {
        self.monitor.checked()
    }
}
