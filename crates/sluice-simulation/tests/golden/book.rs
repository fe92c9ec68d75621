//! The hashes that stand in a file.

use serde_json::Value;
use sluice_units::Fnv;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

/// The results of one family, by name, in the order in which they were made.
pub struct Book {
    file: &'static str,
    rows: Vec<(String, u64)>,
    results: usize,
    refused: usize,
}

impl Book {
    /// Of the file with this name.
    pub fn new(file: &'static str) -> Book {
        Book {
            file,
            rows: Vec::new(),
            results: 0,
            refused: 0,
        }
    }

    /// Adds a result, or that it is refused. The version of the program is no
    /// part of a result. Results of one name that follow each other make one row.
    pub fn add(&mut self, name: impl Into<String>, result: Result<Value, Box<dyn Error>>) {
        let text = match result {
            Ok(mut value) => {
                if let Value::Object(object) = &mut value {
                    object.remove("version");
                }
                value.to_string()
            }
            // The words of a refusal may change.
            Err(_) => {
                self.refused += 1;
                "refused".to_owned()
            }
        };
        self.results += 1;
        let (name, hash) = (name.into(), Fnv::of(text.as_bytes()));
        match self.rows.last_mut() {
            Some((last, sum)) if *last == name => *sum = sum.rotate_left(7) ^ hash,
            _ => self.rows.push((name, hash)),
        }
    }

    /// Compares what was added with the file, or writes it.
    ///
    /// # Panics
    /// If they differ, or if most simulations were refused and so show little.
    pub fn close(self) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden")
            .join(self.file);
        let mut text = String::new();
        for (name, hash) in &self.rows {
            writeln!(text, "{hash:016x} {name}").expect("a string takes everything");
        }
        if std::env::var_os("SLUICE_GOLDEN").is_some_and(|how| how == "write") {
            std::fs::write(&path, &text).expect("the folder can be written");
        }
        let known = std::fs::read_to_string(&path).expect("the file is there");
        assert!(!known.is_empty(), "{} is empty", self.file);
        let changed = changed(&known, &text);
        assert!(
            changed.is_empty(),
            "{} of {} rows of {} changed; see main.rs of this test:\n{}",
            changed.len(),
            self.rows.len(),
            self.file,
            changed[..changed.len().min(20)].join("\n")
        );
        assert!(
            self.refused * 2 < self.results,
            "{}: {} of {} were refused",
            self.file,
            self.refused,
            self.results
        );
    }
}

/// Names of rows of one text that another has no more, or with another hash. Rows that are new are
/// no change: what they are of is new.
fn changed<'a>(known: &'a str, now: &str) -> Vec<&'a str> {
    let now: BTreeSet<&str> = now.lines().collect();
    let gone = known.lines().filter(|line| !now.contains(line));
    gone.map(|line| line.split_once(' ').map_or(line, |(_, name)| name))
        .collect()
}

#[test]
fn a_hash_that_changed_and_a_row_that_went_are_named() {
    let known = "01 a\n02 b\n03 c\n";
    assert_eq!(changed(known, known), [""; 0]);
    assert_eq!(changed(known, "01 a\n04 b\n05 d\n"), ["b", "c"]);
}
