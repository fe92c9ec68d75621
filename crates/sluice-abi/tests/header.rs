//! The C headers are what the Rust layouts say. `make docs` writes them anew: this test with
//! `SLUICE_WRITE_HEADER=1`.

use cbindgen::{Builder, Language, Style};
use std::path::Path;

/// A header for a shared object that defines one constant.
struct Header {
    /// What the object is, and where to read on.
    what: &'static str,
    /// The constant, and its type.
    symbol: &'static str,
    guard: &'static str,
    /// Types in Rust and in C.
    types: [(&'static str, &'static str); 2],
    source: &'static str,
    path: &'static str,
}

const HEADERS: [Header; 2] = [
    Header {
        what: "An eviction policy for Sluice as a shared object: see docs/extending.md.",
        symbol: "sluice_policy",
        guard: "SLUICE_POLICY_H",
        types: [
            ("Policy", "sluice_policy"),
            ("PolicySpace", "sluice_policy_space"),
        ],
        source: "src/policy.rs",
        path: "include/sluice_policy.h",
    },
    Header {
        what: "A memory model for Sluice as a shared object: see docs/library.md.",
        symbol: "sluice_memory",
        guard: "SLUICE_MEMORY_H",
        types: [
            ("Memory", "sluice_memory"),
            ("MemorySpace", "sluice_memory_space"),
        ],
        source: "src/memory.rs",
        path: "include/sluice_memory.h",
    },
];

fn text(header: &Header, source: &Path) -> String {
    let Header {
        what,
        symbol,
        source: from,
        ..
    } = header;
    let warning =
        format!("/* {what}\n   Made by `make docs` from crates/sluice-abi/{from}; do not edit. */");
    let trailer = format!(
        "/* What the shared object defines. */\n#ifdef __cplusplus\n\
         extern \"C\" const struct {symbol} {symbol};\n#else\n\
         extern const struct {symbol} {symbol};\n#endif"
    );
    let mut builder = Builder::new()
        .with_src(source)
        .with_language(Language::C)
        .with_style(Style::Tag)
        .with_include_guard(header.guard)
        .with_autogen_warning(warning)
        .with_no_includes()
        .with_sys_include("stdbool.h")
        .with_sys_include("stdint.h")
        .with_documentation(true)
        .with_line_length(96)
        .with_trailer(trailer);
    for (rust, c) in header.types {
        builder = builder.include_item(rust).rename_item(rust, c);
    }
    let mut text = Vec::new();
    let bindings = builder.generate().expect("a source that cbindgen reads");
    bindings.write(&mut text);
    String::from_utf8(text).expect("text")
}

#[test]
fn the_headers_are_what_the_layouts_say() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for header in &HEADERS {
        let path = here.join(header.path);
        let wanted = text(header, &here.join(header.source));
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
}
