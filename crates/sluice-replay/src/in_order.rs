//! The lines of all CPUs of a trace, in one order.

use crate::lines::{Line, LinesOfCpu};
use sluice_trace::{Access, Error, Kind, Reader};
use std::fs::File;
use std::io::BufReader;
use std::sync::{Arc, Mutex, PoisonError};

/// The lines that the CPUs of a trace touch, each with the place of its CPU among those that make
/// accesses. They are in the order of the file if that is the order of all CPUs. Else those before
/// which a CPU executed fewer instructions come first.
pub struct InOrder {
    /// The file, if its order is that of all CPUs, and the place of each CPU.
    file: Option<(Reader<BufReader<File>>, Vec<usize>)>,
    cpus: Vec<LinesOfCpu>,
    /// The next access of each CPU.
    next: Vec<Option<Access>>,
    /// Whose lines are being given out.
    cpu: usize,
    failure: Arc<Mutex<Option<Error>>>,
}

impl InOrder {
    pub(super) fn new(
        file: Option<(Reader<BufReader<File>>, Vec<usize>)>,
        mut cpus: Vec<LinesOfCpu>,
        failure: Arc<Mutex<Option<Error>>>,
    ) -> InOrder {
        InOrder {
            file,
            next: cpus.iter_mut().map(LinesOfCpu::access).collect(),
            cpus,
            cpu: 0,
            failure,
        }
    }

    /// The CPU that makes the next access.
    fn turn(&mut self) -> Option<usize> {
        let Some((file, places)) = &mut self.file else {
            let waiting = (0..).zip(&self.next);
            let waiting =
                waiting.filter_map(|(cpu, next)| Some((next.as_ref()?.instructions, cpu)));
            return waiting.min().map(|(_, cpu)| cpu);
        };
        match file.find(|access| !matches!(access, Ok(access) if access.kind == Kind::Fetch))? {
            Ok(access) => Some(places[access.cpu as usize]),
            Err(error) => {
                let mut place = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                place.get_or_insert(error);
                None
            }
        }
    }
}

impl Iterator for InOrder {
    type Item = (u32, Line);

    fn next(&mut self) -> Option<(u32, Line)> {
        loop {
            if let Some(line) = self.cpus.get_mut(self.cpu)?.line() {
                return Some((self.cpu as u32, line));
            }
            self.cpu = self.turn()?;
            let lines = &mut self.cpus[self.cpu];
            // None if its block was damaged since the file was opened.
            lines.begin(self.next[self.cpu].take()?);
            self.next[self.cpu] = lines.access();
        }
    }
}
