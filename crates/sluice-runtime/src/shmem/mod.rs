//! Memory that processes share (`--place shared`).
//!
//! A device belongs to a process, but this memory to several. So the session has one more device
//! for it, in the command that started the program: its [`Server`] has the userfaultfd of each
//! process and answers the faults of all. Contents never move. They stay in the kernel's object,
//! which each process maps; a page that is not in the device's cache has only no page-table
//! entries. So whatever happens to the server or to a process, nobody reads a wrong byte.
//!
//! Only a process can take entries out of its own page table. Each has a thread for that, the
//! [`agent`], which does what the server says and is never waited for.

pub mod agent;
pub mod client;
mod costs;
mod extents;
mod link;
mod message;
mod pages;
mod process;
mod server;
mod waits;
mod windows;

pub use server::{Server, Start as ServerStart};
