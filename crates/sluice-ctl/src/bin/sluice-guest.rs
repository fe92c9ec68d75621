//! `sluice-guest`: what `sluice ctl` is on the host, inside a guest of `sluice vm`.

use clap::{Args, Parser, Subcommand};
use sluice_control::{Connection, DeviceFiles};
use sluice_ctl::broker::{self, Access, Allow, BrokerError, Limits, Listening, SOCKET, Serving};
use sluice_ctl::{CtlCommand, CtlError, Outcome};
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Command the CXL-SSD of this guest: pin, prefetch, evict, change its policy.
///
/// It reaches the device through shared memory on the PCI bus, without a driver, as root. Without
/// root it asks the broker that root has started by `serve`.
#[derive(Debug, Parser)]
#[command(name = "sluice-guest", version, max_term_width = 100)]
struct Guest {
    /// The broker's socket: where `serve` listens, and where users ask that may not open the device
    #[arg(long, global = true, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
    #[command(subcommand)]
    command: GuestCommand,
}

#[derive(Debug, Subcommand)]
enum GuestCommand {
    #[command(flatten)]
    Ctl(CtlCommand),
    /// Answer users of this guest who are not root, over a Unix socket, until it is ended. Each of
    /// them has four clients at a time, and a client 2 s for its message and 64MiB for a command
    Serve(ServeArgs),
}

/// Which users may ask, and for what.
#[derive(Debug, Args)]
struct ServeArgs {
    /// Permissions of the socket: users who may write to it may ask
    #[arg(long, value_name = "MODE", default_value = "0660")]
    mode: String,
    /// Group of the socket, by name or number
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// What may be asked for: stats, map, hints (prefetch, cold, sequential, random, normal), pin
    /// (and unpin), evict, flush, set (and policy)
    #[arg(long, value_name = "KIND,..", default_value = "stats,map,hints")]
    allow: String,
}

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Ctl(#[from] CtlError),
    #[error(transparent)]
    Broker(#[from] BrokerError),
}

fn main() -> ExitCode {
    let guest = Guest::parse();
    // A client that is gone ends no broker, and a reader that is gone, as in `sluice-guest map |
    // head`, ends everything else quietly.
    let on_broken_pipe = match guest.command {
        GuestCommand::Serve(_) => libc::SIG_IGN,
        GuestCommand::Ctl(_) => libc::SIG_DFL,
    };
    // SAFETY: neither action is a handler, and there is no other thread.
    unsafe { libc::signal(libc::SIGPIPE, on_broken_pipe) };
    let outcome = match run(&guest) {
        Ok(outcome) => outcome,
        Err(error) => return failed(&error),
    };
    match std::io::stdout().write_all(outcome.text.as_bytes()) {
        Ok(()) => outcome.status(),
        Err(error) => failed(&format_args!("standard output: {error}")),
    }
}

fn failed(why: &dyn Display) -> ExitCode {
    eprintln!("sluice-guest: {why}");
    ExitCode::from(2)
}

fn run(guest: &Guest) -> Result<Outcome, Failure> {
    let command = match &guest.command {
        GuestCommand::Serve(args) => return serve(&guest.socket, args),
        GuestCommand::Ctl(command) => command,
    };
    // A simulated guest has no ring: its marks are loads that the simulation sees.
    if let Some(name) = command.mark().filter(|_| sluice_control::is_simulated()) {
        sluice_control::mark_simulated(name).map_err(CtlError::from)?;
        return Ok(Outcome {
            text: String::new(),
            is_done: true,
        });
    }
    match connected() {
        Ok(mut connection) => Ok(sluice_ctl::run(&mut connection, command)?),
        // A user who may not open the device asks a broker that may.
        Err(_) if sluice_control::own_user() != 0 && guest.socket.exists() => {
            Ok(broker::ask(&guest.socket, &words())?)
        }
        Err(why) => Err(why.into()),
    }
}

fn connected() -> Result<Connection, CtlError> {
    Ok(Connection::open(DeviceFiles::of_guest()?)?)
}

/// The command's words as they were given, without the socket.
fn words() -> Vec<String> {
    let mut given = std::env::args().skip(1);
    let mut words = Vec::new();
    while let Some(word) = given.next() {
        match word.as_str() {
            "--socket" => drop(given.next()),
            word if word.starts_with("--socket=") => {}
            word => words.push(word.to_owned()),
        }
    }
    words
}

fn serve(socket: &Path, args: &ServeArgs) -> Result<Outcome, Failure> {
    let access = Access::new(&args.mode, args.group.as_deref())?;
    let allow: Allow = args.allow.parse()?;
    // A device that cannot be reached at all is reported now, and not to each client.
    drop(connected()?);
    let door = |command: &CtlCommand| sluice_ctl::run(&mut connected()?, command);
    let listening = Listening::new(socket, &access)?;
    Serving::new(allow, Limits::default(), door).run(&listening)
}
