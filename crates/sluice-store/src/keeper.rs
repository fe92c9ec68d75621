//! What keeps a device's memory in its store.
//!
//! The memory is a file that programs have mapped. Contents decide what to keep: a page whose
//! memory differs from what the store has is written, whoever changed it.

use crate::PAGE;
use crate::error::Error;
use crate::format::Shape;
use crate::medium::Medium;
use crate::store::Store;
use core::ops::Range;
use std::io::{Error as IoError, ErrorKind, Result as IoResult};

/// Pages that are read together.
const TOGETHER: usize = 64;

/// A device's memory with its store.
#[derive(Debug)]
pub struct Keeper<M, S> {
    memory: M,
    store: Store<S>,
}

/// Which pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages(pub Range<u64>);

/// Why a memory could not be made what its store has.
#[derive(Debug)]
pub enum LoadError {
    /// The store cannot be read.
    Store(IoError),
    /// The memory cannot be written.
    Memory(IoError),
}

/// What became of pages that were to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Pages that were written.
    pub written: u64,
    /// Pages that differ and were not, because there was no energy for them.
    pub lost: Vec<u64>,
}

impl<M: Medium, S: Medium> Keeper<M, S> {
    /// A keeper of a memory and a store of the same size.
    pub fn new(memory: M, store: Store<S>) -> Keeper<M, S> {
        Keeper { memory, store }
    }

    /// Of a memory with a new store on an empty medium, which has all of the memory before it is a
    /// store.
    ///
    /// # Errors
    /// What the system says. The medium is no store then.
    pub fn create(memory: M, medium: S, shape: Shape) -> Result<Keeper<M, S>, Error> {
        let mut keeper = Keeper::new(memory, Store::new(medium, shape));
        let filled = keeper.keep(&keeper.all(), u64::MAX);
        let begun = filled.and_then(|_| keeper.store.begin());
        begun.map_err(Error::system("filling the new store"))?;
        Ok(keeper)
    }

    /// All pages.
    pub fn all(&self) -> Pages {
        Pages(0..self.store.shape().pages)
    }

    /// The memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The store.
    pub fn store(&self) -> &Store<S> {
        &self.store
    }

    /// Makes the memory what the store has.
    ///
    /// # Errors
    /// What the system says, or that the store is damaged; the memory may be half done.
    pub fn load(&mut self) -> Result<u64, LoadError> {
        let pages = self.store.shape().pages;
        let punched = self.memory.punch(0, pages * PAGE as u64);
        punched.map_err(LoadError::Memory)?;
        let (mut contents, mut next, mut loaded) = ([0; PAGE], 0, 0);
        while let Some(page) = self.store.next_page(next..pages) {
            self.store
                .get(page, &mut contents)
                .map_err(LoadError::Store)?;
            let written = self.memory.write(&contents, page * PAGE as u64);
            written.map_err(LoadError::Memory)?;
            loaded += 1;
            next = page + 1;
        }
        Ok(loaded)
    }

    /// Writes a page to the store if its memory is other than what the store has. Says whether it
    /// was.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep_page(&mut self, page: u64) -> IoResult<bool> {
        let contents = self.contents(page)?;
        self.store.put(page, &contents)
    }

    /// Writes all of some pages that differ, in rising order, but no more than so many.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep(&mut self, pages: &Pages, most: u64) -> IoResult<Kept> {
        let mut kept = Kept::default();
        let mut contents = vec![0; TOGETHER * PAGE];
        let mut next = pages.0.start;
        while let Some(first) = self.next_used(next..pages.0.end)? {
            let count = (pages.0.end - first).min(TOGETHER as u64);
            let contents = &mut contents[..count as usize * PAGE];
            self.memory.read(contents, first * PAGE as u64)?;
            next = first + count;
            for (page, contents) in (first..).zip(contents.as_chunks().0) {
                if kept.written < most {
                    kept.written += u64::from(self.store.put(page, contents)?);
                } else if self.store.differs(page, contents) {
                    kept.lost.push(page);
                }
            }
        }
        Ok(kept)
    }

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// What the system says, or that the memory has more than the device: that is not kept.
    pub fn flush(&mut self) -> IoResult<()> {
        self.store.flush()?;
        let end = self.store.shape().pages * PAGE as u64;
        match self.memory.next_data(end)? {
            None => Ok(()),
            Some(at) => {
                let why = format!("the device ends at {end}, and its memory has bytes at {at}");
                Err(IoError::new(ErrorKind::FileTooLarge, why))
            }
        }
    }

    fn contents(&self, page: u64) -> IoResult<[u8; PAGE]> {
        let mut contents = [0; PAGE];
        self.memory.read(&mut contents, page * PAGE as u64)?;
        Ok(contents)
    }

    /// The first of some pages of which the memory or the store has anything.
    fn next_used(&self, pages: Range<u64>) -> IoResult<Option<u64>> {
        if pages.is_empty() {
            return Ok(None);
        }
        let in_memory = self.memory.next_data(pages.start * PAGE as u64)?;
        let in_memory = in_memory.map(|at| at / PAGE as u64);
        let in_memory = in_memory.filter(|page| *page < pages.end);
        // No further: all states would be looked at again for each page of the memory.
        let before = pages.start..in_memory.unwrap_or(pages.end);
        Ok(self.store.next_page(before).or(in_memory))
    }
}
