//! `mode=record`: every access, or what passes a filter, into a trace.

use crate::access::{What, in_memory};
use crate::api::{Block, Id, Info, NO_REGS, READS, WRITES, api};
use crate::callbacks::{self, Callbacks};
use crate::cpus::Cpus;
use crate::error::Error;
use crate::options::Record;
use crate::pipe::{BATCH, Message, Pipe, is_forked};
use crate::thread::Worker;
use sluice_results::RecordedAccesses;
use sluice_trace::filter::{Filter, Passed};
use sluice_trace::{Access, Header, Kind, Order, Space, Summary, Writer};
use sluice_units::LINE_BYTES;
use std::ffi::{c_uint, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};

/// Numbers of open files that programs hardly ever use or close.
const FILES_FROM: i32 = 900;

static CPUS: Cpus<Cpu> = Cpus::new();
static RECORDER: OnceLock<Recorder> = OnceLock::new();

struct Recorder {
    options: Record,
    pipe: Arc<Pipe<Access>>,
    encoder: Worker<Option<Summary>>,
}

/// What belongs to a CPU.
struct Cpu {
    number: u32,
    /// Instructions executed once the running block is through.
    executed: u64,
    filter: Option<Filter>,
    /// Accesses that QEMU has reported.
    seen: u64,
    batch: Vec<Access>,
}

/// Opens the file and asks QEMU for its callbacks.
///
/// # Errors
/// When the file cannot be made.
pub fn install(id: Id, info: &Info, options: Record) -> Result<(), Error> {
    let header = header(info, &options);
    let at = |source: io::Error| Error::File {
        path: options.out.clone(),
        source,
    };
    let file = File::create(&options.out).map_err(at)?;
    let file = out_of_the_way(file).map_err(at)?;
    let (pipe, receiver) = Pipe::new();
    let pipe = Arc::new(pipe);
    let (theirs, told) = (pipe.clone(), options.clone());
    // A disk that is full already is one that gets full.
    let encode = move || encode(&told, &theirs, &receiver, || Writer::new(file, &header));
    let encoder = Worker::start("sluice-trace", encode).map_err(Error::Thread)?;
    let recorder = Recorder {
        options,
        pipe,
        encoder,
    };
    let _ = RECORDER.set(recorder);
    let callbacks = Callbacks {
        begins: begin,
        rests: pass_on,
        leaves: leave,
        translated: match info.is_system() {
            true => translated::<true>,
            false => translated::<false>,
        },
        flushed: None,
        ends: end,
    };
    callbacks::ask(id, callbacks);
    Ok(())
}

fn header(info: &Info, options: &Record) -> Header {
    let filtered = !options.filter.is_empty();
    Header {
        granularity: if filtered { LINE_BYTES as u32 } else { 1 },
        filter: filtered.then(|| options.filter.to_string()),
        space: match info.is_system() {
            true => Space::Physical,
            false => Space::Virtual,
        },
        order: Order::PerCpu,
        block_requests: false,
        ..Header::new(options.command.clone())
    }
}

/// Another descriptor of the file, under a number that the program, which shares them, is not
/// likely to close.
fn out_of_the_way(file: File) -> io::Result<File> {
    // SAFETY: an open file, and a new number for it that nobody else owns.
    unsafe {
        match libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FILES_FROM) {
            -1 => Ok(file),
            number => Ok(File::from_raw_fd(number)),
        }
    }
}

/// Writes the trace to its end. There is no summary of one that is cut.
fn encode(
    options: &Record,
    pipe: &Pipe<Access>,
    receiver: &Receiver<Message<Access>>,
    begin: impl FnOnce() -> Result<Writer<File>, sluice_trace::Error>,
) -> Option<Summary> {
    begin()
        .and_then(|writer| write(pipe, receiver, writer))
        .inspect_err(|error| options.write_end(&error.to_string()))
        .ok()?
}

/// Writes what comes through the pipe. `None` if the program's side is gone.
fn write(
    pipe: &Pipe<Access>,
    receiver: &Receiver<Message<Access>>,
    mut writer: Writer<File>,
) -> Result<Option<Summary>, sluice_trace::Error> {
    while let Ok(message) = receiver.recv() {
        match message {
            Message::Batch(_, batch) => {
                for access in &batch {
                    writer.push(access)?;
                }
                pipe.give_back(batch);
            }
            // Only a simulation listens for marks.
            Message::Mark(..) => {}
            Message::End(executed) => return writer.finish(&executed).map(Some),
        }
    }
    Ok(None)
}

fn recorder() -> &'static Recorder {
    RECORDER.get().expect("set when the plugin was installed")
}

fn begin(cpu: c_uint) {
    let recorder = recorder();
    CPUS.add(cpu, || Cpu {
        number: cpu,
        executed: 0,
        filter: (!recorder.options.filter.is_empty())
            .then(|| Filter::new(&recorder.options.filter)),
        seen: 0,
        batch: recorder.pipe.buffer(),
    });
}

/// A CPU rests: others need not wait for what it has gathered.
fn pass_on(cpu: c_uint) {
    // SAFETY: a callback of this CPU.
    if let Some(mut cpu) = unsafe { CPUS.enter(cpu) } {
        recorder().pipe.send(cpu.number, &mut cpu.batch);
    }
}

fn leave(cpu: c_uint) {
    // SAFETY: a callback of this CPU.
    if let Some(mut cpu) = unsafe { CPUS.enter(cpu) } {
        recorder().pipe.leave(cpu.number, &mut cpu.batch);
    }
}

unsafe fn translated<const SYSTEM: bool>(block: *mut Block) {
    let api = api();
    // SAFETY: QEMU passed the block to the callback that is running, with its instructions; a
    // callback's own argument is a number and no pointer.
    unsafe {
        let count = (api.block_insns)(block);
        (api.on_block)(block, executed, NO_REGS, count as *mut c_void);
        for place in 0..count {
            let insn = (api.block_insn)(block, place);
            let left = (count - place) as *mut c_void;
            (api.on_access)(insn, accessed::<SYSTEM>, NO_REGS, READS | WRITES, left);
        }
    }
}

extern "C" fn executed(cpu: c_uint, count: *mut c_void) {
    // SAFETY: a callback of this CPU.
    if let Some(mut cpu) = unsafe { CPUS.enter(cpu) } {
        cpu.executed += count as u64;
    }
}

/// `left`: instructions of the block from this one on.
extern "C" fn accessed<const SYSTEM: bool>(
    cpu: c_uint,
    info: u32,
    address: u64,
    left: *mut c_void,
) {
    for (address, what) in in_memory::<SYSTEM>(info, address) {
        // SAFETY: a callback of this CPU.
        if let Some(mut cpu) = unsafe { CPUS.enter(cpu) } {
            cpu.access(address, what, left as u64);
        }
    }
}

impl Cpu {
    #[inline]
    fn access(&mut self, address: u64, what: What, left: u64) {
        let (cpu, instructions) = (self.number, self.executed.saturating_sub(left));
        self.seen += u64::from(what.loads()) + u64::from(what.stores());
        let batch = &mut self.batch;
        if let Some(filter) = &mut self.filter {
            let first = address / LINE_BYTES;
            let last = (address + u64::from(what.size()) - 1) / LINE_BYTES;
            let mut pass = |passed| batch.push(passing(cpu, instructions, passed));
            filter.access(first, what.stores(), &mut pass);
            if last != first {
                filter.access(last, what.stores(), &mut pass);
            }
        } else {
            let access = |kind| Access {
                cpu,
                instructions,
                address,
                size: what.size(),
                kind,
            };
            if what.loads() {
                batch.push(access(Kind::Load));
            }
            if what.stores() {
                batch.push(access(Kind::Store));
            }
        }
        if batch.len() >= BATCH - ROOM {
            recorder().pipe.send(cpu, batch);
        }
    }
}

/// Entries that one access can add at most: two lines, each with a fill and a write-back of each
/// level.
const ROOM: usize = 16;

fn passing(cpu: u32, instructions: u64, passed: Passed) -> Access {
    let (line, kind) = match passed {
        Passed::Fill(line) => (line, Kind::Load),
        Passed::WriteBack(line) => (line, Kind::Store),
    };
    Access {
        cpu,
        instructions,
        address: line * LINE_BYTES,
        size: LINE_BYTES as u16,
        kind,
    }
}

fn end() {
    if is_forked() {
        return;
    }
    let recorder = recorder();
    let mut executed = Vec::new();
    let mut seen = 0;
    CPUS.close();
    // SAFETY: closed.
    for (number, cpu) in unsafe { CPUS.all() } {
        executed.resize(number as usize, 0);
        executed.push(cpu.executed);
        seen += cpu.seen;
        recorder.pipe.send(cpu.number, &mut cpu.batch);
    }
    recorder.pipe.end(executed);
    match recorder.encoder.result() {
        Some(Ok(Some(summary))) => recorder.options.write(&RecordedAccesses {
            accesses_seen: seen,
            accesses: summary.accesses,
            instructions: summary.cpus,
            bytes: summary.bytes,
        }),
        None | Some(Ok(None)) => {}
        Some(Err(_)) => recorder.options.write_end("a bug of the encoder"),
    }
}
