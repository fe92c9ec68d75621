//! A background save in the middle of a run.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::conn::{Address, Connection};
use crate::error::Error;
use crate::resp::Reply;

const POLL: Duration = Duration::from_millis(20);
const SAVE_MAX: Duration = Duration::from_secs(1_800);

/// A save that went well.
#[derive(Clone, Debug, Serialize)]
pub struct Save {
    /// Requests sent before it began.
    pub at_request: u64,
    /// Requests sent while it ran.
    pub requests_meanwhile: u64,
    /// How long it took, to the nearest poll.
    pub seconds: f64,
    /// What the server says of it: `ok`.
    pub status: String,
}

/// Saves, and waits until the server says that the save went well.
///
/// # Errors
/// When the server refuses, fails, or does not end in half an hour.
pub fn save(address: &Address, requests: impl Fn() -> u64) -> Result<Save, Error> {
    let mut connection = Connection::open(address)?;
    let started = Instant::now();
    // A save that the server began by itself comes first: its snapshot may be older.
    wait_idle(&mut connection, started)?;
    let (at_request, began) = (requests(), Instant::now());
    match connection.ask(&[b"BGSAVE"])? {
        Reply::Simple(_) => (),
        other => return Err(Error::Server(format!("BGSAVE answered {other:?}"))),
    }
    let status = wait_idle(&mut connection, started)?;
    if status != "ok" {
        return Err(Error::Server(format!(
            "BGSAVE ended with status {status:?}, expected ok"
        )));
    }
    Ok(Save {
        at_request,
        requests_meanwhile: requests() - at_request,
        seconds: began.elapsed().as_secs_f64(),
        status,
    })
}

/// Waits until no save is under way; how the last one ended.
fn wait_idle(connection: &mut Connection, started: Instant) -> Result<String, Error> {
    loop {
        let info = match connection.ask(&[b"INFO", b"persistence"])? {
            Reply::Bulk(Some(text)) => String::from_utf8_lossy(&text).into_owned(),
            other => {
                return Err(Error::Server(format!(
                    "INFO persistence answered {other:?}"
                )));
            }
        };
        let field = |name| {
            field(&info, name)
                .ok_or_else(|| Error::Server(format!("INFO persistence does not report {name}")))
        };
        if field("rdb_bgsave_in_progress")? == "0" {
            return Ok(field("rdb_last_bgsave_status")?.to_owned());
        }
        if started.elapsed() > SAVE_MAX {
            return Err(Error::Server(format!(
                "BGSAVE has not ended in {SAVE_MAX:?}"
            )));
        }
        std::thread::sleep(POLL);
    }
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let info = "# Persistence\r\nloading:0\r\nrdb_last_bgsave_status:ok\r\n";
        assert_eq!(field(info, "rdb_last_bgsave_status"), Some("ok"));
        assert_eq!(field(info, "rdb_last"), None);
    }
}
