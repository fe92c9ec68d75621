//! Is the repository what its rules say? See CONTRIBUTING.md.

mod circles;
mod code;
mod docs;
mod errors;
mod tree;
mod walls;

use tree::Tree;

/// Fails with every offence at once, so that one run is enough to mend them all.
fn none(rule: &str, offences: Vec<String>) {
    assert!(offences.is_empty(), "{rule}:\n{}", offences.join("\n"));
}

#[test]
fn lines_are_at_most_100_columns() {
    none("longer than 100 columns", code::long_lines(&Tree::read()));
}

#[test]
fn functions_are_at_most_70_lines() {
    none(
        "functions of more than 70 lines",
        code::long_functions(&Tree::read()),
    );
}

#[test]
fn files_are_at_most_500_lines() {
    none(
        "files of more than 500 lines",
        code::long_files(&Tree::read()),
    );
}

#[test]
fn nothing_is_left_for_later() {
    none("left for later", code::leftovers(&Tree::read()));
}

#[test]
fn no_file_is_dead() {
    none("files that nothing uses", code::dead_files(&Tree::read()));
}

#[test]
fn pure_crates_forbid_what_is_not_pure() {
    none("pure crates", code::impurities(&Tree::read()));
}

#[test]
fn every_crate_obeys_the_workspace_and_stands_in_the_architecture() {
    none("crates", code::strays(&Tree::read()));
}

#[test]
fn no_machine_is_named() {
    none(
        "names of hosts or places of one machine",
        code::machines(&Tree::read()),
    );
}

#[test]
fn links_lead_somewhere() {
    none("links to nothing", docs::broken_links(&Tree::read()));
}

#[test]
fn every_page_can_be_reached() {
    none(
        "pages without a link to them",
        docs::lonely_pages(&Tree::read()),
    );
}

#[test]
fn pointers_into_code_hit() {
    none("pointers to nothing", docs::broken_pointers(&Tree::read()));
}

#[test]
fn every_promise_names_a_test_or_a_bench() {
    none(
        "promises without proof",
        docs::unproven_promises(&Tree::read()),
    );
}

#[test]
fn the_reference_has_every_parameter_policy_and_counter() {
    none(
        "missing in docs/reference",
        docs::undocumented(&Tree::read()),
    );
}

#[test]
fn crates_know_what_stands_above_them_and_small_ones_no_simulator() {
    none("dependencies", walls::downward(&Tree::read()));
    none("simulators in small crates", walls::heavy(&Tree::read()));
}

#[test]
fn nobody_is_told_to_install_a_strangers_package() {
    none("packages of others", docs::strangers(&Tree::read()));
}

#[test]
fn no_function_is_another_one_in_tests() {
    none("cfg(test) in functions", walls::two_programs(&Tree::read()));
}

#[test]
fn no_file_needs_another_one_that_needs_it() {
    none("circles of files", circles::circles(&Tree::read()));
}

#[test]
fn errors_have_types() {
    none("errors that are texts", errors::texts(&Tree::read()));
}

/// A tree in which every rule is broken at least once.
fn broken_tree() -> Tree {
    let long = format!(
        "fn long() {{\n{}        #[cfg(test)]\n}}\n",
        "    x();\n".repeat(80)
    );
    let wide = format!("// {}\n", "w".repeat(100));
    let rows = "| 1 | a promise | nothing |\n".repeat(9);
    let later = concat!("// TO", "DO\n");
    let place = concat!("/ho", "me/somebody\n");
    let files = [
        ("Cargo.toml", String::new()),
        (
            "crates/sluice-model/Cargo.toml",
            "[dependencies]\nrand = \"1\"\nsluice-net = \"1\"\n".into(),
        ),
        (
            "crates/sluice-preload/Cargo.toml",
            "[dependencies]\nsluice-model = \"1\"\n".into(),
        ),
        (
            "crates/sluice-ctl/Cargo.toml",
            "[dependencies]\nsluice-model = \"1\"\n".into(),
        ),
        (
            "ARCHITECTURE.md",
            "| `sluice-model` |\n| `sluice-net` |\n| `sluice-preload` |\n".into(),
        ),
        (
            "crates/sluice-model/src/lib.rs",
            long + &wide + later + place,
        ),
        ("crates/sluice-model/src/orphan.rs", "\n".repeat(501)),
        (
            "crates/yard/src/hen.rs",
            "use super::egg::Egg;\nfn lay() -> Result<Egg, String> {}".into(),
        ),
        (
            "crates/yard/src/egg.rs",
            "struct Egg(crate::hen::Hen);".into(),
        ),
        (
            "docs/lonely.md",
            concat!(
                "[gone](gone.md) `crates/gone.rs::gone` pip ",
                "install sluice"
            )
            .into(),
        ),
        ("SPECIFICATION.md", rows),
    ];
    let files = files.map(|(path, text)| (path.to_string(), text));
    Tree {
        files: files.into(),
    }
}

#[test]
fn every_rule_finds_its_offence() {
    let rules: [fn(&Tree) -> Vec<String>; 18] = [
        circles::circles,
        code::long_lines,
        code::long_functions,
        code::long_files,
        code::leftovers,
        code::dead_files,
        code::impurities,
        code::strays,
        code::machines,
        docs::strangers,
        docs::broken_links,
        docs::lonely_pages,
        docs::broken_pointers,
        docs::undocumented,
        errors::texts,
        walls::downward,
        walls::heavy,
        walls::two_programs,
    ];
    let tree = broken_tree();
    let silent = rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| rule(&tree).is_empty());
    assert_eq!(silent.map(|(at, _)| at).collect::<Vec<_>>(), [0; 0]);
    assert_eq!(docs::unproven_promises(&tree).len(), 9);
}
