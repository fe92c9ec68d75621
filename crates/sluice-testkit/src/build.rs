//! Builds what tests run: libraries of this workspace, and helper programs in C and C++.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A shared object of a package of this workspace, beside a command of the same profile; built when
/// it is missing or old.
///
/// # Panics
/// If it cannot be built.
pub fn library(command: &str, package: &str, file: &str) -> PathBuf {
    cargo(command, &["build", "--quiet", "-p", package], &[], file)
}

/// `sluice-guest` as guests need it, statically linked, beside a command of the same profile; built
/// when it is missing or old.
///
/// # Panics
/// If it cannot be built.
pub fn guest_program(command: &str) -> PathBuf {
    let name = "sluice-guest";
    let what = [
        "rustc",
        "--quiet",
        "-p",
        "sluice-ctl",
        "--features=guest",
        "--bin",
        name,
    ];
    cargo(
        command,
        &what,
        &["--", "-Ctarget-feature=+crt-static"],
        name,
    )
}

/// Has cargo make a file beside a command of the same profile.
fn cargo(command: &str, what: &[&str], then: &[&str], file: &str) -> PathBuf {
    let profile_dir = Path::new(command).parent().expect("target/<profile>");
    let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(what)
        .args(["--profile", profile, "--target-dir"])
        .args(profile_dir.parent())
        .args(then)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let made = profile_dir.join(file);
    // Without cargo, what somebody has built is taken.
    let is_built = built.as_ref().map_or(true, |out| out.status.success());
    let said = built.map(|out| String::from_utf8_lossy(&out.stderr).into_owned());
    let what = what.join(" ");
    assert!(
        is_built && made.is_file(),
        "no {}; run `cargo {what} --profile {profile}`: {said:?}",
        made.display()
    );
    made
}

/// Compiles a program in C or C++ into a folder, under a name of its own.
///
/// # Panics
/// If it cannot be compiled.
pub fn compile(source: &Path, folder: &Path, flags: &[&str]) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Relaxed);
    std::fs::create_dir_all(folder).expect("a folder for programs");
    let file = source.file_name().unwrap_or_default().to_string_lossy();
    let program = folder.join(format!("{file}-{number}.program"));
    let compiler = if file.ends_with(".cpp") { "c++" } else { "cc" };
    let out = Command::new(compiler)
        .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .args(flags)
        .arg("-o")
        .args([&program, source])
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
