//! From an entry of the ring to its answer.

use super::Control;
use crate::clock::now_ns;
use core::sync::atomic::Ordering::*;
use sluice_abi::{Completion, Counter, Range, Request, Status, Submission, Text, Words};
use sluice_region::PAGE;

impl Control {
    /// Carries out what an entry says, whatever that is.
    pub(super) fn serve(&mut self, words: &Words) -> Words {
        let mut answer = match Submission::from_words(words) {
            Err(status) => Completion::new(words[1], status),
            Ok(submission) => {
                let mut answer = match submission.request {
                    Request::Stats => Completion::new(0, Status::Done),
                    Request::Set(text) => self.set(&text),
                    Request::Pages(operation, range) => match self.pages_of(&range) {
                        Some((first, count)) => self.carry_out(operation, first, count),
                        None => Completion::new(0, Status::BadRange),
                    },
                };
                answer.tag = submission.tag;
                answer
            }
        };
        let now = now_ns();
        answer.done_ns = now.saturating_sub(self.engine.started_ns);
        let refused = !matches!(
            answer.status,
            Status::Done | Status::Nothing | Status::Partly
        );
        let mut core = self.engine.core();
        core.device.advance(self.engine.device_time(now), &mut ());
        let block = core.live.change();
        block.add(Counter::Commands, 1);
        block.add(Counter::CommandsRefused, u64::from(refused));
        core.publish();
        drop(block);
        drop(core);
        core::sync::atomic::fence(Release);
        answer.to_words()
    }

    /// First page and number of pages of a range, if all of it is on the device.
    fn pages_of(&self, range: &Range) -> Option<(u64, u64)> {
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
    fn set(&mut self, text: &Text) -> Completion {
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
        let mut core = self.engine.core();
        match core.device.tune(&pairs, self.engine.session.seed) {
            Ok(true) => {
                core.live.change().add(Counter::Tunes, 1);
                Completion::new(0, Status::Done)
            }
            Ok(false) => Completion::new(0, Status::Nothing),
            Err(error) => refused(&error.to_string()),
        }
    }
}

fn refused(why: &str) -> Completion {
    let text = Text::cut(why);
    Completion {
        text,
        ..Completion::new(0, Status::Refused)
    }
}
