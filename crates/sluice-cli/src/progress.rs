//! How far a simulation is, on a terminal.

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

/// What is done in a second, as a whole number.
fn rate(state: &ProgressState, to: &mut dyn std::fmt::Write) {
    // A terminal that cannot be written to shows nothing.
    let _ = write!(to, "{}/s", HumanCount(state.per_sec() as u64));
}

/// Things done, of how many if that is known.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// None done of `all` things of this kind.
    pub fn new(all: Option<u64>, of: &str) -> Progress {
        let style = |template: String| {
            ProgressStyle::with_template(&template).map(|style| style.with_key("rate", rate))
        };
        let bar = match all {
            Some(all) => ProgressBar::new(all).with_style(
                style(format!(
                    "{{bar:30}} {{human_pos}} of {{human_len}} {of}, {{rate}}, {{eta}} left"
                ))
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
            ),
            None => ProgressBar::no_length().with_style(
                style(format!("{{spinner}} {{human_pos}} {of}, {{rate}}"))
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            ),
        };
        Progress { bar }
    }

    /// Shows how many are done.
    pub fn show(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Takes the line away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
