//! Messages of a client and its broker: a length, and so many bytes. Nothing waits without an end.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes of a request, at most: words with zeros between them.
pub const REQUEST_MAX: usize = 4096;
/// Bytes of an answer's text, at most.
pub const ANSWER_MAX: usize = 1 << 20;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ended {
    /// Carried out.
    Done = 0,
    /// The device refused it or a part.
    Refused = 1,
    /// It was not sent: the text says why.
    Failed = 2,
}

impl Ended {
    fn of(byte: u8) -> Option<Ended> {
        let all = [Ended::Done, Ended::Refused, Ended::Failed];
        all.into_iter().find(|ended| *ended as u8 == byte)
    }
}

/// What is left until a moment; an error if it is over.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

fn read(from: &UnixStream, into: &mut [u8], until: Instant) -> io::Result<()> {
    let mut from = from;
    let mut at = 0;
    while at < into.len() {
        from.set_read_timeout(Some(left(until)?))?;
        match from.read(&mut into[at..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => at += count,
            Err(why) if is_passing(&why) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

fn write(to: &UnixStream, bytes: &[u8], until: Instant) -> io::Result<()> {
    let mut to = to;
    let mut rest = bytes;
    while !rest.is_empty() {
        to.set_write_timeout(Some(left(until)?))?;
        match to.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(why) if is_passing(&why) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

/// Whether it says only that time has passed: how much, is looked at before the next try.
fn is_passing(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
    )
}

/// Bytes behind their length.
fn framed(head: &[u8], bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u32).to_le_bytes();
    [head, &length[..], bytes].concat()
}

/// The bytes that follow, of which there may be `most`.
fn read_framed(from: &UnixStream, most: usize, until: Instant) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    read(from, &mut length, until)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    read(from, &mut bytes, until)?;
    Ok(bytes)
}

/// Sends the words of a command.
pub fn send_request(to: &UnixStream, words: &[String], until: Instant) -> io::Result<()> {
    write(to, &framed(&[], words.join("\0").as_bytes()), until)
}

/// The words of a command; an error if the bytes are no words.
pub fn read_request(from: &UnixStream, until: Instant) -> io::Result<Vec<String>> {
    let bytes = read_framed(from, REQUEST_MAX, until)?;
    let text = String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData)?;
    Ok(text.split('\0').map(str::to_owned).collect())
}

/// Sends what became of a command.
pub fn send_answer(to: &UnixStream, ended: Ended, text: &str, until: Instant) -> io::Result<()> {
    write(to, &framed(&[ended as u8], text.as_bytes()), until)
}

/// What became of a command.
pub fn read_answer(from: &UnixStream, until: Instant) -> io::Result<(Ended, String)> {
    let mut head = [0];
    read(from, &mut head, until)?;
    let ended = Ended::of(head[0]).ok_or(ErrorKind::InvalidData)?;
    let text = String::from_utf8(read_framed(from, ANSWER_MAX, until)?);
    Ok((ended, text.map_err(|_| ErrorKind::InvalidData)?))
}
