//! Rules for pages.

use crate::tree::Tree;
use sluice_config::HOST_PARAMS;
use sluice_model::{EVICTIONS, GC_VICTIMS, PARAMS, PREFETCHES};
use sluice_net::FABRIC_PARAMS;

/// Pages that a visitor starts from: the repository's, and the contents of the site.
const ROOTS: &[&str] = &["README.md", "docs/SUMMARY.md"];

/// The targets of `[text](target)` on a page, outside of code.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        let mut rest = if fenced { "" } else { line };
        while let Some((_, after)) = rest.split_once("](") {
            let (target, next) = after.split_once(')').unwrap_or((after, ""));
            found.push(target);
            rest = next;
        }
    }
    found
}

/// A path relative to the folder of a page, from the root.
fn resolve(page: &str, target: &str) -> String {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The anchor that a heading gets: lower case, spaces as hyphens, no punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn has_anchor(text: &str, wanted: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#')))
        .any(|found| found == wanted)
}

/// Places that advise to install a package of Sluice's name from a registry, where that name is
/// somebody else's. A text may break its lines anywhere.
pub fn strangers(tree: &Tree) -> Vec<String> {
    let told = [
        concat!("pip ", "install sluice"),
        concat!("pip3 ", "install sluice"),
        concat!("cargo ", "install sluice"),
        concat!("pipx ", "install sluice"),
    ];
    let is_told = |text: &str| {
        let words = text.replace(['\\', '`'], " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        told.iter().any(|told| words.contains(told))
    };
    let found = tree.files.iter().filter(|(_, text)| is_told(text));
    found.map(|(path, _)| path.clone()).collect()
}

pub fn broken_links(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (page, text) in tree.ending(&[".md"]) {
        for link in links(text).into_iter().filter(|link| !link.contains("://")) {
            let (target, place) = link.split_once('#').unwrap_or((link, ""));
            let path = if target.is_empty() {
                page.to_string()
            } else {
                resolve(page, target)
            };
            let folder = format!("{path}/");
            let exists = tree.files.contains_key(&path)
                || tree.files.keys().any(|file| file.starts_with(&folder));
            if !exists || !(place.is_empty() || has_anchor(tree.get(&path), place)) {
                found.push(format!("{page}: {link}"));
            }
        }
    }
    found
}

pub fn lonely_pages(tree: &Tree) -> Vec<String> {
    let mut reached: Vec<String> = ROOTS.iter().map(ToString::to_string).collect();
    let mut next = 0;
    while next < reached.len() {
        let page = reached[next].clone();
        for link in links(tree.get(&page)) {
            let path = resolve(&page, link.split('#').next().unwrap_or(link));
            if path.ends_with(".md") && !reached.contains(&path) {
                reached.push(path);
            }
        }
        next += 1;
    }
    let pages = tree.ending(&[".md"]).map(|(page, _)| page.to_string());
    pages.filter(|page| !reached.contains(page)).collect()
}

/// `path::name` in backticks, outside of code: the file, and what it must define.
fn pointers(text: &str) -> Vec<(&str, &str)> {
    // Fenced code is every other part; a span of backticks may go over a line's end.
    let prose = text.split("```").step_by(2);
    let quoted = prose.flat_map(|part| part.split('`').skip(1).step_by(2));
    let split = quoted.filter_map(|word| word.split_once("::"));
    split
        .filter(|(path, _)| path.contains('/') && path.contains('.'))
        .collect()
}

fn defines(text: &str, name: &str) -> bool {
    let kinds = [
        "fn",
        "def",
        "struct",
        "enum",
        "trait",
        "static",
        "const",
        "class",
        "macro_rules!",
    ];
    // A method is `Type::method`; the file that has one has the other.
    name.split("::").all(|part| {
        kinds.iter().any(|kind| {
            let start = format!("{kind} {part}");
            text.match_indices(&start).any(|(at, _)| {
                let after = text[at + start.len()..].chars().next();
                after.is_none_or(|c| !c.is_alphanumeric() && c != '_')
            })
        })
    })
}

pub fn broken_pointers(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (page, text) in tree.ending(&[".md"]) {
        for (path, name) in pointers(text) {
            if !defines(tree.get(path), name) {
                found.push(format!("{page}: {path}::{name}"));
            }
        }
    }
    found
}

/// Every numbered row of the specification ends in what shows it.
pub fn unproven_promises(tree: &Tree) -> Vec<String> {
    // What was measured is a table of its own, after the promises.
    let text = tree.get("SPECIFICATION.md");
    let rows: Vec<&str> = text
        .split("\n## Measured")
        .next()
        .unwrap_or(text)
        .lines()
        .filter(|line| line.starts_with("| ") && line[2..].starts_with(|c: char| c.is_numeric()))
        .collect();
    assert!(
        rows.len() >= 9,
        "SPECIFICATION.md promises nine things at least"
    );
    let shown = |row: &&str| {
        pointers(row)
            .iter()
            .any(|(path, _)| path.contains("tests/") || path.contains("benches/"))
    };
    rows.iter()
        .filter(|row| !shown(row))
        .map(ToString::to_string)
        .collect()
}

pub fn undocumented(tree: &Tree) -> Vec<String> {
    let keys = PARAMS.iter().map(|param| ("parameters.md", param.key));
    let of_hosts = HOST_PARAMS.iter().map(|param| ("systems.md", param.key));
    let of_fabrics = FABRIC_PARAMS.iter().map(|param| ("fabrics.md", param.key));
    let evictions = EVICTIONS
        .iter()
        .map(|entry| ("policies.md", entry.info.name));
    let prefetches = PREFETCHES
        .iter()
        .map(|entry| ("policies.md", entry.info.name));
    let victims = GC_VICTIMS
        .iter()
        .map(|entry| ("policies.md", entry.info.name));
    let counters = sluice_abi::Counter::ALL
        .iter()
        .map(|counter| ("output/counters.md", counter.name()));
    let policies = evictions.chain(prefetches).chain(victims);
    let all = keys
        .chain(of_hosts)
        .chain(of_fabrics)
        .chain(policies)
        .chain(counters);
    let missing = all.filter(|(page, name)| {
        !tree
            .get(&format!("docs/reference/{page}"))
            .contains(&format!("`{name}`"))
    });
    missing
        .map(|(page, name)| format!("{page}: `{name}`"))
        .collect()
}
