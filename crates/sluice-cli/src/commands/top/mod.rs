//! `sluice top`: what the devices on this host are doing, second by second.
//!
//! It reads the statistics that every process on a device writes, and asks nobody for anything.

mod rates;
mod screen;

use crate::error::{ArgumentError, Error};
use clap::Args;
use rates::{RANGE_TITLE, TITLES, cells, command, range_line, rows};
use sluice_control::home::sessions;
use sluice_region::{is_running, own_user, user_of};
use sluice_results::{Heat, Process, Top, TopRow, TopSchema, read_heat, read_processes, to_json};
use sluice_units::Ps;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Debug, Args)]
#[command(
    after_help = "q, Escape or Ctrl-C ends it. In a pipe, and with TERM=dumb, it \
                        prints once."
)]
pub struct TopArgs {
    /// One process, or the `sluice` that runs it, instead of all
    #[arg(value_name = "PID")]
    pub pid: Option<u32>,
    /// Print the rates of one interval and end
    #[arg(long)]
    pub once: bool,
    /// Print what is shown as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Time from one look to the next
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Ps,
}

/// A time that a person can follow.
fn interval(text: &str) -> Result<Ps, ArgumentError> {
    match text.parse::<Ps>() {
        Ok(time) if time >= Ps::from_ms(10) => Ok(time),
        _ => Err(ArgumentError::Expected(
            "10ms or more, such as 1s".to_owned(),
        )),
    }
}

/// Shows rates until a key or a signal ends it, or once.
pub fn run(args: &TopArgs) -> Result<ExitCode, Error> {
    let period = Duration::from_nanos(args.interval.as_ns());
    let mut watch = Watch::begin(args.pid)?;
    if !args.once && !args.json && shows_screens() {
        return screen::show(&mut watch, period);
    }
    std::thread::sleep(period);
    let rows = watch.rows();
    if args.json {
        let top = Top {
            schema: TopSchema::default(),
            processes: rows,
        };
        outln!("{}", to_json(&top))?;
    } else {
        outln!(
            "{}",
            TITLES
                .map(|(title, width)| format!("{title:>width$}"))
                .join(" ")
        )?;
        for row in &rows {
            let cells = cells(row);
            let cells = cells
                .iter()
                .zip(TITLES)
                .map(|(cell, (_, n))| format!("{cell:>n$}"));
            outln!("{} {}", cells.collect::<Vec<_>>().join(" "), command(row))?;
        }
        // Of many processes they would be many lines.
        if let [row] = &rows[..] {
            print_hottest(row)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the output is a terminal, and one that can write elsewhere than at its end.
fn shows_screens() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|name| name != "dumb")
}

fn print_hottest(row: &TopRow) -> Result<(), Error> {
    if !row.hottest.is_empty() {
        outln!("\n{RANGE_TITLE}")?;
    }
    for range in &row.hottest {
        outln!("{}", range_line(range, row))?;
    }
    Ok(())
}

/// A process, and where its misses were.
struct Seen {
    device: Option<String>,
    process: Process,
    heat: Heat,
}

/// The processes that are watched, as they were last.
struct Watch {
    pid: Option<u32>,
    before: Vec<Seen>,
    at: Instant,
}

impl Watch {
    fn begin(pid: Option<u32>) -> Result<Watch, Error> {
        if let Some(pid) = pid {
            // Says why, if there is nothing to watch.
            sluice_control::DeviceFiles::with_view(pid)?;
        }
        let before = processes(pid);
        if before.is_empty() {
            return Err(Error::NoProcess);
        }
        let at = Instant::now();
        Ok(Watch { pid, before, at })
    }

    /// What happened since the last call.
    fn rows(&mut self) -> Vec<TopRow> {
        let (now, at) = (processes(self.pid), Instant::now());
        let rows = rows(&self.before, &now, (at - self.at).as_secs_f64());
        (self.before, self.at) = (now, at);
        rows
    }
}

/// The images that run, of one process (or of the command that runs it) or of all.
fn processes(pid: Option<u32>) -> Vec<Seen> {
    let all = sessions().into_iter().flat_map(|session| {
        let all = read_processes(&session.path);
        let last = |p: &Process| !all.iter().any(|q| q.pid == p.pid && q.image > p.image);
        let runs = |p: &&Process| last(p) && is_of(p, session.user);
        let of_command = pid.is_some() && session.command == pid;
        let wanted = |p: &&Process| of_command || pid.is_none_or(|pid| u64::from(pid) == p.pid);
        all.iter()
            .filter(runs)
            .filter(wanted)
            .map(|process| Seen {
                device: session.name.clone(),
                heat: read_heat(&session.path, process.pid, process.image),
                process: process.clone(),
            })
            .collect::<Vec<_>>()
    });
    all.collect()
}

/// Whether the process that a file describes runs and the file may be believed: another user's
/// files may describe only processes of that user. A process that root started may have changed its
/// user.
fn is_of(process: &Process, user: u32) -> bool {
    let Ok(pid) = u32::try_from(process.pid) else {
        return false;
    };
    let is_trusted = [0, own_user()].contains(&user);
    is_running(pid) && (is_trusted || user_of(pid) == Some(user))
}
