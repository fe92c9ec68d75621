//! DRAM with banks and rows: row hits, misses and conflicts, bank groups, ranks, channels, refresh.
//!
//! Time is reserved, not simulated: an access finds the earliest times for its commands that break
//! no rule against the commands already placed, and says when its data is there. Accesses to one
//! bank are served in the order in which they come; those to different banks pass each other.
//! [`Scheduled`] is a controller that looks for row hits in its queue, for those who can wait for
//! the answer.
//!
//! Left out, because nothing here depends on it: the command bus, power states, ECC, and rounding
//! to the edges of the clock. A new standard is an entry in `standard.rs`.

mod map;
mod scheduler;
mod standard;
mod timing;
mod window;

pub use map::{DramAddress, FIELDS};
pub use scheduler::Scheduled;
pub use standard::{STANDARDS, Standard};

use crate::request::Op;
use map::{AddressMap, LINE_BYTES};
use sluice_units::Ps;
use timing::{Refresh, Timing, tag};
use window::Window;

/// What an access found in its bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// Its row, open.
    Hit,
    /// No open row.
    Closed,
    /// Another row, which has to be closed first.
    Conflict,
}

/// What DRAM answers to an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramAccess {
    /// When the last of its data is on the bus.
    pub done_at: Ps,
    /// When its last command to read or write is given.
    pub given_at: Ps,
    /// What the bank had open.
    pub row: Row,
}

/// A command to a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// Closes the open row (PRE).
    Precharge,
    /// Opens a row (ACT).
    Activate,
    /// Reads a burst.
    Read,
    /// Writes a burst.
    Write,
}

/// A command with its time, for those who check the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// When it is given.
    pub at: Ps,
    /// What it does.
    pub kind: CommandKind,
    /// Which channel, rank, bank and row it goes to.
    pub place: DramAddress,
}

impl Command {
    fn to(place: &DramAddress, at: Ps, kind: CommandKind) -> Command {
        Command {
            at,
            kind,
            place: *place,
        }
    }
}

/// How the module is put together.
#[derive(Clone, Copy, Debug)]
pub struct DramLayout {
    /// The standard whose rules its commands keep.
    pub standard: &'static Standard,
    /// Channels, a power of two up to 64.
    pub channels: u64,
    /// Ranks on each channel, a power of two up to 8.
    pub ranks: u64,
    /// Indices of [`FIELDS`], most significant first, each once.
    pub mapping: [u8; 6],
    /// Whether the numbers of channel, rank, bank group and bank are exclusively ored with the low
    /// bits of the row. Then rows at the same distance do not share a bank (Zhang, Zhu and Zhang,
    /// "A permutation-based page interleaving scheme", MICRO 2000).
    pub hashes_banks: bool,
    /// Whether a row is closed after each access.
    pub closes_rows: bool,
}

impl DramLayout {
    /// Bytes; addresses beyond them wrap.
    pub fn capacity(&self) -> u64 {
        let s = self.standard;
        self.channels * self.ranks * s.bank_groups * s.banks * s.rows * s.row_bytes
    }

    /// Bursts that a line takes.
    fn bursts(&self) -> u64 {
        LINE_BYTES / self.standard.burst_bytes
    }

    /// A read of a line from an idle bank with no open row: tRCD + CL + BL/2, and tCCD_L for each
    /// burst after the first.
    pub fn idle_read(&self) -> Ps {
        let s = self.standard;
        let more = (self.bursts() - 1) * s.ccd_l;
        Ps((s.rcd + s.read_latency + s.burst + more) * s.clock.0)
    }
}

#[derive(Clone, Copy, Default)]
struct Bank {
    open: Option<u64>,
    /// The turn between refreshes in which the row was opened: it is closed in the next.
    turn: u64,
    /// No ACT before this.
    activate_from: Ps,
    /// No column command before this: tRCD after the ACT, and not before the one before.
    column_from: Ps,
    /// No PRE before this.
    precharge_from: Ps,
}

/// Where the commands of a burst go.
struct Plan {
    row: Row,
    precharge: Option<Ps>,
    activate: Option<Ps>,
    column: Ps,
    turn: u64,
}

/// A module behind its controller.
pub struct Dram {
    layout: DramLayout,
    timing: Timing,
    refresh: Refresh,
    map: AddressMap,
    banks: Vec<Bank>,
    /// ACT commands of each rank.
    activates: Vec<Window>,
    /// Column commands of each channel.
    columns: Vec<Window>,
    now: Ps,
}

impl Dram {
    /// An idle module. Nothing is allocated later.
    pub fn new(layout: &DramLayout) -> Dram {
        let s = layout.standard;
        let timing = Timing::new(s);
        let ranks = (layout.channels * layout.ranks) as usize;
        let banks = ranks * (s.bank_groups * s.banks) as usize;
        let windows = |count: usize, reach| (0..count).map(|_| Window::new(reach)).collect();
        Dram {
            layout: *layout,
            timing,
            refresh: Refresh::new(s, layout.ranks),
            map: AddressMap::new(layout),
            banks: vec![Bank::default(); banks],
            activates: windows(ranks, timing.activate_reach()),
            columns: windows(layout.channels as usize, timing.column_reach()),
            now: Ps::ZERO,
        }
    }

    /// Reads or writes the line of 64 bytes that holds the address.
    ///
    /// A `now` before one that was given earlier counts as the later one.
    pub fn access(&mut self, now: Ps, addr: u64, op: Op) -> DramAccess {
        self.access_telling(now, addr, op, |_| ())
    }

    /// Reserves an access, and calls back with every command and its time. Those of one access come
    /// in order.
    pub fn access_telling(
        &mut self,
        now: Ps,
        addr: u64,
        op: Op,
        mut tell: impl FnMut(Command),
    ) -> DramAccess {
        self.now = self.now.max(now);
        let place = self.map.place(addr);
        let bursts = self.layout.bursts();
        let (mut first_row, mut column) = (None, Ps::ZERO);
        for burst in 1..=bursts {
            let plan = self.plan(&place, op);
            let closes = self.layout.closes_rows && burst == bursts;
            self.commit(&place, op, &plan, closes, &mut tell);
            first_row = first_row.or(Some(plan.row));
            column = plan.column;
        }
        DramAccess {
            done_at: column + self.timing.data[op as usize],
            given_at: column,
            row: first_row.expect("a line has a burst"),
        }
    }

    /// The channel that has an address.
    #[inline]
    pub fn channel_of(&self, addr: u64) -> usize {
        self.map.place(addr).channel as usize
    }

    /// How it is put together.
    pub fn layout(&self) -> &DramLayout {
        &self.layout
    }

    fn rank_of(&self, place: &DramAddress) -> usize {
        (place.channel * self.layout.ranks + place.rank) as usize
    }

    fn bank_of(&self, place: &DramAddress) -> usize {
        let s = self.layout.standard;
        let group = self.rank_of(place) * s.bank_groups as usize + place.group as usize;
        group * s.banks as usize + place.bank as usize
    }

    /// Whether an access at `at` would find its row open.
    fn is_open(&self, at: Ps, place: &DramAddress) -> bool {
        let bank = &self.banks[self.bank_of(place)];
        let turn = self.refresh.turn(place.rank, at.max(bank.column_from));
        bank.open == Some(place.row) && bank.turn == turn.index
    }

    /// The earliest times for the commands of a burst, between two refreshes.
    fn plan(&mut self, place: &DramAddress, op: Op) -> Plan {
        let bank = self.banks[self.bank_of(place)];
        let rank = self.rank_of(place);
        self.activates[rank].forget_before(self.now);
        self.columns[place.channel as usize].forget_before(self.now);
        let mut start = self.now.max(bank.column_from);
        loop {
            let turn = self.refresh.turn(place.rank, start);
            let from = start.max(turn.from);
            let open = bank.open.filter(|_| bank.turn == turn.index);
            let (row, precharge) = match open {
                Some(row) if row == place.row => (Row::Hit, None),
                Some(_) => (Row::Conflict, Some(self.now.max(bank.precharge_from))),
                None => (Row::Closed, None),
            };
            let precharge = precharge.map(|at| at.max(turn.from));
            let activate = (row != Row::Hit).then(|| {
                let opened = precharge.map_or(bank.activate_from, |at| at + self.timing.rp);
                self.activate_at(rank, place, self.now.max(turn.from).max(opened))
            });
            let ready = activate.map_or(from, |at| at + self.timing.rcd);
            let column = self.columns[place.channel as usize].earliest(
                ready,
                tag(place.rank, place.group, op),
                |first, second| self.timing.column_gap(first, second),
            );
            if self.closed_by(activate, column, op) + self.timing.rp_all <= turn.until {
                let turn = turn.index;
                return Plan {
                    row,
                    precharge,
                    activate,
                    column,
                    turn,
                };
            }
            start = turn.until;
        }
    }

    /// The first time for an ACT that keeps tRRD and tFAW.
    fn activate_at(&self, rank: usize, place: &DramAddress, from: Ps) -> Ps {
        let window = &self.activates[rank];
        let tag = tag(place.rank, place.group, Op::Read);
        let gap = |first, second| self.timing.activate_gap(first, second);
        let mut at = from;
        // Each round moves the command behind at least one more of those remembered.
        loop {
            at = window.earliest(at, tag, gap);
            let spread = window.at_most_four_within(at, self.timing.faw);
            if spread == at {
                return at;
            }
            at = spread;
        }
    }

    /// When the row of a burst can be closed.
    fn closed_by(&self, activate: Option<Ps>, column: Ps, op: Op) -> Ps {
        let opened = activate.map_or(Ps::ZERO, |at| at + self.timing.ras);
        opened.max(column + self.timing.recovery[op as usize])
    }

    /// Opens the row of an access that follows, as early as its bank and its rank let it.
    fn open_row(&mut self, now: Ps, place: &DramAddress, op: Op, tell: &mut impl FnMut(Command)) {
        self.now = self.now.max(now);
        let plan = self.plan(place, op);
        self.commit_row(place, &plan, tell);
    }

    /// When an access could give its column command.
    fn column_at(&mut self, now: Ps, place: &DramAddress, op: Op) -> Ps {
        self.now = self.now.max(now);
        self.plan(place, op).column
    }

    /// Places the commands that open a row.
    fn commit_row(&mut self, place: &DramAddress, plan: &Plan, tell: &mut impl FnMut(Command)) {
        let (index, rank) = (self.bank_of(place), self.rank_of(place));
        let mut give = |at, kind| tell(Command::to(place, at, kind));
        if let Some(at) = plan.precharge {
            give(at, CommandKind::Precharge);
        }
        let Some(at) = plan.activate else {
            return;
        };
        give(at, CommandKind::Activate);
        self.activates[rank].push(at, tag(place.rank, place.group, Op::Read));
        let bank = &mut self.banks[index];
        bank.open = Some(place.row);
        bank.turn = plan.turn;
        bank.column_from = at + self.timing.rcd;
        bank.precharge_from = at + self.timing.ras;
        bank.activate_from = bank.precharge_from + self.timing.rp;
    }

    fn commit(
        &mut self,
        place: &DramAddress,
        op: Op,
        plan: &Plan,
        closes: bool,
        tell: &mut impl FnMut(Command),
    ) {
        self.commit_row(place, plan, tell);
        let mut give = |at, kind| tell(Command::to(place, at, kind));
        let kind = if op == Op::Write {
            CommandKind::Write
        } else {
            CommandKind::Read
        };
        give(plan.column, kind);
        let tag = tag(place.rank, place.group, op);
        self.columns[place.channel as usize].push(plan.column, tag);
        let closed_by = self.closed_by(plan.activate, plan.column, op);
        let index = self.bank_of(place);
        let bank = &mut self.banks[index];
        bank.turn = plan.turn;
        bank.column_from = plan.column;
        bank.precharge_from = bank.precharge_from.max(closed_by);
        bank.activate_from = bank.precharge_from + self.timing.rp;
        bank.open = (!closes).then_some(place.row);
        if closes {
            give(bank.precharge_from, CommandKind::Precharge);
        }
    }
}
