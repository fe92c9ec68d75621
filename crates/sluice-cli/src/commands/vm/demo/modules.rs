//! Drivers of a kernel's package, with those they depend on, in the order in which they load.

use super::archive::Archive;
use crate::error::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Puts the modules of every list into the archive, and for each list a file that names them in
/// order of loading.
pub fn copy<W: Write>(
    tree: &Path,
    lists: &[(&str, &[&str])],
    archive: &mut Archive<W>,
) -> Result<(), Error> {
    let failed = |e| Error::system("modules")(e);
    let modules = Modules::find(tree)?;
    let mut there = BTreeSet::new();
    for (list, drivers) in lists {
        let mut order = Vec::new();
        for driver in *drivers {
            modules.add(driver, &mut order, archive, &mut there)?;
        }
        let text: String = order.iter().map(|name| format!("{name}.ko\n")).collect();
        let file = format!("modules/{list}");
        archive.program(&file, text.as_bytes()).map_err(failed)?;
    }
    Ok(())
}

/// The modules of one kernel.
struct Modules {
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
}

/// A module's name as the kernel has it.
fn name_of(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    Some(file.split_once(".ko")?.0.replace('-', "_"))
}

impl Modules {
    fn find(tree: &Path) -> Result<Modules, Error> {
        let mut modules = Modules {
            files: BTreeMap::new(),
            built_in: BTreeSet::new(),
        };
        let roots = ["lib/modules", "usr/lib/modules"].map(|dir| tree.join(dir));
        let mut dirs: Vec<PathBuf> = roots.into_iter().filter(|dir| dir.is_dir()).collect();
        while let Some(dir) = dirs.pop() {
            let entries = fs::read_dir(&dir).map_err(Error::system(dir.display()))?;
            for path in entries.flatten().map(|e| e.path()) {
                if path.is_dir() && !path.is_symlink() {
                    dirs.push(path);
                } else if path.ends_with("modules.builtin") {
                    let text = fs::read_to_string(&path).map_err(Error::system("modules"))?;
                    let names = text.lines().filter_map(|line| name_of(Path::new(line)));
                    modules.built_in.extend(names);
                } else if let Some(name) = name_of(&path) {
                    modules.files.insert(name, path);
                }
            }
        }
        Ok(modules)
    }

    /// Adds a module behind those it needs.
    fn add<W: Write>(
        &self,
        name: &str,
        order: &mut Vec<String>,
        archive: &mut Archive<W>,
        there: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        if self.built_in.contains(name) || order.iter().any(|n| n == name) {
            return Ok(());
        }
        let path = self.files.get(name).ok_or_else(|| {
            let part = format!("driver {name}, which the device needs");
            super::lacks("the guest's kernel has", part)
        })?;
        let contents = read(path)?;
        for needed in depends(&contents) {
            self.add(&needed, order, archive, there)?;
        }
        if there.insert(name.to_owned()) {
            archive
                .program(&format!("modules/{name}.ko"), &contents)
                .map_err(Error::system(path.display()))?;
        }
        order.push(name.to_owned());
        Ok(())
    }
}

/// A module's file, uncompressed.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |e| Error::system(path.display())(e);
    if path.extension().is_some_and(|e| e == "ko") {
        return fs::read(path).map_err(failed);
    }
    let output = Command::new("xz").arg("-dc").arg(path).output();
    let output = output.map_err(Error::system("xz (Debian: apt-get install xz-utils)"))?;
    if !output.status.success() {
        return Err(Error::unfit(path.display(), "xz cannot unpack it"));
    }
    Ok(output.stdout)
}

/// The modules that the `depends=` of a module's `.modinfo` names. The section is a row of strings
/// that end in zero.
fn depends(module: &[u8]) -> Vec<String> {
    let strings = module.split(|byte| *byte == 0);
    let found = strings.filter_map(|s| s.strip_prefix(b"depends="));
    let names = found.flat_map(|list| list.split(|byte| *byte == b','));
    names
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).replace('-', "_"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_module_needs_is_read_from_it() {
        let module = b"\x7fELF\0license=GPL\0depends=libnvdimm,nd-btt\0name=nd_pmem\0";
        assert_eq!(depends(module), ["libnvdimm", "nd_btt"]);
        assert!(depends(b"\0depends=\0name=x\0").is_empty());
    }

    #[test]
    fn modules_load_behind_those_they_need_and_a_missing_one_is_named() {
        let tree = tempfile::tempdir().unwrap();
        let dir = tree.path().join("lib/modules/1.0/kernel");
        fs::create_dir_all(&dir).unwrap();
        fs::write(
            tree.path().join("lib/modules/1.0/modules.builtin"),
            "kernel/dax.ko\n",
        )
        .unwrap();
        fs::write(dir.join("low.ko"), b"\0depends=dax\0").unwrap();
        fs::write(dir.join("high-one.ko"), b"\0depends=low\0").unwrap();
        let mut archive = Archive::new(Vec::new());
        copy(tree.path(), &[("list", &["high_one", "low"])], &mut archive).unwrap();
        let bytes = archive.finish().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("low.ko\nhigh_one.ko\n"));
        let mut archive = Archive::new(Vec::new());
        let error = copy(tree.path(), &[("list", &["cxl_mem"])], &mut archive).unwrap_err();
        assert!(error.to_string().contains("cxl_mem"), "{error}");
    }
}
