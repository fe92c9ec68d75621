//! What an entry of the ring asks for: the pages of a range, and settings.

use super::lanes::Lanes;
use crate::host::Backing;
use sluice_abi::{Completion, Counter, Operation, Range, Status, TEXT_BYTES, Text};
use sluice_region::PAGE;
use sluice_units::Ps;

/// The longest time that a guest may give a parameter. No NAND needs as long for an erase. A page
/// that takes seconds holds up not only the guest: QEMU's own threads touch its memory.
const GUESTS_TIME_MAX: Ps = Ps::from_ms(100);

/// Stands for words that have no room.
const MORE: &str = " ..";

impl Lanes {
    /// Whether the device has the door that an operation goes through. The block door's contents
    /// are in a file that its client has open; a heap has none, and a guest has its disk.
    pub(super) fn has_door(&self, operation: Operation) -> bool {
        let is_block = matches!(
            operation,
            Operation::BlockRead | Operation::BlockWrite | Operation::BlockTrim
        );
        let is_file = || matches!(self.engine.core().host.backing, Backing::Shared(_));
        !is_block || !self.is_guest && is_file()
    }

    /// First page and number of pages of a range, if all of it is on the device. A guest has no
    /// business with addresses of the process that emulates it: whether one is on the device would
    /// reveal where QEMU's memory is.
    pub(super) fn pages_of(&self, range: &Range) -> Result<(u64, u64), Status> {
        match range.is_address && self.is_guest {
            true => Err(Status::BadReserved),
            false => self.pages_in(range).ok_or(Status::BadRange),
        }
    }

    fn pages_in(&self, range: &Range) -> Option<(u64, u64)> {
        let core = self.engine.core();
        let (start, len) = (range.start, range.len);
        let last = start.checked_add(len - 1)?;
        let pages = last / PAGE as u64 - start / PAGE as u64 + 1;
        let first = match range.is_address {
            true => core
                .host
                .span(usize::try_from(start).ok()?, usize::try_from(len).ok()?)?,
            false => start / PAGE as u64,
        };
        (first.checked_add(pages)? <= core.device.pages()).then_some((first, pages))
    }

    /// Gives parameters other values.
    pub(super) fn set(&self, text: &Text) -> Completion {
        let mut pairs = Vec::new();
        for word in text.as_str().split_whitespace() {
            match word.split_once('=') {
                Some(pair) => pairs.push(pair),
                None => return refused(&format!("{word:?} is no KEY=VALUE")),
            }
        }
        if pairs.is_empty() {
            return refused("no KEY=VALUE is given");
        }
        let longest = if self.is_guest {
            GUESTS_TIME_MAX
        } else {
            Ps::MAX
        };
        let mut core = self.engine.core();
        let seed = self.engine.session.seed;
        match core.device.tune_within(&pairs, seed, longest) {
            Ok(true) => {
                core.live.change().add(Counter::Tunes, 1);
                Completion::new(0, Status::Done)
            }
            Ok(false) => Completion::new(0, Status::Nothing),
            Err(error) => refused(&error.to_string()),
        }
    }
}

/// With why, as far as there is room for it: to the last word that fits, and with two points for
/// the others.
fn refused(why: &str) -> Completion {
    let text = Text::new(why).unwrap_or_else(|| {
        let most = Text::cut(why);
        let mut head = most.as_str();
        while head.len() + MORE.len() > TEXT_BYTES {
            head = head.rsplit_once(' ').map_or("", |(words, _)| words);
        }
        Text::cut(&format!("{head}{MORE}"))
    });
    Completion {
        text,
        ..Completion::new(0, Status::Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refusals broke off in the midst of a word, as if that were their end.
    #[test]
    fn what_a_refusal_has_no_room_for_is_shown_by_points() {
        let short = "nand.read: expected less";
        assert_eq!(refused(short).text.as_str(), short);
        let long = "expected one of ".to_owned() + &"straße, ".repeat(40);
        let told = refused(&long);
        let told = told.text.as_str();
        assert!(
            told.ends_with("straße, ..") && told.len() <= TEXT_BYTES,
            "{told}"
        );
        let path = refused(&format!("bad value: {}", "ä".repeat(TEXT_BYTES)));
        assert_eq!(path.text.as_str(), "bad value: ..");
    }
}
