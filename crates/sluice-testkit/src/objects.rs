//! Shared objects from C, for tests of what loads them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the checkout that these tests are of.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Builds an object as the examples' own comments say, and returns its path.
///
/// # Panics
/// If it does not compile.
pub fn object(folder: &Path, source: &Path, defines: &[&str]) -> String {
    let object = folder.join("object.so");
    let status = Command::new("cc")
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"])
        .args(["-Wno-unused-function", "-shared", "-fPIC", "-I"])
        .arg(root().join("crates/sluice-abi/include"))
        .args(defines)
        .arg(source)
        .arg("-o")
        .arg(&object)
        .status()
        .expect("a C compiler");
    assert!(status.success());
    object.to_str().expect("text").to_owned()
}

/// An object from a text with one of its definitions, `NAME=VALUE`, other than `right`.
///
/// # Panics
/// If it cannot be made.
pub fn wrong(folder: &Path, text: &str, right: &[&str], define: &str) -> String {
    let source = folder.join("wrong.c");
    std::fs::write(&source, text).unwrap();
    let name = |text: &str| text.split('=').next().unwrap().to_owned();
    let kept = right.iter().filter(|text| name(text) != name(define));
    let all = kept.chain([&define]).map(|text| format!("-D{text}"));
    let all: Vec<String> = all.collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    object(folder, &source, &all)
}

/// The text of an object whose `destroy` adds a letter to a file, if it gets the state that was
/// built.
///
/// # Panics
/// If the text has no such function.
pub fn with_mark(text: &str, mark: &Path) -> String {
    let marks = format!(
        "if (s == &state) {{ FILE *f = fopen({mark:?}, \"a\"); fputc('x', f); fclose(f); }}"
    );
    let (before, after) = text.split_once("destroy(void *s) { (void)s; }").unwrap();
    format!("#include <stdio.h>\n{before}destroy(void *s) {{ {marks} }}{after}")
}
