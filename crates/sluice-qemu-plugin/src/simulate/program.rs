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
    /// The CPU whose batch each thread got last. There may be more CPUs than threads.
    owners: Vec<Option<u32>>,
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
            owners: vec![None; threads as usize],
            waiting: 0,
            ended: false,
            local,
            footprint,
        }
    }

    /// Takes what comes next, and waits for it.
    fn receive(&mut self) {
        let threads = self.queues.len();
        let (thread, piece) = match self.receiver.recv() {
            Ok(Message::Batch(cpu, mut batch)) => {
                let thread = cpu as usize % threads;
                if self.owners[thread].replace(cpu) != Some(cpu) {
                    cut(&mut batch);
                }
                (thread, Piece::Batch(batch))
            }
            Ok(Message::Mark(cpu, mark)) => (cpu as usize % threads, Piece::Mark(mark)),
            Ok(Message::End(_)) | Err(_) => {
                self.ended = true;
                return;
            }
        };
        self.queues[thread].push_back(piece);
        self.waiting += 1;
    }
}

/// Has no entry of a batch wait for one before it: what is there is another CPU's.
fn cut(batch: &mut [Instr]) {
    for (at, instr) in batch.iter_mut().enumerate() {
        if usize::from(instr.after) > at {
            instr.after = 0;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_host::MemOp;

    /// Two CPUs are one thread. No load waits for one of the other CPU.
    #[test]
    fn what_comes_from_another_cpu_waits_for_nothing_before_it() {
        let (pipe, receiver) = Pipe::new();
        let batches: [(u32, &[u16]); 5] = [
            (0, &[0, 1]),
            (0, &[1, 3, 5]),
            (2, &[1, 1, 3, 2]),
            (1, &[0, 1]),
            (2, &[3, 0]),
        ];
        for (cpu, after) in batches {
            let instr = |after: &u16| Instr {
                addr: 64,
                work: 0,
                after: *after,
                op: MemOp::Load,
            };
            let mut batch = after.iter().map(instr).collect();
            pipe.send(cpu, &mut batch);
        }
        pipe.end(Vec::new());
        let mut live = Live::new(Arc::new(pipe), receiver, 2, Bytes(0), Bytes(4096));
        let mut of = |thread| {
            let mut all = Vec::new();
            while matches!(live.fill(thread, &mut all), Step::More) {}
            all.iter().map(|instr| instr.after).collect::<Vec<_>>()
        };
        assert_eq!(of(0), [0, 1, 1, 3, 5, 0, 1, 0, 2, 3, 0]);
        assert_eq!(of(1), [0, 1]);
    }
}
