//! The C header is what the functions say. `make docs` writes it anew: this test with
//! `SLUICE_WRITE_HEADER=1`.

use cbindgen::{Builder, Config, Language, Style};
use std::path::Path;

const WARNING: &str = "/* Commands for the device of a running program: see docs/control-ring.md.
   Made by `make docs` from crates/sluice-control/src/api.rs; do not edit. */";

fn header(source: &Path) -> String {
    let config = Config {
        language: Language::C,
        style: Style::Tag,
        include_guard: Some("SLUICE_CONTROL_H".to_owned()),
        autogen_warning: Some(WARNING.to_owned()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"]
            .map(str::to_owned)
            .to_vec(),
        cpp_compat: true,
        documentation: true,
        line_length: 96,
        ..Config::default()
    };
    let builder = Builder::new()
        .with_config(config)
        .with_src(source)
        .rename_item("Ctl", "sluice_ctl")
        .rename_item("CtlResult", "sluice_ctl_result");
    let mut text = Vec::new();
    let bindings = builder.generate().expect("a source that cbindgen reads");
    bindings.write(&mut text);
    let text = String::from_utf8(text).expect("text");
    // What Rust asks of callers says nothing that the rest does not.
    without_safety(&text)
}

/// Drops the paragraphs below a `# Safety`.
fn without_safety(text: &str) -> String {
    let (mut kept, mut skipping): (Vec<&str>, bool) = (Vec::new(), false);
    for line in text.lines() {
        if line.ends_with("* # Safety") {
            skipping = true;
            // The empty line before it.
            kept.pop();
        }
        skipping &= !line.ends_with("*/");
        if !skipping {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
}

#[test]
fn the_header_is_what_the_functions_say() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = here.join("include/sluice_control.h");
    let wanted = header(&here.join("src/api.rs"));
    if std::env::var_os("SLUICE_WRITE_HEADER").is_some() {
        std::fs::write(&path, &wanted).expect("a place to write");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let place = path.display();
    assert!(
        found == wanted,
        "{place} is stale; `make docs` writes it anew"
    );
}
