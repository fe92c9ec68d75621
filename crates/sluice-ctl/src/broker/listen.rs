//! The broker's socket: which users may connect, and what stands in its place already.

use super::error::BrokerError;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, lchown};
use std::os::unix::net::UnixListener;
use std::path::Path;

/// Clients that wait to be taken.
const BACKLOG: i32 = 64;
const GROUPS: &str = "/etc/group";

/// Which users may connect, by the permissions of the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Of owner, group and others; to connect takes the right to write.
    pub mode: u32,
    /// The group, by number; by default root's.
    pub group: Option<u32>,
}

impl Access {
    /// As the options say it.
    ///
    /// # Errors
    /// For a mode that is no mode, or a group that does not exist.
    pub fn new(mode: &str, group: Option<&str>) -> Result<Access, BrokerError> {
        let bits = u32::from_str_radix(mode, 8).ok();
        let bits = bits.filter(|bits| *bits <= 0o777 && (3..=4).contains(&mode.len()));
        Ok(Access {
            mode: bits.ok_or_else(|| BrokerError::Mode(mode.to_owned()))?,
            group: group.map(number_of).transpose()?,
        })
    }
}

/// A group's number, by name or number.
fn number_of(group: &str) -> Result<u32, BrokerError> {
    if let Ok(number) = group.parse() {
        return Ok(number);
    }
    let path = Path::new(GROUPS);
    let all = fs::read_to_string(path).map_err(system(path))?;
    let of = |line: &str| {
        let mut fields = line.split(':');
        (fields.next() == Some(group)).then(|| fields.nth(1)?.parse().ok())?
    };
    let found = all.lines().find_map(of);
    found.ok_or_else(|| BrokerError::Group(group.to_owned()))
}

fn system(path: &Path) -> impl Fn(std::io::Error) -> BrokerError {
    let path = path.to_owned();
    move |why| BrokerError::System {
        path: path.clone(),
        why,
    }
}

fn socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// A socket that clients can connect to.
#[derive(Debug)]
pub struct Listening(pub(super) UnixListener);

impl Listening {
    /// Makes the socket. One that a killed broker left is replaced; nothing else is.
    ///
    /// # Errors
    /// [`BrokerError`].
    pub fn new(path: &Path, access: &Access) -> Result<Listening, BrokerError> {
        let failed = system(path);
        let address = SocketAddrUnix::new(path).map_err(|e| failed(e.into()))?;
        replace(path, &address)?;
        let socket = socket().map_err(|e| failed(e.into()))?;
        bind(&socket, &address).map_err(|e| failed(e.into()))?;
        // Before it listens, so that only users who may connect do.
        lchown(path, None, access.group).map_err(&failed)?;
        fs::set_permissions(path, Permissions::from_mode(access.mode)).map_err(&failed)?;
        listen(&socket, BACKLOG).map_err(|e| failed(e.into()))?;
        Ok(Listening(socket.into()))
    }
}

/// Removes a socket on which nobody answers any more.
fn replace(path: &Path, address: &SocketAddrUnix) -> Result<(), BrokerError> {
    let found = match path.symlink_metadata() {
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(()),
        found => found.map_err(system(path))?,
    };
    if !found.file_type().is_socket() {
        return Err(BrokerError::NoSocket(path.to_owned()));
    }
    let failed = system(path);
    let probe = socket().map_err(|e| failed(e.into()))?;
    rustix::io::ioctl_fionbio(&probe, true).map_err(|e| failed(e.into()))?;
    match connect(&probe, address) {
        Err(rustix::io::Errno::CONNREFUSED) => fs::remove_file(path).map_err(failed),
        // A broker whose queue is full answers, too.
        Ok(()) | Err(rustix::io::Errno::AGAIN) => Err(BrokerError::Served(path.to_owned())),
        Err(why) => Err(failed(why.into())),
    }
}
