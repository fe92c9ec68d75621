//! Device-managed coherence: the protocol under every order of its messages, and what ESF's
//! sections V-B and V-C follow from.

mod claims;
mod explore;
mod tags;
mod walk;
mod write_back;
