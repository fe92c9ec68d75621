//! Rules for programs.

use crate::tree::Tree;
use std::collections::BTreeSet;

const COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;

/// Crates that may do nothing but compute.
const PURE: &[&str] = &[
    "sluice-units",
    "sluice-params",
    "sluice-lists",
    "sluice-tiering",
    "sluice-events",
    "sluice-stats",
    "sluice-cxl",
    "sluice-model",
    "sluice-host",
    "sluice-net",
    "sluice-driver",
];
/// What a pure crate may depend on beside those: layouts, and crates that only write code.
const PURE_DEPENDENCIES: &[&str] = &["sluice-abi", "serde", "strsim", "thiserror"];
/// What `clippy.toml` of a pure crate must refuse.
const IMPURE: &[&str] = &[
    "HashMap",
    "HashSet",
    "Instant",
    "SystemTime",
    "fs::File",
    "spawn",
];
/// The only functions of pure crates that make a float: to show a number, never to decide.
const FLOATS: &[&str] = &[
    "crates/sluice-units/src/ratio.rs",
    "crates/sluice-stats/src/atomic.rs",
    "crates/sluice-stats/src/histogram.rs",
    "crates/sluice-stats/src/summary.rs",
    "crates/sluice-stats/src/lib.rs",
];

pub fn long_lines(tree: &Tree) -> Vec<String> {
    let lines = tree.written().flat_map(|(path, text)| {
        text.lines()
            .enumerate()
            .map(move |(at, line)| (path, at + 1, line))
    });
    // The disallowed types of `clippy.toml` stand on one line each.
    let lines = lines.filter(|(path, _, _)| !path.ends_with("clippy.toml"));
    let long = lines.filter(|(_, _, line)| line.chars().count() > COLUMNS_MAX);
    long.map(|(path, at, _)| format!("{path}:{at}")).collect()
}

pub fn long_files(tree: &Tree) -> Vec<String> {
    let counted = tree
        .written()
        .map(|(path, text)| (path, text.lines().count()));
    let long = counted.filter(|(_, lines)| *lines > FILE_LINES_MAX);
    long.map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect()
}

/// A function ends where a line is indented as its first and closes it (Rust), or where a line is
/// indented no deeper (Python). Formatting is checked elsewhere.
pub fn long_functions(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in tree.ending(&[".rs", ".py"]) {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines
            .iter()
            .enumerate()
            .filter(|(_, line)| starts_function(line))
        {
            let length = function_length(&lines[at..], path.ends_with(".rs"));
            if length > FUNCTION_LINES_MAX {
                found.push(format!(
                    "{path}:{}: {length} lines: {}",
                    at + 1,
                    line.trim()
                ));
            }
        }
    }
    found
}

fn starts_function(line: &str) -> bool {
    let line = line.trim_start();
    let bare = line.split("fn ").next().unwrap_or("");
    let rust = line.contains("fn ") && bare.split_whitespace().all(is_qualifier);
    rust || line.starts_with("def ") || line.starts_with("async def ")
}

fn is_qualifier(word: &str) -> bool {
    let words = ["pub", "const", "unsafe", "async", "extern", "\"C\""];
    words.contains(&word) || word.starts_with("pub(")
}

fn function_length(lines: &[&str], rust: bool) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[0]);
    let ends = |line: &str| match rust {
        true => indent(line) == own && line.trim_start().starts_with('}'),
        false => !line.trim().is_empty() && indent(line) <= own && !line.trim().starts_with(')'),
    };
    if rust && (lines[0].ends_with(';') || lines[0].ends_with('}')) {
        return 1;
    }
    let rest = lines[1..]
        .iter()
        .position(|line| ends(line) || (rust && declares(line, own)));
    rest.map_or(lines.len(), |at| at + 1 + usize::from(rust))
}

/// The last line of a function without a body.
fn declares(line: &str, own: usize) -> bool {
    let indent = line.len() - line.trim_start().len();
    indent == own && line.trim_start().starts_with(')') && line.ends_with(';')
}

pub fn leftovers(tree: &Tree) -> Vec<String> {
    // Written in two parts, so that this file does not find itself.
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("unimple", "mented!"),
        concat!("to", "do!("),
        concat!("db", "g!("),
        concat!("#[ig", "nore"),
        concat!("allow(dead_", "code"),
        concat!("pytest.mark.", "skip"),
    ];
    let mut found = Vec::new();
    for (path, text) in tree.written().chain(tree.ending(&[".md"])) {
        for (at, line) in text.lines().enumerate() {
            // The contributing guide names what it forbids, as code.
            let hits = words.iter().filter(|word| line.contains(**word));
            let named = path == "CONTRIBUTING.md";
            found.extend(
                hits.filter(|_| !named)
                    .map(|w| format!("{path}:{}: {w}", at + 1)),
            );
        }
    }
    found
}

pub fn dead_files(tree: &Tree) -> Vec<String> {
    let mut dead = dead_rust(tree);
    let python = tree
        .ending(&[".py", ".pyi", ".toml", "Makefile"])
        .map(|(_, text)| text);
    let python = python.collect::<Vec<_>>().join("\n");
    for (path, _) in tree.ending(&[".py"]) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.trim_end_matches(".py");
        let run = stem.starts_with("test_") || ["__init__", "__main__", "conftest"].contains(&stem);
        let word = |line: &str| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == stem)
        };
        let used = python.lines().any(|l| l.contains("import") && word(l)) || names(tree, name);
        if !run && !used {
            dead.push(path.to_string());
        }
    }
    for (path, _) in tree
        .ending(&[""])
        .filter(|(path, _)| path.starts_with("scripts/"))
    {
        if !names(tree, path) {
            dead.push(path.to_string());
        }
    }
    dead
}

/// Whether a file that is not that one names it.
fn names(tree: &Tree, name: &str) -> bool {
    tree.files
        .iter()
        .any(|(path, text)| !path.ends_with(name) && text.contains(name))
}

/// A module that no file of its crate declares is not compiled.
fn dead_rust(tree: &Tree) -> Vec<String> {
    let mut dead = Vec::new();
    for (path, _) in tree.ending(&[".rs"]) {
        let Some((home, inside)) = path.strip_prefix("crates/").and_then(|p| p.split_once('/'))
        else {
            continue;
        };
        let parts: Vec<&str> = inside.split('/').collect();
        let last = parts[parts.len() - 1].trim_end_matches(".rs");
        let target = parts.len() == 2 && ["tests", "benches", "examples"].contains(&parts[0]);
        let own = ["lib", "main"].contains(&last) || inside == "build.rs";
        if target || own || inside.starts_with("src/bin/") {
            continue;
        }
        let name = if last == "mod" {
            parts[parts.len() - 2]
        } else {
            last
        };
        let crate_files = tree
            .files
            .iter()
            .filter(|(p, _)| p.starts_with(&format!("crates/{home}/")) && p.ends_with(".rs"));
        let declared = |text: &str| {
            text.lines().any(|line| {
                let line = line.trim();
                line.ends_with(&format!("mod {name};")) || line.contains(&format!("/{last}.rs\""))
            })
        };
        if !crate_files.into_iter().any(|(_, text)| declared(text)) {
            dead.push(path.to_string());
        }
    }
    dead
}

pub fn impurities(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for name in PURE {
        let home = format!("crates/{name}");
        if !tree
            .get(&format!("{home}/src/lib.rs"))
            .contains("#![forbid(unsafe_code)]")
        {
            found.push(format!("{home}/src/lib.rs does not forbid unsafe code"));
        }
        let clippy = tree.get(&format!("{home}/clippy.toml"));
        let missing = IMPURE.iter().filter(|word| !clippy.contains(**word));
        found.extend(missing.map(|word| format!("{home}/clippy.toml allows {word}")));
        let manifest: toml::Table = tree.get(&format!("{home}/Cargo.toml")).parse().unwrap();
        let dependencies = manifest.get("dependencies").and_then(|d| d.as_table());
        let names = dependencies.into_iter().flat_map(|d| d.keys());
        let strange = names.filter(|n| !PURE.iter().chain(PURE_DEPENDENCIES).any(|may| may == n));
        found.extend(strange.map(|n| format!("{home} depends on {n}")));
        for (path, text) in tree.ending(&[".rs"]) {
            let inside = path.starts_with(&format!("{home}/src/")) && !FLOATS.contains(&path);
            if inside && (text.contains("f64") || text.contains("f32")) {
                found.push(format!("{path} has a float"));
            }
        }
    }
    found
}

pub fn strays(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    let crates: BTreeSet<&str> = tree
        .files
        .keys()
        .filter_map(|path| path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"))
        .collect();
    for name in crates {
        let manifest = tree.get(&format!("crates/{name}/Cargo.toml"));
        for line in [
            "[lints]\nworkspace = true",
            "license.workspace = true",
            "description = ",
        ] {
            if !manifest.contains(line) {
                found.push(format!("crates/{name}/Cargo.toml: no {line:?}"));
            }
        }
        if !tree
            .get("ARCHITECTURE.md")
            .contains(&format!("| `{name}` |"))
        {
            found.push(format!("ARCHITECTURE.md: no row for `{name}`"));
        }
    }
    found
}

pub fn machines(tree: &Tree) -> Vec<String> {
    let words = [
        concat!("crates", ".io"),
        concat!("pypi", ".org"),
        concat!("pythonhosted", ".org"),
        concat!("npmjs", ".org"),
        concat!("deb.debian", ".org"),
        concat!("/wo", "rk/"),
        concat!("/fa", "rm/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
    ];
    let mut found = Vec::new();
    for (path, text) in tree.files.iter().filter(|(path, _)| *path != "Cargo.lock") {
        for (at, line) in text.lines().enumerate() {
            let hits = words.iter().filter(|word| line.contains(**word));
            found.extend(hits.map(|word| format!("{path}:{}: {word}", at + 1)));
        }
    }
    found
}
