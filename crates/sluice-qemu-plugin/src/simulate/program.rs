//! The guest as a program of the simulated host: what its CPUs do, as it comes.

use crate::pipe::{Message, Pipe};
use sluice_host::{Instr, Program, Step};
use sluice_units::{Bytes, Ps};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// How long a thread sleeps that does nothing while others go on.
const NAP: Ps = Ps::from_us(10);
/// Batches that wait for their threads' turn before another thread is taken to do nothing. It
/// bounds how far the threads get apart.
const AHEAD: usize = 16;

/// What a thread does next.
enum Piece {
    Batch(Vec<Instr>),
    Mark(u32),
}

/// A program that is being executed elsewhere.
pub struct Live {
    pipe: Arc<Pipe<Instr>>,
    receiver: Receiver<Message<Instr>>,
    /// What each thread has not executed yet.
    queues: Vec<VecDeque<Piece>>,
    waiting: usize,
    ended: bool,
    /// Bytes that are kept off the device, and bytes of all.
    local: Bytes,
    footprint: Bytes,
}

impl Live {
    /// A program of so many threads.
    pub fn new(
        pipe: Arc<Pipe<Instr>>,
        receiver: Receiver<Message<Instr>>,
        threads: u32,
        local: Bytes,
        footprint: Bytes,
    ) -> Live {
        Live {
            pipe,
            receiver,
            queues: (0..threads).map(|_| VecDeque::new()).collect(),
            waiting: 0,
            ended: false,
            local,
            footprint,
        }
    }

    /// Takes what comes next, and waits for it.
    fn receive(&mut self) {
        let (cpu, piece) = match self.receiver.recv() {
            Ok(Message::Batch(cpu, batch)) => (cpu, Piece::Batch(batch)),
            Ok(Message::Mark(cpu, mark)) => (cpu, Piece::Mark(mark)),
            Ok(Message::End(_)) | Err(_) => {
                self.ended = true;
                return;
            }
        };
        let threads = self.queues.len();
        self.queues[cpu as usize % threads].push_back(piece);
        self.waiting += 1;
    }
}

impl Program for Live {
    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn threads(&self) -> u32 {
        self.queues.len() as u32
    }

    fn local(&self) -> Bytes {
        self.local
    }

    /// Only the first thread is known to be there.
    fn sleeps_first(&self, thread: u32) -> Option<Ps> {
        (thread > 0).then_some(NAP)
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        loop {
            if let Some(piece) = self.queues[thread as usize].pop_front() {
                self.waiting -= 1;
                return match piece {
                    Piece::Batch(batch) => {
                        out.extend_from_slice(&batch);
                        self.pipe.give_back(batch);
                        Step::More
                    }
                    Piece::Mark(mark) => Step::Mark(mark),
                };
            }
            if self.ended {
                return Step::End;
            }
            if self.waiting >= AHEAD {
                return Step::Sleep(NAP);
            }
            self.receive();
        }
    }
}
