//! The answer for people: a sentence, then a table.

use crate::error::Error;
use crate::output::text;
use sluice_results::{SizeMethod, SizePoint, SizeResult};
use sluice_units::round_bytes;

/// Prints both on standard output.
pub fn print(result: &SizeResult) -> Result<(), Error> {
    text(table_of(result))
}

fn table_of(result: &SizeResult) -> String {
    let mut told = format!("{}\n", sentence(result));
    told += &format!(
        "counted {} accesses to {} ({}); {} more were the first to their page\n",
        result.accesses - result.first_accesses,
        round_bytes(result.footprint_bytes),
        result.accesses_are,
        result.first_accesses,
    );
    if let Some(knee) = &result.knee {
        told += &format!(
            "more cache begins to buy less from {} on, where {} hit (lru)\n",
            round_bytes(knee.cache_bytes),
            percent(knee.hit_ratio)
        );
    }
    if let Some(profile) = &result.profile {
        let share = match result.method {
            SizeMethod::Sampled => {
                format!(", one page in {:.0} watched", 1.0 / profile.sampled_share)
            }
            _ => String::new(),
        };
        told += &format!(
            "the run took {:.2} s, {:.2} s without its {} traps{share}\n",
            profile.wall_s, profile.without_traps_s, profile.traps
        );
    }
    told + "\n" + &table(result)
}

/// What each policy needs that was asked for.
fn sentence(result: &SizeResult) -> String {
    let target = percent(result.target_hit_ratio);
    // LRU is always the first.
    let asked = match &result.answers[..] {
        [] => return String::new(),
        [only] => core::slice::from_ref(only),
        [_, asked @ ..] => asked,
    };
    if let [only] = asked {
        return match only.cache_bytes {
            Some(bytes) => format!(
                "{target} of accesses hit with {} ({}), {} more with twice that",
                round_bytes(bytes),
                only.policy,
                percent(only.twice_adds.unwrap_or_default())
            ),
            None => format!("no cache has {target} hits ({})", only.policy),
        };
    }
    let needs = asked.iter().map(|answer| match answer.cache_bytes {
        Some(bytes) => format!("{} ({})", round_bytes(bytes), answer.policy),
        None => format!("no cache ({})", answer.policy),
    });
    let needs: Vec<String> = needs.collect();
    format!("{target} of accesses hit with {}", needs.join(", "))
}

/// A row for each size, a column for each policy.
fn table(result: &SizeResult) -> String {
    let names: Vec<&String> = (result.sizes.iter().take(1))
        .flat_map(|point| point.policies.keys())
        .collect();
    let mut rows = format!("{:>10}", "cache");
    for name in &names {
        rows += &format!(" {:>13}", format!("{name} hits"));
    }
    let has_time = result.sizes.iter().any(|point| point.run_time_s.is_some());
    rows += if has_time { "    run time\n" } else { "\n" };
    let mut points: Vec<String> = result.sizes.iter().map(|p| row(p, &names)).collect();
    // Sizes that policies need may be the same to three digits.
    points.dedup();
    rows + &points.concat()
}

fn row(point: &SizePoint, names: &[&String]) -> String {
    let mut row = format!("{:>10}", round_bytes(point.cache_bytes));
    for name in names {
        let ratio = point.policies[*name].hit_ratio;
        row += &format!(" {:>13}", ratio.map_or("none".to_owned(), percent));
    }
    if let Some(time) = point.run_time_s {
        row += &format!(" {:>10}", seconds(time));
    }
    row + "\n"
}

fn percent(ratio: f64) -> String {
    let percent = format!("{:.2}", 100.0 * ratio);
    let shown = percent.trim_end_matches('0').trim_end_matches('.');
    format!("{shown} %")
}

/// Three digits of a time in seconds, or of a smaller unit.
fn seconds(time: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    let (scale, unit) = units
        .into_iter()
        .find(|(scale, _)| time >= *scale)
        .unwrap_or((1e-9, "ns"));
    let count = time / scale;
    match count {
        100.0.. => format!("{count:.0} {unit}"),
        10.0.. => format!("{count:.1} {unit}"),
        _ => format!("{count:.2} {unit}"),
    }
}
