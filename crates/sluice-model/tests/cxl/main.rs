//! CXL.mem: messages, flits, links, and where an address lives.

mod arbitrary;
mod home_agent;
mod messages;
