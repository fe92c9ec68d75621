//! What a user should know although all went well.

use crate::session::{SessionDir, is_full};
use crate::warn::{of_picks, of_refusals, of_wear};
use sluice_abi::Counter;
use sluice_results::{Exit, Figures, LiveKind, LiveRun, Run};
use sluice_runtime::OnDevice;
use sluice_units::Ps;
use std::path::Path;

/// A program that stores to a file in memory gets a SIGBUS if there is no memory. Nothing else says
/// why.
pub fn of_full(exit: Exit, session: &SessionDir, place: &OnDevice) {
    if exit != Exit::Signal(libc::SIGBUS) {
        return;
    }
    let file = match place {
        OnDevice::Dax(path) => is_full(path).then_some(path.as_path()),
        OnDevice::Heap => None,
    };
    let session = session.is_full().then(|| session.path());
    if let Some(path) = file.or(session) {
        let at = path.parent().unwrap_or(Path::new("/"));
        errln!(
            "sluice: warning: the file system of {} is full, which ends a program that stores to \
             a file there by this signal (SIGBUS); make room, or let the file be smaller",
            at.display()
        );
    }
}

/// A filter of system calls can end a program without a word, also for a call of the runtime's.
pub fn of_filter(exit: Exit) {
    if exit == Exit::Signal(libc::SIGSYS) {
        errln!(
            "sluice: warning: a filter of system calls (seccomp) ended the program by this signal \
             (SIGSYS); if it runs well without Sluice, the filter forbids a call of the emulation's"
        );
    }
}

/// The same of children. Shells print little of it, and most programs nothing.
pub fn of_filtered_children(children: u64) {
    if children > 0 {
        errln!(
            "sluice: warning: a filter of system calls (seccomp) ended {children} of the program's \
             children (SIGSYS); if they run well without Sluice, the filter forbids a call of the \
             emulation's"
        );
    }
}

/// Nobody gave back the memory of ended programs once the keeper was gone.
pub fn of_keeper(had_ended: bool) {
    if had_ended {
        errln!(
            "sluice: warning: the keeper of this session was ended by somebody else; what ended \
             programs leave in memory stayed until the end of the run"
        );
    }
}

/// What a user should know although the program may have ended well.
pub fn of_run(result: &Run<'_>) {
    if result.main().is_none() {
        errln!(
            "sluice: warning: the preload library did not start in the program; nothing of it \
             was on the device"
        );
        return;
    }
    // Of all its processes: a script does little itself.
    let count = |counter| result.sum(counter);
    let is_full = count(Counter::DeviceFull) > 0;
    of_nothing(count(Counter::Traps), result.place, is_full);
    if count(Counter::KernelFaults) > 0 {
        errln!(
            "sluice: warning: {} system calls met missing pages and were tried again; \
             `--trap event` needs no such help",
            count(Counter::KernelFaults)
        );
    }
    of_forks(count(Counter::ForksOutside));
    of_filtered_children(count(Counter::ChildrenFiltered));
    of_refusals(count(Counter::PolicyRefused));
    of_picks(count(Counter::PrefetchRefused));
    of_wear(count(Counter::WritesRefused));
    // A guest's memory beside its device is meant to stay in DRAM.
    if !result.place.starts_with("guest:") {
        of_sharing(count(Counter::SharedBytes));
    }
    of_files(
        count(Counter::FilesWritable),
        count(Counter::FilesUnleased),
        count(Counter::FilesOther),
    );
    if is_full {
        errln!(
            "sluice: warning: the device was full {} times, and refused as many mappings (raise \
             device.capacity)",
            count(Counter::DeviceFull)
        );
    }
    if count(Counter::PrivateDax) > 0 {
        errln!(
            "sluice: warning: {} private mappings of the DAX file stayed outside the device",
            count(Counter::PrivateDax)
        );
    }
}

/// Whether QEMU ended badly before its guest used the device, as it does for arguments that it
/// refuses.
pub fn is_unused(run: &Run<'_>, result: &LiveRun) -> bool {
    let is_bad = matches!(run.exit, Exit::Code(code) if code != 0);
    result.kind == LiveKind::Vm && run.sum(Counter::Traps) == 0 && is_bad
}

/// Its figures look like those of a guest that leaves the device alone.
pub fn of_unused(run: &Run<'_>, result: &LiveRun) {
    if let (true, Exit::Code(code)) = (is_unused(run, result), run.exit) {
        errln!(
            "sluice: QEMU ended with status {code} before its guest touched the device: there is \
             no result of a guest"
        );
    }
}

/// Figures of nothing look like those of a fast device.
fn of_nothing(traps: u64, place: &str, is_full: bool) {
    // A guest may leave its device alone. Of a full device another line says why.
    if traps == 0 && !place.starts_with("guest") && !is_full {
        let why = match place.strip_prefix("dax:") {
            Some(path) => format!("nobody touched a shared mapping of {path}"),
            None if place.starts_with("files") && !place.contains(',') => {
                format!("it read no mapped file that can be placed there (--place {place})")
            }
            None => "it used no memory that can be placed there".into(),
        };
        errln!("sluice: warning: nothing of the program was on the device: {why}");
    }
}

/// Their memory was anywhere but on the device, and so were the programs that they started.
pub fn of_programs(outside: u64) {
    if outside > 0 {
        errln!(
            "sluice: warning: {outside} {} not on the device, for the preload library did not \
             start there: statically linked, set-user-ID, of another user, machine or C library, \
             in a sandbox, under a `ulimit -v` or `-d`, or started without LD_PRELOAD in the \
             environment",
            if outside == 1 {
                "program was"
            } else {
                "programs were"
            }
        );
    }
}

/// Children that could not have the device.
fn of_forks(outside: u64) {
    if outside > 0 {
        errln!(
            "sluice: warning: {outside} {} not on the device, and nothing that they started: they \
             could not open it, as another user (after `setuid`), in a sandbox, at another root, \
             or by their limits",
            if outside == 1 {
                "forked process was"
            } else {
                "forked processes were"
            }
        );
    }
}

/// What processes share is no part of the device, and of the program's figures.
fn of_sharing(bytes: u64) {
    if bytes > 0 {
        errln!(
            "sluice: warning: {:.1} MiB of shared memory were mapped, which stays in DRAM and not \
             on the device (`--place shared` places what can be)",
            bytes as f64 / f64::from(1 << 20)
        );
    }
}

/// Processes for which the server of shared memory had no descriptors.
pub fn of_turned_away(times: u64) {
    if times > 0 {
        errln!(
            "sluice: warning: processes came to the device of shared memory {times} times when \
             this command could open no more files; what they share was in DRAM (raise the hard \
             limit of `ulimit -n`)"
        );
    }
}

/// Files that `--place files` names, and that stay with the kernel all the same.
fn of_files(writable: u64, unleased: u64, other: u64) {
    let of = |bytes: u64, why: &str| {
        if bytes > 0 {
            errln!(
                "sluice: warning: {:.1} MiB of files that --place files names stay in DRAM: {why}",
                bytes as f64 / f64::from(1 << 20)
            );
        }
    };
    of(writable, "their mappings are shared and can be written");
    of(
        unleased,
        "their mappings are shared, and others may change the files (open for writing, another \
         user's, of a file system without leases, or `--trap signal`)",
    );
    of(
        other,
        "their mappings are executable, locked, reserved without access, at a fixed address, or \
         of a file system in user space",
    );
}

/// The figures of a guest's command, if there was one, and not of its boot.
fn figures_of(result: &LiveRun) -> &Figures {
    let of_command = result.workload.as_ref().map(|workload| &workload.figures);
    of_command.unwrap_or(&result.figures)
}

/// A wait for a CPU above this share of a miss is worth a warning.
const RUN_DELAY_MAX: f64 = 0.05;
/// The kernel must have been asked so often: few waits are far longer than all others.
const RUN_DELAYS_OF: u64 = 20;

/// Threads that waited for a CPU once their page was there. No latency of the run has this time.
pub fn of_run_delay(result: &LiveRun) {
    let figures = figures_of(result);
    let (late, miss) = (&figures.late.counts, &figures.latency_ns.achieved);
    let mean_ns = late.run_delay_ns as f64 / late.run_delays.max(1) as f64;
    if late.run_delays < RUN_DELAYS_OF || mean_ns <= RUN_DELAY_MAX * miss.mean {
        return;
    }
    errln!(
        "sluice: warning: the program's threads waited {:.1} us for a CPU, on average, after each \
         miss of {:.1} us; no latency of this run has that time, which the program felt; what \
         helps: a CPU that nobody else uses, a higher priority, fewer threads",
        mean_ns / 1e3,
        miss.mean / 1e3,
    );
}

/// A guest in QEMU's translator: what the translator takes between the thread's return and the
/// guest's next instruction is in no latency of the run, and nobody outside the guest can tell it.
pub fn of_translator(result: &LiveRun) {
    let is_translated = result.vm.as_ref().is_some_and(|vm| vm.accelerator == "tcg");
    if is_translated && figures_of(result).latency_ns.achieved.count >= LATE_OF {
        errln!(
            "sluice: warning: QEMU's translator runs this guest, and no latency here has what it \
             takes after a miss: by the guest's own clock misses are longer, more so with several \
             vCPUs"
        );
    }
}

/// A share of late misses above this is worth a warning ..
const LATE_MAX: f64 = 0.05;
/// .. where there are so many: the first ones of a program find everything cold.
const LATE_OF: u64 = 100;

/// A host that is too slow for its device: how far off, why as far as is known, and what helps.
pub fn of_late(result: &LiveRun) {
    let figures = figures_of(result);
    let is_told = |ratio: &f64| *ratio > LATE_MAX && figures.latency_ns.achieved.count >= LATE_OF;
    let Some(ratio) = figures.late.ratio.filter(is_told) else {
        return;
    };
    let us = |ns: u64| ns as f64 / 1e3;
    let (asked, got) = (figures.latency_ns.modelled, figures.latency_ns.achieved);
    let floor_ns = result.host.counts.entry_ns + result.host.counts.exit_ns;
    let is_slow = asked.p50 < 2 * floor_ns;
    let store = &result.store.counts;
    let is_store = store.waits > figures.late.counts.count / 2;
    let why = match (is_slow, is_store) {
        (_, true) => "most of the late ones waited for --store",
        (true, _) => "the device is about as fast as the trap itself",
        _ => "the host is busy, or threads that miss at once wait for each other",
    };
    let is_event = result.trap_mode == "event";
    let signal = if is_event && !is_store && result.kind == LiveKind::Run {
        "`--trap signal`, "
    } else {
        ""
    };
    let threads = if is_slow {
        ""
    } else {
        "a CPU that nobody else uses, fewer threads, "
    };
    let other = if is_store { "a faster store, " } else { "" };
    errln!(
        "sluice: warning: {:.1} % of {} were late: p50 {:.1} us (model {:.1}), p99 {:.1} us \
         (model {:.1}); a trap alone takes this host {:.1} us in {} mode, and {why}; what helps: \
         {other}{signal}{threads}slower flash (nand.read)",
        ratio * 100.0,
        what_waited(figures.cache.misses, got.count),
        us(got.p50),
        us(asked.p50),
        us(got.p99),
        us(asked.p99),
        us(floor_ns),
        result.trap_mode,
    );
}

/// What the timed waits are; others than misses are for pages that were on their way.
fn what_waited(misses: u64, timed: u64) -> &'static str {
    match timed == misses {
        true => "misses",
        false => "waits for pages",
    }
}

/// A host that is too slow for memory that processes share.
pub fn of_late_shared(run: &Run<'_>) {
    let Some(shared) = run.processes.iter().find(|p| p.shared_memory) else {
        return;
    };
    let latency = shared.latency();
    let ratio = shared.get(Counter::Late) as f64 / latency.achieved.count.max(1) as f64;
    if ratio <= LATE_MAX || latency.achieved.count < LATE_OF {
        return;
    }
    let us = |ns: u64| ns as f64 / 1e3;
    errln!(
        "sluice: warning: {:.1} % of the {} on shared memory were late: p50 {:.1} us (model \
         {:.1}), p99 {:.1} us (model {:.1}); one thread serves all processes, and a trap alone \
         takes this host {:.1} us; what helps: a CPU that nobody else uses, slower flash \
         (nand.read)",
        ratio * 100.0,
        what_waited(shared.get(Counter::Misses), latency.achieved.count),
        us(latency.achieved.p50),
        us(latency.modelled.p50),
        us(latency.achieved.p99),
        us(latency.modelled.p99),
        us(shared.get(Counter::EntryNs) + shared.get(Counter::ExitNs)),
    );
}

/// Sampling windows longer than this share of what was asked for are worth a warning.
const LONGER: f64 = 1.1;

/// Samples keep their distance, so that a short window becomes a longer one.
pub fn of_sampling(result: &LiveRun, asked: Option<Ps>) {
    let (Some(asked), Some(sampled)) = (asked, result.figures.cache.sampled) else {
        return;
    };
    let asked_s = asked.as_ns() as f64 / 1e9;
    if sampled.window_s > asked_s * LONGER {
        errln!(
            "sluice: warning: hits were sampled in windows of {:.2} ms, not {:.2}: samples take \
             5 % of the time at most, and the program must trap for one to be taken",
            sampled.window_s * 1e3,
            asked_s * 1e3
        );
    }
}
