//! Which bank and row an address is in.

use super::DramLayout;

/// The fields of an address, as `dram.mapping` names them.
pub const FIELDS: [&str; 6] = ["Ro", "Ra", "Bg", "Ba", "Co", "Ch"];

const ROW: usize = 0;
const RANK: usize = 1;
const GROUP: usize = 2;
const BANK: usize = 3;
const COLUMN: usize = 4;
const CHANNEL: usize = 5;

/// Bytes of an access: what a load of one cache line asks for.
pub(super) const LINE_BYTES: u64 = 64;

/// Where a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramAddress {
    /// Which channel, counted from 0.
    pub channel: u64,
    /// Rank of the channel.
    pub rank: u64,
    /// Bank group of the rank.
    pub group: u64,
    /// Bank of the bank group.
    pub bank: u64,
    /// Row of the bank.
    pub row: u64,
}

/// Takes an address apart. Every field is a power of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressMap {
    /// Per field: how far down it is, and its largest value.
    fields: [(u32, u64); 6],
    /// Per field: from which bit of the row on it is exclusively ored with the row, if it is.
    hash: [Option<u32>; 6],
}

impl AddressMap {
    /// Of a layout, whose mapping has each field once.
    pub fn new(layout: &DramLayout) -> AddressMap {
        let DramLayout {
            standard,
            channels,
            ranks,
            mapping,
            hashes_banks,
            ..
        } = *layout;
        let mut sizes = [0; 6];
        sizes[ROW] = standard.rows;
        sizes[RANK] = ranks;
        sizes[GROUP] = standard.bank_groups;
        sizes[BANK] = standard.banks;
        sizes[COLUMN] = standard.row_bytes / LINE_BYTES;
        sizes[CHANNEL] = channels;
        let (mut fields, mut hash) = ([(0, 0); 6], [None; 6]);
        let (mut shift, mut hashed) = (LINE_BYTES.trailing_zeros(), 0);
        for field in mapping.into_iter().rev().map(usize::from) {
            let bits = sizes[field].trailing_zeros();
            fields[field] = (shift, sizes[field] - 1);
            shift += bits;
            if hashes_banks && field != ROW && field != COLUMN {
                hash[field] = Some(hashed);
                hashed += bits;
            }
        }
        AddressMap { fields, hash }
    }

    pub fn place(&self, addr: u64) -> DramAddress {
        let field = |index: usize| {
            let (shift, mask) = self.fields[index];
            (addr >> shift) & mask
        };
        let row = field(ROW);
        let hashed = |index: usize| match self.hash[index] {
            Some(shift) => field(index) ^ ((row >> shift) & self.fields[index].1),
            None => field(index),
        };
        DramAddress {
            channel: hashed(CHANNEL),
            rank: hashed(RANK),
            group: hashed(GROUP),
            bank: hashed(BANK),
            row,
        }
    }
}
