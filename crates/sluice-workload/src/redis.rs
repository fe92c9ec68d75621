//! YCSB load on a Redis server, which compares every byte it reads.

mod bgsave;
mod conn;
mod versions;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sluice_units::Rng;

pub use bgsave::Save;
pub use conn::{Address, Connection};

use crate::error::Error;
use crate::hist::Histogram;
use crate::meeting::Over;
use crate::resp::Reply;
use crate::value::{self, Mismatch};
use sluice_streams::order::thread_rng;
use sluice_streams::ycsb::{Chooser, Distribution, Mix, Op};
use versions::Versions;

const OPS_STREAM: &str = "redis.ops";
/// Requests under way on a connection while all records are written or read back.
const PIPELINE: u64 = 32;
const BGSAVE_POLL: Duration = Duration::from_millis(1);
/// Mismatches and errors that are described; all are counted.
const TOLD_MAX: usize = 10;

/// What to run: checked by the command line.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where the server listens.
    pub address: Address,
    /// Shares of the operations; never E.
    pub mix: Mix,
    /// Which keys are popular.
    pub distribution: Distribution,
    /// Records at the start.
    pub records: u64,
    /// Operations over all connections.
    pub ops: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Connections, each with a thread.
    pub connections: usize,
    /// Seed of keys, operations and values.
    pub seed: u64,
    /// Whether all records are written first.
    pub load: bool,
    /// Whether operations are run.
    pub run: bool,
    /// Whether all records are read back at the end.
    pub verify: bool,
    /// Requests of the run after which a background save begins.
    pub bgsave_at: Option<u64>,
}

/// What one phase took.
pub struct Phase {
    pub name: &'static str,
    pub requests: u64,
    /// Wall time in nanoseconds.
    pub wall_ns: u64,
}

/// What was measured.
pub struct Measured {
    /// The phases in order.
    pub phases: Vec<Phase>,
    /// Latencies of the run by operation, in the order of [`Op::ALL`].
    pub by_op: Vec<Histogram>,
    /// Latencies of the whole run.
    pub all: Histogram,
    /// Values read and compared.
    pub checked: u64,
    /// How many were wrong.
    pub mismatches: u64,
    /// The first of them.
    pub told: Vec<Mismatch>,
    /// Requests that failed, and connections that broke.
    pub errors: u64,
    /// The first of them.
    pub errors_told: Vec<String>,
    /// The background save, when asked for.
    pub save: Option<Save>,
}

/// Runs the phases asked for.
///
/// # Errors
/// When the server cannot be reached at the start. What goes wrong later is counted.
pub fn run(load: &Load) -> Result<Measured, Error> {
    Connection::open(&load.address)?.wait_ready()?;
    let bench = Bench::new(load);
    let mut phases = Vec::new();
    if load.load {
        phases.push(
            bench
                .phase("load", |connection, thread, _| {
                    bench.fill(connection, thread)
                })
                .0,
        );
    }
    let by_op = histograms();
    let mut save = None;
    if load.run {
        let (phase, parts, saved) = bench.run_phase();
        phases.push(phase);
        save = saved;
        for part in &parts {
            by_op
                .iter()
                .zip(part)
                .for_each(|(total, part)| total.merge(part));
        }
    }
    if load.verify {
        phases.push(
            bench
                .phase("verify", |conn, thread, _| bench.verify(conn, thread))
                .0,
        );
    }
    let all = Histogram::new();
    by_op.iter().for_each(|part| all.merge(part));

    Ok(Measured {
        phases,
        by_op,
        all,
        checked: bench.checked.into_inner(),
        mismatches: bench.mismatches.into_inner(),
        told: bench
            .told
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
        errors: bench.errors.into_inner(),
        errors_told: bench
            .errors_told
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
        save,
    })
}

fn histograms() -> Vec<Histogram> {
    Op::ALL.iter().map(|_| Histogram::new()).collect()
}

struct Bench<'a> {
    load: &'a Load,
    versions: Versions,
    /// Held while a record is added, so that keys are dense.
    adding: Mutex<()>,
    existing: AtomicU64,
    requests: AtomicU64,
    checked: AtomicU64,
    mismatches: AtomicU64,
    told: Mutex<Vec<Mismatch>>,
    errors: AtomicU64,
    errors_told: Mutex<Vec<String>>,
}

impl<'a> Bench<'a> {
    fn new(load: &'a Load) -> Self {
        let inserts = if load.mix.expected_inserts(load.ops) > 0 {
            load.ops
        } else {
            0
        };
        Self {
            load,
            versions: Versions::new(load.records + inserts, load.load || !load.mix.writes()),
            adding: Mutex::new(()),
            existing: AtomicU64::new(load.records),
            requests: AtomicU64::new(0),
            checked: AtomicU64::new(0),
            mismatches: AtomicU64::new(0),
            told: Mutex::default(),
            errors: AtomicU64::new(0),
            errors_told: Mutex::default(),
        }
    }

    /// Runs `work` on every connection at once. A connection that breaks is an error; the
    /// others go on.
    fn phase(
        &self,
        name: &'static str,
        work: impl Fn(&mut Connection, usize, &[Histogram]) -> Result<(), Error> + Sync,
    ) -> (Phase, Vec<Vec<Histogram>>) {
        let before = self.requests.load(SeqCst);
        let started = Instant::now();
        let one = |thread: usize| {
            let latencies = histograms();
            let result = Connection::open(&self.load.address)
                .and_then(|mut connection| work(&mut connection, thread, &latencies));
            if let Err(error) = result {
                self.failed(format!("connection {thread}: {error}"));
            }
            latencies
        };
        let one = &one;
        let parts = std::thread::scope(|scope| {
            let connections = 0..self.load.connections;
            let handles: Vec<_> = connections
                .map(|thread| scope.spawn(move || one(thread)))
                .collect();
            let join = |handle: std::thread::ScopedJoinHandle<_>| handle.join();
            handles
                .into_iter()
                .map(|h| join(h).expect("a connection's thread panicked"))
                .collect()
        });
        let wall_ns = started.elapsed().as_nanos() as u64;
        let requests = self.requests.load(SeqCst) - before;
        (
            Phase {
                name,
                requests,
                wall_ns,
            },
            parts,
        )
    }

    /// The run, with the background save beside it.
    fn run_phase(&self) -> (Phase, Vec<Vec<Histogram>>, Option<Save>) {
        let before = self.requests.load(SeqCst);
        let done = AtomicBool::new(false);
        let sent = || self.requests.load(SeqCst) - before;
        std::thread::scope(|scope| {
            let over = Over(&done);
            let saver = self.load.bgsave_at.map(|at| {
                let done = &done;
                scope.spawn(move || {
                    while sent() < at && !done.load(SeqCst) {
                        std::thread::sleep(BGSAVE_POLL);
                    }
                    bgsave::save(&self.load.address, sent)
                })
            });
            let (phase, parts) = self.phase("run", |connection, thread, latencies| {
                self.operate(connection, thread, latencies)
            });
            drop(over);
            let save = saver.map(|saver| saver.join().expect("the saving thread panicked"));
            let save = save.and_then(|save| save.map_err(|e| self.failed(e.to_string())).ok());
            (phase, parts, save)
        })
    }

    fn fill(&self, connection: &mut Connection, thread: usize) -> Result<(), Error> {
        let mut value = vec![0; self.load.value_bytes];
        let send = |connection: &mut Connection, key| {
            value::fill(&mut value, self.load.seed, key, 0);
            connection.queue(&[b"SET", name(key).as_bytes(), &value]);
        };
        self.pipeline(connection, thread, self.load.records, send, |key, reply| {
            self.stored(key, &reply);
        })
    }

    fn verify(&self, connection: &mut Connection, thread: usize) -> Result<(), Error> {
        let send = |connection: &mut Connection, key| {
            connection.queue(&[b"GET", name(key).as_bytes()]);
        };
        self.pipeline(
            connection,
            thread,
            self.existing.load(SeqCst),
            send,
            |key, reply| {
                self.compare(key, self.versions.oldest(key), &reply);
            },
        )
    }

    /// One request for each of this connection's keys below `keys`, many under way at once.
    fn pipeline(
        &self,
        connection: &mut Connection,
        thread: usize,
        keys: u64,
        mut send: impl FnMut(&mut Connection, u64),
        receive: impl Fn(u64, Reply),
    ) -> Result<(), Error> {
        let step = self.load.connections as u64;
        let mut key = thread as u64;
        while key < keys {
            let batch = || (key..keys).step_by(step as usize).take(PIPELINE as usize);
            batch().for_each(|key| send(connection, key));
            connection.send()?;
            for key in batch() {
                receive(key, connection.reply()?);
                self.requests.fetch_add(1, Relaxed);
            }
            key += step * PIPELINE;
        }
        Ok(())
    }

    fn operate(
        &self,
        connection: &mut Connection,
        thread: usize,
        latencies: &[Histogram],
    ) -> Result<(), Error> {
        let load = self.load;
        let mut rng: Rng = thread_rng(load.seed, thread as u64, OPS_STREAM);
        let items = load.records + load.mix.expected_inserts(load.ops);
        let chooser = Chooser::new(load.distribution, items);
        let (threads, thread) = (load.connections as u64, thread as u64);
        let ops = load.ops / threads + u64::from(thread < load.ops % threads);
        let mut value = vec![0; load.value_bytes];
        for _ in 0..ops {
            let op = load.mix.op(&mut rng);
            let key = chooser.key(&mut rng, self.existing.load(SeqCst));
            let latency = match op {
                Op::Read | Op::Scan => self.get(connection, key)?,
                Op::Update => self.replace(connection, key, &mut value, false)?,
                Op::ReadModifyWrite => self.replace(connection, key, &mut value, true)?,
                Op::Insert => self.insert(connection, &mut value)?,
            };
            latencies[op as usize].record(latency.as_nanos() as u64);
            self.requests.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    /// Reads a record and compares it. The latency is that of the request alone.
    fn get(&self, connection: &mut Connection, key: u64) -> Result<Duration, Error> {
        let oldest = self.versions.oldest(key);
        let name = name(key);
        let started = Instant::now();
        let reply = connection.ask(&[b"GET", name.as_bytes()])?;
        let latency = started.elapsed();
        self.compare(key, oldest, &reply);
        Ok(latency)
    }

    fn replace(
        &self,
        connection: &mut Connection,
        key: u64,
        value: &mut [u8],
        read: bool,
    ) -> Result<Duration, Error> {
        let writer = self.versions.write(key);
        let read = if read {
            self.get(connection, key)?
        } else {
            Duration::ZERO
        };
        let version = writer.issue();
        let (latency, stored) = self.set(connection, key, version, value)?;
        if stored {
            writer.acknowledge();
        }
        Ok(read + latency)
    }

    fn insert(&self, connection: &mut Connection, value: &mut [u8]) -> Result<Duration, Error> {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let key = self.existing.load(SeqCst);
        let (latency, stored) = self.set(connection, key, 0, value)?;
        if stored {
            self.existing.store(key + 1, SeqCst);
        }
        Ok(latency)
    }

    fn set(
        &self,
        connection: &mut Connection,
        key: u64,
        version: u64,
        value: &mut [u8],
    ) -> Result<(Duration, bool), Error> {
        value::fill(value, self.load.seed, key, version);
        let name = name(key);
        let started = Instant::now();
        let reply = connection.ask(&[b"SET", name.as_bytes(), value])?;
        Ok((started.elapsed(), self.stored(key, &reply)))
    }

    fn stored(&self, key: u64, reply: &Reply) -> bool {
        let ok = matches!(reply, Reply::Simple(text) if text == "OK");
        if !ok {
            self.failed(format!("SET {} answered {reply:?}", name(key)));
        }
        ok
    }

    fn compare(&self, key: u64, oldest: u64, reply: &Reply) {
        let value = match reply {
            Reply::Bulk(Some(value)) => value,
            Reply::Bulk(None) => return self.wrong(Mismatch::new(key, "a record", "none")),
            other => return self.failed(format!("GET {} answered {other:?}", name(key))),
        };
        self.checked.fetch_add(1, Relaxed);
        let (bytes, seed) = (self.load.value_bytes, self.load.seed);
        let version = value::version_of(value).unwrap_or(0);
        if let Err(mismatch) = value::check_all(value, bytes, seed, key, version) {
            self.wrong(mismatch);
        } else if let Err(possible) = self.versions.allows(key, oldest, version) {
            self.wrong(Mismatch::new(
                key,
                possible.to_string(),
                format!("version {version}"),
            ));
        }
    }

    fn wrong(&self, mismatch: Mismatch) {
        self.mismatches.fetch_add(1, Relaxed);
        remember(&self.told, mismatch);
    }

    fn failed(&self, error: String) {
        self.errors.fetch_add(1, Relaxed);
        remember(&self.errors_told, error);
    }
}

fn remember<T>(told: &Mutex<Vec<T>>, what: T) {
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    if told.len() < TOLD_MAX {
        told.push(what);
    }
}

/// A key as YCSB names it.
fn name(key: u64) -> String {
    format!("user{key}")
}
