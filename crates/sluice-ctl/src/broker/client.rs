//! A client of the broker.

use super::error::BrokerError;
use super::wire::{Ended, REQUEST_MAX, read_answer, send_request};
use crate::outcome::Outcome;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the broker may take to hear a client.
const HEARD: Duration = Duration::from_secs(10);
/// How long the broker may take to answer: it gives up before.
const ANSWERED: Duration = Duration::from_secs(180);

/// Sends the words of a command to the broker at a path.
///
/// # Errors
/// If nobody answers there whom a client can believe, or the broker does not send the command on.
pub fn ask(path: &Path, words: &[String]) -> Result<Outcome, BrokerError> {
    let bytes = words.iter().map(|word| word.len() + 1).sum::<usize>();
    if bytes > REQUEST_MAX {
        return Err(BrokerError::TooLong(bytes, REQUEST_MAX));
    }
    let stream = connected(path)?;
    let cut = |limit: Duration| {
        move |why: std::io::Error| match why.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => BrokerError::Silent(limit.as_secs()),
            _ => BrokerError::Gone,
        }
    };
    // One that is busy answers before it has read.
    let sent = send_request(&stream, words, Instant::now() + HEARD);
    let answer = read_answer(&stream, Instant::now() + ANSWERED);
    let (ended, text) = match (sent, answer) {
        (Ok(()), answer) => answer.map_err(cut(ANSWERED))?,
        (Err(_), Ok(answer)) => answer,
        (Err(why), Err(_)) => return Err(cut(HEARD)(why)),
    };
    match ended {
        Ended::Failed => Err(BrokerError::Refused(text)),
        ended => Ok(Outcome {
            text,
            is_done: ended == Ended::Done,
        }),
    }
}

/// Connects, if root or this user listens: another user could answer anything.
fn connected(path: &Path) -> Result<UnixStream, BrokerError> {
    let failed = |why: Errno| BrokerError::System {
        path: path.to_owned(),
        why: why.into(),
    };
    let address = SocketAddrUnix::new(path).map_err(failed)?;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let socket = socket.map_err(failed)?;
    // A queue that is full would hold up for ever.
    set_socket_timeout(&socket, Timeout::Send, Some(HEARD)).map_err(failed)?;
    connect(&socket, &address).map_err(|why| match why {
        Errno::CONNREFUSED => BrokerError::NoBroker(path.to_owned()),
        why => failed(why),
    })?;
    let owner = socket_peercred(&socket).map_err(failed)?.uid.as_raw();
    if owner != 0 && owner != sluice_control::own_user() {
        let path = path.to_owned();
        return Err(BrokerError::Stranger { path, owner });
    }
    Ok(socket.into())
}
