//! An impossible command line is refused in one line, before QEMU starts.

use crate::bad_input::refused;
use crate::sluice::Sluice;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// `sluice vm` with flags separated by blanks must refuse them.
pub fn refused_vm(flags: &str, names: &[&str]) {
    let mut command = Sluice::command();
    refused(command.arg("vm").args(flags.split_whitespace()), names);
}

/// A program that says it is some QEMU, and leaves a mark if it is started as one.
fn fake_qemu(folder: &Path, says: &str) -> String {
    let path = folder.join("qemu");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] || touch {}/mark\necho {says}\n",
        folder.display()
    );
    std::fs::write(&path, script).expect("a script");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("its mode");
    path.to_str().expect("plain letters").to_owned()
}

#[test]
fn a_missing_or_old_qemu_is_named() {
    let needed = ["7.2 or newer", "apt-get install qemu-system-x86"];
    refused_vm(
        "--qemu /nonexistent",
        &["/nonexistent", needed[0], needed[1]],
    );
    refused_vm("--demo --qemu no-such-qemu", &["no-such-qemu", needed[0]]);
    let folder = tempfile::tempdir().expect("a folder");
    for (says, named) in [
        ("QEMU emulator version 7.1.0", "is QEMU 7.1; 7.2 or newer"),
        ("QEMU emulator version 6.2.0", "is QEMU 6.2; 7.2 or newer"),
        ("Bochs 2.7", "does not say that it is QEMU"),
    ] {
        let qemu = fake_qemu(folder.path(), says);
        for flags in ["", "--demo", "--simulate"] {
            refused_vm(&format!("{flags} --qemu {qemu}"), &[&qemu, named]);
        }
    }
    assert!(!folder.path().join("mark").exists(), "it was started");
}

#[test]
fn a_device_that_no_guest_can_map_is_refused() {
    let capacity = "`device.capacity`";
    for (flags, names) in [
        (
            "--set device.capacity=101MiB",
            ["101MiB", "--attach numa", "2MiB"],
        ),
        (
            "--attach dax --set device.capacity=100MiB",
            ["100MiB", "--attach dax", "128MiB"],
        ),
        (
            "--demo --attach cxl --set device.capacity=384MiB",
            ["384MiB", "--attach cxl", "256MiB"],
        ),
        (
            "--set device.capacity=2TiB --set cache.capacity=1GiB",
            ["2TiB", "1GiB of memory", "1007GiB more"],
        ),
    ] {
        refused_vm(flags, &[capacity, names[0], names[1], names[2]]);
    }
    refused_vm("--set device.page=16KiB", &["device.page", "16KiB", "4KiB"]);
}

#[test]
fn qemu_arguments_that_would_undo_the_machine_are_refused() {
    for (arguments, names) in [
        ("-machine pc", ["-machine", "--attach"]),
        ("-M q35", ["-M", "--attach"]),
        ("-enable-kvm", ["-enable-kvm", "--accel kvm"]),
        ("--accel tcg", ["--accel", "before the `--`"]),
        ("-numa node", ["-numa", "0 with all CPUs"]),
        ("-mem-path /tmp", ["-mem-path", "made here"]),
        ("-daemonize", ["-daemonize", "when QEMU ends"]),
        ("-readconfig file", ["-readconfig", "arguments"]),
        ("-m 2X", ["-m", "2X"]),
        ("-m 2G,slots=2", ["-m", "slots"]),
        ("-m 100T", ["-m: \"100TiB\"", "1008GiB"]),
        ("-m", ["-m", "without its value"]),
        ("-smp many", ["-smp", "many"]),
    ] {
        refused_vm(&format!("-- {arguments}"), &names);
    }
    refused_vm(
        "--demo --with no-such-program",
        &["--with", "no-such-program"],
    );
}

#[test]
fn a_disk_or_a_store_that_no_guest_can_have_is_refused() {
    let persistent = "--set device.persistent=yes";
    for (flags, names) in [
        ("--disk", &["--attach", "numa", "dax or cxl"][..]),
        (
            "--disk --attach dax --control off",
            &["--control", "off", "control ring"],
        ),
        (
            "--attach dax --store file:/tmp/x",
            &["--store", "file:/tmp/x", "device.persistent=yes", "dram"],
        ),
        (
            &format!("--attach dax {persistent}"),
            &["--store", "dram", "file:STORE"],
        ),
        (
            &format!("--attach dax {persistent} --store file:/tmp"),
            &["--store", "file:/tmp", "folder"],
        ),
        (
            &format!("--store file:/tmp/x {persistent}"),
            &["device.persistent", "yes", "dax or cxl"],
        ),
    ] {
        refused_vm(flags, names);
    }
}

/// The device's statistics, or the rings, had no room: QEMU was killed by SIGBUS, and the result
/// said that nothing had trapped.
#[test]
fn a_full_shared_memory_is_told_before_qemu_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let qemu = fake_qemu(folder.path(), "QEMU emulator version 7.2.0");
    let script = "mount -t tmpfs -o size=256k none /dev/shm || exit 77; \
                  exec \"$0\" vm --set device.capacity=4GiB --qemu \"$1\" -- -kernel none";
    let sluice = Sluice::command();
    let mut command = std::process::Command::new("unshare");
    command
        .args(["-m", "sh", "-c", script])
        .arg(sluice.get_program())
        .arg(&qemu);
    for (name, value) in sluice.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let out = crate::sluice::finish(&mut command);
    if out.stderr.contains("unshare") || out.status.code() == Some(77) {
        println!("not tested: needs root and a kernel with mount namespaces");
        return;
    }
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    for part in ["/dev/shm: full", "may take", "device.capacity"] {
        assert!(out.stderr.contains(part), "no {part}: {out:#?}");
    }
    assert_eq!(out.stderr.lines().count(), 1, "{out:#?}");
    assert!(!folder.path().join("mark").exists(), "it was started");
}

/// QEMU would show a firmware without a disk until somebody ends it, also where it has arguments of
/// which none is a disk.
#[test]
fn a_machine_with_nothing_to_boot_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let qemu = fake_qemu(folder.path(), "QEMU emulator version 9.0.0");
    for arguments in ["", " -- -snapshot", " -- -m 1G -nographic"] {
        refused_vm(
            &format!("--qemu {qemu}{arguments}"),
            &["nothing to boot", "--demo", "-drive"],
        );
    }
    assert!(!folder.path().join("mark").exists(), "it was started");
}

#[test]
fn a_guest_s_panic_is_to_end_qemu_with_a_failure() {
    let mut command = Sluice::command();
    let out = crate::sluice::finish(command.args(["vm", "--dry-run"]));
    assert!(
        out.stdout
            .contains("-device pvpanic -action panic=exit-failure"),
        "{out:#?}"
    );
}
