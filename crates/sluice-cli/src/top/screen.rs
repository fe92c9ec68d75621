//! The live screen.

use super::Watch;
use super::rates::Row;
use crate::error::Error;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::Constraint;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Block, Cell, Row as Line, Table};
use ratatui::{DefaultTerminal, Frame};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Shows rates until q, Escape or Ctrl-C, or until the last process has ended.
pub fn show(watch: &mut Watch, period: Duration) -> Result<ExitCode, Error> {
    let mut terminal = ratatui::try_init().map_err(|e| Error::at("the terminal", e))?;
    let ended = rounds(&mut terminal, watch, period);
    ratatui::restore();
    ended.map_err(|e| Error::at("the terminal", e))?;
    Ok(ExitCode::SUCCESS)
}

fn rounds(
    terminal: &mut DefaultTerminal,
    watch: &mut Watch,
    period: Duration,
) -> std::io::Result<()> {
    let mut rows = Vec::new();
    loop {
        terminal.draw(|frame| draw(frame, &rows))?;
        if is_told_to_end(Instant::now() + period)? {
            return Ok(());
        }
        rows = watch.rows();
        if watch.before.is_empty() {
            return Ok(());
        }
    }
}

/// Waits until a moment. Says whether somebody wants the end meanwhile.
fn is_told_to_end(until: Instant) -> std::io::Result<bool> {
    loop {
        if !event::poll(until.saturating_duration_since(Instant::now()))? {
            return Ok(false);
        }
        let Event::Key(key) = event::read()? else {
            continue;
        };
        let ctrl_c = key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL;
        let quits = ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc);
        if quits && key.kind == KeyEventKind::Press {
            return Ok(true);
        }
    }
}

fn draw(frame: &mut Frame<'_>, rows: &[Row]) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let titles = Row::TITLES
        .iter()
        .map(|(title, width)| format!("{title:>width$}"));
    let head = Line::new(titles.chain(["COMMAND".to_owned()]).map(Cell::from)).style(bold);
    let lines = rows.iter().map(|row| {
        let cells = row.cells();
        let cells = cells
            .into_iter()
            .zip(Row::TITLES)
            .map(|(cell, (_, n))| format!("{cell:>n$}"));
        Line::new(
            cells
                .chain([row.command.clone()])
                .map(Cell::from)
                .collect::<Vec<_>>(),
        )
    });
    let widths = Row::TITLES.map(|(_, width)| Constraint::Length(width as u16));
    let widths = widths.into_iter().chain([Constraint::Fill(1)]);
    let title = " sluice top: rates of the last interval, latencies since the start; q ends ";
    let table = Table::new(lines, widths)
        .header(head)
        .block(Block::bordered().title(title));
    frame.render_widget(table, frame.area());
}
