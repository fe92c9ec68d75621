//! The C headers are what the Rust sources say. `make docs` writes them anew: this test with
//! `SLUICE_WRITE_HEADER=1`.

use cbindgen::{Builder, Config, Language, Style};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A header for programs or shared objects in C.
struct Header {
    /// What it is for, and where to read on.
    what: &'static str,
    guard: &'static str,
    /// Types in Rust and in C.
    types: &'static [(&'static str, &'static str)],
    includes: &'static [&'static str],
    source: &'static str,
    path: &'static str,
    /// What the shared object defines; nothing where the header declares functions to call.
    symbol: Option<&'static str>,
}

const HEADERS: [Header; 5] = [
    Header {
        what: "An eviction policy for Sluice as a shared object: see docs/extending.md.",
        guard: "SLUICE_POLICY_H",
        types: &[
            ("Policy", "sluice_policy"),
            ("PolicySpace", "sluice_policy_space"),
            ("PolicyEvent", "sluice_policy_event"),
            ("PolicySlots", "sluice_policy_slots"),
        ],
        includes: &["stdbool.h", "stdint.h"],
        source: "crates/sluice-abi/src/policy.rs",
        path: "crates/sluice-abi/include/sluice_policy.h",
        symbol: Some("sluice_policy"),
    },
    Header {
        what: "A prefetcher for Sluice as a shared object: see docs/extending.md.",
        guard: "SLUICE_PREFETCHER_H",
        types: &[
            ("Prefetcher", "sluice_prefetcher"),
            ("PrefetcherSpace", "sluice_prefetcher_space"),
            ("PrefetcherAccess", "sluice_prefetcher_access"),
            ("PrefetcherPicks", "sluice_prefetcher_picks"),
        ],
        includes: &["stdbool.h", "stdint.h"],
        source: "crates/sluice-abi/src/prefetcher.rs",
        path: "crates/sluice-abi/include/sluice_prefetcher.h",
        symbol: Some("sluice_prefetcher"),
    },
    Header {
        what: "A memory model for Sluice as a shared object: see docs/library.md.",
        guard: "SLUICE_MEMORY_H",
        types: &[
            ("Memory", "sluice_memory"),
            ("MemorySpace", "sluice_memory_space"),
        ],
        includes: &["stdbool.h", "stdint.h"],
        source: "crates/sluice-abi/src/memory.rs",
        path: "crates/sluice-abi/include/sluice_memory.h",
        symbol: Some("sluice_memory"),
    },
    Header {
        what: "Simulated fabrics: see docs/library.md.",
        guard: "SLUICE_H",
        types: &[
            ("Simulation", "sluice_simulation"),
            ("Completion", "sluice_completion"),
            ("News", "sluice_news"),
        ],
        includes: &["stdbool.h", "stdint.h"],
        source: "crates/sluice-capi/src/api.rs",
        path: "crates/sluice-capi/include/sluice.h",
        symbol: None,
    },
    Header {
        what: "Commands for the device of a running program: see docs/control-ring.md.",
        guard: "SLUICE_CONTROL_H",
        types: &[("Ctl", "sluice_ctl"), ("CtlResult", "sluice_ctl_result")],
        includes: &["stdbool.h", "stddef.h", "stdint.h"],
        source: "crates/sluice-control/src/api.rs",
        path: "crates/sluice-control/include/sluice_control.h",
        symbol: None,
    },
];

fn text(header: &Header, root: &Path) -> String {
    let (what, source) = (header.what, header.source);
    let config = Config {
        language: Language::C,
        style: Style::Tag,
        include_guard: Some(header.guard.to_owned()),
        autogen_warning: Some(format!(
            "/* {what}\n   Made by `make docs` from {source}; do not edit. */"
        )),
        no_includes: true,
        sys_includes: header
            .includes
            .iter()
            .map(|&name| name.to_owned())
            .collect(),
        cpp_compat: header.symbol.is_none(),
        documentation: true,
        line_length: 96,
        trailer: header.symbol.map(defined),
        ..Config::default()
    };
    let mut builder = Builder::new()
        .with_config(config)
        .with_src(root.join(source));
    // A source may have parts of its own beside it.
    for part in parts(&root.join(source)) {
        builder = builder.with_src(part);
    }
    for (rust, c) in header.types {
        if header.symbol.is_some() {
            builder = builder.include_item(rust);
        }
        builder = builder.rename_item(rust, c);
    }
    let mut text = Vec::new();
    let bindings = builder.generate().expect("a source that cbindgen reads");
    bindings.write(&mut text);
    in_any_c(&without_safety(&String::from_utf8(text).expect("text")))
}

/// As compilers from C89 and C++98 on read it: they know neither comments of one line nor `ull`.
fn in_any_c(text: &str) -> String {
    let line = |line: &str| {
        if let Some((code, comment)) = line.split_once(" // ") {
            return format!("{} /* {comment} */\n", code.trim_end());
        }
        let long = line
            .strip_prefix("#define ")
            .and_then(|of| of.strip_suffix("ull"));
        match long.and_then(|of| of.split_once(' ')) {
            Some((name, number)) => format!("#define {name} UINT64_C({number})\n"),
            None => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

/// The modules of a source that declare something for C, in the order of their names.
fn parts(source: &Path) -> Vec<PathBuf> {
    let inside = std::fs::read_dir(source.with_extension(""));
    let files = inside.into_iter().flatten().flatten().map(|e| e.path());
    let mut parts: Vec<PathBuf> = files.filter(|path| !path.ends_with("tests.rs")).collect();
    parts.sort();
    parts
}

/// The constant that a shared object has to define.
fn defined(symbol: &str) -> String {
    format!(
        "/* What the shared object defines. */\n#ifdef __cplusplus\n\
         extern \"C\" const struct {symbol} {symbol};\n#else\n\
         extern const struct {symbol} {symbol};\n#endif"
    )
}

/// Drops the paragraphs below a `# Safety`: what Rust asks of callers says nothing that the rest
/// does not.
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
fn headers_are_what_the_sources_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for header in &HEADERS {
        let (path, wanted) = (root.join(header.path), text(header, &root));
        if std::env::var_os("SLUICE_WRITE_HEADER").is_some() {
            std::fs::write(&path, &wanted).expect("a place to write");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == wanted,
            "{} is stale; `make docs` writes it anew",
            header.path
        );
    }
}

/// Two had comments that C89 does not have.
#[test]
fn a_header_is_for_any_c_and_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = tempfile::tempdir().unwrap();
    for (header, text) in HEADERS.iter().zip(texts(&root)) {
        let defines = text
            .lines()
            .filter_map(|l| l.strip_prefix("#define ")?.split_once(' '));
        let all: Vec<String> = defines.map(|(name, _)| format!("{name} >= 0")).collect();
        for (compiler, standard, name) in [("cc", "c89", "a.c"), ("c++", "c++98", "a.cc")] {
            let source = dir.path().join(name);
            let path = root.join(header.path);
            let uses = all.join(" ||\n    ");
            let program = format!("#include {path:?}\nint used(void) {{ return {uses}; }}\n");
            std::fs::write(&source, program).unwrap();
            let out = Command::new(compiler)
                .arg(format!("-std={standard}"))
                .args(["-pedantic-errors", "-Wall", "-Werror", "-fsyntax-only"])
                .arg(&source)
                .output()
                .expect("a compiler");
            assert!(out.status.success(), "{}: {out:?}", header.path);
        }
    }
}

/// What a comment sends a reader to is in one of the headers.
#[test]
fn what_the_comments_of_headers_name_is_declared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let texts = texts(&root);
    let declared: BTreeSet<&str> = texts.iter().flat_map(|text| names(text, false)).collect();
    for (header, text) in HEADERS.iter().zip(&texts) {
        for name in names(text, true) {
            assert!(declared.contains(name), "{}: {name}", header.path);
        }
    }
}

fn texts(root: &Path) -> [String; HEADERS.len()] {
    HEADERS.map(|header| std::fs::read_to_string(root.join(header.path)).expect("it"))
}

/// The names that begin with ours, in the comments or in the code.
fn names(header: &str, in_comments: bool) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, part) in header.split("/*").enumerate() {
        // What is before the first one is code.
        let (comment, code) = match at {
            0 => ("", part),
            _ => part.split_once("*/").expect("a comment that ends"),
        };
        let looked_at = if in_comments { comment } else { code };
        let words = looked_at.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        names.extend(
            words.filter(|word| word.starts_with("sluice_") || word.starts_with("SLUICE_")),
        );
    }
    names
}
