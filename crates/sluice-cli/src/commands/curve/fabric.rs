//! A curve of a simulated fabric.

use super::room::Room;
use super::{CHASE, CurveArgs, OnArg, StoreArg, finish, paces, traffic};
use crate::error::Error;
use crate::{settings, signals};
use sluice_net::{FabricConfig, FabricSpec, RequesterId};
use sluice_simulation::FabricCurvePlan;
use sluice_units::{Bytes, Ps};
use std::process::ExitCode;

/// A requester keeps many requests under way: its pace is from far below a port's rate to above.
const PACES: [Ps; 10] = [
    Ps::from_us(1),
    Ps::from_ns(250),
    Ps::from_ns(120),
    Ps::from_ns(60),
    Ps::from_ns(40),
    Ps::from_ns(30),
    Ps::from_ns(20),
    Ps::from_ns(15),
    Ps::from_ns(10),
    Ps::ZERO,
];
/// Bytes of a region by default: a fabric has no caches that it must exceed.
const SIZE: Bytes = Bytes(1 << 20);

/// Simulates and prints.
pub fn run(name: &str, args: &CurveArgs) -> Result<ExitCode, Error> {
    fits(args)?;
    let spec = settings::fabric(name, &args.device.set)?;
    let config = FabricConfig::new(&spec, args.device.seed)?;
    let requesters = config.requesters.len() as u32;
    let threads = args.threads.unwrap_or(requesters - 1);
    let (size, chase) = (args.size.unwrap_or(SIZE), args.chase.unwrap_or(CHASE));
    let traffic = traffic(args, threads, size, chase)?;
    let needed = threads + u32::from(traffic.chase > 0);
    if needed > requesters {
        let expected = format!(
            "expected at most {}: {name} has {requesters} requesters (requester.count), and one \
             makes the dependent loads",
            requesters - u32::from(traffic.chase > 0)
        );
        return Err(Error::value("--threads", threads, expected));
    }
    no_hosts(&spec)?;
    let reach = (0..needed).map(|number| config.reach(RequesterId(number)));
    let room = Room {
        of: "a requester reaches",
        bytes: reach.min().unwrap_or(0),
        more: "",
    };
    room.takes(&traffic)?;
    let folder = args.result.folder()?;
    signals::await_interrupt();
    let result = FabricCurvePlan {
        name,
        spec: &spec,
        traffic,
        paces: &paces(args, threads, &PACES),
    }
    .run(signals::is_interrupted)?;
    finish(args, folder.as_ref(), result, None)
}

fn no_hosts(spec: &FabricSpec) -> Result<(), Error> {
    match spec.requesters.iter().find(|group| group.host.is_some()) {
        Some(group) => Err(Error::unfit(
            format!("--fabric: requesters `{}`", group.name),
            "simulated hosts run programs of their own; leave their `system` out",
        )),
        None => Ok(()),
    }
}

/// Refuses what a fabric decides itself.
fn fits(args: &CurveArgs) -> Result<(), Error> {
    let refused = [
        (
            args.on != OnArg::Simulated,
            "--on",
            "--fabric is simulated; leave --on out",
        ),
        (
            args.depth.is_some(),
            "--depth",
            "the requesters of a fabric have requester.depth; change it by --set",
        ),
        (
            args.cores > 0,
            "--cores",
            "the requesters of a fabric share no cores",
        ),
        (
            args.ahead.0 > 0,
            "--ahead",
            "only a simulated device alone has helpers",
        ),
        (
            args.store == StoreArg::Nontemporal,
            "--store nontemporal",
            "a requester of a fabric writes lines and reads none for it",
        ),
    ];
    for pair in &args.device.set {
        let (key, _) = settings::key_and_value(pair)?;
        if key.ends_with(".interval") {
            let why = "the pace of a curve is --pace; leave this out";
            return Err(Error::unfit(format!("--set {pair}"), why));
        }
    }
    match refused.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, what, why)) => Err(Error::unfit(what, why)),
        None => Ok(()),
    }
}
