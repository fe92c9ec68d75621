//! Which allocations and which threads the misses belong to, for `--profile`.

use super::symbols::Symbols;
use sluice_results::{CallFrame, MissProfile, ProfiledMisses, read_profile};
use sluice_units::round_bytes;
use std::fmt::Write;
use std::path::Path;

/// Lines of a table on a terminal.
const LINES: usize = 10;
/// Calls of a line.
const CALLS: usize = 3;
/// Libraries that allocate for their callers: a line begins with the caller.
const ALLOCATORS: [&str; 4] = ["libc.so", "libc-", "libstdc++", "ld-linux"];

/// Reads the profile of a session's processes, with names of functions.
pub fn read(session: &Path, from_bytes: u64) -> MissProfile {
    let mut profile = read_profile(session, from_bytes);
    let mut symbols = Symbols::default();
    for site in &mut profile.sites {
        site.calls = symbols.of(&site.calls);
        site.by = by(&site.calls);
    }
    profile
}

/// Two tables, of allocations and of threads.
pub fn text_of(profile: &MissProfile) -> String {
    let mut all = profile.other_pages;
    profile
        .sites
        .iter()
        .for_each(|site| sum(&mut all, site.missed));
    let mut text = format!(
        "sluice: waits for pages, by who allocated them ({} or more at once)\n\
         sluice: {:>10} {:>7} {:>12} {:>10}  allocated by",
        round_bytes(profile.from_bytes),
        "waited",
        "share",
        "misses",
        "bytes"
    );
    let mut rest = profile.other_pages;
    for (at, site) in profile.sites.iter().enumerate() {
        match at < LINES && site.missed.misses > 0 {
            true => line(
                &mut text,
                site.missed,
                all,
                &round_bytes(site.bytes),
                &site.by,
            ),
            false => sum(&mut rest, site.missed),
        }
    }
    line(&mut text, rest, all, "", "others, and smaller allocations");
    if profile.lost_allocations > 0 {
        let lost = profile.lost_allocations;
        let _ = write!(
            text,
            "\nsluice: {lost} allocations came from more places than are kept"
        );
    }
    text += "\nsluice: waits for pages, by thread";
    let mut rest = profile.other_threads;
    for (at, thread) in profile.threads.iter().enumerate() {
        let name = format!(
            "{} (thread {} of {})",
            thread.name, thread.thread, thread.pid
        );
        match at < LINES {
            true => line(&mut text, thread.missed, all, "", &name),
            false => sum(&mut rest, thread.missed),
        }
    }
    if rest.misses > 0 {
        line(&mut text, rest, all, "", "others");
    }
    text
}

fn sum(to: &mut ProfiledMisses, other: ProfiledMisses) {
    to.misses = to.misses.saturating_add(other.misses);
    to.waited_ns = to.waited_ns.saturating_add(other.waited_ns);
}

fn line(text: &mut String, missed: ProfiledMisses, all: ProfiledMisses, bytes: &str, by: &str) {
    let share = match all.waited_ns {
        0 => 0.0,
        all => missed.waited_ns as f64 / all as f64 * 100.0,
    };
    let waited = missed.waited_ns as f64 / 1e9;
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\nsluice: {waited:>8.3} s {share:>5.1} % {:>12} {bytes:>10}  {by}",
        missed.misses
    );
}

/// Calls in a line: from the caller of the allocator outwards.
fn by(calls: &[CallFrame]) -> String {
    let is_allocator = |call: &&CallFrame| {
        let name = file_name(&call.module);
        ALLOCATORS.iter().any(|known| name.starts_with(known))
    };
    let inner = calls.iter().take_while(is_allocator).count();
    let from = if inner < calls.len() { inner } else { 0 };
    // What calls `main` is no answer to anybody.
    let is_main = |call: &CallFrame| call.function.as_deref() == Some("main");
    let until = calls.iter().position(is_main);
    let calls = &calls[from..until.map_or(calls.len(), |at| at + 1).max(from)];
    match calls {
        [] => "code without a file".to_owned(),
        calls => {
            let names: Vec<String> = calls.iter().take(CALLS).map(name_of).collect();
            names.join(" < ")
        }
    }
}

fn name_of(call: &CallFrame) -> String {
    let place = match (&call.file, call.line) {
        (Some(file), Some(line)) => format!(" ({}:{line})", file_name(file)),
        _ => String::new(),
    };
    match &call.function {
        Some(function) => format!("{function}{place}"),
        None if call.module.is_empty() => format!("{:#x}", call.address),
        None => format!("{}+{:#x}", file_name(&call.module), call.address),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(module: &str, function: Option<&str>, line: Option<u32>) -> CallFrame {
        CallFrame {
            module: module.to_owned(),
            address: 0x1234,
            function: function.map(str::to_owned),
            file: line.map(|_| "/src/prog.c".to_owned()),
            line,
        }
    }

    #[test]
    fn a_line_begins_with_who_called_the_allocator_and_ends_with_main() {
        let known = [
            call("/lib/libstdc++.so.6", Some("operator new"), None),
            call("/bin/prog", Some("build"), Some(12)),
            call("/bin/prog", Some("main"), Some(40)),
            call("/lib/libc.so.6", Some("__libc_start_main"), None),
        ];
        assert_eq!(by(&known), "build (prog.c:12) < main (prog.c:40)");
        assert_eq!(by(&known[..1]), "operator new");
        let unknown = [call("/bin/prog", None, None), call("", None, None)];
        assert_eq!(by(&unknown), "prog+0x1234 < 0x1234");
        assert_eq!(by(&[]), "code without a file");
    }
}
