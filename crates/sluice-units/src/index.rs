//! Indices that say what they number, and tables that take no other index.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};

/// A number that says which one of some things, such as a page or a die.
///
/// [`index_type!`](crate::index_type) makes one. Two of them do not mix: a die is no plane, and no
/// table of planes takes one.
pub trait IndexType: Copy + Eq {
    /// The thing with this number.
    fn new(number: u32) -> Self;

    /// Which one it is, counted from 0.
    fn number(self) -> u32;

    /// Its place in memory that has an element for each.
    #[inline]
    fn index(self) -> usize {
        self.number() as usize
    }

    /// All things of a range of numbers.
    #[inline]
    fn range(
        numbers: Range<u32>,
    ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        numbers.map(Self::new)
    }
}

/// For what has only one kind of number.
impl IndexType for u32 {
    #[inline]
    fn new(number: u32) -> u32 {
        number
    }

    #[inline]
    fn number(self) -> u32 {
        self
    }
}

/// Declares an index: `index_type! { /// Which die. pub struct Die; }`.
#[macro_export]
macro_rules! index_type {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident;)+) => {
        $($(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        $vis struct $name(pub u32);

        impl $name {
            /// Its place in memory that has an element for each.
            #[inline]
            $vis const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl $crate::IndexType for $name {
            #[inline]
            fn new(number: u32) -> $name {
                $name(number)
            }

            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        })+
    };
}

/// A value for each thing that an index numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table<I, T> {
    values: Vec<T>,
    by: PhantomData<fn(I)>,
}

impl<I: IndexType, T> Table<I, T> {
    /// The value of each, computed in order.
    pub fn from_fn(count: u32, value: impl FnMut(I) -> T) -> Table<I, T> {
        I::range(0..count).map(value).collect()
    }

    /// How many things there are.
    #[inline]
    pub fn count(&self) -> u32 {
        self.values.len() as u32
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of one, if it is in the table.
    #[inline]
    pub fn get(&self, at: I) -> Option<&T> {
        self.values.get(at.index())
    }

    /// The value of one, to be changed, if it is in the table.
    #[inline]
    pub fn get_mut(&mut self, at: I) -> Option<&mut T> {
        self.values.get_mut(at.index())
    }

    /// The index of every value, in order.
    pub fn indices(
        &self,
    ) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        I::range(0..self.count())
    }

    /// Each with its value, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.indices().zip(&self.values)
    }

    /// The values, in order.
    #[inline]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values, in order, to be changed.
    #[inline]
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<I: IndexType, T: Clone> Table<I, T> {
    /// A table with one value for each thing. One of integers that are 0 takes memory only where it
    /// is changed.
    pub fn filled(count: u32, value: T) -> Table<I, T> {
        Table {
            values: vec![value; count as usize],
            by: PhantomData,
        }
    }

    /// Gives more things a value, up to `count` of them. Never takes any away.
    pub fn grow(&mut self, count: u32, value: T) {
        if count > self.count() {
            self.values.resize(count as usize, value);
        }
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(values: S) -> Table<I, T> {
        Table {
            values: values.into_iter().collect(),
            by: PhantomData,
        }
    }
}

impl<I: IndexType, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, at: I) -> &T {
        &self.values[at.index()]
    }
}

impl<I: IndexType, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, at: I) -> &mut T {
        &mut self.values[at.index()]
    }
}

/// For each thing another one or none, in four bytes.
///
/// Fresh memory says none, and the operating system hands it out untouched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Links<I, J> {
    /// The number of the other one + 1, or 0.
    to: Table<I, u32>,
    other: PhantomData<fn(J)>,
}

impl<I: IndexType, J: IndexType> Links<I, J> {
    /// None for each.
    pub fn none(count: u32) -> Links<I, J> {
        Links {
            to: Table::filled(count, 0),
            other: PhantomData,
        }
    }

    /// Whether there are no things.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// The index of every thing, in order.
    pub fn indices(&self) -> impl Iterator<Item = I> + use<I, J> {
        self.to.indices()
    }

    /// The other one, if there is one.
    #[inline]
    pub fn get(&self, at: I) -> Option<J> {
        self.to[at].checked_sub(1).map(J::new)
    }

    /// Changes which other one it is.
    #[inline]
    pub fn set(&mut self, at: I, other: Option<J>) {
        self.to[at] = other.map_or(0, |other| other.number() + 1);
    }

    /// The other one, which it has no longer.
    #[inline]
    pub fn take(&mut self, at: I) -> Option<J> {
        std::mem::take(&mut self.to[at]).checked_sub(1).map(J::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    index_type! {
        /// Which of three.
        struct Three;
        /// Which of two.
        struct Two;
    }

    #[test]
    fn a_table_has_a_value_for_each_number() {
        let mut table = Table::<Three, u64>::filled(3, 7);
        table[Three(1)] += 1;
        assert_eq!(table.values()[Three(1).index()], 8);
        assert_eq!(table.values(), [7, 8, 7]);
        assert_eq!(table.get(Three(3)), None);
        assert_eq!(table.iter().last(), Some((Three(2), &7)));
        let squares = Table::<Three, u32>::from_fn(3, |at| at.0 * at.0);
        assert_eq!(squares.values(), [0, 1, 4]);
    }

    #[test]
    fn a_link_leads_to_one_or_none() {
        let mut links = Links::<Three, Two>::none(3);
        links.set(Three(2), Some(Two(0)));
        assert_eq!(links.get(Three(1)), None);
        assert_eq!(links.get(Three(2)), Some(Two(0)));
        assert_eq!(links.take(Three(2)).map(Two::index), Some(0));
        assert_eq!(links.get(Three(2)), None);
    }
}
