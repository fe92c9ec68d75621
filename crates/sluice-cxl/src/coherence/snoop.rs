//! What a host's cache does with a back-invalidate snoop.

use super::cache::{Aim, Cache, CacheOut, NONE, Pending};
use super::message::{Message, S2m, Snoop, State, ToDevice, ToHost};

impl Cache {
    pub(super) fn snooped(&mut self, message: &S2m, out: &mut CacheOut) {
        let ToHost::Snoop { want, lines } = message.what else {
            unreachable!("only snoops wait for tags");
        };
        self.count.snoops += 1;
        let pending = Pending {
            want: Some(want),
            peer: message.peer,
            tag: message.tag,
            line: message.line,
            lines,
            remaining: lines,
            fenced: false,
            left: State::Invalid,
        };
        let number = self.free_snoops.pop().unwrap_or_else(|| {
            self.snoops.push(Pending::default());
            self.snoops.len() as u32 - 1
        });
        self.snoops[number as usize] = pending;
        let mut conflict = false;
        for line in message.line..message.line + u64::from(lines) {
            let request = self.by_line.get(line);
            let aim = request.map(|request| self.requests[request as usize].aim);
            match (request, aim) {
                // It waits for nothing: the line is gone already.
                (None, _) | (_, Some(Aim::CleanEvict)) => self.resolve(number, line, out),
                (Some(request), aim) => {
                    self.requests[request as usize].snoop = number;
                    conflict |= !matches!(aim, Some(Aim::WriteBack(_)));
                }
            }
        }
        if conflict {
            self.snoops[number as usize].fenced = true;
            out.send.push(answer(&pending, ToDevice::Conflict));
        }
    }

    /// The device has said which requests it served before the snoop: those whose completions
    /// are here. The others come after, so that the snoop sees the line as it is.
    pub(super) fn acknowledged(&mut self, message: &S2m, out: &mut CacheOut) {
        let is_it = |it: &Pending| it.fenced && (it.peer, it.tag) == (message.peer, message.tag);
        let number = self.snoops.iter().position(is_it).expect("a conflict") as u32;
        self.snoops[number as usize].fenced = false;
        let Pending { line, lines, .. } = self.snoops[number as usize];
        for line in line..line + u64::from(lines) {
            let Some(at) = self.by_line.get(line) else {
                continue;
            };
            let request = self.requests[at as usize];
            if request.snoop != number {
                continue;
            }
            match (request.aim, request.granted) {
                (Aim::Fence, _) => self.close(at, out),
                (Aim::Read { .. } | Aim::Own, None) => {
                    self.requests[at as usize].snoop = NONE;
                    self.resolve(number, line, out);
                }
                _ => {}
            }
        }
    }

    /// One line of a snoop meets the cache; with the last, the snoop is answered.
    pub(super) fn resolve(&mut self, number: u32, line: u64, out: &mut CacheOut) {
        let want = self.snoops[number as usize].want.expect("a snoop");
        if let Some(at) = self.index.get(line) {
            let way = self.ways[at as usize];
            let keeps = match (want, way.state) {
                (_, State::Invalid) | (Snoop::Invalidate, _) => State::Invalid,
                (Snoop::Data, _) | (_, State::Shared) => State::Shared,
                (Snoop::Current, _) => State::Exclusive,
            };
            self.count.invalidated +=
                u64::from(way.state != State::Invalid && want == Snoop::Invalidate);
            self.set_state(at, keeps, out);
            if keeps == State::Invalid {
                self.drop_if_invalid(at);
            }
            if way.state == State::Modified {
                // The response follows the completion of the write.
                let place = if keeps == State::Invalid { NONE } else { at };
                let request = self.write_back(line, keeps, place, way.data, out);
                self.requests[request as usize].snoop = number;
                return;
            }
            self.snoops[number as usize].left = keeps;
        }
        let snoop = &mut self.snoops[number as usize];
        snoop.remaining -= 1;
        if snoop.remaining == 0 {
            let done = std::mem::take(snoop);
            self.free_snoops.push(number);
            let Pending { left, lines, .. } = done;
            out.send
                .push(answer(&done, ToDevice::Response { left, lines }));
        }
    }
}

fn answer(snoop: &Pending, what: ToDevice) -> super::message::M2s {
    Message {
        what,
        peer: snoop.peer,
        line: snoop.line,
        tag: snoop.tag,
        data: 0,
    }
}
