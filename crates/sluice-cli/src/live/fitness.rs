//! Which devices can run live, and what stands in the way of the others.
//!
//! A live device sees the first access to a page of the host, and not those that follow while the
//! page is mapped. A write log takes in stores line by line, whose page stays in flash: but once
//! the program has had a page, its other loads and stores to it are made without the device. A log
//! that saw only the first would fill a hundred times too slowly and its reads would cost nothing,
//! so that the result would be that of a device without one. It is refused instead.

use crate::error::Error;
use crate::settings::{DeviceArgs, key_and_value};
use sluice_model::{DeviceConfig, StoreMiss, WritePolicy};
use sluice_simulation::Room;
use sluice_units::{PAGE_BYTES, round_bytes};

/// A setting that can be simulated only.
pub struct Obstacle {
    key: &'static str,
    /// Why it can only be simulated.
    pub why: &'static str,
    expected: &'static str,
    /// The value that comes nearest and runs live; none if there is no such device.
    instead: Option<&'static str>,
}

const UNSEEN: &str = "stores to a page that the program has mapped are not seen";

/// Everything that keeps a device from running live.
pub fn obstacles(config: &DeviceConfig) -> Vec<Obstacle> {
    let cache = &config.cache;
    let of = |key, is_live: bool, expected, instead, why| {
        let obstacle = Obstacle {
            key,
            why,
            expected,
            instead,
        };
        (!is_live).then_some(obstacle)
    };
    let back = cache.write == WritePolicy::Back;
    let around = matches!(cache.store_miss, StoreMiss::Around | StoreMiss::Whole);
    let all = [
        of(
            "device.kind",
            config.memory.is_none(),
            "cxl-ssd",
            None,
            "nothing in a memory expander misses and this host's own memory sets the speed",
        ),
        of(
            "device.page",
            config.page_bytes() == PAGE_BYTES,
            "4KiB",
            Some("4KiB"),
            "pages are the host's",
        ),
        of("cache.write", back, "back", Some("back"), UNSEEN),
        of(
            "cache.store_miss",
            !around,
            "rmw or merge",
            Some("rmw"),
            UNSEEN,
        ),
        of(
            "cache.load_miss",
            !cache.loads_around,
            "fill",
            Some("fill"),
            "loads from a page that the program has mapped are not seen",
        ),
        of(
            "cache.evict_at",
            !cache.evicts_at_fill,
            "miss",
            Some("miss"),
            "the page that leaves is unmapped before the other is read",
        ),
        of(
            "write_log.capacity",
            config.write_log.is_none(),
            "none",
            Some("none"),
            "a write log takes stores line by line, and those to a page that the program has \
             mapped are not seen",
        ),
    ];
    all.into_iter().flatten().collect()
}

/// The arguments of the nearest device that runs live.
pub fn nearest(device: &str, obstacles: &[Obstacle]) -> String {
    let changes: Option<Vec<String>> = obstacles
        .iter()
        .map(|of| Some(format!(" --set {}={}", of.key, of.instead?)))
        .collect();
    match changes {
        Some(changes) => format!("--device {device}{}", changes.concat()),
        None => "--device cylon".to_owned(),
    }
}

/// Refuses what can be simulated but not emulated: by the key, if the command line has it, and by
/// the device's name otherwise.
pub fn check_live(args: &DeviceArgs, config: &DeviceConfig) -> Result<(), Error> {
    let obstacles = obstacles(config);
    let Some(first) = obstacles.first() else {
        return check_memory(config);
    };
    Err(match given(args, &obstacles) {
        Some(given) => Error::NotLive {
            key: given.key,
            value: config.raw().get(given.key).unwrap_or_default().to_string(),
            why: given.why,
            expected: given.expected,
        },
        None => Error::DeviceNotLive {
            device: args.device.clone(),
            why: first.why,
            nearest: nearest(&args.device, &obstacles),
        },
    })
}

/// Refuses a simulation that hides the hits, as a live run does, of a device that cannot run live.
pub fn check_hidden_hits(args: &DeviceArgs, config: &DeviceConfig) -> Result<(), Error> {
    let obstacles = obstacles(config);
    let Some(of) = given(args, &obstacles).or(obstacles.first()) else {
        return Ok(());
    };
    let Obstacle {
        key, why, expected, ..
    } = of;
    let value = config.raw().get(key).unwrap_or_default();
    let why = format!(
        "it simulates what a live run sees, and {key}={value} does not run live, where {why}; \
         expected {key}={expected}, or --hits all"
    );
    Err(Error::value("--hits", "misses", why))
}

/// The first of these that the command line has.
fn given<'a>(args: &DeviceArgs, obstacles: &'a [Obstacle]) -> Option<&'a Obstacle> {
    let is_given = |of: &&Obstacle| {
        let given = args.set.iter().filter_map(|pair| key_and_value(pair).ok());
        given.into_iter().any(|(key, _)| key == of.key)
    };
    obstacles.iter().find(is_given)
}

/// What is cached lies in this machine's memory.
fn check_memory(config: &DeviceConfig) -> Result<(), Error> {
    let cache = u64::from(config.cache.pages) * config.page_bytes();
    match Room::here() {
        Some(room) if cache > room.bytes.0 => {
            let given = |key| config.raw().get(key).unwrap_or_default();
            let capacity = given("cache.capacity");
            let of = match capacity.ends_with('%') {
                true => format!(" of device.capacity, {},", given("device.capacity")),
                false => String::new(),
            };
            let why = format!(
                "that is {}{of} and a live cache lies in memory, of which {} {}; give less, such \
                 as 1GiB, or simulate (sluice sim)",
                round_bytes(cache),
                room.of,
                round_bytes(room.bytes.0)
            );
            Err(Error::value("`cache.capacity`", capacity, why))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::resolve;

    fn args(words: &str) -> DeviceArgs {
        let mut words = words.split_whitespace();
        let mut args = DeviceArgs {
            device: "cylon".to_owned(),
            set: Vec::new(),
            seed: 1,
        };
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            match name {
                "--device" => args.device = value.to_owned(),
                _ => args.set.push(value.to_owned()),
            }
        }
        args
    }

    /// Eleven of fifteen were refused, by keys that nobody had set.
    #[test]
    fn every_preset_runs_live_or_names_one_that_does() {
        for preset in sluice_config::presets() {
            let name = preset.name;
            let asked = args(&format!("--device {name}"));
            let config = resolve(&asked).expect("a preset");
            let Err(refused) = check_live(&asked, &config) else {
                assert!(obstacles(&config).is_empty());
                continue;
            };
            let told = refused.to_string();
            // This refusal depends on the host and not on the preset.
            if told.contains("a live cache lies in memory") {
                continue;
            }
            assert!(told.contains(&format!("\"{name}\"")), "{told}");
            for (key, _) in config.raw().to_pairs() {
                let before = told.split("--device").next().expect("a part");
                assert!(!before.contains(key), "{told}");
            }
            let (_, nearest) = told.split_once("expected ").expect("what would do");
            let nearest = args(nearest);
            let config = resolve(&nearest).expect("a device");
            assert!(check_live(&nearest, &config).is_ok(), "{told}");
        }
    }

    #[test]
    fn what_the_command_line_sets_is_named() {
        for (asked, key) in [
            ("--set cache.write=through", "cache.write"),
            ("--set cache.evict_at=fill", "cache.evict_at"),
            (
                "--set device.page=16KiB --set cache.capacity=1GiB",
                "device.page",
            ),
            (
                "--device skybyte --set write_log.capacity=1MiB",
                "write_log.capacity",
            ),
        ] {
            let asked = args(asked);
            let config = resolve(&asked).expect("a device");
            let told = check_live(&asked, &config).unwrap_err().to_string();
            assert!(told.contains(&format!("`{key}`")), "{told}");
            let hidden = check_hidden_hits(&asked, &config).unwrap_err().to_string();
            assert!(hidden.contains(&format!("and {key}=")), "{hidden}");
        }
        let live = args("--device cylon");
        let config = resolve(&live).expect("a device");
        assert!(check_hidden_hits(&live, &config).is_ok());
    }
}
