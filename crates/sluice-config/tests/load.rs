//! Presets load, files override, and every mistake is one line that says where and what.

use proptest::prelude::*;
use sluice_config::{REQUIRED, REQUIRED_OF_MEMORY, describe, load, parse, presets};
use sluice_model::{DeviceConfig, EVICTIONS};

fn error_of(text: &str) -> String {
    let message = parse(text, "dev.toml").unwrap_err().to_string();
    assert!(!message.contains('\n'), "more than a line: {message}");
    message
}

fn names() -> String {
    let names: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
    names.join(", ")
}

#[test]
fn every_preset_is_possible_and_states_every_value_with_its_source() {
    for preset in presets() {
        let config = DeviceConfig::new(&load(preset.name).unwrap()).unwrap();
        let required = match config.memory {
            Some(_) => REQUIRED_OF_MEMORY,
            None => REQUIRED,
        };
        // What a preset with a base leaves out, the base states.
        let has_base = preset.toml.contains("\nbase = ");
        for key in required.iter().filter(|_| !has_base) {
            let (table, name) = key.split_once('.').unwrap();
            let section = preset.toml.split(&format!("[{table}]\n")).nth(1).unwrap();
            let section = section.split("\n[").next().unwrap();
            let line = section
                .lines()
                .find(|line| line.starts_with(&format!("{name} = ")));
            assert!(line.is_some(), "{key} is missing from {}", preset.name);
        }
        let blocks: Vec<&str> = preset
            .toml
            .split('\n')
            .filter(|l| l.starts_with('['))
            .collect();
        for table in blocks {
            let body = preset.toml.split(&format!("{table}\n")).nth(1).unwrap();
            let sourced = body.starts_with("# source: ") || body.starts_with("# assumed: ");
            assert!(
                sourced,
                "{table} of {} starts without a source",
                preset.name
            );
        }
    }
}

#[test]
fn cylon_has_every_default() {
    assert_eq!(load("cylon").unwrap(), DeviceConfig::builder());
    let config = DeviceConfig::new(&load("cylon").unwrap()).unwrap();
    assert_eq!(config.capacity().0, 96 << 30);
    assert_eq!(
        config.cache.pages,
        (96u64 * 1024 * 1024 / 4 * 5 / 100) as u32
    );
}

#[test]
fn the_cache_follows_the_capacity() {
    let mut raw = load("cylon").unwrap();
    raw.set("device.capacity", "64MiB").unwrap();
    let config = DeviceConfig::new(&raw).unwrap();
    assert_eq!((config.pages, config.cache.pages), (16_384, 819));
}

#[test]
fn what_a_file_leaves_out_keeps_its_default() {
    let raw = parse(
        "nand.read = \"5us\"\n[cache]\npolicy = 'lru'\nways = 16",
        "x",
    )
    .unwrap();
    let mut expected = DeviceConfig::builder();
    for (key, value) in [
        ("nand.read", "5us"),
        ("cache.policy", "lru"),
        ("cache.ways", "16"),
    ] {
        expected.set(key, value).unwrap();
    }
    assert_eq!(raw, expected);
}

#[test]
fn a_value_has_the_source_that_stands_before_it() {
    let cylon = describe("cylon").unwrap();
    let source = cylon.source_of("nand.program");
    assert_eq!(source, "source: Cylon section 5.1.1.");
    assert!(
        cylon
            .source_of("cache.s3fifo_small")
            .starts_with("default: Yang et al.")
    );
    for preset in presets() {
        let described = describe(preset.name).unwrap();
        let is_memory = described.given.get("device.kind").as_deref() == Some("memory");
        for key in if is_memory {
            REQUIRED_OF_MEMORY
        } else {
            REQUIRED
        } {
            let source = described.source_of(key);
            let is_one = source.starts_with("source: ") || source.starts_with("assumed: ");
            assert!(is_one, "{key} of {}: {source}", preset.name);
        }
    }
}

#[test]
fn a_file_with_a_base_takes_the_rest_from_there() {
    let text = "base = \"cmm-h\"\n[cache]\n# assumed: a try.\nways = 4\n";
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let name = file.path().to_str().unwrap();
    let mut expected = load("cmm-h").unwrap();
    expected.set("cache.ways", "4").unwrap();
    assert_eq!(load(name).unwrap(), expected);
    let described = describe(name).unwrap();
    assert_eq!(described.given, expected);
    assert_eq!(described.source_of("cache.ways"), "assumed: a try.");
    assert!(described.source_of("cache.index_latency").contains("CMM-H"));
    assert_eq!(
        error_of("# mine\nbase = \"cmmh\"\n"),
        format!("dev.toml:2:8: unknown base `cmmh`: give one of {}", names())
    );
}

/// Each required key in turn is left out of a whole file.
#[test]
fn a_missing_key_is_named_where_it_belongs() {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let name = file.path().to_str().unwrap();
    let cylon = presets().iter().find(|preset| preset.name == "cylon");
    let whole = cylon.unwrap().toml;
    for key in REQUIRED {
        let (table, short) = key.split_once('.').unwrap();
        let (before, after) = whole.split_once(&format!("[{table}]\n")).unwrap();
        let line = after
            .lines()
            .position(|l| l.starts_with(&format!("{short} = ")));
        let mut lines: Vec<&str> = after.lines().collect();
        lines.remove(line.unwrap());
        let text = format!("{before}[{table}]\n{}\n", lines.join("\n"));
        std::fs::write(file.path(), &text).unwrap();
        let message = describe(name).unwrap_err().to_string();
        let place = format!(
            "{name}:{}:1: `{key}` is missing: state it (",
            before.lines().count() + 1
        );
        assert!(message.starts_with(&place), "{message}");
        assert_eq!(
            load(name).unwrap_err().to_string(),
            message,
            "of a run, too"
        );
    }
    std::fs::write(file.path(), "[nand]\nread = \"1us\"\n").unwrap();
    let message = describe(name).unwrap_err().to_string();
    assert!(
        message.contains("`device.capacity` is missing"),
        "{message}"
    );
}

#[test]
fn a_mistake_is_reported_where_it_is() {
    let message = error_of("[nand]\nread = \"40us\"\n  raed = \"1us\"\n");
    assert!(
        message.starts_with("dev.toml:3:3: unknown key `nand.raed`: did you mean `nand.read`?")
    );
    assert!(!message.contains("nand.program"), "{message}");

    let message = error_of("[cache]\npolicy = \"lur\"\n");
    assert_eq!(
        message,
        format!(
            "dev.toml:2:10: bad value for `cache.policy`: \"lur\" (did you mean lru?); \
             expected one of {}, or the path of a shared object such as ./mine.so",
            EVICTIONS
                .iter()
                .map(|entry| entry.info.name)
                .collect::<Vec<_>>()
                .join(", ")
        )
    );

    let message = error_of("[nand]\nchannels = 0\n");
    assert_eq!(
        message,
        "dev.toml:2:12: bad value for `nand.channels`: \"0\"; \
         expected a whole number from 1 to 1024"
    );

    assert!(error_of("[nand]\nread = 40\n").contains("expected a time from 0 to 10s"));
    assert!(error_of("[nand]\nread = [1]\n").starts_with("dev.toml:2:8: bad value"));
    assert!(error_of("[nand\nread = 1").starts_with("dev.toml:1:"));
    let twice = error_of("\"nand.read\" = \"7us\"\n[nand]\nread = \"9us\"\n");
    assert!(
        twice.starts_with("dev.toml:3:1: duplicate key: `nand.read`"),
        "{twice}"
    );
    assert!(error_of("[nand]\nread = \"1us\"\nread = \"2us\"").starts_with("dev.toml:3:1:"));
}

/// It counted from wherever the program was.
#[test]
fn the_path_of_an_object_counts_from_the_file() {
    let policy = |file: &str, given: &str| {
        let text = format!("base = \"cylon\"\n[cache]\npolicy = \"{given}\"\n");
        parse(&text, file).unwrap().get("cache.policy").unwrap()
    };
    for (file, given, expected) in [
        ("some/where/dev.toml", "./mine.so", "some/where/./mine.so"),
        ("some/where/dev.toml", "mine.so", "some/where/mine.so"),
        ("some/where/dev.toml", "/opt/mine.so", "/opt/mine.so"),
        ("some/where/dev.toml", "lru", "lru"),
        ("dev.toml", "./mine.so", "./mine.so"),
    ] {
        assert_eq!(policy(file, given), expected, "{given} in {file}");
    }
}

#[test]
fn an_unknown_device_lists_the_presets() {
    let message = load("cylno").unwrap_err().to_string();
    let names: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
    assert_eq!(names[..3], ["cxl-ssd", "cylon", "cmm-h"]);
    assert_eq!(
        message,
        format!(
            "unknown device `cylno` (did you mean cylon?): give a path ending in .toml, or one \
             of {}",
            names.join(", ")
        )
    );
    let message = load("no-such.toml").unwrap_err().to_string();
    assert!(
        message.starts_with("cannot read device file `no-such.toml`: "),
        "{message}"
    );
}

proptest! {
    /// A valid file with a piece replaced by nonsense loads, or is refused in one line.
    #[test]
    fn a_damaged_file_is_refused_without_a_panic(
        start in 0usize..2_000,
        length in 0usize..40,
        nonsense in "(?s)[\\[\\]=\"'.#\n a-z0-9]{0,12}|.{0,6}",
    ) {
        let text = presets()[0].toml;
        let boundary = |at: usize| {
            let mut below = (0..=at.min(text.len())).rev();
            below.find(|b| text.is_char_boundary(*b))
        };
        let (from, to) = (boundary(start).unwrap(), boundary(start + length).unwrap());
        let damaged = format!("{}{nonsense}{}", &text[..from], &text[to..]);
        if let Err(error) = parse(&damaged, "dev.toml") {
            let message = error.to_string();
            prop_assert!(message.starts_with("dev.toml:"), "{}", message);
            prop_assert!(!message.contains('\n'), "{}", message);
        }
    }
}

/// A key in quotes, one in a table of one line and one of a table with a comment behind its name
/// had no source: what stood there was looked up as it was written.
#[test]
fn a_key_has_its_source_however_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("dev.toml");
    for text in [
        "cache.capacity = \"1MiB\"",
        "\"cache\".\"capacity\" = \"1MiB\"",
        "cache.'capacity' = \"1MiB\"",
        "cache . \"c\\u0061pacity\" = \"1MiB\"",
        "cache = { capacity = \"1MiB\" }",
    ] {
        let text = format!("base = \"cylon\"\n# source: a data sheet.\n{text}\n");
        std::fs::write(&path, &text).unwrap();
        let described = describe(path.to_str().unwrap()).unwrap();
        assert!(described.states("cache.capacity"), "{text}");
        let source = described.source_of("cache.capacity");
        assert_eq!(source, "source: a data sheet.", "{text}");
    }
    let text = "base = \"cylon\"\n[cache] # DRAM\n# source: a data sheet.\ncapacity = \"1MiB\"\n";
    std::fs::write(&path, text).unwrap();
    let described = describe(path.to_str().unwrap()).unwrap();
    assert_eq!(
        described.source_of("cache.capacity"),
        "source: a data sheet."
    );
}
