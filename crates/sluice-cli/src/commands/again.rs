//! `sluice again`: a run once more, and what differs.

use crate::error::Error;
use crate::signals;
use crate::told::{self, FILE};
use clap::Args;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[derive(Debug, Args)]
#[command(
    after_help = "The command of DIR runs in its folder with its arguments and variables, and \
                  keeps its result in a folder of its own. Then Sluice prints on standard error \
                  what differs in host and Sluice, and every figure that differs. It ends with the \
                  command's status."
)]
pub struct AgainArgs {
    /// The folder that a command wrote by --out
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Keep the result in this folder [default: the first of DIR.2, DIR.3, .. that is not there]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace a result that is there
    #[arg(long)]
    pub force: bool,
}

/// Figures that differ and are printed, at most.
const SHOWN: usize = 30;

pub fn run(args: &AgainArgs) -> Result<ExitCode, Error> {
    let name = args.folder.display();
    let kept = told::read(&args.folder).map_err(|e| unread(&args.folder, e))?;
    if !Path::new(&kept.directory).is_dir() {
        let why = format!(
            "it ran in {}, which is not there; make that folder",
            kept.directory
        );
        return Err(Error::unfit(&name, why));
    }
    let out = std::path::absolute(match &args.out {
        Some(out) => out.clone(),
        None => free(&args.folder).map_err(Error::system(name.to_string()))?,
    })
    .map_err(Error::system(name.to_string()))?;
    let arguments = with_out(&kept.arguments, &out.to_string_lossy(), args.force);
    let arguments =
        arguments.ok_or_else(|| Error::unfit(&name, format!("its {FILE} names no --out")))?;
    let now = told::now();
    differences("", &kept.host, &now.host);
    if kept.version != now.version {
        errln!(
            "sluice: version: {} then, {} now",
            kept.version,
            now.version
        );
    }
    let own = std::env::current_exe().map_err(Error::system("finding this command"))?;
    // The run may write over it.
    let before = result(&args.folder);
    let there = stamp(&out);
    let mut command = Command::new(own);
    set_variables(&mut command, &kept.environment, &now.environment);
    command.args(&arguments).current_dir(&kept.directory);
    let cannot = || Error::system(format!("{}: running it again", kept.directory));
    let mut child = command.spawn().map_err(cannot())?;
    signals::forward_to(child.id(), &signals::ENDING);
    let status = child.wait().map_err(cannot())?;
    signals::end_forwarding(false);
    // What the command refused to write to has the result of another one, or none.
    if stamp(&out) != there {
        if let (Some(before), Some(after)) = (before, result(&out)) {
            compare(&before, &after);
        }
        errln!("sluice: kept in {}", out.display());
    }
    Ok(crate::child::leave(crate::child::exit_of(status)))
}

/// Gives a command the variables that were kept. One that has them already gets no other: variables
/// that are set come in another order, which a program sees.
fn set_variables(
    command: &mut Command,
    kept: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) {
    let differs = |name: &String| kept.get(name) != now.get(name);
    for name in now.keys().chain(kept.keys()).filter(|name| differs(name)) {
        match kept.get(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// Why a folder cannot be run again.
fn unread(folder: &Path, error: std::io::Error) -> Error {
    let shown = folder.display();
    let expected = "expected a folder that a command wrote by --out";
    let above = folder.parent().filter(|above| above.join(FILE).exists());
    match (error.kind(), above) {
        (ErrorKind::NotADirectory, Some(above)) => Error::unfit(
            shown,
            format!("a file; give its folder, {}", above.display()),
        ),
        (ErrorKind::NotADirectory, None) => Error::unfit(shown, format!("a file; {expected}")),
        (ErrorKind::NotFound, _) if !folder.exists() => {
            Error::unfit(shown, format!("no such folder; {expected}"))
        }
        (ErrorKind::NotFound, _) => Error::unfit(shown, format!("no {FILE} is there; {expected}")),
        (ErrorKind::InvalidData | ErrorKind::UnexpectedEof, _) => Error::unfit(
            shown,
            format!("its {FILE} is damaged ({error}); run the command itself again"),
        ),
        _ => Error::system(format!("{shown}: {FILE}"))(error),
    }
}

/// Which command wrote a folder last: its file, and when that was made.
fn stamp(folder: &Path) -> Option<(u64, i64, i64)> {
    let file = std::fs::metadata(folder.join(FILE)).ok()?;
    Some((file.ino(), file.mtime(), file.mtime_nsec()))
}

/// The first name after a folder's that is not there.
fn free(folder: &Path) -> std::io::Result<PathBuf> {
    let folder: PathBuf = match folder.file_name() {
        // Without a slash behind it.
        Some(_) => folder.components().collect(),
        None => folder.canonicalize()?,
    };
    let numbered = |number: u64| {
        let mut name = folder.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    let mut names = (2..).map(numbered);
    Ok(names.find(|name| !name.exists()).unwrap_or_default())
}

/// Where a program and its arguments begin: with them the line ends.
fn program_at(arguments: &[String]) -> usize {
    let words = ["sluice"]
        .into_iter()
        .chain(arguments.iter().map(|word| &**word));
    let Ok(found) = super::declared().try_get_matches_from(words) else {
        // Another version's: a program stands behind this at least.
        let mark = arguments.iter().position(|word| word == "--");
        return mark.unwrap_or(arguments.len());
    };
    let mut at = &found;
    while let Some((_, below)) = at.subcommand() {
        at = below;
    }
    let last = at
        .ids()
        .filter(|id| ["program", "qemu_args"].contains(&id.as_str()));
    let words = last.filter_map(|id| at.get_raw(id.as_str())).flatten();
    arguments.len() - words.count()
}

/// Arguments with another output folder; those of a program stay.
fn with_out(arguments: &[String], out: &str, force: bool) -> Option<Vec<String>> {
    let program = program_at(arguments);
    let at = arguments[..program]
        .iter()
        .position(|word| word == "--out" || word.starts_with("--out="))?;
    let rest = at + if arguments[at] == "--out" { 2 } else { 1 };
    let before = arguments[..at].iter().filter(|word| *word != "--force");
    let mut words: Vec<String> = before.cloned().collect();
    words.push(format!("--out={out}"));
    words.extend(force.then(|| "--force".to_owned()));
    let ours = arguments.get(rest..program)?;
    words.extend(ours.iter().filter(|word| *word != "--force").cloned());
    words.extend_from_slice(&arguments[program..]);
    Some(words)
}

fn result(folder: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(folder.join("stats.json")).ok()?).ok()
}

/// Prints the values that differ, and returns how many there are.
fn differences(
    of: &str,
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> usize {
    let keys: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let none = "none".to_owned();
    let values = keys.into_iter().map(|key| {
        let [before, now] = [before, now].map(|of| of.get(key).unwrap_or(&none));
        (key, before, now)
    });
    let differing: Vec<_> = values.filter(|(_, before, now)| before != now).collect();
    for (key, before, now) in differing.iter().take(SHOWN) {
        let change = match (before.parse::<f64>(), now.parse::<f64>()) {
            (Ok(before), Ok(now)) if before != 0.0 => {
                format!(" ({:+.2} %)", 100.0 * (now - before) / before)
            }
            _ => String::new(),
        };
        let [before, now] = shown(before, now);
        errln!("sluice: {of}{key}: {before} then, {now} now{change}");
    }
    if differing.len() > SHOWN {
        errln!("sluice: and {} more", differing.len() - SHOWN);
    }
    differing.len()
}

/// Two figures for people: with six digits, or with as many as it takes to see that they differ.
fn shown(before: &str, now: &str) -> [String; 2] {
    let rounded = |text: &str, digits: usize| match text.parse::<f64>() {
        Ok(number) if text.contains('.') && number != 0.0 => {
            let whole = number.abs().log10().floor() as i32 + 1;
            let places = (digits as i32 - whole).max(0) as usize;
            let fixed = format!("{number:.places$}");
            match fixed.contains('.') {
                true => fixed.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => fixed,
            }
        }
        _ => text.to_owned(),
    };
    let pairs = (6..17).map(|digits| [before, now].map(|text| rounded(text, digits)));
    let mut differing = pairs.filter(|[before, now]| before != now);
    differing
        .next()
        .unwrap_or_else(|| [before, now].map(str::to_owned))
}

/// Prints how a result differs from another.
fn compare(before: &Value, after: &Value) {
    let [before, after] = [before, after].map(|value| {
        let mut all = BTreeMap::new();
        leaves("", value, &mut all);
        all
    });
    if differences("", &before, &after) == 0 {
        errln!("sluice: every figure is what it was");
    }
}

/// The values of an object by their keys with dots; numbers of processes are no figures.
fn leaves(at: &str, value: &Value, all: &mut BTreeMap<String, String>) {
    let name = |key: &str| match at {
        "" => key.to_owned(),
        _ => format!("{at}.{key}"),
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "pid")
            .for_each(|(key, value)| leaves(&name(key), value, all)),
        Value::Array(items) => (0..)
            .zip(items)
            .for_each(|(index, item): (usize, _)| leaves(&name(&index.to_string()), item, all)),
        leaf => {
            all.insert(at.to_owned(), leaf.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means had seventeen digits.
    #[test]
    fn figures_have_the_digits_that_show_the_difference() {
        for (before, now, expected) in [
            ("1.142737786", "0.863559748", ["1.14274", "0.86356"]),
            ("40123.45678901234", "40123.99", ["40123.5", "40124"]),
            (
                "0.1234567890123",
                "0.1234567990123",
                ["0.12345679", "0.1234568"],
            ),
            ("1234567", "1234568", ["1234567", "1234568"]),
            ("1e-7", "0.000001234567", ["1e-7", "0.00000123457"]),
            ("none", "3.5", ["none", "3.5"]),
        ] {
            assert_eq!(shown(before, now), expected, "{before} {now}");
        }
    }

    #[test]
    fn the_programs_own_arguments_stay() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let of = |text, force| with_out(&words(text), "/new", force).map(|it| it.join(" "));
        assert_eq!(
            of(
                "run --force --out old --seed 3 --force -- p --out x --force",
                false
            ),
            Some("run --out=/new --seed 3 -- p --out x --force".to_owned())
        );
        assert_eq!(
            of("sim --out=old --json", true),
            Some("sim --out=/new --force --json".to_owned())
        );
        assert_eq!(of("sim --json", false), None);
        for (line, again) in [
            ("run --out old p --force", "run --out=/new p --force"),
            (
                "run --force --out=old p --out x --force",
                "run --out=/new p --out x --force",
            ),
            (
                "run --out old --trap signal p -- --force",
                "run --out=/new --trap signal p -- --force",
            ),
            (
                "vm --out old --force -- --force",
                "vm --out=/new -- --force",
            ),
        ] {
            assert_eq!(of(line, false).as_deref(), Some(again));
        }
        assert_eq!(of("run p --out old", false), None);
    }
}
