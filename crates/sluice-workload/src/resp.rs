//! RESP2, the protocol of Redis: commands out, replies in.

use std::fmt;

const LINE_BYTES_MAX: usize = 64 << 10;
const BULK_BYTES_MAX: i64 = 512 << 20;
const ARRAY_MAX: i64 = 1 << 20;
const DEPTH_MAX: usize = 8;
/// Read bytes are moved to the front of the buffer when this many lie before them.
const COMPACT_BYTES: usize = 64 << 10;

/// One reply of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `+OK`
    Simple(String),
    /// `-ERR ...`
    Error(String),
    /// `:1`
    Integer(i64),
    /// `$3`, or nothing for `$-1`
    Bulk(Option<Vec<u8>>),
    /// `*2`, or nothing for `*-1`
    Array(Option<Vec<Reply>>),
}

/// Bytes that are not RESP2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolError(pub String);

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a RESP2 reply: {}", self.0)
    }
}

impl std::error::Error for ProtocolError {}

/// Appends a command as an array of bulk strings.
pub fn command(out: &mut Vec<u8>, parts: &[&[u8]]) {
    out.extend_from_slice(format!("*{}\r\n", parts.len()).as_bytes());
    for part in parts {
        out.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
}

/// Collects bytes as they arrive and gives back whole replies.
#[derive(Debug, Default)]
pub struct Parser {
    bytes: Vec<u8>,
    at: usize,
}

/// Nothing when more bytes are needed, else the thing and where it ends.
type Parsed<T> = Result<Option<(T, usize)>, ProtocolError>;

impl Parser {
    /// Takes in bytes from the server, cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole reply, or nothing until more bytes are fed.
    ///
    /// # Errors
    /// When the bytes are not RESP2; the connection is then of no more use.
    pub fn next_reply(&mut self) -> Result<Option<Reply>, ProtocolError> {
        let Some((reply, end)) = reply(&self.bytes, self.at, 0)? else {
            return Ok(None);
        };
        self.at = end;
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        } else if self.at >= COMPACT_BYTES {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        Ok(Some(reply))
    }
}

fn reply(bytes: &[u8], at: usize, depth: usize) -> Parsed<Reply> {
    let Some((line, end)) = line(bytes, at)? else {
        return Ok(None);
    };
    let text = || String::from_utf8_lossy(&line[1..]).into_owned();
    match line.first() {
        Some(b'+') => Ok(Some((Reply::Simple(text()), end))),
        Some(b'-') => Ok(Some((Reply::Error(text()), end))),
        Some(b':') => Ok(Some((Reply::Integer(integer(&line[1..])?), end))),
        Some(b'$') => bulk(bytes, integer(&line[1..])?, end),
        Some(b'*') => array(bytes, integer(&line[1..])?, end, depth),
        other => Err(ProtocolError(format!("a reply begins with {other:?}"))),
    }
}

fn line(bytes: &[u8], at: usize) -> Parsed<&[u8]> {
    let rest = &bytes[at..];
    let seen = &rest[..rest.len().min(LINE_BYTES_MAX)];
    match seen.windows(2).position(|pair| pair == b"\r\n") {
        Some(len) => Ok(Some((&rest[..len], at + len + 2))),
        None if rest.len() >= LINE_BYTES_MAX => Err(ProtocolError(format!(
            "no end of line in {LINE_BYTES_MAX} bytes"
        ))),
        None => Ok(None),
    }
}

fn integer(digits: &[u8]) -> Result<i64, ProtocolError> {
    let parsed = std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| ProtocolError(format!("a number {:?}", String::from_utf8_lossy(digits))))
}

fn bulk(bytes: &[u8], len: i64, at: usize) -> Parsed<Reply> {
    if len == -1 {
        return Ok(Some((Reply::Bulk(None), at)));
    }
    if !(0..=BULK_BYTES_MAX).contains(&len) {
        return Err(ProtocolError(format!("a string of {len} bytes")));
    }
    let end = at + len as usize;
    match bytes.get(end..end + 2) {
        None => Ok(None),
        Some(b"\r\n") => Ok(Some((Reply::Bulk(Some(bytes[at..end].to_vec())), end + 2))),
        Some(other) => Err(ProtocolError(format!("a string ends with {other:?}"))),
    }
}

fn array(bytes: &[u8], len: i64, mut at: usize, depth: usize) -> Parsed<Reply> {
    if len == -1 {
        return Ok(Some((Reply::Array(None), at)));
    }
    if !(0..=ARRAY_MAX).contains(&len) || depth >= DEPTH_MAX {
        return Err(ProtocolError(format!("an array of {len} at depth {depth}")));
    }
    let mut items = Vec::new();
    for _ in 0..len {
        let Some((item, end)) = reply(bytes, at, depth + 1)? else {
            return Ok(None);
        };
        items.push(item);
        at = end;
    }
    Ok(Some((Reply::Array(Some(items)), at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes a reply as a server does.
    fn encode(reply: &Reply, out: &mut Vec<u8>) {
        match reply {
            Reply::Simple(text) => out.extend(format!("+{text}\r\n").bytes()),
            Reply::Error(text) => out.extend(format!("-{text}\r\n").bytes()),
            Reply::Integer(n) => out.extend(format!(":{n}\r\n").bytes()),
            Reply::Bulk(None) => out.extend(b"$-1\r\n"),
            Reply::Bulk(Some(bytes)) => {
                out.extend(format!("${}\r\n", bytes.len()).bytes());
                out.extend(bytes);
                out.extend(b"\r\n");
            }
            Reply::Array(None) => out.extend(b"*-1\r\n"),
            Reply::Array(Some(items)) => {
                out.extend(format!("*{}\r\n", items.len()).bytes());
                items.iter().for_each(|item| encode(item, out));
            }
        }
    }

    fn any_reply() -> impl Strategy<Value = Reply> {
        let leaf = prop_oneof![
            "[^\r\n]{0,20}".prop_map(Reply::Simple),
            "[^\r\n]{0,20}".prop_map(Reply::Error),
            any::<i64>().prop_map(Reply::Integer),
            prop::option::of(prop::collection::vec(any::<u8>(), 0..200)).prop_map(Reply::Bulk),
            Just(Reply::Array(None)),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop::collection::vec(inner, 0..4).prop_map(|items| Reply::Array(Some(items)))
        })
    }

    proptest! {
        #[test]
        fn replies_survive_any_cutting(
            replies in prop::collection::vec(any_reply(), 1..6),
            cuts in prop::collection::vec(1_usize..40, 1..30),
        ) {
            let mut wire = Vec::new();
            replies.iter().for_each(|reply| encode(reply, &mut wire));
            let mut parser = Parser::default();
            let mut got = Vec::new();
            let mut cuts = cuts.iter().cycle();
            let mut rest = &wire[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                rest = later;
                parser.feed(now);
                while let Some(reply) = parser.next_reply().unwrap() {
                    got.push(reply);
                }
            }
            prop_assert_eq!(got, replies);
            prop_assert_eq!(parser.next_reply(), Ok(None));
        }

        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut parser = Parser::default();
            parser.feed(&bytes);
            while let Ok(Some(_)) = parser.next_reply() {}
        }

        #[test]
        fn nearly_right_bytes_never_panic(bytes in "[-+:$*0-9\r\n]{0,60}") {
            let mut parser = Parser::default();
            parser.feed(bytes.as_bytes());
            while let Ok(Some(_)) = parser.next_reply() {}
        }
    }

    #[test]
    fn long_streams_do_not_pile_up() {
        let mut wire = b"$100\r\n".to_vec();
        wire.extend([7; 100]);
        wire.extend(b"\r\n");
        let (head, tail) = wire.split_at(40);
        let mut parser = Parser::default();
        parser.feed(head);
        for _ in 0..2_000 {
            // Part of the next reply is always there, so the buffer is never empty.
            parser.feed(tail);
            parser.feed(head);
            assert_eq!(
                parser.next_reply(),
                Ok(Some(Reply::Bulk(Some(vec![7; 100]))))
            );
            assert!(parser.bytes.len() < COMPACT_BYTES + 2 * wire.len());
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let wires: [&[u8]; 6] = [
            b"hello\r\n",
            b"\r\n",
            b":twelve\r\n",
            b"$-2\r\n",
            b"$3\r\nabcde\r\n",
            b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n+deep\r\n",
        ];
        for wire in wires {
            let mut parser = Parser::default();
            parser.feed(wire);
            assert!(parser.next_reply().is_err(), "{wire:?}");
        }
        let mut parser = Parser::default();
        parser.feed(&[b'+'; LINE_BYTES_MAX]);
        assert!(parser.next_reply().is_err());
    }

    #[test]
    fn commands_are_arrays_of_strings() {
        let mut out = Vec::new();
        command(&mut out, &[b"SET", b"key", b"\r\n"]);
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$2\r\n\r\n\r\n");
    }
}
