//! `mode=simulate`: what the guest executes runs on a simulated host with its device, in virtual
//! time.
//!
//! The threads of QEMU's CPUs make instructions of the simulated host, and another thread simulates
//! them meanwhile: the very host and device of `sluice sim --system`. The guest does not wait for
//! its simulated memory: its own clock goes on as QEMU has it.

mod cpu;
mod depend;
mod marks;
mod pages;
mod program;

use crate::access::in_memory;
use crate::api::{self, Id, Info, NO_REGS, READS, WRITES, api};
use crate::callbacks::{self, Callbacks};
use crate::cpus::Cpus;
use crate::error::Error;
use crate::options::Simulate;
use crate::pipe::{Pipe, is_forked};
use crate::thread::Worker;
use cpu::{BLOCK_MAX, Block, Cpu, Site};
use depend::Analysis;
use marks::Marks;
use pages::Pages;
use program::Live;
use sluice_abi::{MARK_LOAD, MARKS_MAX};
use sluice_config::System;
use sluice_host::{Instr, RunLength};
use sluice_results::{Executed, Program, SystemResult};
use sluice_simulation::{ReadySystem, SystemRun};
use sluice_units::{Bytes, Ps};
use std::ffi::{c_uint, c_void};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// To the end of the program.
const LENGTH: RunLength = RunLength {
    warmup: 0,
    measured: u64::MAX,
    sample_every: Ps::ZERO,
};

static CPUS: Cpus<Cpu> = Cpus::new();
static SIMULATION: OnceLock<Simulation> = OnceLock::new();
/// The blocks of QEMU's translations, and those of the ones that were thrown away last.
static BLOCKS: Mutex<[Blocks; 2]> = Mutex::new([Vec::new(), Vec::new()]);

#[allow(clippy::vec_box, reason = "QEMU knows where each of them is")]
type Blocks = Vec<Box<Block>>;

struct Simulation {
    options: Simulate,
    pipe: Arc<Pipe<Instr>>,
    pages: Arc<Pages>,
    marks: Arc<Mutex<Marks>>,
    room: (&'static str, Bytes),
    threads: u32,
    worker: Worker<(SystemResult, Executed)>,
}

/// Makes the host and asks QEMU for its callbacks.
///
/// # Errors
/// When there cannot be such a host.
pub fn install(id: Id, info: &Info, options: Simulate) -> Result<(), Error> {
    if info.target() != "x86_64" {
        return Err(Error::Target(info.target().to_string()));
    }
    let system = options.system()?;
    let name = options.name();
    let ready = run(&options, &name, &system).prepare()?;
    let (key, room) = ready.room();
    let local = options.range.as_ref().map_or(0, |given| given.local.0);
    let range = options.range.as_ref().map(|given| given.range.clone());
    if Bytes(local) >= room {
        return Err(Error::NoRoom {
            local: Bytes(local),
            key,
            room,
        });
    }
    let (pipe, receiver) = Pipe::new();
    let (pipe, pages) = (Arc::new(pipe), Arc::new(Pages::new(range, local, room.0)));
    let live = Live::new(
        pipe.clone(),
        receiver,
        ready.host.threads,
        Bytes(local),
        room,
    );
    let marks = Arc::new(Mutex::new(Marks::default()));
    let threads = ready.host.threads;
    let theirs = (options.clone(), pages.clone(), marks.clone());
    let worker = Worker::start("sluice-simulate", move || {
        let (options, pages, marks) = theirs;
        simulate(&options, &system, (ready, live), &pages, &marks)
    })
    .map_err(Error::Thread)?;
    let _ = SIMULATION.set(Simulation {
        options,
        pipe,
        pages,
        marks,
        room: (key, room),
        threads,
        worker,
    });
    let callbacks = Callbacks {
        begins: begin,
        rests: pass_on,
        leaves: leave,
        translated: match info.is_system() {
            true => translated::<true>,
            false => translated::<false>,
        },
        flushed: Some(flushed),
        ends: end,
    };
    callbacks::ask(id, callbacks);
    Ok(())
}

fn run<'a>(options: &'a Simulate, name: &'a str, system: &'a System) -> SystemRun<'a> {
    SystemRun {
        name,
        system,
        scale: options.scale,
        workload: &options.command,
        length: LENGTH,
        seed: options.seed,
    }
}

/// Runs to the guest's end. The result has what was touched, but not yet what was executed.
fn simulate(
    options: &Simulate,
    system: &System,
    (ready, mut live): (ReadySystem, Live),
    pages: &Pages,
    marks: &Mutex<Marks>,
) -> (SystemResult, Executed) {
    let mut ran = ready
        .run(&mut live, LENGTH, &mut |_| true)
        .unwrap_or_else(|error| give_up(options, &error.to_string()))
        .expect("nothing stops it");
    let (local, device) = pages.touched();
    let bytes = |pages: u64| pages * sluice_units::PAGE_BYTES;
    let program = Executed {
        footprint_bytes: bytes(local + device),
        device_bytes: bytes(device),
        ..Executed::default()
    };
    let named = Program::Executed(program.clone());
    let (marks, refused) = lock(marks).heard();
    if refused > 0 {
        eprintln!(
            "sluice: warning: {refused} marks were left out: of more than {MARKS_MAX}, of a bad \
             name, or broken off"
        );
    }
    let regions = ran.regions(&marks);
    let counted = ran.count(&options.part, &marks);
    let result = run(options, &options.name(), system).result(&ran, named, &[]);
    let result = SystemResult {
        regions,
        counted,
        ..result
    };
    (result, program)
}

fn lock(marks: &Mutex<Marks>) -> MutexGuard<'_, Marks> {
    marks.lock().unwrap_or_else(PoisonError::into_inner)
}

fn simulation() -> &'static Simulation {
    SIMULATION.get().expect("set when the plugin was installed")
}

fn begin(cpu: c_uint) {
    let simulation = simulation();
    CPUS.add(cpu, || Cpu::new(cpu, simulation.pipe.buffer()));
}

fn pass_on(cpu: c_uint) {
    // SAFETY: a callback of this CPU.
    if let Some(mut cpu) = unsafe { CPUS.enter(cpu) } {
        cpu.hand_on(&simulation().pipe, true);
    }
}

fn leave(cpu: c_uint) {
    // SAFETY: a callback of this CPU.
    if let Some(mut cpu) = unsafe { CPUS.enter(cpu) } {
        cpu.leave(&simulation().pipe);
    }
}

unsafe fn translated<const SYSTEM: bool>(block: *mut api::Block) {
    let api = api();
    // SAFETY: QEMU passed the block to the callback that is running.
    let count = unsafe { (api.block_insns)(block) };
    assert!(count <= BLOCK_MAX, "a block of {count} instructions");
    let (mut analysis, mut marks) = (Analysis::new(), Vec::new());
    let sites = (0..count).map(|place| {
        // SAFETY: an instruction of that block.
        let (bytes, size) = unsafe { api::insn_bytes((api.block_insn)(block, place)) };
        marks.extend((bytes[..size] == MARK_LOAD).then_some(place));
        Site {
            place: place as u16,
            left: (count - place) as u16,
            from: analysis.next(&bytes[..size]),
        }
    });
    let sites = sites.collect();
    let ours = Box::new(Block {
        count: count as u32,
        changes: analysis.changes(),
        sites,
    });
    // SAFETY: the block and its instructions; ours lives until QEMU has thrown it away.
    unsafe {
        (api.on_block)(
            block,
            entered,
            NO_REGS,
            (&raw const *ours).cast_mut().cast(),
        );
        for (place, site) in ours.sites.iter().enumerate() {
            let insn = (api.block_insn)(block, place);
            let site = (&raw const *site).cast_mut().cast();
            let accessed = match marks.contains(&place) {
                true => marked::<SYSTEM>,
                false => accessed::<SYSTEM>,
            };
            (api.on_access)(insn, accessed, NO_REGS, READS | WRITES, site);
        }
    }
    blocks()[0].push(ours);
}

fn blocks() -> MutexGuard<'static, [Blocks; 2]> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// QEMU has thrown all translations away, while no CPU runs. Ours of them go the next time.
fn flushed() {
    // SAFETY: no CPU runs.
    unsafe { CPUS.all() }.for_each(|(_, cpu)| cpu.forget());
    let mut blocks = blocks();
    blocks[1] = std::mem::take(&mut blocks[0]);
}

extern "C" fn entered(cpu: c_uint, block: *mut c_void) {
    // SAFETY: a callback of this CPU, with the block that was given for it.
    let (cpu, block) = unsafe { (CPUS.enter(cpu), &*block.cast::<Block>()) };
    if let Some(mut cpu) = cpu {
        cpu.enter(block);
    }
}

extern "C" fn accessed<const SYSTEM: bool>(
    cpu: c_uint,
    info: u32,
    address: u64,
    site: *mut c_void,
) {
    for (address, what) in in_memory::<SYSTEM>(info, address) {
        let simulation = simulation();
        // SAFETY: a callback of this CPU, with the site that was given for it.
        let (cpu, site) = unsafe { (CPUS.enter(cpu), &*site.cast::<Site>()) };
        let Some(mut cpu) = cpu else {
            return;
        };
        if cpu.access(&simulation.pages, site, address, what).is_err() {
            simulation.stop();
        }
        cpu.hand_on(&simulation.pipe, false);
    }
}

/// As [`accessed`], by the instruction that says a byte of a mark.
extern "C" fn marked<const SYSTEM: bool>(cpu: c_uint, info: u32, address: u64, site: *mut c_void) {
    accessed::<SYSTEM>(cpu, info, address, site);
    let simulation = simulation();
    let heard = in_memory::<SYSTEM>(info, address)
        .next()
        .filter(|_| !is_forked())
        .and_then(|(address, _)| lock(&simulation.marks).hear(address));
    if let Some(mark) = heard {
        // SAFETY: a callback of this CPU.
        if let Some(mut cpu) = unsafe { CPUS.enter(cpu) } {
            cpu.mark(&simulation.pipe, mark);
        }
    }
}

impl Simulation {
    /// The guest uses more memory than the simulated host has.
    fn stop(&self) -> ! {
        let (key, room) = self.room;
        let (local, device) = self.pages.touched();
        let why = format!(
            "the program touches more than {} pages of 4 KiB, but {key} is {room}; give a larger \
             {key}",
            local + device
        );
        give_up(&self.options, &why)
    }
}

/// Ends guest and simulation.
fn give_up(options: &Simulate, why: &str) -> ! {
    options.write_end(why);
    // SAFETY: ends the process at once, without handlers that could wait for other threads.
    unsafe { libc::_exit(2) }
}

fn end() {
    if is_forked() {
        return;
    }
    let simulation = simulation();
    let (mut executed, mut accesses) = (Vec::new(), 0);
    CPUS.close();
    // SAFETY: closed.
    for (number, cpu) in unsafe { CPUS.all() } {
        executed.resize(number as usize, 0);
        executed.push(cpu.executed);
        accesses += cpu.accesses;
        cpu.finish(&simulation.pipe);
    }
    simulation.pipe.end(Vec::new());
    let (all, threads) = (executed.len(), simulation.threads as usize);
    if all > threads {
        eprintln!(
            "sluice: warning: there were {all} threads, but cpu.threads is {threads}: {} of them \
             were simulated as parts of others; give a larger cpu.threads",
            all - threads
        );
    }
    match simulation.worker.result() {
        Some(Ok((mut result, touched))) => {
            result.program = Program::Executed(Executed {
                threads: executed.len() as u64,
                accesses,
                instructions: executed,
                ..touched
            });
            simulation.options.write(&result);
        }
        None => {}
        Some(Err(_)) => eprintln!("sluice: the simulation ended by a bug"),
    }
}
