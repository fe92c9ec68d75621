//! A server of strings, in the test itself: it shows what it was asked.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// The server's records, and what it was asked.
#[derive(Default)]
pub struct State {
    pub records: BTreeMap<String, Vec<u8>>,
    /// How often each command came.
    pub asked: BTreeMap<String, u64>,
    /// Questions about a save that are answered while it is under way.
    pub saving: u64,
}

/// What a server answers to a command instead of the truth, if anything.
pub type Instead = fn(&mut State, &[Vec<u8>]) -> Option<Vec<u8>>;

pub struct Server {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn start(instead: Instead) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &state, instead));
            }
        });
        Server { port, state }
    }

    /// With the state as it is; nobody is served meanwhile.
    pub fn with<R>(&self, look: impl FnOnce(&mut State) -> R) -> R {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How often a command came since this was asked last.
    pub fn take_asked(&self, command: &str) -> u64 {
        self.with(|state| state.asked.remove(command).unwrap_or(0))
    }
}

/// The truth alone.
pub fn truth(_: &mut State, _: &[Vec<u8>]) -> Option<Vec<u8>> {
    None
}

/// Answers commands until the other side has no more.
fn serve(stream: TcpStream, state: &Mutex<State>, instead: Instead) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    let number = |input: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        line.get(1..)?.trim_end().parse::<usize>().ok()
    };
    loop {
        let mut parts = Vec::new();
        for _ in 0..number(&mut input)? {
            let mut part = vec![0; number(&mut input)? + 2];
            input.read_exact(&mut part).ok()?;
            part.truncate(part.len() - 2);
            parts.push(part);
        }
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let name = String::from_utf8_lossy(&parts[0]).into_owned();
        *state.asked.entry(name).or_default() += 1;
        let reply = match instead(&mut state, &parts) {
            Some(reply) => reply,
            None => answer(&mut state, &parts)?,
        };
        drop(state);
        out.write_all(&reply).ok()?;
    }
}

pub fn bulk(value: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
}

fn answer(state: &mut State, command: &[Vec<u8>]) -> Option<Vec<u8>> {
    let key = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
    let reply = match command {
        [name] if name == b"PING" => b"+PONG\r\n".to_vec(),
        [name, at, value] if name == b"SET" => {
            state.records.insert(key(at), value.clone());
            b"+OK\r\n".to_vec()
        }
        [name, at] if name == b"GET" => match state.records.get(&key(at)) {
            Some(value) => bulk(value),
            None => b"$-1\r\n".to_vec(),
        },
        [name] if name == b"BGSAVE" => {
            state.saving = 3;
            b"+Background saving started\r\n".to_vec()
        }
        [name, _] if name == b"INFO" => {
            let is_saving = u64::from(state.saving > 0);
            state.saving -= is_saving;
            let told = format!(
                "# Persistence\r\nrdb_bgsave_in_progress:{is_saving}\r\n\
                 rdb_last_bgsave_status:ok\r\n"
            );
            bulk(told.as_bytes())
        }
        _ => return None,
    };
    Some(reply)
}
