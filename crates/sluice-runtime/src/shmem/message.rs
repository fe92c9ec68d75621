//! What a process and the server of shared memory say to each other.
//!
//! Both are of one build and on one host, so the layout of a message is that of its struct.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recvmsg,
    sendmsg, socket_with, socketpair,
};
use sluice_abi::SHARED_SOCKET;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::path::Path;

/// Pages that one message takes out of a process, at most.
pub const MAX_DROPS: usize = 64;

/// Descriptors that a process hands over at its beginning.
const HANDED_OVER: usize = 4;

/// What a process asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Ask {
    /// Takes a mapping up.
    Map = 1,
    /// Forgets a range, and what the process has written there is known.
    Unmap = 2,
    /// The process has taken out all that it had, for it is about to end: what it has written is
    /// known.
    End = 3,
}

/// A part of an object of shared memory, mapped somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Window {
    /// The first address of the mapping.
    pub start: usize,
    /// Bytes, of whole pages.
    pub len: usize,
    /// Device number of the object.
    pub device: u64,
    /// Inode number of the object.
    pub inode: u64,
    /// Where in the object the mapping begins, bytes.
    pub offset: u64,
}

impl Window {
    /// The address behind the last.
    pub fn end(&self) -> usize {
        self.start + self.len
    }

    /// The part that lies in a range of addresses.
    pub fn within(&self, start: usize, end: usize) -> Option<Window> {
        let (low, high) = (self.start.max(start), self.end().min(end));
        (low < high).then(|| Window {
            start: low,
            len: high - low,
            offset: self.offset + (low - self.start) as u64,
            ..*self
        })
    }
}

/// A question of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// What is asked for.
    pub ask: Ask,
    /// Of which memory. Of a range to be forgotten only the addresses count.
    pub window: Window,
}

const WORDS: usize = 6;

impl Request {
    fn to_words(self) -> [u64; WORDS] {
        let w = self.window;
        let (start, len) = (w.start as u64, w.len as u64);
        [self.ask as u64, start, len, w.device, w.inode, w.offset]
    }

    fn of_words([ask, start, len, device, inode, offset]: [u64; WORDS]) -> Option<Request> {
        let ask = [Ask::Map, Ask::Unmap, Ask::End]
            .into_iter()
            .find(|known| *known as u64 == ask)?;
        let window = Window {
            start: start as usize,
            len: len as usize,
            device,
            inode,
            offset,
        };
        Some(Request { ask, window })
    }
}

/// Words as the bytes of a message.
fn bytes_of<const N: usize>(words: [u64; N]) -> [[u8; 8]; N] {
    words.map(u64::to_ne_bytes)
}

/// Reads words of a message. An end of the other side is `ECONNRESET`.
fn read_words(
    socket: BorrowedFd<'_>,
    to: &mut [u64],
    flags: RecvFlags,
    fds: Option<&mut Vec<OwnedFd>>,
) -> Result<usize, Errno> {
    let mut bytes = [0u8; 8 * MAX_DROPS];
    let room = 8 * to.len();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED_OVER))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        let mut parts = [IoSliceMut::new(&mut bytes[..room])];
        match recvmsg(
            socket,
            &mut parts,
            &mut ancillary,
            flags | RecvFlags::CMSG_CLOEXEC,
        ) {
            Err(Errno::INTR) => continue,
            other => break other?,
        }
    };
    if got.bytes == 0 {
        return Err(Errno::CONNRESET);
    }
    if let Some(fds) = fds {
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                fds.extend(rights);
            }
        }
    }
    for (word, bytes) in to.iter_mut().zip(bytes[..got.bytes].chunks_exact(8)) {
        *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
    }
    Ok(got.bytes / 8)
}

fn write_words(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED_OVER))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::INVAL);
    }
    loop {
        let parts = [IoSlice::new(bytes)];
        match sendmsg(socket, &parts, &mut ancillary, flags | SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => continue,
            other => return other.map(drop),
        }
    }
}

/// A socket that keeps messages apart.
pub fn socket(flags: SocketFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// Two ends of a way for messages.
pub fn socket_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = SocketFlags::CLOEXEC;
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// The address of the server of a session.
pub fn address(dir: &Path) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new(dir.join(SHARED_SOCKET))
}

/// A process's way to the server: it asks, and waits for the answer.
#[derive(Debug)]
pub struct Questions(OwnedFd);

impl Questions {
    /// Goes to the server of a session and hands it descriptors of the process: userfaultfd, page
    /// map, the socket by which it takes pages out, and the memory in which it counts them.
    pub fn open(dir: &Path, handed: [BorrowedFd<'_>; HANDED_OVER]) -> Result<Questions, Errno> {
        let socket = socket(SocketFlags::empty())?;
        connect(&socket, &address(dir)?)?;
        let greeting = bytes_of([u64::from(std::process::id())]);
        write_words(
            socket.as_fd(),
            greeting.as_flattened(),
            &handed,
            SendFlags::empty(),
        )?;
        Ok(Questions(socket))
    }

    /// Asks; the errno of a refusal, or of a server that has ended.
    pub fn ask(&self, request: Request) -> Result<(), i32> {
        let told = || {
            let words = bytes_of(request.to_words());
            write_words(
                self.0.as_fd(),
                words.as_flattened(),
                &[],
                SendFlags::empty(),
            )?;
            let mut answer = [0];
            read_words(self.0.as_fd(), &mut answer, RecvFlags::empty(), None)?;
            Ok::<u64, Errno>(answer[0])
        };
        match told().map_err(|errno| errno.raw_os_error())? {
            0 => Ok(()),
            errno => Err(errno as i32),
        }
    }
}

/// A process as it greets the server.
#[derive(Debug)]
pub struct Greeting {
    /// The number of the process.
    pub pid: u64,
    /// Its userfaultfd, its page map, the socket by which pages are taken out, and the memory in
    /// which it counts those that are.
    pub handed: [OwnedFd; HANDED_OVER],
}

/// The server's side of a process's questions.
#[derive(Debug)]
pub struct Answers(pub OwnedFd);

impl Answers {
    /// The greeting, if it is there.
    pub fn greeting(&self) -> Result<Greeting, Errno> {
        let (mut words, mut fds) = ([0], Vec::new());
        read_words(
            self.0.as_fd(),
            &mut words,
            RecvFlags::DONTWAIT,
            Some(&mut fds),
        )?;
        let handed = fds.try_into().map_err(|_| Errno::PROTO)?;
        Ok(Greeting {
            pid: words[0],
            handed,
        })
    }

    /// The next question, if there is one.
    pub fn next(&self) -> Result<Request, Errno> {
        let mut words = [0; WORDS];
        read_words(self.0.as_fd(), &mut words, RecvFlags::DONTWAIT, None)?;
        Request::of_words(words).ok_or(Errno::PROTO)
    }

    /// Answers it: 0, or an errno.
    pub fn answer(&self, errno: i32) -> Result<(), Errno> {
        let word = bytes_of([errno as u64]);
        write_words(
            self.0.as_fd(),
            word.as_flattened(),
            &[],
            SendFlags::DONTWAIT,
        )
    }
}

/// Has a process take pages out of its mappings. `Err` if its socket takes no message now.
pub fn send_drops(to: BorrowedFd<'_>, pages: &[u64]) -> Result<(), Errno> {
    let mut bytes = [[0u8; 8]; MAX_DROPS];
    for (to, page) in bytes.iter_mut().zip(pages) {
        *to = page.to_ne_bytes();
    }
    let bytes = bytes[..pages.len().min(MAX_DROPS)].as_flattened();
    write_words(to, bytes, &[], SendFlags::DONTWAIT)
}

/// The pages to be taken out; waits for them.
pub fn receive_drops(from: BorrowedFd<'_>, pages: &mut [u64; MAX_DROPS]) -> Result<usize, Errno> {
    read_words(from, pages, RecvFlags::empty(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (OwnedFd, OwnedFd) {
        socket_pair().expect("sockets")
    }

    #[test]
    fn questions_come_as_they_were_asked() {
        let (ours, theirs) = pair();
        let (questions, answers) = (Questions(ours), Answers(theirs));
        let window = Window {
            start: 0x7000_0000_1000,
            len: 0x3000,
            device: 5,
            inode: u64::MAX,
            offset: 0x2000,
        };
        for ask in [Ask::Map, Ask::Unmap, Ask::End] {
            let request = Request { ask, window };
            let asking = std::thread::scope(|scope| {
                let asking = scope.spawn(|| questions.ask(request));
                let heard = loop {
                    match answers.next() {
                        Err(Errno::AGAIN) => std::thread::yield_now(),
                        other => break other,
                    }
                };
                assert_eq!(heard, Ok(request));
                answers.answer(libc::ENOSPC).expect("somebody waits");
                asking.join().expect("no panic")
            });
            assert_eq!(asking, Err(libc::ENOSPC));
        }
        drop(answers);
        let request = Request {
            ask: Ask::End,
            window,
        };
        assert!(questions.ask(request).is_err(), "the server has ended");
    }

    #[test]
    fn pages_to_be_dropped_come_together() {
        let (ours, theirs) = pair();
        let sent: Vec<u64> = (1..=MAX_DROPS as u64).map(|n| n << 12).collect();
        send_drops(ours.as_fd(), &sent).expect("room");
        send_drops(ours.as_fd(), &sent[..1]).expect("room");
        let mut pages = [0; MAX_DROPS];
        assert_eq!(receive_drops(theirs.as_fd(), &mut pages), Ok(MAX_DROPS));
        assert_eq!(pages[..], sent);
        assert_eq!(receive_drops(theirs.as_fd(), &mut pages), Ok(1));
        // Nobody waits for a process that does not look.
        let full = (0..100_000).find_map(|_| send_drops(ours.as_fd(), &sent).err());
        assert_eq!(full, Some(Errno::AGAIN));
        drop(ours);
        while receive_drops(theirs.as_fd(), &mut pages).is_ok() {}
    }

    #[test]
    fn a_window_is_cut_with_its_place_in_the_object() {
        let window = Window {
            start: 0x10000,
            len: 0x8000,
            device: 1,
            inode: 2,
            offset: 0x4000,
        };
        let part = window.within(0x12000, 0x13000).expect("some of it");
        assert_eq!(
            (part.start, part.len, part.offset),
            (0x12000, 0x1000, 0x6000)
        );
        assert_eq!(window.within(0, usize::MAX), Some(window));
        assert_eq!(window.within(0x18000, 0x19000), None);
        assert_eq!(window.within(0, 0x10000), None);
    }
}
