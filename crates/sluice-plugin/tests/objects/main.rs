//! Shared objects in C: what they do is what the built-in thing of their kind does, and an object that is
//! none is refused in one line.

mod build;
mod memory;
mod policy;
