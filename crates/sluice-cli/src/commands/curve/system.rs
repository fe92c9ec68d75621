//! A curve of a simulated host with its device.

use super::{CurveArgs, OnArg, StartArg, StoreArg, finish, paces, traffic};
use crate::error::Error;
use crate::settings::key_and_value;
use crate::signals;
use sluice_config::System;
use sluice_host::Migration;
use sluice_results::write_system;
use sluice_simulation::SystemCurvePlan;
use sluice_units::{Bytes, PAGE_BYTES, Ps};
use std::process::ExitCode;

/// What a core computes between accesses takes places of its window: below some ns several accesses
/// are under way, above one.
const PACES: [Ps; 10] = [
    Ps::from_us(1),
    Ps::from_ns(250),
    Ps::from_ns(120),
    Ps::from_ns(60),
    Ps::from_ns(20),
    Ps::from_ns(2),
    Ps::from_ns(1),
    Ps(500),
    Ps(250),
    Ps::ZERO,
];
/// Dependent loads that mostly miss the L3 go through so many times its bytes.
const PER_L3: u64 = 4;
/// The regions go through so many times its bytes together.
const REGIONS_PER_L3: u64 = 2;
/// Taken for the L3 of a host without one.
const NO_L3: Bytes = Bytes(4 << 20);

/// Simulates and prints.
pub fn run(name: &str, args: &CurveArgs) -> Result<ExitCode, Error> {
    fits(args)?;
    let mut system = sluice_config::load_system(name)?;
    let start = match args.start {
        StartArg::Warm => "full",
        StartArg::Cold => "empty",
    };
    system.set("host.start", start)?;
    for pair in &args.device.set {
        let (key, value) = key_and_value(pair)?;
        if key == "host.start" {
            let why = "the start of a curve is --start; leave this out";
            return Err(Error::unfit(format!("--set {pair}"), why));
        }
        system.set(key, value)?;
    }
    let cores = system.host.read::<u64>("cpu.cores") as u32;
    let threads = args.threads.unwrap_or(cores.saturating_sub(1).max(1));
    let l3 = system.host.read::<Option<Bytes>>("l3.capacity");
    let l3 = l3.unwrap_or(NO_L3).0 / u64::from(args.scale);
    let all = (REGIONS_PER_L3 * l3).div_ceil(u64::from(threads.max(1)));
    let usual = Bytes(all.next_multiple_of(args.stride.0.max(1 << 20)));
    let chase = Bytes((PER_L3 * l3).next_multiple_of(PAGE_BYTES));
    let (size, chase) = (args.size.unwrap_or(usual), args.chase.unwrap_or(chase));
    let traffic = traffic(args, threads, size, chase)?;
    let needed = threads + u32::from(traffic.chase > 0);
    set_threads(&mut system, args, needed.max(cores))?;
    sluice_plugin::make_absolute(&mut system.device)?;
    let checked = system.check(args.device.seed)?;
    if args.start == StartArg::Cold && checked.host.migration == Migration::AllHost {
        let why = "all memory of this system is the host's own, which has no cold start";
        return Err(Error::unfit("--start cold", why));
    }
    sluice_plugin::check(&checked.device)?;
    let folder = args.result.folder()?;
    signals::await_interrupt();
    let result = SystemCurvePlan {
        name,
        system: &system,
        scale: args.scale,
        traffic,
        paces: &paces(args, threads, &PACES),
    }
    .run(signals::is_interrupted)?;
    let config = write_system(&system, args.scale, args.device.seed);
    finish(args, folder.as_ref(), result, Some(config))
}

/// Each thread is one of the host's; cores that are left have one that ends at once.
fn set_threads(system: &mut System, args: &CurveArgs, threads: u32) -> Result<(), Error> {
    let mut given = args.device.set.iter();
    if let Some(given) = given.find(|pair| pair.starts_with("cpu.threads")) {
        let why = "the threads of a curve are those of --threads, and one for the dependent loads";
        return Err(Error::unfit(format!("--set {given}"), why));
    }
    Ok(system.set("cpu.threads", &threads.to_string())?)
}

/// Refuses what a simulated host decides itself.
fn fits(args: &CurveArgs) -> Result<(), Error> {
    let refused = [
        (
            args.on != OnArg::Simulated,
            "--on",
            "--system is simulated; leave --on out",
        ),
        (
            args.depth.is_some(),
            "--depth",
            "a simulated host has cpu.window and l1.mshrs; change them by --set",
        ),
        (
            args.cores > 0,
            "--cores",
            "a simulated host has cpu.cores; change it by --set",
        ),
        (
            args.ahead.0 > 0,
            "--ahead",
            "only a simulated device alone has helpers",
        ),
        (
            args.store == StoreArg::Nontemporal,
            "--store nontemporal",
            "a simulated host has no store past its caches",
        ),
    ];
    match refused.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, what, why)) => Err(Error::unfit(what, why)),
        None => Ok(()),
    }
}
