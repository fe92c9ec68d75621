//! Shared objects do what the built-in thing of their kind does, or a naive one of what they say
//! that they are. A file that is no such object is refused in one line.

mod events;
mod examples;
mod policy;
mod prefetcher;
mod rig;
