//! The C header is what the Rust layout says. `make docs` writes it anew: this test with
//! `SLUICE_WRITE_HEADER=1`.

use cbindgen::{Builder, Language, Style};
use std::path::Path;

const WARNING: &str = "/* An eviction policy for Sluice as a shared object: see docs/extending.md.
   Made by `make docs` from crates/sluice-abi/src/policy.rs; do not edit. */";

const TRAILER: &str = "/* What the shared object defines. */
#ifdef __cplusplus
extern \"C\" const struct sluice_policy sluice_policy;
#else
extern const struct sluice_policy sluice_policy;
#endif";

fn header(source: &Path) -> String {
    let builder = Builder::new()
        .with_src(source)
        .with_language(Language::C)
        .with_style(Style::Tag)
        .with_include_guard("SLUICE_POLICY_H")
        .with_autogen_warning(WARNING)
        .with_no_includes()
        .with_sys_include("stdbool.h")
        .with_sys_include("stdint.h")
        .with_documentation(true)
        .include_item("Policy")
        .include_item("PolicySpace")
        .rename_item("Policy", "sluice_policy")
        .rename_item("PolicySpace", "sluice_policy_space")
        .with_trailer(TRAILER);
    let mut text = Vec::new();
    let bindings = builder.generate().expect("a source that cbindgen reads");
    bindings.write(&mut text);
    String::from_utf8(text).expect("text")
}

#[test]
fn the_header_is_what_the_layout_says() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = here.join("include/sluice_policy.h");
    let wanted = header(&here.join("src/policy.rs"));
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
