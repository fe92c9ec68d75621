//! The command, the plugin beside it, and programs to run.

use sluice_testkit::{build, child};
use sluice_trace::{Access, Reader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where the plugin is that was built with these tests.
pub fn plugin() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    let command = env!("CARGO_BIN_EXE_sluice");
    PLUGIN.get_or_init(|| match std::env::var_os("SLUICE_QEMU_PLUGIN") {
        Some(path) => path.into(),
        None => build::library(command, "sluice-qemu-plugin", "libsluice_qemu.so"),
    })
}

/// The bare command.
pub fn sluice() -> Command {
    let mut command = child::program(env!("CARGO_BIN_EXE_sluice"));
    command.env("SLUICE_QEMU_PLUGIN", plugin());
    command
}

/// A program without C library whose accesses are the same wherever it runs.
pub fn plain() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let flags = "-nostdlib -static -ffreestanding -fno-stack-protector -fno-tree-vectorize \
                     -mno-red-zone -no-pie";
        let flags: Vec<&str> = flags.split_whitespace().collect();
        compile("plain.c", &flags)
    })
}

/// Compiles a program of `tests/programs`.
pub fn compile(file: &str, flags: &[&str]) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("qemu-programs");
    build::compile(&programs.join(file), &folder, flags)
}

/// Records a program with `sluice trace record`.
pub fn record(out: &Path, filter: &str, program: &[&str]) -> std::process::Output {
    let mut command = sluice();
    command.args([
        "trace", "record", "--json", "--force", "--filter", filter, "-o",
    ]);
    command.arg(out).arg("--").args(program);
    command.output().expect("sluice")
}

/// Every access of a trace.
pub fn accesses(trace: &Path) -> Vec<Access> {
    let mut reader = Reader::open(trace).expect("a trace");
    let mut all = Vec::new();
    while let Some(block) = reader.next_block().expect("a sound trace") {
        all.extend_from_slice(block);
    }
    all
}
