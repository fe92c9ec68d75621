//! Whether what a curve touches has room.

use crate::error::Error;
use sluice_driver::Traffic;
use sluice_units::{Bytes, round_bytes};

/// What the regions and the dependent loads lie in.
pub struct Room {
    /// What has it, with the verb.
    pub of: &'static str,
    pub bytes: u64,
    /// What would help besides less traffic.
    pub more: &'static str,
}

impl Room {
    /// Refuses what is larger, by the option that makes most of it.
    pub fn takes(&self, traffic: &Traffic) -> Result<(), Error> {
        let needed = traffic.footprint();
        if needed <= self.bytes {
            return Ok(());
        }
        let (of, more) = (self.of, self.more);
        let regions = u64::from(traffic.threads) * traffic.size;
        let (option, value) = match traffic.chase > regions {
            true => ("--chase", traffic.chase),
            false => ("--size", traffic.size),
        };
        let (needed, room) = (round_bytes(needed), round_bytes(self.bytes));
        let threads = traffic.threads;
        let why = format!(
            "regions of {threads} threads and the dependent loads (--chase) take {needed}, but \
             {of} {room}; give less, or fewer --threads{more}"
        );
        Err(Error::value(option, Bytes(value), why))
    }
}

/// Refuses more than this machine's memory: the kernel would swap, or kill.
pub fn on_host(traffic: &Traffic) -> Result<(), Error> {
    let Some(here) = sluice_simulation::Room::here() else {
        return Ok(());
    };
    let room = Room {
        of: here.of,
        bytes: here.bytes.0,
        more: "",
    };
    room.takes(traffic)
}
