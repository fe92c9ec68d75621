//! From a parameter's value to its type.

use crate::kind::{Kind, TIME, Value};
use sluice_units::{Bytes, Ps, Ratio};

/// A type that values of some kind can be read as.
pub trait Typed: Sized {
    /// The value, or `None` if it is of another kind.
    fn of(value: &Value) -> Option<Self>;
}

/// A type that says which kind of value its parameters take.
pub trait Declared: Typed {
    /// Which texts are a value of this type.
    const KIND: Kind;
}

/// What [`Kind::SizeOrShare`] and [`Kind::CountOrShare`] take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount<T> {
    /// An absolute amount.
    Absolute(T),
    /// A share of what the parameter's meaning says.
    Share(Ratio),
}

/// What [`Kind::ChoiceOrPath`] takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrPath<T> {
    /// One of the names.
    Choice(T),
    /// The path of a shared object.
    Path(String),
}

impl Typed for Ps {
    fn of(value: &Value) -> Option<Ps> {
        match value {
            Value::Time(time) => Some(*time),
            _ => None,
        }
    }
}

impl Declared for Ps {
    const KIND: Kind = TIME;
}

impl Typed for Bytes {
    fn of(value: &Value) -> Option<Bytes> {
        match value {
            Value::Size(size) => Some(*size),
            _ => None,
        }
    }
}

impl Declared for Bytes {
    const KIND: Kind = Kind::Size;
}

impl Typed for Ratio {
    fn of(value: &Value) -> Option<Ratio> {
        match value {
            Value::Share(share) => Some(*share),
            _ => None,
        }
    }
}

impl Typed for u64 {
    fn of(value: &Value) -> Option<u64> {
        match value {
            Value::Count(count) => Some(*count),
            _ => None,
        }
    }
}

impl Typed for u32 {
    fn of(value: &Value) -> Option<u32> {
        u64::of(value)?.try_into().ok()
    }
}

impl Typed for u16 {
    fn of(value: &Value) -> Option<u16> {
        u64::of(value)?.try_into().ok()
    }
}

impl Typed for u8 {
    fn of(value: &Value) -> Option<u8> {
        u64::of(value)?.try_into().ok()
    }
}

impl Typed for bool {
    fn of(value: &Value) -> Option<bool> {
        match value {
            Value::Flag(on, _) => Some(*on),
            _ => None,
        }
    }
}

/// An order of names: the index of each.
impl Typed for [u8; 6] {
    fn of(value: &Value) -> Option<[u8; 6]> {
        match value {
            Value::Order(_, order) => Some(*order),
            _ => None,
        }
    }
}

/// [`Kind::Or`]: `None` is its word.
impl<T: Typed> Typed for Option<T> {
    fn of(value: &Value) -> Option<Option<T>> {
        match value {
            Value::Word(_) => Some(None),
            value => T::of(value).map(Some),
        }
    }
}

impl<T: Typed> Typed for Amount<T> {
    fn of(value: &Value) -> Option<Amount<T>> {
        match value {
            Value::Share(share) => Some(Amount::Share(*share)),
            value => T::of(value).map(Amount::Absolute),
        }
    }
}

impl<T: Typed> Typed for OrPath<T> {
    fn of(value: &Value) -> Option<OrPath<T>> {
        match value {
            Value::Path(path) => Some(OrPath::Path(path.clone())),
            value => T::of(value).map(OrPath::Choice),
        }
    }
}
