//! Does the interconnect do what its closed forms say?

mod bounds;
mod busy;
mod ceilings;
mod choices;
mod duplex;
mod elements;
mod hierarchy;
mod idle;
mod link;
mod maps;
mod memories;
mod random;
mod refused;
mod rig;
mod routing;
mod sockets;
mod stuck;
mod twin;
mod unused;
mod ways;
mod whole;
