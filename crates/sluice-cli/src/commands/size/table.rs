//! The answer for people: a sentence, then a table.

use crate::error::Error;
use crate::output::text;
use sluice_results::{SizeAnswer, SizeMethod, SizePoint, SizeResult};
use sluice_units::round_bytes;

/// Prints both on standard output.
pub fn print(result: &SizeResult) -> Result<(), Error> {
    text(table_of(result))
}

fn table_of(result: &SizeResult) -> String {
    let asked: Vec<_> = (result.answers.iter())
        .filter(|answer| answer.asked)
        .collect();
    let mut told = format!("{}\n", sentence(result, &asked));
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
        let (wall_s, traps) = (profile.wall_s, profile.traps);
        told += &match profile.without_traps_s {
            Some(without_s) => format!(
                "the run took {wall_s:.2} s, {without_s:.2} s without its {traps} traps{share}\n"
            ),
            None => format!(
                "the run took {wall_s:.2} s, with {traps} traps{share}; those of its {} threads \
                 overlap, so its time without them is not known\n",
                profile.threads
            ),
        };
    }
    let own = &result.config["cache.policy"];
    let has_time = result.sizes.iter().any(|point| point.run_time_s.is_some());
    if has_time && asked.iter().any(|answer| answer.policy != *own) {
        told += &format!("run times are under the device's own policy, {own} (cache.policy)\n");
    }
    told + "\n" + &table(&result.sizes)
}

/// What each policy needs that was asked for.
fn sentence(result: &SizeResult, asked: &[&SizeAnswer]) -> String {
    let target = percent(result.target_hit_ratio);
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
fn table(sizes: &[SizePoint]) -> String {
    let names: Vec<&String> = (sizes.iter().take(1))
        .flat_map(|point| point.policies.keys())
        .collect();
    let mut rows = format!("{:>10}", "cache");
    for name in &names {
        rows += &format!(" {:>13}", format!("{name} hits"));
    }
    let has_time = sizes.iter().any(|point| point.run_time_s.is_some());
    rows += if has_time { "    run time\n" } else { "\n" };
    let mut points: Vec<(u64, String)> = (sizes.iter())
        .map(|point| (point.cache_bytes, row(point, &names)))
        .collect();
    // Sizes that policies need may be the same to three digits: one row, unless the others differ.
    points.dedup_by(|b, a| round_bytes(a.0) == round_bytes(b.0) && a.1 == b.1);
    let short: Vec<String> = points.iter().map(|point| round_bytes(point.0)).collect();
    for (nth, (bytes, row)) in points.iter().enumerate() {
        let is_alone = short.iter().filter(|other| **other == short[nth]).count() == 1;
        let size = match is_alone {
            true => short[nth].clone(),
            false => format!("{} KiB", bytes >> 10),
        };
        rows += &format!("{size:>10}{row}");
    }
    rows
}

/// What stands behind the size.
fn row(point: &SizePoint, names: &[&String]) -> String {
    let mut row = String::new();
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

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_results::PolicyPoint;

    fn sizes(points: &[(u64, f64)]) -> Vec<String> {
        let point = |(kib, ratio): &(u64, f64)| SizePoint {
            cache_bytes: kib << 10,
            policies: [(
                "lru".to_owned(),
                PolicyPoint {
                    misses: 1,
                    hit_ratio: Some(*ratio),
                },
            )]
            .into(),
            run_time_s: None,
        };
        let points: Vec<SizePoint> = points.iter().map(point).collect();
        let rows = table(&points);
        let rows = rows.lines().skip(1);
        rows.map(|row| row[..10].trim().to_owned()).collect()
    }

    #[test]
    fn sizes_that_read_the_same_are_one_row_or_have_more_digits() {
        let alike = [(65_636, 0.87), (65_640, 0.87), (67_584, 1.0)];
        assert_eq!(sizes(&alike), ["64.1 MiB", "66 MiB"]);
        let apart = [(65_636, 0.87), (65_640, 0.99), (67_584, 1.0)];
        assert_eq!(sizes(&apart), ["65636 KiB", "65640 KiB", "66 MiB"]);
    }
}
