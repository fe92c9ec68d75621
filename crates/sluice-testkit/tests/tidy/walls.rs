//! Rules for what may know what.

use crate::tree::Tree;

/// Crates that are linked into every program, or into a guest's small tool: none of them may need a
/// simulator.
const SMALL: &[&str] = &["sluice-preload", "sluice-ctl"];
const SIMULATORS: &[&str] = &[
    "sluice-host",
    "sluice-net",
    "sluice-driver",
    "sluice-kernels",
    "sluice-skybyte-artifact",
    "sluice-simulation",
];

/// Crates of ours that one names as what it links.
fn dependencies(tree: &Tree, name: &str) -> Vec<String> {
    let manifest = tree.get(&format!("crates/{name}/Cargo.toml"));
    let manifest: toml::Table = manifest.parse().expect("a manifest");
    let table = manifest.get("dependencies").and_then(|it| it.as_table());
    let names = table.into_iter().flat_map(|it| it.keys());
    names
        .filter(|name| name.starts_with("sluice-"))
        .cloned()
        .collect()
}

/// The crates in the order of the table in ARCHITECTURE.md.
fn in_order(tree: &Tree) -> Vec<&str> {
    let rows = tree.get("ARCHITECTURE.md").lines();
    rows.filter_map(|line| line.strip_prefix("| `sluice-")?.split_once('`'))
        .map(|(name, _)| name)
        .collect()
}

/// A crate may depend on crates that stand above it in ARCHITECTURE.md.
pub fn downward(tree: &Tree) -> Vec<String> {
    let order = in_order(tree);
    let place = |name: &str| order.iter().position(|it| Some(*it) == name.get(7..));
    let mut found = Vec::new();
    for path in tree.files.keys() {
        let name = path.strip_prefix("crates/");
        let Some(name) = name.and_then(|path| path.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        for other in dependencies(tree, name) {
            if place(&other) >= place(name) {
                found.push(format!("{name} depends on {other}, which stands below it"));
            }
        }
    }
    found
}

/// What is linked into every program needs no simulator, by whatever way.
pub fn heavy(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for small in SMALL {
        let mut open = vec![(*small).to_owned()];
        let mut seen = Vec::new();
        while let Some(name) = open.pop() {
            if SIMULATORS.contains(&name.as_str()) {
                found.push(format!("{small} links {name}"));
            }
            if !seen.contains(&name)
                && tree
                    .files
                    .contains_key(&format!("crates/{name}/Cargo.toml"))
            {
                open.extend(dependencies(tree, &name));
            }
            seen.push(name);
        }
    }
    found
}

/// A function is the same program in tests as elsewhere: what only tests have stands beside it.
pub fn two_programs(tree: &Tree) -> Vec<String> {
    let inside = |line: &str| {
        let deep = line.len() - line.trim_start().len() >= 8;
        deep && (line.contains("#[cfg(test)]") || line.contains("#[cfg(not(test))]"))
    };
    let sources = tree.ending(&[".rs"]);
    let sources = sources.filter(|(path, _)| path.contains("/src/"));
    let found = sources.flat_map(|(path, text)| {
        let lines = (1..).zip(text.lines());
        lines
            .filter(move |(_, line)| inside(line))
            .map(move |(at, _)| format!("{path}:{at}"))
    });
    found.collect()
}
