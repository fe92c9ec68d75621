//! A key that there is not: what may be meant.

use crate::error::{ConfigError, nearest};

/// A message names at most so many keys where a key may mean several.
const NEAR: usize = 4;
/// A message names so many keys of a table, all of them or the first.
const NAMED: usize = 8;

/// The error of a key that is none of `keys`, which the command `shown_by` lists, if one does.
pub fn unknown_key(wrong: &str, keys: &[&'static str], shown_by: &str) -> ConfigError {
    let asked = table_of(wrong);
    let same_table = |key: &&&str| table_of(key) == asked;
    let of_table: Vec<&str> = keys.iter().filter(same_table).copied().collect();
    let near = near(wrong, keys, &of_table);
    let list = |command: &str, last| match shown_by {
        "" => String::new(),
        _ => format!("{command}`{shown_by}` lists {last}"),
    };
    let valid = match of_table.is_empty() {
        true => format!("in the tables {}", tables(keys).join(", ")),
        false => of_table.join(", "),
    };
    let listed = match of_table.len() {
        0 => format!("valid keys are {valid}{}", list("; ", "them")),
        1..=NAMED => format!("valid keys are {valid}"),
        all => format!(
            "valid keys are {} and {} more{}",
            of_table[..NAMED].join(", "),
            all - NAMED,
            list("; ", "them")
        ),
    };
    let hint = match near.split_last() {
        None => listed,
        Some((last, before)) => {
            let mut before = before.join("`, `");
            if !before.is_empty() {
                before.push_str("` or `");
            }
            let all = match of_table.contains(last) && of_table.len() <= NAMED {
                true => listed,
                false => list("", "all keys"),
            };
            format!("did you mean `{before}{last}`? {all}")
                .trim_end()
                .to_owned()
        }
    };
    ConfigError::UnknownKey {
        key: wrong.to_owned(),
        hint,
        valid,
    }
}

/// The keys that may be meant: the one that it is a slip of, or those with its name in other
/// tables, or those of its table that have a word in common with it.
fn near<'a>(wrong: &str, keys: &[&'a str], of_table: &[&'a str]) -> Vec<&'a str> {
    let name = name_of(wrong);
    let slip = match of_table.is_empty() {
        // The table counts as little as it may.
        false => nearest(name, of_table.iter().map(|key| name_of(key)))
            .and_then(|name| of_table.iter().find(|key| name_of(key) == name)),
        true => nearest(wrong, keys.iter().copied())
            .and_then(|found| keys.iter().find(|key| **key == found)),
    };
    if let Some(key) = slip {
        return vec![key];
    }
    let of = |is_near: &dyn Fn(&str) -> bool, keys: &[&'a str]| {
        let near = keys.iter().filter(|key| is_near(name_of(key))).copied();
        near.take(NEAR).collect::<Vec<&str>>()
    };
    let is_namesake = |other: &str| other == name;
    let shares = |other: &str| {
        other
            .split('_')
            .any(|word| name.split('_').any(|n| n == word))
    };
    match of(&is_namesake, keys) {
        none if none.is_empty() => of(&shares, of_table),
        some => some,
    }
}

/// The keys that have all these words, such as `nand.read` for `read`, or the first of them.
pub fn keys_with<'a>(words: &[&str], keys: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let has_all = |key: &&str| {
        let own: Vec<&str> = key.split(['.', '_']).collect();
        words.iter().all(|word| own.contains(word))
    };
    keys.filter(has_all).take(NEAR).collect()
}

fn table_of(key: &str) -> &str {
    key.split('.').next().unwrap_or(key)
}

/// What follows the table.
fn name_of(key: &str) -> &str {
    key.split_once('.').map_or(key, |(_, name)| name)
}

fn tables<'a>(keys: &[&'a str]) -> Vec<&'a str> {
    let mut tables: Vec<&str> = keys.iter().map(|key| table_of(key)).collect();
    tables.dedup();
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 12] = [
        "bus.kind",
        "nand.read",
        "nand.program",
        "nand.erase",
        "nand.channels",
        "nand.dies",
        "nand.suspend_latency",
        "nand.resume_latency",
        "nand.retry_latency",
        "nand.retry_reads",
        "nand.retries_max",
        "link.width",
    ];

    fn hint(wrong: &str) -> String {
        let error = unknown_key(wrong, &KEYS, "sluice device show").to_string();
        let (_, hint) = error.split_once("`: ").expect("a hint");
        hint.to_owned()
    }

    #[test]
    fn it_names_what_may_be_meant_and_not_all_that_there_is() {
        for (wrong, told) in [
            (
                "nand.raed",
                "did you mean `nand.read`? `sluice device show` lists all keys",
            ),
            (
                "NAND.read",
                "did you mean `nand.read`? `sluice device show` lists all keys",
            ),
            (
                "read",
                "did you mean `nand.read`? `sluice device show` lists all keys",
            ),
            (
                "bus.width",
                "did you mean `link.width`? `sluice device show` lists all keys",
            ),
            (
                "nand.latency",
                "did you mean `nand.suspend_latency`, `nand.resume_latency` or \
                 `nand.retry_latency`? `sluice device show` lists all keys",
            ),
            (
                "nand.speed",
                "valid keys are nand.read, nand.program, nand.erase, nand.channels, nand.dies, \
                 nand.suspend_latency, nand.resume_latency, nand.retry_latency and 2 more; \
                 `sluice device show` lists them",
            ),
            ("link.speed", "valid keys are link.width"),
            (
                "colour",
                "valid keys are in the tables bus, nand, link; `sluice device show` lists them",
            ),
            (
                "",
                "valid keys are in the tables bus, nand, link; `sluice device show` lists them",
            ),
        ] {
            assert_eq!(hint(wrong), told, "{wrong}");
        }
    }
    #[test]
    fn keys_with_words_have_all_of_them() {
        let with = |words: &[&str]| keys_with(words, KEYS.into_iter());
        assert_eq!(with(&["read"]), ["nand.read"]);
        assert_eq!(
            with(&["nand", "retry"]),
            ["nand.retry_latency", "nand.retry_reads"]
        );
        assert_eq!(with(&["nand"]), KEYS[1..5]);
        assert_eq!(with(&["nand", "width"]), [""; 0]);
    }
}
