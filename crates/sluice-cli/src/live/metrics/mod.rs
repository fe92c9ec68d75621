//! `--metrics`: the counters of a run for Prometheus, while it goes on.
//!
//! A thread of the command reads what the processes write down anyway. They know nothing of it.

mod file;
mod http;
mod text;

use crate::error::{ArgumentError, Error};
use file::MetricsFile;
use http::{Client, Heard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use text::About;

/// A file is written anew this often.
const PERIOD: Duration = Duration::from_secs(1);
/// A client that could not be taken is looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Clients that have not said all yet, at most. The one that has waited longest goes first.
const CLIENTS: usize = 64;
/// Of a run with so many processes that reading them takes long, less often: one part of so many
/// of the time goes into it at most.
const SHARE: u32 = 20;

/// Where metrics are published.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricsTo {
    /// By HTTP.
    Address(SocketAddr),
    /// In a file.
    File(PathBuf),
}

impl FromStr for MetricsTo {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<MetricsTo, ArgumentError> {
        let path = Path::new(text);
        if path.extension().is_some_and(|kind| kind == "prom") {
            return Ok(MetricsTo::File(path.to_owned()));
        }
        match text.to_socket_addrs().map(|mut found| found.next()) {
            Ok(Some(address)) => Ok(MetricsTo::Address(address)),
            _ => Err(ArgumentError::Expected(
                "an address with its port, such as 127.0.0.1:9100, or a file ending in .prom"
                    .to_owned(),
            )),
        }
    }
}

/// The thread that publishes the metrics of a run.
pub struct Metrics {
    /// Closing it ends the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Publishes what the processes of a session count. All places are there when this returns.
    pub fn start(places: &[MetricsTo], session: &Path, about: About) -> Result<Metrics, Error> {
        let (mut listeners, mut files) = (Vec::new(), Vec::new());
        for place in places {
            match place {
                MetricsTo::Address(address) => listeners.push(listen(*address)?),
                MetricsTo::File(path) => files.push(MetricsFile::open(path)?),
            }
        }
        let failed = Error::system("a thread for --metrics");
        let (stop, stopped) = UnixStream::pair().map_err(failed)?;
        let publisher = Publisher {
            listeners,
            files,
            session: session.to_owned(),
            about,
            stopped,
            clients: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("metrics".into());
        let thread = thread.spawn(move || publisher.run());
        Ok(Metrics {
            stop: Some(stop),
            thread: Some(thread.map_err(Error::system("a thread for --metrics"))?),
        })
    }
}

impl Drop for Metrics {
    /// Files have the last figures afterwards.
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // What ended it early was printed.
            let _ = thread.join();
        }
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let value = |e: std::io::Error| {
        Error::value(
            "--metrics",
            address,
            format!("nobody can listen there: {e}"),
        )
    };
    let listener = TcpListener::bind(address).map_err(value)?;
    listener.set_nonblocking(true).map_err(value)?;
    let address = listener.local_addr().map_err(value)?;
    errln!("sluice: metrics at http://{address}/metrics");
    Ok(listener)
}

struct Publisher {
    listeners: Vec<TcpListener>,
    files: Vec<MetricsFile>,
    session: PathBuf,
    about: About,
    stopped: UnixStream,
    /// Clients that have not said all yet, the earliest first.
    clients: Vec<Client>,
}

impl Publisher {
    fn run(mut self) {
        let mut next = Instant::now();
        loop {
            if !self.files.is_empty() && Instant::now() >= next {
                let begun = Instant::now();
                self.write();
                next = Instant::now() + PERIOD.max(begun.elapsed() * SHARE);
            }
            if self.wait(next) {
                return self.write();
            }
            self.answer();
        }
    }

    fn text(&self) -> std::io::Result<String> {
        text::text(&self.session, &self.about).map_err(std::io::Error::other)
    }

    fn write(&mut self) {
        if self.files.is_empty() {
            return;
        }
        let text = self.text();
        self.files.iter_mut().for_each(|file| file.write(&text));
    }

    /// Waits for a client, or for the time of a file. Says whether it is the end.
    fn wait(&self, next: Instant) -> bool {
        let mut wanted = vec![PollFd::new(&self.stopped, PollFlags::IN)];
        let listeners = self.listeners.iter();
        wanted.extend(listeners.map(|each| PollFd::new(each, PollFlags::IN)));
        let clients = self.clients.iter();
        wanted.extend(clients.map(|each| PollFd::new(&each.stream, PollFlags::IN)));
        let of_files = (!self.files.is_empty()).then_some(next);
        let of_clients = self.clients.first().map(|first| first.until);
        let until = of_files.into_iter().chain(of_clients).min();
        let left = until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        // An interrupted wait is one that found nothing.
        let _ = poll(&mut wanted, left.as_ref());
        !wanted[0].revents().is_empty()
    }

    /// Takes new clients, and answers those that have said all. Nobody waits for the others.
    fn answer(&mut self) {
        for listener in &self.listeners {
            match listener.accept() {
                Ok((client, _)) => self.clients.extend(Client::new(client)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // No descriptor is left, perhaps: the client is still there at the next look.
                Err(_) => std::thread::sleep(LOOK_AGAIN),
            }
        }
        for mut client in std::mem::take(&mut self.clients) {
            match client.hear() {
                Heard::More => self.clients.push(client),
                // A client that goes away, or takes no answer, asks again.
                Heard::All(path) => drop(client.answer(path.as_deref(), || self.text())),
                Heard::End => {}
            }
        }
        let too_many = self.clients.len().saturating_sub(CLIENTS);
        self.clients.drain(..too_many);
    }
}
