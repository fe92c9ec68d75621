//! The talk with the demo's guest, by its second serial port.

use super::Progress;
use crate::error::Error;
use sluice_abi::Counter;
use sluice_results::Process;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// What the guest said, and the device's figures when it said so.
#[derive(Debug, Default)]
pub struct Told {
    /// Release of its kernel.
    pub kernel: Option<String>,
    /// How it sees the device: lines of `numactl -H`, `daxctl list` or `cxl list`.
    pub topology: Vec<String>,
    /// What its command printed.
    pub output: Vec<String>,
    /// The command's status.
    pub status: Option<i32>,
    /// Why it could not start the command.
    pub failed: Option<String>,
    /// Why a line of it could not be printed; those behind it were not tried.
    pub unprinted: Option<Error>,
    /// Figures of each device before the command.
    pub before: Option<Vec<Process>>,
    /// Figures of each device after the command.
    pub after: Option<Vec<Process>>,
    /// When it was let start, and how long it took.
    pub started: Option<Instant>,
    pub wall: Option<Duration>,
}

/// How often the figures are read, a millisecond apart, until no miss is under way.
const LOOKS: u32 = 100;

/// The devices' figures at a moment without a miss under way.
///
/// A miss is counted when it begins, and its latency when it ends. The guest's kernel may touch the
/// device while our process in it waits for an answer, so a figure may be read between the two.
fn settled(figures: impl Fn() -> Option<Vec<Process>>) -> Option<Vec<Process>> {
    let is_settled = |of: &Process| of.latency().achieved.count == of.get(Counter::Misses);
    let mut now = figures()?;
    for _ in 1..LOOKS {
        if now.iter().all(is_settled) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
        now = figures()?;
    }
    Some(now)
}

/// Our end of the line.
pub struct Control {
    stream: UnixStream,
    /// Whether the guest waits for answers. One that is simulated does not: it would hear of them
    /// at another time in each run.
    is_waited_for: bool,
}

impl Control {
    /// Both ends; the second is for QEMU, which inherits it.
    pub fn pair(is_waited_for: bool) -> Result<(Control, OwnedFd), Error> {
        let failed = |e| Error::system("making a pair of sockets")(e);
        let (stream, far) = UnixStream::pair().map_err(failed)?;
        // A duplicate is not closed by exec.
        let far = rustix::io::dup(&far).map_err(|e| failed(e.into()))?;
        let control = Control {
            stream,
            is_waited_for,
        };
        Ok((control, far))
    }

    /// Listens until the guest is gone. The guest waits for an answer before and after its command,
    /// so that what is read of the device is of the command alone.
    pub fn converse(
        self,
        figures: impl Fn() -> Option<Vec<Process>>,
        quiet: bool,
        progress: &Progress,
    ) -> Told {
        let mut told = Told::default();
        let mut lines = BufReader::new(&self.stream);
        let (mut line, mut is_empty_before) = (Vec::new(), false);
        let print = |told: &mut Told, text: String| {
            if !quiet && told.unprinted.is_none() {
                told.unprinted = progress.print(&text).err();
            }
            told.output.push(text);
        };
        // A line that breaks off ends the talk, as QEMU's end does.
        while matches!(lines.read_until(b'\n', &mut line), Ok(n) if n > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            // The empty line before a message is the message's. The command's come with the next.
            let message = text.strip_prefix("@sluice ");
            if std::mem::take(&mut is_empty_before) && message.is_none() {
                print(&mut told, String::new());
            }
            let Some(message) = message else {
                is_empty_before = text.is_empty();
                if !is_empty_before {
                    print(&mut told, text);
                }
                continue;
            };
            match message.split_once(' ').unwrap_or((message, "")) {
                ("topology", of) => told.topology.push(of.to_owned()),
                ("ready", kernel) => {
                    told.kernel = Some(kernel.to_owned());
                    progress.say("running the command in the guest");
                    told.before = settled(&figures);
                    told.started = Some(Instant::now());
                    self.answer(self.is_waited_for);
                }
                ("end", status) => {
                    told.status = status.parse().ok();
                    told.wall = told.started.map(|at| at.elapsed());
                    told.after = settled(&figures);
                    progress.end();
                    self.answer(self.is_waited_for);
                }
                ("failed", why) => {
                    told.failed = Some(why.to_owned());
                    self.answer(true);
                }
                _ => told.output.push(text),
            }
        }
        if is_empty_before {
            print(&mut told, String::new());
        }
        told
    }

    /// A guest that is gone needs no answer.
    fn answer(&self, is_waited_for: bool) {
        if !is_waited_for {
            return;
        }
        let _ = (&self.stream).write_all(b"go\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// The messages that arrive when the guest's init sends its own around a command's output.
    fn told_of(command: &str) -> Told {
        let init = include_str!("guest-init.sh");
        let begin = init.find("say() {").expect("it speaks");
        let say = &init[begin..begin + init[begin..].find("\n}").expect("an end") + 2];
        let script = format!("exec 3>&1\n{say}\nsay ready 6.1\n{command}\nsay end 7");
        let (control, far) = Control::pair(false).expect("sockets");
        let mut guest = Command::new("sh");
        guest.args(["-c", &script]).stdout(Stdio::from(far));
        let mut running = guest.spawn().expect("a shell");
        // The end of the line is the guest's.
        drop(guest);
        let told = control.converse(|| Some(Vec::new()), true, &Progress::new());
        assert!(running.wait().expect("ours").success());
        told
    }

    /// The end of a command whose last line has no end was taken for a part of that line, and the
    /// guest waited for ever.
    #[test]
    fn a_command_may_print_anything_before_the_guests_message() {
        for (command, expected) in [
            ("printf hello", &["hello"][..]),
            ("printf 'hello\\n'", &["hello"]),
            ("printf 'hello\\n\\n'", &["hello", ""]),
            (
                "printf '\\n\\nhello\\n\\nyou'",
                &["", "", "hello", "", "you"],
            ),
            ("true", &[]),
            ("printf '\\n'", &[""]),
        ] {
            let told = told_of(command);
            assert_eq!(told.output, expected, "{command}");
            assert_eq!(told.status, Some(7), "{command}");
            assert_eq!(told.kernel.as_deref(), Some("6.1"), "{command}");
        }
    }
}
