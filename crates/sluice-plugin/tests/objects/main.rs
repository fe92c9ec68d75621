//! Shared objects in C do what the built-in thing of their kind does, and what is none is refused
//! in one line.

mod policy;
