//! From the threads of the CPUs to the one that works for them: batches, and their buffers back.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Entries of a batch.
pub const BATCH: usize = 2048;
/// Batches that wait at most; then a CPU waits.
const WAITING: usize = 16;

/// Set in a child that the program has forked, which has none of our threads.
static FORKED: AtomicBool = AtomicBool::new(false);

/// From now on children that the program forks are known as such.
pub fn watch_forks() {
    extern "C" fn in_child() {
        FORKED.store(true, Relaxed);
    }
    // SAFETY: the handler only stores a flag.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// Whether this process is a fork of the one that is watched.
pub fn is_forked() -> bool {
    FORKED.load(Relaxed)
}

/// What comes through a pipe.
pub enum Message<T> {
    /// The next entries of a CPU.
    Batch(u32, Vec<T>),
    /// A mark of this number, behind what the CPU has sent so far.
    Mark(u32, u32),
    /// The end, with the instructions that each CPU has executed.
    End(Vec<u64>),
}

/// The end at the CPUs.
pub struct Pipe<T> {
    full: SyncSender<Message<T>>,
    /// Buffers to be filled.
    empty: Mutex<Vec<Vec<T>>>,
}

impl<T> Pipe<T> {
    /// A pipe and its other end.
    pub fn new() -> (Pipe<T>, Receiver<Message<T>>) {
        let (full, receiver) = sync_channel(WAITING);
        let empty = Mutex::new(Vec::with_capacity(2 * WAITING));
        (Pipe { full, empty }, receiver)
    }

    /// An empty buffer.
    pub fn buffer(&self) -> Vec<T> {
        if is_forked() {
            // A thread that does not exist here may hold the lock.
            return Vec::with_capacity(BATCH);
        }
        let mut empty = self.empty.lock().unwrap_or_else(PoisonError::into_inner);
        empty.pop().unwrap_or_else(|| Vec::with_capacity(BATCH))
    }

    /// Takes a buffer back, with whatever is in it.
    pub fn give_back(&self, mut buffer: Vec<T>) {
        buffer.clear();
        let mut empty = self.empty.lock().unwrap_or_else(PoisonError::into_inner);
        empty.push(buffer);
    }

    /// Sends what a CPU has gathered, and gives it room for more. Waits if too much waits already.
    pub fn send(&self, cpu: u32, batch: &mut Vec<T>) {
        if is_forked() {
            // The locks may be held by threads that do not exist here.
            return batch.clear();
        }
        if !batch.is_empty() {
            let full = std::mem::replace(batch, self.buffer());
            // If the receiver is gone, its error has been reported.
            let _ = self.full.send(Message::Batch(cpu, full));
        }
    }

    /// The same of a CPU that has ended: its buffer is for others. One that begins under its number
    /// makes another.
    pub fn leave(&self, cpu: u32, batch: &mut Vec<T>) {
        self.send(cpu, batch);
        if !is_forked() {
            self.give_back(std::mem::take(batch));
        }
    }

    /// Sends a mark of a CPU, behind what it has gathered.
    pub fn mark(&self, cpu: u32, batch: &mut Vec<T>, mark: u32) {
        self.send(cpu, batch);
        if !is_forked() {
            let _ = self.full.send(Message::Mark(cpu, mark));
        }
    }

    /// Says that nothing more comes.
    pub fn end(&self, executed: Vec<u64>) {
        let _ = self.full.send(Message::End(executed));
    }
}
