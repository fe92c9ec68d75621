//! Names of functions and lines of sources, from the symbols of programs and libraries.

use addr2line::{Loader, demangle_auto};
use sluice_results::CallFrame;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Modules whose symbols are looked at, once each.
#[derive(Default)]
pub struct Symbols {
    modules: BTreeMap<String, Option<Loader>>,
}

impl Symbols {
    /// The calls with what is known of each. Functions that the compiler has put into others have
    /// calls of their own.
    pub fn of(&mut self, calls: &[CallFrame]) -> Vec<CallFrame> {
        calls.iter().flat_map(|call| self.named(call)).collect()
    }

    fn named(&mut self, call: &CallFrame) -> Vec<CallFrame> {
        let path = &call.module;
        let open = || Loader::new(path).ok();
        let loader = self.modules.entry(path.clone()).or_insert_with(open);
        let found = loader.as_ref().map(|loader| lookup(loader, call));
        found
            .filter(|found| !found.is_empty())
            .unwrap_or_else(|| vec![call.clone()])
    }
}

/// The functions at an address, the innermost first.
fn lookup(loader: &Loader, call: &CallFrame) -> Vec<CallFrame> {
    // The call stands before the address that it returns to.
    let at = call.address.saturating_sub(1);
    let mut found = Vec::new();
    if let Ok(mut frames) = loader.find_frames(at) {
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|function| {
                let name = function.demangle().ok()?;
                Some(name.into_owned())
            });
            let place = frame.location.as_ref();
            found.push(CallFrame {
                function: name,
                file: place.and_then(|place| place.file).map(str::to_owned),
                line: place.and_then(|place| place.line),
                ..call.clone()
            });
        }
    }
    // Without debug information there may be the names of functions.
    let symbol = || loader.find_symbol(at);
    match &mut found[..] {
        [] => found.extend(symbol().map(|name| with_name(call, name))),
        [.., outer] if outer.function.is_none() => {
            if let Some(name) = symbol() {
                outer.function = with_name(call, name).function;
            }
        }
        _ => {}
    }
    found
}

fn with_name(call: &CallFrame, name: &str) -> CallFrame {
    CallFrame {
        function: Some(demangle_auto(Cow::Borrowed(name), None).into_owned()),
        ..call.clone()
    }
}
