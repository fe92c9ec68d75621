//! A standard's timing in picoseconds, and when a rank refreshes.

use super::Standard;
use crate::request::Op;
use sluice_units::Ps;

/// How two column commands are related.
const SAME_GROUP: usize = 0;
const SAME_RANK: usize = 1;
const OTHER_RANK: usize = 2;

/// Tags of commands: rank and bank group, and for column commands whether it writes.
const WRITE_TAG: u16 = 1;
const GROUP_BITS: u32 = 8;

/// The times that the engine adds up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub rcd: Ps,
    pub rp: Ps,
    pub rp_all: Ps,
    pub ras: Ps,
    pub rrd_s: Ps,
    pub rrd_l: Ps,
    pub faw: Ps,
    /// By [`Op`]: column command to the end of its data.
    pub data: [Ps; 2],
    /// By [`Op`]: column command to the PRE that may follow.
    pub recovery: [Ps; 2],
    /// By first [`Op`], second [`Op`] and relation: distance of column commands.
    column_gaps: [[[Ps; 3]; 2]; 2],
}

impl Timing {
    pub fn new(s: &Standard) -> Timing {
        let of = |cycles: u64| Ps(cycles * s.clock.0);
        let to_write = |gap: u64| {
            of((s.read_latency + s.burst + gap).max(s.write_latency + 1)) - of(s.write_latency)
        };
        let to_read = |gap: u64| {
            of((s.write_latency + s.burst + gap).max(s.read_latency + 1)) - of(s.read_latency)
        };
        let write_end = s.write_latency + s.burst;
        Timing {
            rcd: of(s.rcd),
            rp: of(s.rp),
            rp_all: of(s.rp_all),
            ras: of(s.ras),
            rrd_s: of(s.rrd_s),
            rrd_l: of(s.rrd_l),
            faw: of(s.faw),
            data: [of(s.read_latency + s.burst), of(write_end)],
            recovery: [of(s.rtp), of(write_end + s.wr)],
            column_gaps: [
                [
                    [of(s.ccd_l), of(s.ccd_s), of(s.burst + s.rtrs)],
                    [to_write(s.rtw), to_write(s.rtw), to_write(s.rtrs)],
                ],
                [
                    [
                        of(write_end + s.wtr_l),
                        of(write_end + s.wtr_s),
                        to_read(s.rtrs),
                    ],
                    [of(s.ccd_l_wr), of(s.ccd_s), of(s.burst + s.rtrs)],
                ],
            ],
        }
    }

    /// How far apart two column commands of a channel must be.
    pub fn column_gap(&self, first: u16, second: u16) -> Ps {
        let relation = match (first ^ second) & !WRITE_TAG {
            0 => SAME_GROUP,
            differ if differ >> GROUP_BITS == 0 => SAME_RANK,
            _ => OTHER_RANK,
        };
        let op = |tag: u16| usize::from(tag & WRITE_TAG);
        self.column_gaps[op(first)][op(second)][relation]
    }

    /// How far apart two ACT commands of a rank must be.
    pub fn activate_gap(&self, first: u16, second: u16) -> Ps {
        if first == second {
            self.rrd_l
        } else {
            self.rrd_s
        }
    }

    /// The longest distance that two column commands of a channel need.
    pub fn column_reach(&self) -> Ps {
        let all = self.column_gaps.iter().flatten().flatten();
        all.copied().fold(Ps::ZERO, Ps::max)
    }

    /// The longest time for which an ACT matters to another of its rank.
    pub fn activate_reach(&self) -> Ps {
        self.faw.max(self.rrd_l)
    }
}

/// The tag of a command.
pub(super) fn tag(rank: u64, group: u64, op: Op) -> u16 {
    ((rank as u16) << GROUP_BITS) | ((group as u16) << 1) | op as u16
}

/// The time between two refreshes of a rank, in which it can be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// Refreshes before it.
    pub index: u64,
    /// The end of the refresh before it.
    pub from: Ps,
    /// The start of the refresh after it.
    pub until: Ps,
}

/// When ranks refresh: every tREFI, one rank after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refresh {
    interval: u64,
    time: u64,
    stagger: u64,
}

impl Refresh {
    pub fn new(s: &Standard, ranks: u64) -> Refresh {
        Refresh {
            interval: s.refi.0,
            time: s.rfc.0,
            stagger: s.refi.0 / ranks,
        }
    }

    /// The turn that `at` falls into, or that follows the refresh it falls into.
    pub fn turn(&self, rank: u64, at: Ps) -> Turn {
        let offset = rank * self.stagger;
        let index = at.0.saturating_sub(offset) / self.interval;
        let start = offset + index * self.interval;
        Turn {
            index,
            from: if index == 0 {
                Ps::ZERO
            } else {
                Ps(start + self.time)
            },
            until: Ps(start + self.interval),
        }
    }
}
