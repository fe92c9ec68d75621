//! Addresses for a kernel's data.

use sluice_units::Bytes;

const PAGE: u64 = 4096;

/// Gives out addresses from 0 up, each array on pages of its own.
#[derive(Debug, Default)]
pub struct Arena {
    used: u64,
}

/// Where an array's elements are.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    base: u64,
    element: u64,
}

impl Arena {
    /// Addresses for `len` elements of `element` bytes.
    pub fn array(&mut self, len: u64, element: u64) -> Array {
        let base = self.used;
        self.used += (len * element).next_multiple_of(PAGE);
        Array { base, element }
    }

    /// Bytes given out.
    pub fn footprint(&self) -> Bytes {
        Bytes(self.used)
    }
}

impl Array {
    /// The address of an element.
    pub fn at(&self, index: u64) -> u64 {
        self.base + index * self.element
    }

    /// The array that begins at an element.
    pub fn from(&self, index: u64) -> Array {
        Array {
            base: self.at(index),
            ..*self
        }
    }
}
