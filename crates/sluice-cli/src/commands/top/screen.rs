//! The live screen.

use super::Watch;
use super::rates::{RANGE_TITLE, TITLES, cells, command, range_line};
use crate::error::Error;
use crate::signals;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line as Text;
use ratatui::widgets::{Block, Cell, Paragraph, Row as Line, Table};
use ratatui::{DefaultTerminal, Frame};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use sluice_results::TopRow;
use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How soon a signal that asks for the end is noticed.
const NOTICED_WITHIN: Duration = Duration::from_millis(100);

/// What a terminal's keyboard has.
enum Input {
    Nothing,
    Some,
    /// The terminal was closed, and gives no key any more.
    Closed,
}

/// The terminal that keys come from: that of the input, or else our own.
struct Keyboard(OwnedFd);

impl Keyboard {
    fn open() -> std::io::Result<Keyboard> {
        let input = std::io::stdin();
        match input.is_terminal() {
            true => input.as_fd().try_clone_to_owned().map(Keyboard),
            false => File::open("/dev/tty").map(|file| Keyboard(file.into())),
        }
    }

    /// Waits for a key, so long at most. `event::poll` would never return once the terminal is
    /// closed.
    fn wait(&self, longest: Duration) -> std::io::Result<Input> {
        let longest = Timespec::try_from(longest).map_err(std::io::Error::other)?;
        let mut wanted = [PollFd::new(&self.0, PollFlags::IN)];
        match poll(&mut wanted, Some(&longest)) {
            Err(Errno::INTR) | Ok(0) => return Ok(Input::Nothing),
            other => other?,
        };
        let is_closed = wanted[0].revents() != PollFlags::IN;
        Ok(if is_closed {
            Input::Closed
        } else {
            Input::Some
        })
    }
}

/// Shows rates until q, Escape, Ctrl-C or a signal, or until the last process has ended, or nobody
/// has the terminal any more.
pub fn show(watch: &mut Watch, period: Duration) -> Result<ExitCode, Error> {
    let failed = || Error::system("the terminal");
    let keyboard = Keyboard::open().map_err(failed())?;
    signals::note_requests();
    let mut terminal = ratatui::try_init().map_err(failed())?;
    let ended = rounds(&mut terminal, &keyboard, watch, period);
    // Fails where the terminal is gone, and then there is nothing to put in order.
    let _ = ratatui::try_restore();
    signals::end_as_asked();
    ended.map_err(failed())?;
    Ok(ExitCode::SUCCESS)
}

fn rounds(
    terminal: &mut DefaultTerminal,
    keyboard: &Keyboard,
    watch: &mut Watch,
    period: Duration,
) -> std::io::Result<()> {
    let mut rows = Vec::new();
    loop {
        terminal.draw(|frame| draw(frame, &rows))?;
        if is_told_to_end(keyboard, Instant::now() + period)? {
            return Ok(());
        }
        rows = watch.rows();
        if watch.before.is_empty() {
            return Ok(());
        }
    }
}

/// Waits until a moment. Says whether somebody wants the end meanwhile.
fn is_told_to_end(keyboard: &Keyboard, until: Instant) -> std::io::Result<bool> {
    loop {
        if signals::is_interrupted() {
            return Ok(true);
        }
        let left = until.saturating_duration_since(Instant::now());
        match keyboard.wait(left.min(NOTICED_WITHIN))? {
            Input::Closed => return Ok(true),
            Input::Nothing if left <= NOTICED_WITHIN => return Ok(false),
            Input::Nothing => continue,
            Input::Some => {}
        }
        while event::poll(Duration::ZERO)? {
            if quits(&event::read()?) {
                return Ok(true);
            }
        }
    }
}

/// Whether somebody wants the end by this.
fn quits(event: &Event) -> bool {
    let Event::Key(key) = event else {
        return false;
    };
    let ctrl_c = key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL;
    let quits = ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc);
    quits && key.kind == KeyEventKind::Press
}

/// Columns, from the first on, that leave room for the beginning of a command; one at least.
fn columns(width: u16) -> usize {
    const BORDERS: usize = 2;
    const COMMAND: usize = 12;
    let mut left = usize::from(width).saturating_sub(BORDERS + COMMAND);
    let fits = |width: &usize| {
        let found = left.checked_sub(width + 1);
        left = found.unwrap_or(0);
        found.is_some()
    };
    let widths = TITLES.into_iter().map(|(_, width)| width);
    widths.take_while(fits).count().max(1)
}

/// Lines that the hottest ranges take, where there is room for them below some processes.
const RANGES: u16 = 8;
const LEAST: u16 = RANGES + 6;

/// The hottest ranges of the process with most misses.
fn draw_hottest(frame: &mut Frame<'_>, area: Rect, row: &TopRow) {
    let title = Style::new().add_modifier(Modifier::BOLD);
    let mut lines = vec![Text::styled(RANGE_TITLE, title)];
    lines.extend(
        row.hottest
            .iter()
            .map(|range| Text::raw(range_line(range, row))),
    );
    let block = Block::bordered().title(format!(" of process {} ", row.pid));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn draw(frame: &mut Frame<'_>, rows: &[TopRow]) {
    let mut area = frame.area();
    if let Some(row) = rows.first().filter(|_| area.height >= LEAST) {
        let below;
        [area, below] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(RANGES)]).areas(area);
        draw_hottest(frame, below, row);
    }
    let shown = columns(area.width);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let titles = TITLES[..shown]
        .iter()
        .map(|(title, width)| format!("{title:>width$}"));
    let head = Line::new(titles.chain(["COMMAND".to_owned()]).map(Cell::from)).style(bold);
    let lines = rows.iter().map(|row| {
        let cells = cells(row);
        let cells = cells
            .into_iter()
            .zip(&TITLES[..shown])
            .map(|(cell, (_, n))| format!("{cell:>n$}"));
        Line::new(
            cells
                .chain([command(row)])
                .map(Cell::from)
                .collect::<Vec<_>>(),
        )
    });
    let widths = TITLES[..shown].iter();
    let widths = widths.map(|(_, width)| Constraint::Length(*width as u16));
    let widths = widths.chain([Constraint::Fill(1)]);
    let title = " sluice top: rates of the last interval, latencies since the start; q ends ";
    let table = Table::new(lines, widths)
        .header(head)
        .block(Block::bordered().title(title));
    frame.render_widget(table, area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::{Terminal, backend::TestBackend};
    use sluice_results::{HotRange, TopLatency};

    /// All columns shared the width, and none could be read.
    #[test]
    fn a_narrow_terminal_has_fewer_columns() {
        for (width, titles) in [(24, 1), (40, 2), (80, 7), (200, 13)] {
            assert_eq!(columns(width), titles, "{width}");
            let mut terminal = Terminal::new(TestBackend::new(width, 10)).unwrap();
            terminal.draw(|frame| draw(frame, &[])).unwrap();
            let drawn = terminal.backend().to_string();
            let shown = |title: &str| drawn.contains(title);
            let seen = TITLES.iter().filter(|(title, _)| shown(title));
            assert_eq!(seen.count(), titles, "{drawn}");
        }
    }

    fn row(pid: u64, hottest: &[(u64, u64, f64)]) -> TopRow {
        let ranges = hottest.iter().map(|(address, bytes, misses)| HotRange {
            address: *address,
            bytes: *bytes,
            misses_per_s: *misses,
        });
        TopRow {
            pid,
            command: format!("work --load {pid}"),
            device: None,
            traps_per_s: 2000.,
            misses_per_s: 1600.,
            hit_ratio: Some(0.2),
            late_ratio: Some(0.01),
            latency_us: TopLatency {
                p50: 43.,
                p99: 87.5,
            },
            evictions_per_s: 1500.,
            flash_reads_per_s: 1600.,
            flash_programs_per_s: 12.,
            gc_moves_per_s: 0.,
            cached_pages: 256,
            pinned_pages: 3,
            hottest: ranges.collect(),
        }
    }

    /// What stands between the borders, line by line.
    fn drawn(width: u16, height: u16, rows: &[TopRow]) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, rows)).unwrap();
        let text = terminal.backend().to_string();
        let lines = text.lines().map(|line| line.trim_matches('"'));
        lines
            .map(|line| line.trim_matches(['│', ' ']).to_owned())
            .collect()
    }

    #[test]
    fn the_hottest_ranges_of_the_busiest_process_are_below_all_processes() {
        let ranges: Vec<(u64, u64, f64)> = (0..5)
            .map(|n| {
                (
                    0x7f12_3456_0000 + (n << 18),
                    256 << 10,
                    800. / (n + 1) as f64,
                )
            })
            .collect();
        let rows = [row(4711, &ranges), row(12, &[(0x1000, 4096, 1.)])];
        let lines = drawn(130, 20, &rows);
        assert_eq!(lines.len(), 20);
        let at = |what: &str| lines.iter().position(|line| line.contains(what));
        let process = |pid: &str, line: &str| line.starts_with(pid) && line.contains("work --load");
        assert!(
            process("4711", &lines[2]) && process("12", &lines[3]),
            "{lines:#?}"
        );
        assert_eq!(at(" of process 4711 "), Some(12), "{lines:#?}");
        assert_eq!(lines[13], RANGE_TITLE);
        assert_eq!(lines[14], "0x7f1234560000 + 256KiB         800   50.0");
        assert_eq!(lines[18], "0x7f1234660000 + 256KiB         160   10.0");
        assert!(
            at("0x000000001000").is_none(),
            "of the busiest process alone"
        );
        // Columns stand under their titles.
        let end = |line: &str, word: &str| line.find(word).map(|at| at + word.len());
        assert_eq!(end(&lines[13], "MISSES/s"), end(&lines[14], " 800"));
        assert_eq!(end(&lines[13], "SHARE%"), end(&lines[14], "50.0"));
    }

    #[test]
    fn a_low_terminal_has_processes_alone() {
        let rows = [row(4711, &[(0x1000, 4096, 1600.)])];
        let has = |height| drawn(130, height, &rows).contains(&RANGE_TITLE.to_owned());
        assert_eq!((has(LEAST - 1), has(LEAST)), (false, true));
        let lines = drawn(130, LEAST, &rows);
        assert!(lines[2].starts_with("4711"), "{lines:#?}");
    }
}
