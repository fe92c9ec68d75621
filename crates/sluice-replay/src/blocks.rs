//! The blocks of a trace, each decoded once for all CPUs that are near it.
//!
//! A CPU looks only at blocks that have accesses of its own, and in them only at those. So a trace
//! of many CPUs costs what it costs from one, if they go through it side by side.

use sluice_trace::{Access, Error, Kind, Reader};
use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Blocks that stay decoded although no CPU is in them.
const KEPT: usize = 8;

/// A decoded block: its accesses, but for instruction fetches, by CPU and in their order.
pub struct Block {
    accesses: Vec<Access>,
    /// Where those of each CPU end.
    ends: Vec<u32>,
}

impl Block {
    fn new(decoded: &[Access]) -> Block {
        let mut accesses: Vec<Access> = decoded.to_vec();
        accesses.retain(|access| access.kind != Kind::Fetch);
        // Stable: a CPU's stay in their order.
        accesses.sort_by_key(|access| access.cpu);
        let cpus = accesses.last().map_or(0, |access| access.cpu + 1);
        let end = |cpu| accesses.partition_point(|access| access.cpu <= cpu) as u32;
        let ends = (0..cpus).map(end).collect();
        Block { accesses, ends }
    }

    /// The accesses of a CPU.
    pub fn of(&self, cpu: u32) -> &[Access] {
        let end = |cpu: u32| {
            self.ends
                .get(cpu as usize)
                .map_or(self.accesses.len(), |e| *e as usize)
        };
        let first = cpu.checked_sub(1).map_or(0, end);
        &self.accesses[first..end(cpu)]
    }
}

/// An open trace.
pub struct Blocks(Mutex<State>);

struct State {
    reader: Reader<BufReader<File>>,
    /// By number: the block while somebody has it.
    decoded: Vec<Weak<Block>>,
    kept: VecDeque<Arc<Block>>,
}

impl Blocks {
    /// Opens a trace.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path) -> Result<Blocks, Error> {
        let reader = Reader::open(path)?;
        Ok(Blocks(Mutex::new(State {
            decoded: (0..reader.blocks()).map(|_| Weak::new()).collect(),
            reader,
            kept: VecDeque::new(),
        })))
    }

    /// The block of this number.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn get(&self, number: u32) -> Result<Arc<Block>, Error> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = state.decoded[number as usize].upgrade() {
            return Ok(block);
        }
        let block = Arc::new(Block::new(state.reader.read_block(number as usize)?));
        state.decoded[number as usize] = Arc::downgrade(&block);
        if state.kept.len() == KEPT {
            state.kept.pop_front();
        }
        state.kept.push_back(Arc::clone(&block));
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(cpu: u32, address: u64, kind: Kind) -> Access {
        Access {
            cpu,
            instructions: 0,
            address,
            size: 8,
            kind,
        }
    }

    #[test]
    fn a_block_is_told_by_cpu() {
        let decoded = [
            access(2, 1, Kind::Load),
            access(0, 2, Kind::Load),
            access(2, 3, Kind::Fetch),
            access(2, 4, Kind::Store),
            access(0, 5, Kind::Load),
        ];
        let block = Block::new(&decoded);
        let of = |cpu| {
            block
                .of(cpu)
                .iter()
                .map(|access| access.address)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            [of(0), of(1), of(2), of(3)],
            [vec![2, 5], vec![], vec![1, 4], vec![]]
        );
        assert!(Block::new(&[]).of(7).is_empty());
    }
}
