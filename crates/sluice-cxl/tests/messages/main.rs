//! CXL.mem: messages, flits, links, and where an address lives.

mod arbitrary;
mod flits;
mod home_agent;
mod link;
mod messages;
