//! A guest's devices beside its first one: `--another NAME=DEVICE`, and their settings.

use super::another::Another;
use super::args::{AttachArg, VmArgs};
use super::machine::{DEVICES_MAX, name};
use crate::error::Error;
use crate::live::args::LiveArgs;
use crate::settings::DeviceArgs;

/// A device beside the first, with all options of a live run.
pub struct Other {
    pub name: String,
    pub live: LiveArgs,
}

/// The devices beside the first, and the arguments without their options.
pub fn parted(args: &VmArgs) -> Result<(VmArgs, Vec<Other>), Error> {
    if args.attach != AttachArg::Numa {
        let why = "devices beside the first are NUMA nodes; expected numa with --another";
        return Err(Error::value("--attach", name(args.attach), why));
    }
    let names: Vec<&str> = args.another.iter().map(|of| of.name.as_str()).collect();
    if names.len() >= DEVICES_MAX {
        let why = format!("a guest has {DEVICES_MAX} devices at most");
        return Err(Error::value(
            "--another",
            format!("{} times", names.len()),
            why,
        ));
    }
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            let why = "two devices have this name; expected a name of its own for each";
            return Err(Error::value("--another", *name, why));
        }
    }
    let mut first = args.clone();
    let mut others: Vec<Other> = args.another.iter().map(|of| other(args, of)).collect();
    first.live.device.set.clear();
    for pair in &args.live.device.set {
        match of_name(pair) {
            None => first.live.device.set.push(pair.clone()),
            Some((name, rest)) => match others.iter_mut().find(|of| of.name == name) {
                Some(other) => other.live.device.set.push(rest.to_owned()),
                None => {
                    let why = format!("no --another has this name; expected {}", names.join(", "));
                    return Err(Error::value("--set", pair, why));
                }
            },
        }
    }
    Ok((first, others))
}

/// The options of a live run with this device.
fn other(args: &VmArgs, another: &Another) -> Other {
    let mut live = args.live.clone();
    live.device = DeviceArgs {
        device: another.device.clone(),
        set: Vec::new(),
        seed: args.live.device.seed,
    };
    live.result.out = live.result.out.map(|out| out.join(&another.name));
    Other {
        name: another.name.clone(),
        live,
    }
}

/// The two parts of `NAME:KEY=VALUE`.
fn of_name(pair: &str) -> Option<(&str, &str)> {
    let (key, _) = pair.split_once('=')?;
    let (name, _) = key.split_once(':')?;
    Some((name.trim(), &pair[key.find(':')? + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_may_be_of_one_device() {
        let pair = "slow:nand.read=80us";
        assert_eq!(of_name(pair), Some(("slow", "nand.read=80us")));
        assert_eq!(of_name("cache.policy=x:y"), None);
    }
}
