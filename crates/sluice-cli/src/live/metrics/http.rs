//! Answers to requests for the metrics, one after the other.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A client that takes longer is left.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest request.
const LONGEST: usize = 8 << 10;
/// Prometheus' text format.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers the request of a client. One that sends none, or takes no answer, is left alone.
pub fn answer(
    client: &mut TcpStream,
    metrics: impl FnOnce() -> std::io::Result<String>,
) -> std::io::Result<()> {
    let (status, body) = match path_of(client)?.as_deref() {
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
    client.set_write_timeout(Some(PATIENCE))?;
    let len = body.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {FORMAT}\r\nContent-Length: {len}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

/// The path that a client asks for, without its query; none if that is no GET.
fn path_of(client: &mut TcpStream) -> std::io::Result<Option<String>> {
    let until = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut room = [0; 1024];
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(&request) {
            Ok(httparse::Status::Complete(_)) => {
                let path = parsed.path.filter(|_| parsed.method == Some("GET"));
                let path = path.map(|path| path.split('?').next().unwrap_or_default());
                return Ok(path.map(str::to_owned));
            }
            Ok(httparse::Status::Partial) if request.len() < LONGEST => {}
            _ => return Ok(None),
        }
        let left = until.saturating_duration_since(Instant::now());
        // A timeout of zero would be none.
        client.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match client.read(&mut room)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => request.extend_from_slice(&room[..count]),
        }
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
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
        let (mut served, _) = listener.accept().unwrap();
        answer(&mut served, || metrics).unwrap();
        drop(served);
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
