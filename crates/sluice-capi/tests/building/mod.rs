//! Programs that use the library, built and run.

use sluice_testkit::child;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the library is that was built with this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let folder = test.parent().expect("in a folder").to_owned();
    assert!(
        folder.join("libsluice.so").exists(),
        "no library in {}",
        folder.display()
    );
    folder
}

/// Builds a program of one file against the library.
pub fn build(compiler: &str, standard: &str, source: &Path, program: &Path) {
    build_with(compiler, standard, &[], &[source.to_owned()], program);
}

/// Builds a program against the library.
pub fn build_with(
    compiler: &str,
    standard: &str,
    options: &[String],
    sources: &[PathBuf],
    program: &Path,
) {
    let status = Command::new(compiler)
        .args([standard, "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .args(options)
        .args(sources)
        .arg("-L")
        .arg(library())
        .arg("-lsluice")
        .arg(format!("-Wl,-rpath,{}", library().display()))
        .arg("-o")
        .arg(program)
        .status()
        .expect("a compiler");
    assert!(status.success());
}

pub fn run(program: &Path, arguments: &[&str]) -> Output {
    let mut command = child::program(program);
    command.args(arguments).output().expect("a program")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}
