//! Bytes by way of memory that is off the device, for signal mode.
//!
//! The kernel cannot wait for a page there. A call that meets a missing one stops in the middle,
//! and a datagram that it has taken from its socket is lost. So where a buffer lies on the device,
//! the kernel reads and writes memory of this library, and the program's own thread copies. What
//! the device does not serve stays the kernel's: it refuses what the program may not access.

use crate::bytes::buffers::{are_readable, is_behind_end, signal_engine};
use crate::bytes::piece::{Piece, Place};
use core::cell::Cell;
use core::ops::Range;
use core::ptr::{copy_nonoverlapping, null_mut};
use libc::{c_int, c_void, iovec, msghdr, size_t, ssize_t};
use sluice_region::PAGE;
use sluice_runtime::Engine;

/// As much is moved at once, but of messages, which are moved as a whole.
pub const MOST: usize = 1 << 20;
/// Pieces that the kernel takes.
const MOST_PIECES: usize = libc::UIO_MAXIOV as usize;
/// Pieces of a usual call.
const FEW: usize = 8;

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the kernel to the program.
    In,
    /// From the kernel, which throws them away and writes nothing.
    Away,
    /// From the program to the kernel.
    Out,
    /// The same, and the kernel has the pages until all is sent (`MSG_ZEROCOPY`).
    Lent,
}

/// What becomes of more bytes than are moved at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// It belongs to the same message: one call moves it all.
    Belongs,
    /// A call that moved all that it was given is followed by another.
    Follows,
    /// It is the program's affair.
    Stays,
}

/// The first bytes of a buffer that the device serves, as far as one call goes. What lies behind
/// the end of a file is the kernel's to refuse.
fn served(engine: &Engine, at: usize, end: usize, way: Way) -> Option<Range<usize>> {
    let run = engine.served_run(at, end.min(at.saturating_add(MOST)), way == Way::In)?;
    if engine.session.kinds.files.is_empty() {
        return Some(run);
    }
    let mut pages = (run.start & !(PAGE - 1)..run.end).step_by(PAGE);
    let ends = pages.find(|page| is_behind_end(engine, *page));
    let left = run.start..ends.unwrap_or(run.end);
    (!left.is_empty()).then_some(left)
}

/// How many bytes of a vector the device serves.
fn all_served(engine: &Engine, parts: &[iovec], way: Way) -> usize {
    let mut bytes = 0;
    for part in parts {
        let mut at = part.iov_base as usize;
        let end = at.saturating_add(part.iov_len);
        while at < end
            && let Some(next) = engine.next_served(at, end)
        {
            let run = served(engine, next.max(at), end, way);
            bytes += run.as_ref().map_or(0, Range::len);
            at = run.map_or(next + PAGE, |run| run.end);
        }
    }
    bytes
}

/// Makes a call for one buffer. `rest` says what becomes of what is too long for one.
pub fn whole(
    (buffer, bytes): (*const c_void, size_t),
    way: Way,
    rest: impl Fn() -> Rest,
    call: impl Fn(&[iovec], size_t) -> ssize_t,
) -> ssize_t {
    let part = [iovec {
        iov_base: buffer.cast_mut(),
        iov_len: bytes,
    }];
    let plain = || call(&part, 0);
    let Some(engine) = signal_engine().filter(|_| bytes > 0) else {
        return plain();
    };
    let (at, end) = (buffer as usize, (buffer as usize).saturating_add(bytes));
    let first = served(engine, at, end, way);
    if first.is_none() && bytes <= MOST {
        return plain();
    }
    moved(engine, (&part, first), way, rest, plain, &call)
}

/// Makes a call for a vector; see [`whole`]. `plain` makes it where nothing is on the device.
pub fn vector(
    (parts, count): (*const iovec, c_int),
    way: Way,
    rest: impl Fn() -> Rest,
    plain: impl Fn() -> ssize_t,
    call: impl Fn(&[iovec], size_t) -> ssize_t,
) -> ssize_t {
    let engine = match signal_engine() {
        Some(engine) if count > 0 && count <= libc::UIO_MAXIOV => engine,
        _ => return plain(),
    };
    // What the program could not read itself is the kernel's to refuse.
    if !are_readable(engine, parts.cast(), count as usize * size_of::<iovec>()) {
        return plain();
    }
    // SAFETY: the program's vector, of the length that it gave.
    let parts = unsafe { core::slice::from_raw_parts(parts, count as usize) };
    if parts[0].iov_len > 0 {
        let (at, bytes) = (parts[0].iov_base as usize, parts[0].iov_len);
        let first = served(engine, at, at.saturating_add(bytes), way);
        if first.is_some() {
            return moved(engine, (parts, first), way, rest, plain, call);
        }
    }
    let is_on_device = |at: *const c_void, bytes: usize| {
        let (start, end) = (at as usize, (at as usize).saturating_add(bytes));
        bytes > 0 && engine.next_served(start, end).is_some()
    };
    let is_any = is_on_device(parts.as_ptr().cast(), size_of_val(parts))
        || parts
            .iter()
            .any(|part| is_on_device(part.iov_base, part.iov_len));
    match is_any {
        true => moved(engine, (parts, None), way, rest, plain, call),
        false => plain(),
    }
}

/// Memory that a call reads or fills besides its bytes: ours while it lies on the device. A call
/// that met a missing page there would have taken a datagram from its socket, which would be lost.
pub struct Side<'a> {
    theirs: *mut c_void,
    bytes: usize,
    ours: Option<Piece<'a>>,
}

impl<'a> Side<'a> {
    /// Takes so many bytes of the program's. The kernel serves those that the device does not.
    pub fn new(place: &'a Place, theirs: *mut c_void, bytes: usize, way: Way) -> Side<'a> {
        let is_served = |engine: &Engine| {
            let (start, end) = (theirs as usize, (theirs as usize).saturating_add(bytes));
            bytes <= MOST && engine.served_run(start, end, way == Way::In) == Some(start..end)
        };
        let ours = signal_engine()
            .filter(|engine| bytes > 0 && is_served(engine))
            .and_then(|_| Piece::new(place, bytes));
        if let Some(memory) = &ours {
            // A call that fills it may read it, too: the length of what there is room for.
            // SAFETY: the program named this memory, which the device serves; ours is as long.
            unsafe { copy_nonoverlapping(theirs.cast::<u8>().cast_const(), memory.at, bytes) };
        }
        Side {
            theirs,
            bytes,
            ours,
        }
    }

    /// Where the kernel finds it.
    pub fn at(&self) -> *mut c_void {
        let ours = self.ours.as_ref();
        ours.map_or(self.theirs, |memory| memory.at.cast())
    }

    /// Gives the program the first bytes of what the kernel has put there.
    pub fn give(&self, bytes: usize) {
        if let Some(memory) = &self.ours {
            let bytes = bytes.min(self.bytes);
            // SAFETY: as above.
            unsafe { copy_nonoverlapping(memory.at.cast_const(), self.theirs.cast(), bytes) };
        }
    }
}

/// Sends or receives a message by way of memory off the device. `rest` says what becomes of bytes
/// that are too many for one call.
pub fn message(
    given: *const msghdr,
    way: Way,
    rest: impl Fn() -> Rest,
    plain: impl Fn() -> ssize_t,
    call: impl Fn(*const msghdr) -> ssize_t,
) -> ssize_t {
    let is_ours = |engine| are_readable(engine, given.cast(), size_of::<msghdr>());
    if !signal_engine().is_some_and(is_ours) {
        return plain();
    }
    // SAFETY: the program's message.
    let mut head = unsafe { *given };
    // What comes besides bytes that are thrown away comes all the same.
    let (bytes, way) = match way {
        Way::Away => (way, Way::In),
        other => (other, other),
    };
    let places = [const { Place::new() }; 2];
    let name = Side::new(&places[0], head.msg_name, head.msg_namelen as usize, way);
    let control = Side::new(&places[1], head.msg_control, head.msg_controllen, way);
    (head.msg_name, head.msg_control) = (name.at(), control.at());
    let parts = (
        head.msg_iov.cast_const(),
        c_int::try_from(head.msg_iovlen).unwrap_or(c_int::MAX),
    );
    // What comes besides the bytes comes once, and what goes with them goes once.
    let has_control = Cell::new(false);
    let with = |own: msghdr| {
        let moved = call(&own);
        if way == Way::In && moved >= 0 {
            name.give(own.msg_namelen as usize);
            control.give(own.msg_controllen);
            has_control.set(own.msg_controllen > 0);
            // SAFETY: the program's message, into which the kernel writes these.
            unsafe {
                let given = &mut *given.cast_mut();
                given.msg_namelen = own.msg_namelen;
                given.msg_controllen = own.msg_controllen;
                given.msg_flags = own.msg_flags;
            }
        }
        moved
    };
    let by_pieces = |pieces: &[iovec], done| {
        let mut own = message_of(head, pieces);
        if way != Way::In && done > 0 {
            own.msg_controllen = 0;
        }
        with(own)
    };
    let rest = || match has_control.get() {
        true => Rest::Stays,
        false => rest(),
    };
    vector(parts, bytes, rest, || with(head), by_pieces)
}

/// A message with these parts, and all else of another.
pub fn message_of(head: msghdr, parts: &[iovec]) -> msghdr {
    let mut own = head;
    own.msg_iov = parts.as_ptr().cast_mut();
    own.msg_iovlen = parts.len() as _;
    own
}

/// Pieces in a row, without an allocation as long as they are few.
struct Pieces {
    few: [iovec; FEW],
    count: usize,
    many: Vec<iovec>,
}

impl Pieces {
    fn new() -> Pieces {
        let none = iovec {
            iov_base: null_mut(),
            iov_len: 0,
        };
        Pieces {
            few: [none; FEW],
            count: 0,
            many: Vec::new(),
        }
    }

    fn all(&self) -> &[iovec] {
        match self.many.is_empty() {
            true => &self.few[..self.count],
            false => &self.many,
        }
    }

    /// Adds bytes, to the last piece if they follow it. Says whether the kernel takes so many.
    fn add(&mut self, at: *mut u8, bytes: usize) -> bool {
        let all = match self.many.is_empty() {
            true => &mut self.few[..self.count],
            false => &mut self.many[..],
        };
        let count = all.len();
        if let Some(last) = all.last_mut()
            && last.iov_base.cast::<u8>().wrapping_add(last.iov_len) == at
        {
            last.iov_len += bytes;
            return true;
        }
        let piece = iovec {
            iov_base: at.cast(),
            iov_len: bytes,
        };
        match count {
            _ if bytes == 0 => {}
            MOST_PIECES => return false,
            _ if count < FEW => {
                self.few[count] = piece;
                self.count += 1;
            }
            FEW => self.many.extend(self.few.into_iter().chain([piece])),
            _ => self.many.push(piece),
        }
        true
    }
}

/// What one call moves: bytes of a vector from its byte `from` on.
struct Cut<'a> {
    parts: &'a [iovec],
    from: usize,
    memory: &'a Piece<'a>,
    pieces: Pieces,
    bytes: usize,
}

impl<'a> Cut<'a> {
    /// As much as there is memory for, and as the kernel takes. What the device serves goes by way
    /// of ours, its `first` bytes among them if they are known. The rest goes by itself: the kernel
    /// knows whether the program may access it, and stops there or refuses the call.
    fn new(
        engine: &Engine,
        (parts, mut first): (&'a [iovec], Option<Range<usize>>),
        from: usize,
        way: Way,
        memory: &'a Piece<'a>,
    ) -> Cut<'a> {
        let mut cut = Cut {
            parts,
            from,
            memory,
            pieces: Pieces::new(),
            bytes: 0,
        };
        let mut used = 0;
        for (at, bytes) in in_parts(parts, from, usize::MAX) {
            let (mut at, end) = (at as usize, (at as usize).saturating_add(bytes));
            while at < end {
                let found = first.take().or_else(|| served(engine, at, end, way));
                let served = found.unwrap_or_else(|| {
                    let end = end.min(at.saturating_add(MOST));
                    end..end
                });
                let ours = served.len().min(memory.bytes - used);
                let is_all = cut.add(at as *mut u8, served.start - at)
                    && cut.add(memory.at.wrapping_add(used), ours)
                    && ours == served.len();
                if !is_all {
                    return cut;
                }
                used += ours;
                at = served.end;
            }
        }
        cut
    }

    fn add(&mut self, at: *mut u8, bytes: usize) -> bool {
        let is_added = self.pieces.add(at, bytes);
        self.bytes += if is_added { bytes } else { 0 };
        is_added
    }

    /// Copies, of the first bytes, those that go by way of our memory.
    fn copy(&self, bytes: usize, way: Way) {
        let start = self.memory.at as usize;
        let memory = start..start + self.memory.bytes;
        let mut pieces = self.pieces.all().iter();
        let (mut ours, mut left) = (null_mut(), 0);
        for (mut theirs, mut bytes) in in_parts(self.parts, self.from, bytes) {
            while bytes > 0 {
                if left == 0 {
                    let Some(next) = pieces.next() else {
                        return;
                    };
                    (ours, left) = (next.iov_base.cast::<u8>(), next.iov_len);
                }
                let here = left.min(bytes);
                // SAFETY: the program named this memory, which the device serves; ours is as long.
                unsafe {
                    match way {
                        _ if !memory.contains(&(ours as usize)) => {}
                        Way::Away => {}
                        Way::In => copy_nonoverlapping(ours.cast_const(), theirs, here),
                        Way::Out | Way::Lent => {
                            copy_nonoverlapping(theirs.cast_const(), ours, here)
                        }
                    }
                }
                (ours, theirs) = (ours.wrapping_add(here), theirs.wrapping_add(here));
                (left, bytes) = (left - here, bytes - here);
            }
        }
    }
}

/// The places in the program's memory that have so many bytes of a vector from its byte `from` on.
fn in_parts(parts: &[iovec], from: usize, bytes: usize) -> impl Iterator<Item = (*mut u8, usize)> {
    let (mut skip, mut left) = (from, bytes);
    parts.iter().map(move |part| {
        let skipped = skip.min(part.iov_len);
        skip -= skipped;
        let here = (part.iov_len - skipped).min(left);
        left -= here;
        (part.iov_base.cast::<u8>().wrapping_add(skipped), here)
    })
}

/// `plain` is the call as it was made, for a vector of which the kernel would take nothing.
fn moved(
    engine: &Engine,
    (parts, mut first): (&[iovec], Option<Range<usize>>),
    way: Way,
    rest: impl Fn() -> Rest,
    plain: impl Fn() -> ssize_t,
    call: impl Fn(&[iovec], size_t) -> ssize_t,
) -> ssize_t {
    let lengths = parts.iter().map(|part| part.iov_len);
    let total = lengths.fold(0, usize::saturating_add);
    if total > isize::MAX as usize {
        return plain();
    }
    let place = Place::new();
    let room = match total > MOST && (way == Way::Lent || rest() == Rest::Belongs) {
        true => all_served(engine, parts, way).max(MOST),
        false => total.min(MOST),
    };
    let Some(memory) = Piece::new(&place, room) else {
        crate::bytes::buffers::set_errno(libc::ENOMEM);
        return -1;
    };
    let mut done = 0;
    loop {
        let cut = Cut::new(engine, (parts, first.take()), done, way, &memory);
        if matches!(way, Way::Out | Way::Lent) {
            cut.copy(cut.bytes, way);
        }
        let result = call(cut.pieces.all(), done);
        if way == Way::Lent {
            memory.leave_pages();
        }
        if result < 0 {
            return if done > 0 { done as ssize_t } else { result };
        }
        // A datagram may have been longer than the buffer, and the call may say so.
        let here = (result as usize).min(cut.bytes);
        if way == Way::In {
            cut.copy(here, way);
        }
        done += here;
        if here < result as usize {
            return result;
        }
        if here < cut.bytes || done == total || rest() != Rest::Follows {
            return done as ssize_t;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_region::PAGE;

    /// As the kernel wants them: in a row, joined where one follows another, and not too many.
    #[test]
    fn pieces_are_joined_and_counted() {
        let mut pieces = Pieces::new();
        let at = |n: usize| (n * PAGE) as *mut u8;
        assert!(pieces.add(at(1), 0) && pieces.all().is_empty());
        for n in 1..=MOST_PIECES {
            assert!(pieces.add(at(2 * n), 100));
            assert!(pieces.add(at(2 * n).wrapping_add(100), 0));
            assert!(pieces.add(at(2 * n).wrapping_add(100), 20), "it follows");
            assert_eq!(pieces.all().len(), n);
            let places = pieces
                .all()
                .iter()
                .map(|one| (one.iov_base.cast(), one.iov_len));
            assert!(places.eq((1..=n).map(|n| (at(2 * n), 120))), "{n}");
        }
        assert!(!pieces.add(at(1), 1) && pieces.all().len() == MOST_PIECES);
        assert!(pieces.add(at(1), 0));
    }
}
