//! What hosts and devices say to each other about a line.

use crate::Channel;

/// What a cache may do with a line: the states of MESI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The host has no copy of the line.
    #[default]
    Invalid,
    /// Read it; others may as well.
    Shared,
    /// Read it, and write it without asking.
    Exclusive,
    /// Read it, and write it without asking; memory is stale.
    Modified,
}

/// What a reader wants to be able to do afterwards (MetaValue and SnpType of MemRd).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// Nothing: the current value only (Invalid, SnpCur). For hosts that do not cache.
    Current,
    /// To read again (Shared, SnpData).
    Shared,
    /// To write (Any, SnpInv).
    Any,
}

/// What a host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToDevice {
    /// M2S Req MemRd.
    Read(Want),
    /// M2S Req MemInv (Any, SnpInv): the line is held, and will be written.
    Own,
    /// M2S Req MemClnEvct: a line that memory has is held no more.
    CleanEvict,
    /// M2S RwD MemWr without snoop, by the owner. What it keeps: nothing, a shared or an
    /// exclusive copy (MetaValue Invalid, Shared, Any).
    WriteBack(State),
    /// M2S RwD MemWr (Invalid, SnpInv), by a host that does not cache.
    Write,
    /// M2S RwD BIConflict: the snoop met a request for its line. The tag is the snoop's.
    Conflict,
    /// M2S BIRsp, or BIRsp-Blk for a block. The tag is the snoop's.
    Response {
        /// What is left in the host's cache.
        left: State,
        /// How many lines the snoop named.
        lines: u8,
    },
}

/// What a device sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToHost {
    /// S2M NDR Cmp, Cmp-S or Cmp-E: the request was done, and this may be held.
    Done(State),
    /// S2M DRS MemData.
    Data,
    /// S2M NDR BI-ConflictAck: completions on their way to this host are ahead of it.
    ConflictAck,
    /// S2M BISnp, of `lines` adjacent lines, 1 to 4.
    Snoop {
        /// What is wanted of the host.
        want: Snoop,
        /// Lines from the message's on.
        lines: u8,
    },
}

/// The three back-invalidate snoops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Snoop {
    /// BISnpCur: write back what is newer than memory, keep all.
    Current,
    /// BISnpData: write back, keep a shared copy.
    Data,
    /// BISnpInv: write back, keep nothing.
    Invalidate,
}

/// A message of either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message<T> {
    /// What it says.
    pub what: T,
    /// The other end: sent, whom to; received, whom from.
    pub peer: u32,
    /// The line, by a number that all hosts and devices give it: adjacent lines of a device have
    /// adjacent ones.
    pub line: u64,
    /// The request's tag, or the snoop's (BITag).
    pub tag: u16,
    /// What stands for the line's 64 bytes: 0, unless somebody checks values.
    pub data: u64,
}

/// From a host.
pub type M2s = Message<ToDevice>;
/// From a device.
pub type S2m = Message<ToHost>;

impl ToDevice {
    /// The channel that carries it.
    pub fn channel(self) -> Channel {
        match self {
            ToDevice::Read(_) | ToDevice::Own | ToDevice::CleanEvict => Channel::Req,
            ToDevice::WriteBack(_) | ToDevice::Write | ToDevice::Conflict => Channel::RwD,
            ToDevice::Response { .. } => Channel::BiRsp,
        }
    }
}

impl ToHost {
    /// The channel that carries it. NDR alone must keep the order between two ends: the
    /// conflict handshake rests on it.
    pub fn channel(self) -> Channel {
        match self {
            ToHost::Done(_) | ToHost::ConflictAck => Channel::Ndr,
            ToHost::Data => Channel::Drs,
            ToHost::Snoop { .. } => Channel::BiSnp,
        }
    }
}
