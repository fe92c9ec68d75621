//! What is made of the declarations of all commands: help by task, completions, pages of manual.

use super::Cli;
use crate::error::Error;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Commands by task, as `sluice --help` lists them. A command that is in none fails a test.
const TASKS: &[(&str, &[&str])] = &[
    (
        "Run programs on a device",
        &["run", "again", "vm", "top", "ctl", "doctor"],
    ),
    (
        "Simulate, and analyse traces",
        &["sim", "size", "curve", "files", "trace", "fabric"],
    ),
    (
        "Many runs, and reports",
        &["sweep", "recipe", "reproduce", "report"],
    ),
    (
        "Lists, checks and test programs",
        &["device", "store", "system", "policy", "workload"],
    ),
    ("Shells", &["completions", "man"]),
];

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that is to complete, such as `sluice completions bash >
    /// ~/.local/share/bash-completion/completions/sluice`
    shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Where the pages go, such as ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The declarations, with help that is grouped by task.
pub fn declared() -> clap::Command {
    let command = Cli::command();
    let width = command
        .get_subcommands()
        .map(|one| one.get_name().len())
        .max();
    let mut text = String::new();
    for (task, names) in TASKS {
        let _ = writeln!(text, "{task}:");
        for name in *names {
            let found = command
                .find_subcommand(name)
                .and_then(|one| one.get_about());
            let about = found.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:<0$}  {about}", width.unwrap_or_default());
        }
        text.push('\n');
    }
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}\n\n\
         `sluice COMMAND --help` describes a command."
    ))
}

/// Prints the script that completes in a shell.
pub fn complete(args: &CompletionsArgs) -> Result<ExitCode, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sluice", &mut script);
    outln!("{}", String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for each command.
pub fn man(args: &ManArgs) -> Result<ExitCode, Error> {
    let failed = |error| Error::system(args.folder.display())(error);
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), &args.folder).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_of_one_task() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut names: Vec<_> = shown.map(|one| one.get_name().to_owned()).collect();
        let mut listed: Vec<_> = TASKS.iter().flat_map(|(_, names)| *names).collect();
        names.sort();
        listed.sort();
        assert_eq!(listed.into_iter().copied().collect::<Vec<_>>(), names);
    }
}
