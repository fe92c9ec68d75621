//! Builds what the tests run: the preload library, and helper programs in C and C++.

use sluice_testkit::build;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The preload library of the same profile as the command, built when it is missing or old.
pub fn preload_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| match std::env::var_os("SLUICE_PRELOAD") {
        Some(path) => path.into(),
        None => build::library(
            env!("CARGO_BIN_EXE_sluice"),
            "sluice-preload",
            "libsluice_preload.so",
        ),
    })
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
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    build::compile(&programs.join(file), &folder, flags)
}

/// The command, beside the library, where every user can read them: a checkout may lie in a closed
/// folder. `None` where this one may not become another user.
pub fn for_all_users() -> Option<(tempfile::TempDir, PathBuf)> {
    // SAFETY: no arguments.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root || Command::new("setpriv").arg("--version").output().is_err() {
        return None;
    }
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("our own folder");
    let copy = |from: &Path| {
        let to = folder.path().join(from.file_name().expect("a file"));
        std::fs::copy(from, &to).expect("room");
        to
    };
    copy(preload_library());
    let sluice = copy(Path::new(env!("CARGO_BIN_EXE_sluice")));
    Some((folder, sluice))
}
