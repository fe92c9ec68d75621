//! The files of the repository, read once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What was built or is the version control's, not what was written.
const BUILT: &[&str] = &[
    ".git",
    ".venv",
    "target",
    "demo-out",
    "recipe-out",
    "reproduce-out",
    "site",
    "sweep-out",
    "node_modules",
    "__pycache__",
];

/// Every text file, by its path from the root.
pub struct Tree {
    pub files: BTreeMap<String, String>,
}

impl Tree {
    pub fn read() -> Tree {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().expect("the root of the repository");
        let mut files = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for path in entries(&folder) {
                let name = path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                if BUILT.contains(&name.as_str()) || name.ends_with("_cache") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(text) = fs::read_to_string(&path) {
                    let short = path.strip_prefix(&root).expect("inside the root");
                    files.insert(short.to_string_lossy().into_owned(), text);
                }
            }
        }
        assert!(
            files.contains_key("Cargo.toml"),
            "no repository at {}",
            root.display()
        );
        Tree { files }
    }

    /// The files whose names end so.
    pub fn ending<'a>(&'a self, ends: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let all = self
            .files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()));
        all.filter(|(path, _)| ends.iter().any(|end| path.ends_with(end)))
    }

    /// What people wrote: programs, settings and build files, without generated text.
    pub fn written(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self
            .files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()));
        all.filter(|(path, text)| {
            let kind = Path::new(path)
                .extension()
                .unwrap_or_default()
                .to_string_lossy();
            let code = ["rs", "py", "pyi", "toml", "c", "cc", "h", "sh"].contains(&kind.as_ref());
            *path != "Cargo.lock" && (code || text.starts_with("#!") || *path == "Makefile")
        })
    }

    /// A file, empty when there is none.
    pub fn get(&self, path: &str) -> &str {
        self.files.get(path).map_or("", String::as_str)
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| !path.is_symlink())
        .collect()
}
