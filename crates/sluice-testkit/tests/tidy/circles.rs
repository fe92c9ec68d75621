//! No file needs another one that needs it.
//!
//! Within a crate, files that name each other's items are one subject in two places: neither can be
//! read, tested or moved alone. A module that only declares its children does not need them, and a
//! child may use what its parent defines.

use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};

/// A module's path within its crate; empty for the root.
type Module = Vec<String>;
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// The circles of every crate: of its files, and of its folders.
pub fn circles(tree: &Tree) -> Vec<String> {
    let crates: BTreeSet<&str> = (tree.files.keys())
        .filter_map(|path| path.strip_prefix("crates/")?.split_once("/src/"))
        .map(|(name, _)| name)
        .collect();
    let of_crate = |name| {
        let files = graph(tree, name);
        let of_files = components(&files).into_iter();
        let circles = of_files.chain(components(&by_folder(&files)));
        let circles: BTreeSet<String> = circles.map(|circle| names_of(name, circle)).collect();
        circles
    };
    crates.into_iter().flat_map(of_crate).collect()
}

/// The files of a circle, for a message.
fn names_of(name: &str, circle: Vec<Module>) -> String {
    let files = circle.iter().map(|module| match module.is_empty() {
        true => format!("{name}::lib"),
        false => format!("{name}::{}", module.join("::")),
    });
    files.collect::<Vec<_>>().join(", ")
}

/// Which modules of a crate's sources name items of which others.
fn graph(tree: &Tree, name: &str) -> Graph {
    let source = format!("crates/{name}/src/");
    let sources = tree.ending(&[".rs"]);
    let sources: Vec<(Module, &str)> = sources
        .filter_map(|(path, text)| Some((module(path.strip_prefix(&source)?), text)))
        .filter(|(module, _)| !module.iter().any(|part| part == "tests"))
        .collect();
    let all: BTreeSet<Module> = sources.iter().map(|(module, _)| module.clone()).collect();
    let of = |(me, text): (Module, &str)| {
        let mut used = Used {
            all: &all,
            me: &me,
            found: BTreeSet::new(),
        };
        // What does not parse does not compile either.
        if let Ok(file) = syn::parse_file(text) {
            used.visit_file(&file);
        }
        let found = used.found;
        (me, found)
    };
    sources.into_iter().map(of).collect()
}

/// The module that a file holds.
fn module(path: &str) -> Module {
    let parts = path.trim_end_matches(".rs").split('/');
    let mut parts: Module = parts.map(str::to_owned).collect();
    if let [.., last] = parts.as_slice()
        && ["mod", "lib", "main"].contains(&last.as_str())
    {
        parts.pop();
    }
    parts
}

/// The graph of folders and of files beside the root: a node stands for all modules in it.
fn by_folder(files: &Graph) -> Graph {
    let folder = |module: &Module| module.iter().take(1).cloned().collect::<Module>();
    let mut folders = Graph::new();
    for (me, others) in files {
        let others = others.iter().map(&folder).filter(|it| *it != folder(me));
        folders.entry(folder(me)).or_default().extend(others);
    }
    folders
}

/// Collects the modules whose items a file names.
struct Used<'a> {
    all: &'a BTreeSet<Module>,
    me: &'a Module,
    found: BTreeSet<Module>,
}

impl Used<'_> {
    /// Takes note of the module that a path leads into, if it starts at a module of this crate.
    fn path(&mut self, parts: &[String]) {
        let up = parts.iter().take_while(|part| *part == "super").count();
        let from = match parts.first().map(String::as_str) {
            Some("crate") => Module::new(),
            Some("self") => self.me.clone(),
            Some("super") => self.me[..self.me.len().saturating_sub(up)].to_vec(),
            _ => return,
        };
        let rest = &parts[up.max(1)..];
        let whole: Module = from.into_iter().chain(rest.iter().cloned()).collect();
        let ends = (0..=whole.len()).rev().map(|end| whole[..end].to_vec());
        let found = ends.into_iter().find(|module| self.all.contains(module));
        self.found.extend(found.filter(|module| module != self.me));
    }

    fn tree(&mut self, before: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(before, &path.tree);
                before.pop();
            }
            syn::UseTree::Name(name) => self.ending(before, name.ident.to_string()),
            syn::UseTree::Rename(name) => self.ending(before, name.ident.to_string()),
            syn::UseTree::Glob(_) => self.path(before),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(before, tree);
                }
            }
        }
    }

    fn ending(&mut self, before: &mut Vec<String>, name: String) {
        before.push(name);
        self.path(before);
        before.pop();
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    let tests = |it: &syn::Attribute| it.path().is_ident("cfg") && quoted(it).contains("test");
    attributes.iter().any(tests)
}

fn quoted(attribute: &syn::Attribute) -> String {
    match &attribute.meta {
        syn::Meta::List(list) => list.tokens.to_string(),
        _ => String::new(),
    }
}

impl<'ast> Visit<'ast> for Used<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // What a module passes on is declared there, not used.
        let is_passed_on = !matches!(item.vis, syn::Visibility::Inherited);
        if !is_passed_on && !is_test(&item.attrs) {
            self.tree(&mut Vec::new(), &item.tree);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts = path.segments.iter().map(|part| part.ident.to_string());
        self.path(&parts.collect::<Vec<_>>());
        visit::visit_path(self, path);
    }
}

/// The strongly connected parts of a graph that have more than one node, by Tarjan's algorithm.
fn components(graph: &Graph) -> Vec<Vec<Module>> {
    let mut search = Search {
        graph,
        seen: BTreeMap::new(),
        stack: Vec::new(),
        found: Vec::new(),
    };
    for module in graph.keys() {
        if !search.seen.contains_key(module) {
            search.from(module);
        }
    }
    search.found
}

struct Search<'a> {
    graph: &'a Graph,
    /// The number of each module in the order of discovery.
    seen: BTreeMap<&'a Module, usize>,
    stack: Vec<&'a Module>,
    found: Vec<Vec<Module>>,
}

impl<'a> Search<'a> {
    /// The lowest number that is reached from a module within its part.
    fn from(&mut self, module: &'a Module) -> usize {
        let number = self.seen.len();
        self.seen.insert(module, number);
        self.stack.push(module);
        let mut lowest = number;
        for next in self.graph.get(module).into_iter().flatten() {
            match self.seen.get(next) {
                None => lowest = lowest.min(self.from(next)),
                Some(other) if self.stack.contains(&next) => lowest = lowest.min(*other),
                Some(_) => {}
            }
        }
        if lowest == number {
            let at = self.stack.iter().position(|it| *it == module);
            let mut part: Vec<Module> = self.stack[at.expect("on the stack")..]
                .iter()
                .map(|it| (*it).clone())
                .collect();
            self.stack.truncate(at.expect("on the stack"));
            part.sort();
            if part.len() > 1 {
                self.found.push(part);
            }
        }
        lowest
    }
}
