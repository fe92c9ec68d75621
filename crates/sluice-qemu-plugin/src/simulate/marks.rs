//! Marks that a program or guest sets: bytes that are addresses of loads by one instruction.
//!
//! Anything may execute that instruction at any time. What is no mark is forgotten and counted, and
//! what is kept has bounds.

use sluice_abi::{MARK_BEGINS, MARK_ENDS, MARK_NAME_MAX, MARKS_MAX, is_mark_name};

/// Marks that are being said at a time. One more takes the place of the oldest.
const SAID_AT_ONCE: usize = 16;
/// Bytes of a table, the place in which says a byte.
const TABLE: u64 = 256;

/// What was heard.
#[derive(Default)]
pub struct Marks {
    /// Marks under way: where their tables are, and the bytes so far. The oldest first.
    said: Vec<(u64, Vec<u8>)>,
    /// Marks that were kept, by their numbers.
    names: Vec<String>,
    /// What was no mark, or one too many.
    refused: u64,
}

impl Marks {
    /// The instruction has loaded from an address. Returns the number of a mark that is complete.
    pub fn hear(&mut self, address: u64) -> Option<u32> {
        let (table, byte) = (address / TABLE, (address % TABLE) as u8);
        let place = self.said.iter().position(|(of, _)| *of == table);
        match (byte, place) {
            (MARK_BEGINS, place) => {
                self.begin(table, place);
                None
            }
            (MARK_ENDS, Some(place)) => {
                let (_, name) = self.said.remove(place);
                self.keep(&name)
            }
            (_, None) => {
                self.refused += 1;
                None
            }
            (_, Some(place)) => {
                let (_, name) = &mut self.said[place];
                name.push(byte);
                if name.len() > MARK_NAME_MAX {
                    self.said.remove(place);
                    self.refused += 1;
                }
                None
            }
        }
    }

    fn begin(&mut self, table: u64, before: Option<usize>) {
        let full = (self.said.len() == SAID_AT_ONCE).then_some(0);
        if let Some(lost) = before.or(full) {
            self.said.remove(lost);
            self.refused += 1;
        }
        self.said
            .push((table, Vec::with_capacity(MARK_NAME_MAX + 1)));
    }

    fn keep(&mut self, name: &[u8]) -> Option<u32> {
        let name = std::str::from_utf8(name)
            .ok()
            .filter(|name| is_mark_name(name));
        let number = self.names.len() as u32;
        match name {
            Some(name) if number < MARKS_MAX => {
                self.names.push(name.to_owned());
                Some(number)
            }
            _ => {
                self.refused += 1;
                None
            }
        }
    }

    /// The names of the marks that were kept, and how often something was no mark or one too many.
    pub fn heard(&self) -> (Vec<String>, u64) {
        (self.names.clone(), self.refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(marks: &mut Marks, table: u64, bytes: &[u8]) -> Vec<u32> {
        let addresses = bytes.iter().map(|byte| table * TABLE + u64::from(*byte));
        addresses
            .filter_map(|address| marks.hear(address))
            .collect()
    }

    #[test]
    fn a_name_is_heard_where_it_is_complete_and_nothing_else_is() {
        let mut marks = Marks::default();
        assert_eq!(say(&mut marks, 7, b"\x02loaded\x03"), [0]);
        // Two at a time, each by its own table.
        let (one, two) = (b"\x02one-\x03", b"\x02two_\x03");
        let both = one.iter().zip(two);
        let both: Vec<u32> = both
            .flat_map(|(a, b)| [say(&mut marks, 1, &[*a]), say(&mut marks, 2, &[*b])].concat())
            .collect();
        assert_eq!(both, [1, 2]);
        // The end alone, bytes that are no name, a name that is too long, and one that breaks off.
        for wrong in [&b"\x03"[..], b"\x02a b\x03", b"\x02\x03", &[2; 3]] {
            assert!(say(&mut marks, 3, wrong).is_empty());
        }
        let long = [&[MARK_BEGINS], &[b'x'; MARK_NAME_MAX + 1][..]].concat();
        assert!(say(&mut marks, 4, &long).is_empty());
        let names = ["loaded", "one-", "two_"].map(str::to_owned);
        assert_eq!(marks.heard(), (names.to_vec(), 6));
    }

    /// A guest that loads anything anywhere takes no more room, and no mark is lost that comes as a
    /// whole.
    #[test]
    fn what_a_guest_says_has_bounds() {
        let mut marks = Marks::default();
        let (mut state, mut kept) = (1u64, 0);
        for round in 0..200_000u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Often the bytes that mean something, in few tables and in many.
            let byte = match state >> 60 {
                0..4 => 2,
                4..8 => 3,
                8..12 => b'x'.into(),
                _ => state >> 32 & 0xff,
            };
            let table = (state >> 40) & if round % 2 == 0 { 7 } else { 0xffff };
            kept += u32::from(marks.hear(table * TABLE + byte).is_some());
            assert!(marks.said.len() <= SAID_AT_ONCE);
            assert!(
                marks
                    .said
                    .iter()
                    .all(|(_, name)| name.len() <= MARK_NAME_MAX)
            );
        }
        let (names, refused) = marks.heard();
        assert_eq!((names.len(), kept), (MARKS_MAX as usize, MARKS_MAX));
        assert!(names.iter().all(|name| is_mark_name(name)) && refused > 1000);
    }
}
