//! One blocking connection to a server.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::resp::{self, Parser, Reply};

/// A server that is silent for so long is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// A server may take so long to read its data set before it answers.
const LOADING_MAX: Duration = Duration::from_secs(300);
/// A server has its socket a moment before it listens there.
const REFUSING_MAX: Duration = Duration::from_secs(1);
const REFUSING_POLL: Duration = Duration::from_millis(5);
const LOADING_POLL: Duration = Duration::from_millis(20);
const READ_BYTES: usize = 64 << 10;

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// Path of a socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(host, port) => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A connection with its replies in order.
pub struct Connection {
    stream: Box<dyn Stream>,
    address: Address,
    parser: Parser,
    out: Vec<u8>,
    input: Box<[u8]>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(address: &Address) -> Result<Self, Error> {
        let connect = || -> io::Result<Box<dyn Stream>> {
            Ok(match address {
                Address::Tcp(host, port) => {
                    let stream = TcpStream::connect((host.as_str(), *port))?;
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(SILENCE_MAX))?;
                    stream.set_write_timeout(Some(SILENCE_MAX))?;
                    Box::new(stream)
                }
                Address::Unix(path) => {
                    let stream = connect_unix(path)?;
                    stream.set_read_timeout(Some(SILENCE_MAX))?;
                    stream.set_write_timeout(Some(SILENCE_MAX))?;
                    Box::new(stream)
                }
            })
        };
        Ok(Self {
            stream: connect().map_err(Error::system(format!("connecting to {address}")))?,
            address: address.clone(),
            parser: Parser::default(),
            out: Vec::new(),
            input: vec![0; READ_BYTES].into_boxed_slice(),
        })
    }

    /// Puts a command behind the ones not yet sent.
    pub fn queue(&mut self, parts: &[&[u8]]) {
        resp::command(&mut self.out, parts);
    }

    /// Sends what is queued.
    ///
    /// # Errors
    /// What the system says.
    pub fn send(&mut self) -> Result<(), Error> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        sent.map_err(Error::system(format!("sending to {}", self.address)))
    }

    /// Waits for the next reply.
    ///
    /// # Errors
    /// What the system says, or that the bytes are no reply.
    pub fn reply(&mut self) -> Result<Reply, Error> {
        loop {
            let bad = |error| Error::Server(format!("{}: {error}", self.address));
            if let Some(reply) = self.parser.next_reply().map_err(bad)? {
                return Ok(reply);
            }
            match self.stream.read(&mut self.input) {
                Ok(0) => {
                    return Err(Error::Server(format!(
                        "{} closed the connection",
                        self.address
                    )));
                }
                Ok(n) => self.parser.feed(&self.input[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => {
                    return Err(Error::system(format!("reading from {}", self.address))(
                        error,
                    ));
                }
            }
        }
    }

    /// Sends one command and waits for its reply.
    ///
    /// # Errors
    /// As for `send` and `reply`.
    pub fn ask(&mut self, parts: &[&[u8]]) -> Result<Reply, Error> {
        self.queue(parts);
        self.send()?;
        self.reply()
    }

    /// Waits until the server has read its data set.
    ///
    /// # Errors
    /// When it answers `PING` with something else than `PONG` or that it is loading.
    pub fn wait_ready(&mut self) -> Result<(), Error> {
        let started = Instant::now();
        loop {
            match self.ask(&[b"PING"])? {
                Reply::Simple(text) if text == "PONG" => return Ok(()),
                Reply::Error(text)
                    if text.starts_with("LOADING") && started.elapsed() < LOADING_MAX =>
                {
                    std::thread::sleep(LOADING_POLL);
                }
                other => {
                    let message = format!("{} answers PING with {other:?}", self.address);
                    return Err(Error::Server(message));
                }
            }
        }
    }
}

/// Connects, also to a server that is only now beginning to listen.
fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    let started = Instant::now();
    loop {
        match UnixStream::connect(path) {
            Err(error)
                if error.kind() == io::ErrorKind::ConnectionRefused
                    && started.elapsed() < REFUSING_MAX =>
            {
                std::thread::sleep(REFUSING_POLL);
            }
            ended => return ended,
        }
    }
}
