//! Options that are nothing without another. The parser's own `requires` would not do: it forgets
//! what an option requires where something that is given conflicts with that.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// Commands, options of theirs, and the options of which each needs one.
type Need = (
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

const NEEDS: &[Need] = &[
    (
        &["run", "sim", "size", "curve", "files", "fabric run"],
        &["force"],
        &["out"],
    ),
    (&["vm"], &["force"], &["out", "record"]),
    (&["run", "vm"], &["record_traps"], &["out"]),
    (
        &["run", "vm"],
        &["system", "scale", "from", "to"],
        &["simulate"],
    ),
    (&["vm"], &["count_after"], &["simulate"]),
    (&["vm"], &["guest_command", "with"], &["demo"]),
    (
        &["sim"],
        &["scale", "threads", "instructions", "timeline", "check"],
        &["system"],
    ),
    (&["curve"], &["scale"], &["system"]),
    (&["fabric run"], &["window"], &["json", "out"]),
    (&["fabric run"], &["scale", "threads"], &["workload"]),
    (
        &["fabric run"],
        &["accesses", "caches", "spread", "instruction"],
        &["workload", "trace"],
    ),
];

/// Ends this command if an option is given without one that it needs.
pub fn check(found: &ArgMatches, top: &Command) {
    if let Some(told) = lacking(found, top) {
        crate::output::refuse(told);
        std::process::exit(2);
    }
}

/// What is wrong with a command line, if that is.
fn lacking(found: &ArgMatches, top: &Command) -> Option<String> {
    let (mut found, mut command, mut name) = (found, top, String::new());
    while let Some((word, below)) = found.subcommand() {
        command = command.find_subcommand(word)?;
        name = format!("{name} {word}");
        found = below;
    }
    let is_given = |id: &&&str| found.value_source(id) == Some(ValueSource::CommandLine);
    let own = NEEDS
        .iter()
        .filter(|(commands, ..)| commands.contains(&name.trim_start()));
    for (_, options, needed) in own {
        if needed.iter().any(|id| is_given(&id)) {
            continue;
        }
        if let Some(option) = options.iter().find(is_given) {
            let needed = needed.iter().filter_map(|id| shown(command, id));
            let needed: Vec<String> = needed.collect();
            let option = shown(command, option)?;
            let option = option.split(' ').next()?;
            return Some(format!(
                "{option} needs {} too; give both or neither; see `sluice{name} --help`",
                needed.join(" or ")
            ));
        }
    }
    None
}

/// An option with its value, as help has it.
fn shown(command: &Command, id: &str) -> Option<String> {
    let mut command = command.clone();
    // Arguments can be shown once they are built.
    command.build();
    let mut all = command.get_arguments();
    all.find(|one| one.get_id() == id).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Cli;
    use clap::CommandFactory;

    /// Every command by its words.
    fn every(of: &Command, name: &str, all: &mut Vec<(String, Command)>) {
        for below in of.get_subcommands() {
            let name = format!("{name} {}", below.get_name());
            all.push((name.trim_start().to_owned(), below.clone()));
            every(below, &name, all);
        }
    }

    /// Thirteen options did nothing beside others, without an error.
    #[test]
    fn what_an_option_needs_is_known_here_alone() {
        let mut all = Vec::new();
        every(&Cli::command(), "", &mut all);
        assert!(all.len() > 30);
        for (name, command) in &all {
            for one in command.get_arguments() {
                let told = format!("{one:?}");
                assert!(told.contains("requires: []"), "{name}: {told}");
            }
            let has = |id: &str| command.get_arguments().any(|one| one.get_id() == id);
            let needs_out = |need: &&Need| need.1 == ["force"] && need.0.contains(&name.as_str());
            let of_out = NEEDS.iter().any(|need| needs_out(&need)) || name == "again";
            assert_eq!(has("out") && has("force"), of_out, "{name}");
        }
        for (commands, options, needed) in NEEDS {
            for name in *commands {
                let (_, command) = all.iter().find(|(one, _)| one == name).expect("a command");
                for id in options.iter().chain(*needed) {
                    assert!(shown(command, id).is_some(), "{name}: {id}");
                }
            }
        }
    }
}
