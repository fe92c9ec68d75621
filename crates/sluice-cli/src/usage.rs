//! The error of a wrong command line, in one line: what is wrong with which word, and what would be
//! accepted.

use clap::error::ErrorKind;
use sluice_config::System;
use sluice_net::FABRIC_PARAMS;
use sluice_params::{Param, keys_with};
use std::ffi::OsString;

/// Ends this command with what is wrong. Help goes as it is.
pub fn refuse(error: &clap::Error, of: &clap::Command) -> ! {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let place = Invoked::of(of, &words);
    let told = match error.kind() {
        ErrorKind::InvalidUtf8 => not_text(&words),
        kind => line(kind, &error.render().to_string(), &place),
    };
    crate::output::refuse(told);
    std::process::exit(2);
}

/// Which words are no text; what the parser says names none.
fn not_text(words: &[OsString]) -> String {
    let own = words.iter().take_while(|word| *word != "--");
    let mut before = None;
    let mut odd = Vec::new();
    for word in own {
        let shown = word.to_string_lossy();
        if word.to_str().is_none() {
            odd.push(match before {
                Some(option) => format!("{option} \"{shown}\""),
                None => format!("\"{shown}\""),
            });
        }
        before = word.to_str().filter(|word| word.starts_with('-'));
    }
    format!("not UTF-8: {}; expected text there", odd.join(", "))
}

/// So many first letters make an option the slip of another.
const SAME: usize = 4;

/// The command that the line begins with.
#[derive(Debug, PartialEq)]
struct Invoked {
    /// Its words, such as `sluice trace info`.
    name: String,
    /// The commands below it.
    choices: Vec<String>,
    /// Whether the argument that a command stands behind is not there.
    is_process_missing: bool,
    /// Whether it takes parameters (`--set`).
    has_parameters: bool,
}

impl Invoked {
    fn of(top: &clap::Command, words: &[OsString]) -> Invoked {
        let (mut at, mut name) = (top, top.get_name().to_owned());
        let mut words = words.iter().filter_map(|word| word.to_str()).peekable();
        let (mut is_process_missing, mut is_behind) = (false, false);
        while let Some(word) = words.next() {
            // A command may stand behind an argument, such as a process.
            let is_argument = at.get_positionals().next().is_some();
            let Some(next) = at.find_subcommand(word) else {
                let is_before = words
                    .peek()
                    .is_some_and(|next| at.find_subcommand(next).is_some());
                if is_argument && is_before {
                    is_behind = true;
                    continue;
                }
                break;
            };
            is_process_missing |= is_argument && !is_behind;
            name = format!("{name} {word}");
            at = next;
        }
        let below = at.get_subcommands().filter(|of| !of.is_hide_set());
        let choices = below.map(|of| of.get_name().to_owned());
        Invoked {
            name,
            choices: choices.collect(),
            is_process_missing,
            has_parameters: { at.get_arguments() }.any(|one| one.get_long() == Some("set")),
        }
    }

    /// The parameters whose names an option has that there is not, such as `--cache-policy`, unless
    /// it is a slip of one that there is.
    fn parameters(&self, kind: ErrorKind, told: &str) -> Vec<&'static str> {
        let option = told.split_once("argument '--");
        let Some((_, option)) = option.filter(|_| kind == ErrorKind::UnknownArgument) else {
            return Vec::new();
        };
        let (option, tip) = option.split_once('\'').unwrap_or((option, ""));
        let start = option.get(..SAME).unwrap_or(option);
        if tip.contains(&format!("'--{start}")) {
            return Vec::new();
        }
        // A cache's size is its capacity.
        let word = |word| if word == "size" { "capacity" } else { word };
        let words: Vec<&str> = option.split(['-', '_', '.']).map(word).collect();
        let params: Vec<&Param> = match &*self.name {
            _ if !self.has_parameters => Vec::new(),
            "sluice sim" => System::params().collect(),
            name if name.starts_with("sluice fabric") => FABRIC_PARAMS.iter().collect(),
            _ => sluice_model::PARAMS.iter().collect(),
        };
        keys_with(&words, params.iter().map(|param| param.key))
    }
}

/// What `sluice ctl COMMAND PID` has the wrong way round.
const PROCESS_FIRST: &str = "the process comes first: sluice ctl PID COMMAND";

/// What clap says, without its layout and in our words.
fn line(kind: ErrorKind, text: &str, place: &Invoked) -> String {
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let is_layout = |line: &str| line.is_empty() || line.starts_with("For more information");
    // A user who mistypes an option does not mean a value.
    let is_odd = |line: &str| line.starts_with("tip: to pass") && line.contains("as a value");
    let lines = lines.map(str::trim);
    let lines = lines.filter(|line| !is_layout(line) && !is_odd(line));
    // Nobody means a command that help does not show.
    let is_hidden = |line: &str| {
        let names = line.split('\'').skip(1).step_by(2);
        kind == ErrorKind::InvalidSubcommand && line.starts_with("tip: ") && { names }
            .any(|name| !place.choices.iter().any(|one| one == name))
    };
    let lines: Vec<&str> = lines.filter(|line| !is_hidden(line)).collect();
    let told = lines.join("; ").replace(":; ", ": ");
    let told = told.strip_prefix("error: ").unwrap_or(&told);
    let help = format!("see `{} --help`", place.name);
    let keys = place.parameters(kind, told);
    match kind {
        ErrorKind::InvalidSubcommand if told.contains("'version'") => {
            format!("{told}; `sluice --version` prints the version")
        }
        ErrorKind::InvalidSubcommand => {
            format!("{told}; expected one of {}", place.choices.join(", "))
        }
        ErrorKind::MissingSubcommand => {
            let (head, _) = told.split_once("; [").unwrap_or((told, ""));
            format!("{head}; expected one of {}", place.choices.join(", "))
        }
        ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument
            if place.is_process_missing =>
        {
            format!("{told}; {PROCESS_FIRST}")
        }
        ErrorKind::MissingRequiredArgument if told.contains("<PROG>") => {
            format!(
                "no program is given, such as `{} -- ./program`; {help}",
                place.name
            )
        }
        ErrorKind::UnknownArgument if !keys.is_empty() => parameter(told, &keys, &help),
        ErrorKind::UnknownArgument if is_negative(told) => {
            format!("{told}; numbers are not negative here; {help}")
        }
        // A word where a command was expected, such as `sluice ctl 1 pni`.
        ErrorKind::UnknownArgument if !told.contains("'-") && !place.choices.is_empty() => {
            format!("{told}; expected one of {}", place.choices.join(", "))
        }
        ErrorKind::UnknownArgument if place.name == "sluice vm" && !told.contains("tip: ") => {
            format!("{told}; QEMU's own arguments come after `--`; {help}")
        }
        ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument => {
            format!("{told}; {help}")
        }
        ErrorKind::ValueValidation => {
            let told = value(told);
            match place.is_process_missing {
                true => format!("{told}; {PROCESS_FIRST}"),
                false => told,
            }
        }
        ErrorKind::ArgumentConflict => format!("{told}; leave one of them out; {help}"),
        ErrorKind::InvalidValue => told
            .replacen("; [possible values: ", ": expected one of ", 1)
            .replacen(']', "", 1),
        _ => told.to_owned(),
    }
}

/// What is said of an option with the name of parameters.
fn parameter(told: &str, keys: &[&str], help: &str) -> String {
    let (head, _) = told.split_once("; tip: ").unwrap_or((told, ""));
    let meant = match keys {
        [before @ .., last] if !before.is_empty() => {
            format!("KEY=VALUE` with {} or {last}", before.join(", "))
        }
        _ => format!("{}=VALUE`", keys.join("")),
    };
    format!("{head}; did you mean `--set {meant}? {help}")
}

/// Whether the word that was not expected is a number below nothing, which passes for an option.
fn is_negative(told: &str) -> bool {
    let (_, word) = told.split_once("argument '-").unwrap_or_default();
    word.starts_with(|first: char| first.is_ascii_digit())
}

/// What clap and Rust say of values that they read themselves.
fn value(told: &str) -> String {
    let Some((head, why)) = told.split_once("': ") else {
        return told.to_owned();
    };
    let numbers = ["invalid digit", "cannot parse integer"];
    let why = if let Some((_, range)) = why.split_once(" is not in ") {
        let (low, high) = range.split_once("..").unwrap_or((range, ""));
        match high.trim_start_matches('=') {
            high if high.len() > 18 || high.is_empty() => {
                format!("expected a whole number from {low} up")
            }
            high => format!("expected a whole number from {low} to {high}"),
        }
    } else if numbers.iter().any(|start| why.starts_with(start)) {
        "expected a whole number".to_owned()
    } else if why.starts_with("number too large") {
        "expected a smaller whole number".to_owned()
    } else {
        // The value was named already.
        let again = why
            .strip_prefix("bad value \"")
            .and_then(|rest| rest.split_once("\": "));
        again.map_or(why, |(_, expected)| expected).to_owned()
    };
    format!("{head}': {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn values_say_what_would_be_accepted() {
        for (told, expected) in [
            (
                "for '--n <N>': 0 is not in 1..=64",
                "for '--n <N>': expected a whole number from 1 to 64",
            ),
            (
                "for '--n <N>': 3 is not in 64..18446744073709551615",
                "for '--n <N>': expected a whole number from 64 up",
            ),
            (
                "for '<PID>': invalid digit found in string",
                "for '<PID>': expected a whole number",
            ),
            (
                "for '--size': bad value \"big\": expected a number",
                "for '--size': expected a number",
            ),
            (
                "for '--x': expected 1ns at least",
                "for '--x': expected 1ns at least",
            ),
        ] {
            assert_eq!(value(told), expected);
        }
    }

    #[test]
    fn words_that_are_no_text_are_named() {
        use std::os::unix::ffi::OsStringExt;
        let words = [&b"sim"[..], b"--set", b"a=\xff", b"\xfe", b"--", b"\xfd"];
        let words = words.map(|word| OsString::from_vec(word.to_vec()));
        let told = "not UTF-8: --set \"a=\u{fffd}\", \"\u{fffd}\"; expected text there";
        assert_eq!(not_text(&words), told);
    }

    #[test]
    fn the_place_is_as_deep_as_the_words_are_commands() {
        let top = crate::commands::Cli::command();
        let words = ["trace", "inform", "--json"].map(OsString::from);
        let place = Invoked::of(&top, &words);
        assert_eq!(place.name, "sluice trace");
        assert!(place.choices.contains(&"info".to_owned()), "{place:?}");
        let text = line(
            ErrorKind::InvalidSubcommand,
            "error: no 'inform'\n\nUsage: x",
            &place,
        );
        assert!(
            text.starts_with("no 'inform'; expected one of record, "),
            "{text}"
        );
    }
}
