//! A flash array that moves picosecond by picosecond. It writes down for each moment which
//! operation has each die and channel, and counts an operation's progress instead of computing it.

use super::super::op::Verb;
use crate::config::{NandSettings, ReadFirst, Suspend};
use crate::nand::Origin;
use std::collections::VecDeque;

/// More than any operation of the tests takes, waiting for the channel included.
const LONGEST: usize = 160;

/// A request of the test.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub now: u64,
    pub verb: Verb,
    pub die: u32,
    pub origin: Origin,
}

pub struct Naive {
    settings: NandSettings,
    channels: Vec<Vec<bool>>,
    dies: Vec<Die>,
}

#[derive(Clone)]
struct Die {
    /// Per moment: reserved, and by whom.
    taken: Vec<Option<Origin>>,
    /// Per moment: at work on posted work, and whose.
    worked: Vec<Option<Origin>>,
    reserved_to: usize,
    out_at: usize,
    waiting: VecDeque<(Verb, Origin)>,
    current: Option<Current>,
}

#[derive(Clone, Copy)]
struct Current {
    verb: Verb,
    origin: Origin,
    loaded_at: usize,
    resuming: usize,
    left: usize,
    overtaken: u32,
}

impl Naive {
    /// An array for these requests.
    pub fn new(settings: &NandSettings, asks: &[Ask]) -> Naive {
        let last = asks.last().map_or(0, |ask| ask.now as usize);
        let end = last + (asks.len() + 1) * LONGEST;
        let die = Die {
            taken: vec![None; end],
            worked: vec![None; end],
            reserved_to: 0,
            out_at: 0,
            waiting: VecDeque::new(),
            current: None,
        };
        Naive {
            channels: vec![vec![false; end]; settings.channels as usize],
            dies: vec![die; settings.die_count() as usize],
            settings: settings.clone(),
        }
    }

    /// For each request: when it is done and how long collection had its die, if it is a read.
    pub fn run(mut self, asks: &[Ask]) -> Vec<(u64, u64)> {
        let mut asked = Vec::new();
        let mut next = 0;
        for now in 0..self.channels[0].len() {
            while next < asks.len() && asks[next].now as usize == now {
                asked.push(self.ask(now, &asks[next]));
                next += 1;
            }
            (0..self.dies.len()).for_each(|die| self.begin(now, die));
            self.dies.iter_mut().for_each(|die| die.step(now));
        }
        let count = |ask: &Ask, from: usize| {
            let die = &self.dies[ask.die as usize];
            let gc = |now: &usize| [die.taken[*now], die.worked[*now]].contains(&Some(Origin::Gc));
            (ask.now as usize..from).filter(gc).count() as u64
        };
        let ends = asks.iter().zip(asked);
        ends.map(|(ask, (from, done))| (done as u64, count(ask, from)))
            .collect()
    }

    fn ask(&mut self, now: usize, ask: &Ask) -> (usize, usize) {
        let die = ask.die as usize;
        let Some(rules) = self.settings.read_first.clone() else {
            let from = now.max(self.dies[die].reserved_to);
            return (from, self.reserve(from, die, ask.verb, ask.origin));
        };
        if ask.verb == Verb::Read {
            let from = self.turn(now, die, &rules);
            return (from, self.reserve(from, die, Verb::Read, ask.origin));
        }
        if self.dies[die].waiting.len() == self.settings.write_queue as usize {
            let from = self.dies[die]
                .end_of_current(now)
                .max(self.dies[die].reserved_to);
            let (verb, origin) = self.dies[die].waiting.pop_front().unwrap();
            self.reserve(from, die, verb, origin);
        }
        self.dies[die].waiting.push_back((ask.verb, ask.origin));
        (now, now)
    }

    /// When a read asked for now begins. Takes the time that a suspension costs.
    fn turn(&mut self, now: usize, die: usize, rules: &ReadFirst) -> usize {
        let die = &mut self.dies[die];
        let end = die.end_of_current(now);
        let reserved_to = die.reserved_to.max(now);
        let Some(current) = &mut die.current else {
            return reserved_to;
        };
        let suspends = match current.verb {
            Verb::Read => false,
            Verb::Program => [Suspend::Program, Suspend::Both].contains(&rules.suspend),
            Verb::Erase => [Suspend::Erase, Suspend::Both].contains(&rules.suspend),
        };
        if reserved_to > end || !suspends || current.overtaken == rules.suspend_reads {
            return reserved_to.max(end);
        }
        let at = now.max(current.loaded_at);
        let suspended =
            current.overtaken > 0 && (die.taken[at].is_some() || now == die.reserved_to);
        let from = match suspended {
            true => reserved_to,
            false => at + rules.suspend_latency.0 as usize,
        };
        if from >= end {
            return end;
        }
        current.overtaken += 1;
        current.resuming = rules.resume_latency.0 as usize;
        if !suspended {
            let origin = Some(current.origin);
            die.taken[at..from].fill(origin);
        }
        from
    }

    /// Gives the die to an operation from a moment on, and says when that is done.
    fn reserve(&mut self, from: usize, die: usize, verb: Verb, origin: Origin) -> usize {
        let (_, end, done) = self.parts(from, die, verb);
        let die = &mut self.dies[die];
        die.taken[from..end].fill(Some(origin));
        die.reserved_to = end;
        done
    }

    /// When the cells begin, when the die is free and when the data is out.
    fn parts(&mut self, from: usize, die: usize, verb: Verb) -> (usize, usize, usize) {
        let [command, transfer, read, program, erase] = [
            self.settings.command,
            self.settings.transfer,
            self.settings.read,
            self.settings.program,
            self.settings.erase,
        ]
        .map(|time| time.0 as usize);
        let out_at = self.dies[die].out_at;
        match verb {
            Verb::Read => {
                let cells = self.bus(from, die, command);
                let ready = (cells + read).max(out_at);
                let done = self.bus(ready, die, transfer);
                self.dies[die].out_at = done;
                let end = if self.settings.cache_read {
                    ready
                } else {
                    done
                };
                (cells, end, done)
            }
            Verb::Program => {
                let cells = self.bus(from.max(out_at), die, command + transfer);
                (cells, cells + program, cells + program)
            }
            Verb::Erase => {
                let cells = self.bus(from, die, command);
                (cells, cells + erase, cells + erase)
            }
        }
    }

    /// Takes the next free moments of the die's channel, and says when the last is over.
    fn bus(&mut self, from: usize, die: usize, length: usize) -> usize {
        let count = self.channels.len();
        let line = &mut self.channels[die % count];
        (0..length).fold(from, |at, _| {
            let free = (at..).find(|moment| !line[*moment]).unwrap();
            line[free] = true;
            free + 1
        })
    }

    /// Lets waiting work begin on a die that has nothing else to do.
    fn begin(&mut self, now: usize, die: usize) {
        let state = &mut self.dies[die];
        if state.current.is_some_and(|current| current.left > 0) || state.reserved_to > now {
            return;
        }
        state.current = None;
        let Some((verb, origin)) = state.waiting.pop_front() else {
            return;
        };
        let (loaded_at, end, _) = self.parts(now, die, verb);
        self.dies[die].current = Some(Current {
            verb,
            origin,
            loaded_at,
            resuming: 0,
            left: end - loaded_at,
            overtaken: 0,
        });
    }
}

impl Die {
    /// One picosecond of posted work.
    fn step(&mut self, now: usize) {
        let Some(current) = &mut self.current else {
            return;
        };
        if current.step(now, &self.taken) {
            self.worked[now] = Some(current.origin);
        }
    }

    /// When the posted work that has begun will be done if nothing more comes.
    fn end_of_current(&self, now: usize) -> usize {
        let Some(mut trial) = self.current else {
            return now;
        };
        let mut end = now;
        while trial.left > 0 {
            trial.step(end, &self.taken);
            end += 1;
        }
        end
    }
}

impl Current {
    /// Whether it had the die for this picosecond.
    fn step(&mut self, now: usize, taken: &[Option<Origin>]) -> bool {
        if taken[now].is_some() || self.left == 0 {
            return false;
        }
        if now >= self.loaded_at {
            match self.resuming {
                0 => self.left -= 1,
                _ => self.resuming -= 1,
            }
        }
        true
    }
}
