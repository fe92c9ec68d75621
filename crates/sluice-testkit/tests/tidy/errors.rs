//! Errors have types: what went wrong is a kind that callers can distinguish from others, not a
//! text.

use crate::tree::Tree;
use syn::visit::{self, Visit};

/// Functions that name a `Result` whose error is a `String`.
pub fn texts(tree: &Tree) -> Vec<String> {
    let sources = tree.ending(&[".rs"]);
    let found = sources.flat_map(|(path, text)| {
        let mut texts = Texts::default();
        // What does not parse does not compile either.
        if let Ok(file) = syn::parse_file(text) {
            texts.visit_file(&file);
        }
        let found = texts.found.into_iter();
        found.map(move |function| format!("{path}: {function}"))
    });
    found.collect()
}

#[derive(Default)]
struct Texts {
    /// The function whose declaration was met last.
    function: String,
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.function = signature.ident.to_string();
        visit::visit_signature(self, signature);
    }

    fn visit_type_path(&mut self, path: &'ast syn::TypePath) {
        let last = path.path.segments.last();
        if last.is_some_and(|last| last.ident == "Result" && is_text(error_of(last))) {
            self.found.push(self.function.clone());
        }
        visit::visit_type_path(self, path);
    }
}

/// The type of a `Result`'s error, if it names one.
fn error_of(result: &syn::PathSegment) -> Option<&syn::Type> {
    let syn::PathArguments::AngleBracketed(arguments) = &result.arguments else {
        return None;
    };
    match arguments.args.get(1)? {
        syn::GenericArgument::Type(error) => Some(error),
        _ => None,
    }
}

fn is_text(error: Option<&syn::Type>) -> bool {
    let Some(syn::Type::Path(path)) = error else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|last| last.ident == "String")
}
