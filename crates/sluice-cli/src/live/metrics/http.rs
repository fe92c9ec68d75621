//! Requests for the metrics, heard as they come, and their answers.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A client that takes longer is left.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest request.
const LONGEST: usize = 8 << 10;
/// Prometheus' text format.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A client that has not said all yet.
pub struct Client {
    pub stream: TcpStream,
    request: Vec<u8>,
    /// Until when it may.
    pub until: Instant,
}

/// What was heard of a client.
pub enum Heard {
    /// Not all yet.
    More,
    /// Its path, without the query; none if that is no GET.
    All(Option<String>),
    /// It is gone, or has taken too long.
    End,
}

impl Client {
    pub fn new(stream: TcpStream) -> std::io::Result<Client> {
        stream.set_nonblocking(true)?;
        Ok(Client {
            stream,
            request: Vec::new(),
            until: Instant::now() + PATIENCE,
        })
    }

    /// Takes what has come, and waits for nothing.
    pub fn hear(&mut self) -> Heard {
        let mut room = [0; 1024];
        loop {
            match self.stream.read(&mut room) {
                Ok(0) => return Heard::End,
                Ok(count) => self.request.extend_from_slice(&room[..count]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Heard::End,
            }
            if let Some(path) = path_of(&self.request) {
                return Heard::All(path);
            }
        }
        match Instant::now() < self.until {
            true => Heard::More,
            false => Heard::End,
        }
    }

    /// Answers the request for a path. A client that takes no answer is left alone.
    pub fn answer(
        mut self,
        path: Option<&str>,
        metrics: impl FnOnce() -> std::io::Result<String>,
    ) -> std::io::Result<()> {
        let (status, body) = match path {
            Some("/metrics") => match metrics() {
                Ok(text) => ("200 OK", text),
                Err(e) => (
                    "500 Internal Server Error",
                    format!("sluice: no metrics: {e}\n"),
                ),
            },
            Some(_) => ("404 Not Found", "The metrics are at /metrics.\n".to_owned()),
            None => (
                "400 Bad Request",
                "Only GET is answered, at /metrics.\n".to_owned(),
            ),
        };
        self.stream.set_nonblocking(false)?;
        self.stream.set_write_timeout(Some(PATIENCE))?;
        let len = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {FORMAT}\r\nContent-Length: {len}\r\n\
             Connection: close\r\n\r\n{body}"
        );
        self.stream.write_all(answer.as_bytes())
    }
}

/// The path that a request asks for, without its query; nothing yet if there is more to come.
fn path_of(request: &[u8]) -> Option<Option<String>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(request) {
        Ok(httparse::Status::Complete(_)) => {
            let path = parsed.path.filter(|_| parsed.method == Some("GET"));
            let path = path.map(|path| path.split('?').next().unwrap_or_default());
            Some(path.map(str::to_owned))
        }
        Ok(httparse::Status::Partial) if request.len() < LONGEST => None,
        _ => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Error;
    use std::net::TcpListener;

    /// What a client gets that asks for a path.
    fn asked(path: &str, metrics: std::io::Result<String>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        write!(client, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut served = Client::new(listener.accept().unwrap().0).unwrap();
        let path = loop {
            match served.hear() {
                Heard::More => std::thread::yield_now(),
                Heard::All(path) => break path,
                Heard::End => panic!("it ended"),
            }
        };
        served.answer(path.as_deref(), || metrics).unwrap();
        let mut got = String::new();
        client.read_to_string(&mut got).unwrap();
        got
    }

    /// Metrics that could not be written would look like those of a run that counted nothing.
    #[test]
    fn metrics_that_cannot_be_written_are_an_error() {
        let good = asked("/metrics?x=1", Ok("sluice_x 1\n".to_owned()));
        assert!(good.starts_with("HTTP/1.1 200 OK\r\n") && good.ends_with("\r\n\r\nsluice_x 1\n"));
        let bad = asked("/metrics", Err(Error::other("a family without metrics")));
        assert!(bad.starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
        assert!(bad.ends_with("\r\n\r\nsluice: no metrics: a family without metrics\n"));
        let other = asked("/", Err(Error::other("never asked for")));
        assert!(other.starts_with("HTTP/1.1 404 Not Found\r\n"));
    }
}
