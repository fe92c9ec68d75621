//! Builds what the tests run: the preload library, and helper programs in C and C++.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The preload library of the same profile as the command, built when it is missing or old.
pub fn preload_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| match std::env::var_os("SLUICE_PRELOAD") {
        Some(path) => path.into(),
        None => build_library(),
    })
}

fn build_library() -> PathBuf {
    let command = Path::new(env!("CARGO_BIN_EXE_sluice"));
    let profile_dir = command.parent().expect("target/<profile>");
    let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "-p", "sluice-preload", "--profile"])
        .arg(profile)
        .arg("--target-dir")
        .args(profile_dir.parent())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let library = profile_dir.join("libsluice_preload.so");
    let said = built.map(|out| String::from_utf8_lossy(&out.stderr).into_owned());
    assert!(
        library.is_file(),
        "no {}; run `cargo build -p sluice-preload --profile {profile}`: {said:?}",
        library.display()
    );
    library
}

/// Compiles a helper of `tests/programs`, once for this run of the tests.
macro_rules! helper {
    ($file:literal) => {{
        static PROGRAM: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
        PROGRAM.get_or_init(|| $crate::build::compile($file, &[]))
    }};
}
pub(crate) use helper;

/// Compiles `tests/programs/<file>` with more flags.
pub fn compile(file: &str, flags: &[&str]) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(file);
    let number = NUMBER.fetch_add(1, Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&folder).expect("cargo's own folder for tests");
    let program = folder.join(format!("{file}-{number}.program"));
    let compiler = if file.ends_with(".cpp") { "c++" } else { "cc" };
    let out = Command::new(compiler)
        .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .args(flags)
        .arg("-o")
        .args([&program, &source])
        .output()
        .unwrap_or_else(|e| panic!("{compiler}: {e}; the tests compile programs of their own"));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        out.status.success(),
        "{compiler} {}: {said}",
        source.display()
    );
    program
}
