//! `sluice sim --system`: a kernel or a trace on a simulated host.

use crate::args::{HostArgs, SimArgs};
use crate::device::key_and_value;
use crate::error::Error;
use crate::progress::Progress;
use crate::{interrupt, sim, trace};
use serde_json::Value;
use sluice_config::System;
use sluice_host::RunLength;
use sluice_kernels::{KernelSpec, parse_kernel};
use sluice_replay::Replay;
use sluice_results::{Folder, write_system};
use sluice_simulation::{SystemError, SystemPlan, SystemRun, TracePlan};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// What a kernel's memory is divided by if nothing is said.
const KERNEL_SCALE: u32 = 8;

/// What a host runs.
enum Source<'a> {
    Kernel(KernelSpec),
    Trace(&'a Path, Replay),
}

impl<'a> Source<'a> {
    fn read(args: &'a SimArgs) -> Result<Source<'a>, Error> {
        match &args.trace {
            Some(path) => Ok(Source::Trace(path, sim::trace(path, args)?)),
            None => {
                let text = args.workload.as_deref().unwrap_or_default();
                Ok(Source::Kernel(parse_kernel(text, args.device.seed)?))
            }
        }
    }

    /// What the record calls it.
    fn name(&self, args: &SimArgs) -> String {
        match self {
            Source::Kernel(_) => args.workload.clone().unwrap_or_default(),
            Source::Trace(path, _) => sim::trace_name(path),
        }
    }

    fn length(&self, host: &HostArgs, scale: u32) -> RunLength {
        let length = match self {
            Source::Kernel(kernel) => {
                SystemPlan::length(scale, kernel, host.warmup, host.instructions)
            }
            Source::Trace(..) => TracePlan::length(host.warmup, host.instructions),
        };
        RunLength {
            sample_every: host.timeline.unwrap_or_default(),
            ..length
        }
    }

    fn run(
        self,
        run: SystemRun,
        check: bool,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Value>, Error> {
        match self {
            Source::Kernel(kernel) => Ok(SystemPlan { run, kernel, check }.run(watch)?),
            Source::Trace(path, replay) => {
                let replay = &replay;
                let result = TracePlan { run, replay }.run(watch);
                result.map_err(|error| match error {
                    SystemError::Trace(error) => trace::at(path, error),
                    other => other.into(),
                })
            }
        }
    }
}

/// Simulates and prints.
pub fn run(name: &str, args: &SimArgs) -> Result<ExitCode, Error> {
    let source = Source::read(args)?;
    let system = resolve(name, args, &source)?;
    let usual = match source {
        Source::Kernel(_) => KERNEL_SCALE,
        Source::Trace(..) => 1,
    };
    let scale = args.host.scale.unwrap_or(usual);
    let length = source.length(&args.host, scale);
    let workload = source.name(args);
    let run = SystemRun {
        name,
        system: &system,
        scale,
        workload: &workload,
        length,
        seed: args.device.seed,
    };
    let folder = sim::folder(args)?;
    interrupt::begin();
    let all = length.warmup.checked_add(length.measured);
    let progress = Progress::new(all, "instructions");
    let (start, mut made, mut done) = (Instant::now(), None, 0);
    let result = source.run(run, args.host.check, &mut |instructions| {
        made.get_or_insert_with(Instant::now);
        done = instructions;
        progress.show(instructions);
        !interrupt::asked()
    });
    progress.end();
    let Some(object) = result? else {
        eprintln!("sluice: stopped after {done} instructions");
        return Ok(ExitCode::from(interrupt::STATUS));
    };
    // Skipping to the part of a kernel that is simulated can take longer than simulating it.
    let made = made.unwrap_or(start);
    let (made_s, wall_s) = ((made - start).as_secs_f64(), made.elapsed().as_secs_f64());
    if let Some(folder) = folder {
        let config = write_system(&system, scale, args.device.seed);
        keep(&folder, &config, &object).map_err(|e| Error::at("writing the output folder", e))?;
    }
    sim::warn(&object);
    let instructions = length.warmup as f64 + number(&object, "/instructions");
    let mips = instructions / wall_s / 1e6;
    if args.json {
        println!("{object}");
        eprintln!(
            "sluice: {wall_s:.1} s, {mips:.1} million simulated instructions a second, and \
             {made_s:.1} s for making the program"
        );
    } else {
        print_table(&object);
        println!("{:<18} {made_s:.1} s", "program made in");
        println!("{:<18} {wall_s:.1} s, {mips:.1} MIPS", "simulated in");
    }
    Ok(ExitCode::SUCCESS)
}

/// The system that was asked for, at full size, with its changed settings.
fn resolve(name: &str, args: &SimArgs, source: &Source) -> Result<System, Error> {
    let mut system = sluice_config::load_system(name)?;
    if let Source::Trace(..) = source {
        sluice_config::begin_from_nothing(&mut system);
    }
    for pair in &args.device.set {
        let (key, value) = key_and_value(pair)?;
        system.set(key, value)?;
    }
    if let Some(threads) = args.host.threads {
        system.set("cpu.threads", &threads.to_string())?;
    }
    if let Source::Trace(_, replay) = source {
        set_threads(&mut system, args, replay)?;
    }
    sluice_plugin::make_absolute(&mut system.device)?;
    let (device, _) = system.check(args.device.seed)?;
    sluice_plugin::check(&device)?;
    Ok(system)
}

/// A thread for each CPU of a trace; cores that are left have one that ends at once.
fn set_threads(system: &mut System, args: &SimArgs, replay: &Replay) -> Result<(), Error> {
    let given = args
        .device
        .set
        .iter()
        .find(|pair| pair.starts_with("cpu.threads"));
    if let Some(given) = given {
        return Err(Error::new(format!(
            "--set {given}: a trace has its own threads, and this one {}",
            replay.cpus()
        )));
    }
    let cores = system.host.count("cpu.cores");
    let threads = cores.max(u64::from(replay.cpus()));
    Ok(system.set("cpu.threads", &threads.to_string())?)
}

/// Writes the files of an output folder.
pub fn keep(folder: &Folder, config: &str, object: &Value) -> std::io::Result<()> {
    let list = |place| object.pointer(place).and_then(Value::as_array);
    folder.write("config.toml", config)?;
    folder.write_stats(object)?;
    for (name, place) in [
        ("latency.csv", "/latency_ns/histogram"),
        ("flash_read.csv", "/flash_read_ns/histogram"),
    ] {
        folder.write_distribution(name, list(place).map_or(&[], Vec::as_slice))?;
    }
    match list("/timeline") {
        Some(rows) if !rows.is_empty() => folder.write_rows("timeline.csv", rows),
        _ => Ok(()),
    }
}

fn number(object: &Value, place: &str) -> f64 {
    object.pointer(place).and_then(Value::as_f64).unwrap_or(0.0)
}

/// One screen: the result, where the time went, what memory did.
fn print_table(object: &Value) {
    tell_table(object, &|line| println!("{line}"));
}

/// The same, line by line.
pub fn tell_table(object: &Value, tell: &dyn Fn(String)) {
    let at = |place: &str| number(object, place);
    let text = |place: &str| object.pointer(place).and_then(Value::as_str).unwrap_or("");
    let count = |place: &str| human(at(place));
    let percent = |place: &str| format!("{:.1} %", 100.0 * at(place));
    let row = |name: &str, value: String| tell(format!("{name:<18} {value}"));
    let scale = at("/scale");
    row("system", format!("{}, scale 1/{scale}", text("/system")));
    row(
        "workload",
        format!(
            "{}, {} threads, {:.0} MB",
            text("/workload"),
            at("/program/threads"),
            at("/program/footprint_bytes") / 1e6
        ),
    );
    row("at the start", start(text("/start")).to_owned());
    row("time", format!("{:.3} ms", at("/time_s") * 1e3));
    row("instructions", count("/instructions"));
    row("IPC of a core", format!("{:.3}", at("/ipc")));
    let bound = ["memory", "compute", "switching", "idle"]
        .map(|part| format!("{part} {}", percent(&format!("/bound/{part}"))));
    row("time of cores", bound.join(", "));
    let levels = ["l1", "l2", "l3"]
        .map(|level| format!("{level} {:.2}", at(&format!("/levels/{level}/mpki"))));
    row(
        "MPKI",
        format!("{}, TLB {:.2}", levels.join(", "), at("/tlb/mpki")),
    );
    print_memory(object, &row);
}

/// Where the program's pages were before it began.
fn start(state: &str) -> &str {
    match state {
        "host" => "all pages in host memory",
        "full" => {
            "host memory and device cache have what they can of the program (host.start=full)"
        }
        "others" => "host memory and device cache are full of others' pages (host.start=others)",
        _ => "all pages in flash (host.start=empty)",
    }
}

/// The off-chip half of the table.
fn print_memory(object: &Value, row: &dyn Fn(&str, String)) {
    let at = |place: &str| number(object, place);
    let count = |place: &str| human(at(place));
    let shares = [
        ("H-R", "h_r"),
        ("H-W", "h_w"),
        ("S-R-H", "s_r_h"),
        ("S-R-M", "s_r_m"),
    ]
    .into_iter()
    .chain([("S-W", "s_w")])
    .map(|(name, key)| {
        let share = 100.0 * at(&format!("/requests/shares/{key}"));
        format!("{name} {share:.1} %")
    });
    let shares: Vec<String> = shares.collect();
    row(
        "off-chip accesses",
        format!("{}: {}", count("/requests/total"), shares.join(", ")),
    );
    let parts = ["host_dram", "protocol", "indexing", "device_dram", "flash"].map(|part| {
        format!(
            "{} {:.1}",
            part.replace('_', " "),
            at(&format!("/amat_ns/{part}"))
        )
    });
    row(
        "AMAT, ns",
        format!("{:.1}: {}", at("/amat_ns/total"), parts.join(", ")),
    );
    let quantiles = ["p50", "p90", "p99", "p999", "max"]
        .map(|q| format!("{q} {:.0}", at(&format!("/latency_ns/{q}"))));
    row("latency, ns", quantiles.join(", "));
    row(
        "flash",
        format!(
            "{} reads of {:.1} us, {} programs, {} erases",
            count("/flash/reads"),
            at("/flash_read_ns/mean") / 1e3,
            count("/flash/programs"),
            count("/flash/erases")
        ),
    );
    print_moves(object, row);
}

/// What went over the link, and who and what moved.
fn print_moves(object: &Value, row: &dyn Fn(&str, String)) {
    let at = |place: &str| number(object, place);
    let count = |place: &str| human(at(place));
    row(
        "link, GB/s",
        format!(
            "to the device {:.2}, from it {:.2}",
            at("/link/gb_s_to_device"),
            at("/link/gb_s_from_device")
        ),
    );
    row(
        "context switches",
        format!(
            "{}, {} long delays, {} instructions squashed",
            count("/switches"),
            count("/long_delays"),
            count("/squashed")
        ),
    );
    row(
        "pages moved",
        format!(
            "{} to the host, {} back",
            count("/migration/promotions"),
            count("/migration/demotions")
        ),
    );
    row(
        "result hash",
        object["hash"].as_str().unwrap_or_default().to_owned(),
    );
}

/// A count with its thousands apart.
fn human(count: f64) -> String {
    let digits = format!("{count:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
