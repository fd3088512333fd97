//! The terminal as a form uses it: events in, text out. Tests have one of their own.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event};
use crossterm::{cursor, execute, terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    OptionalActions, OutputModes, QueueSelector, tcflush, tcgetattr, tcgetwinsize, tcsetattr,
};

use super::screen::TerminalSize;
use crate::styling;

pub(super) trait Console {
    /// Waits for the next event. `None` if the terminal has gone away.
    fn next_event(&mut self) -> io::Result<Option<Event>>;
    fn size(&self) -> TerminalSize;
    fn write(&mut self, text: &str) -> io::Result<()>;
}

/// How often the terminal and its size are looked at: without a controlling terminal no signal tells of a change.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// For a terminal that does not say how large it is.
const DEFAULT_SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };

/// The real terminal in raw mode, restored when this is dropped.
pub(super) struct Tty {
    size: TerminalSize,
}

impl Tty {
    /// Takes over the terminal, if there is one that can move its cursor. What was typed before is dropped: it cannot answer
    /// a question that had not been asked.
    pub(super) fn open() -> Option<Self> {
        if styling::is_dumb() || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        terminal::enable_raw_mode().ok()?;
        let tty = Self { size: current_size() };
        enable_output_processing().ok()?;
        tcflush(io::stdin(), QueueSelector::IFlush).ok()?;
        while event::poll(Duration::from_millis(1)).ok()? {
            event::read().ok()?;
        }
        execute!(io::stderr(), EnableBracketedPaste).ok()?;
        Some(tty)
    }
}

impl Console for Tty {
    fn next_event(&mut self) -> io::Result<Option<Event>> {
        loop {
            if is_hung_up() {
                return Ok(None);
            }
            match event::poll(POLL_INTERVAL) {
                Ok(true) => {
                    let event = event::read()?;
                    if matches!(event, Event::Resize(..)) {
                        self.size = current_size();
                    }
                    return Ok(Some(event));
                }
                Ok(false) => {}
                Err(_) if is_hung_up() => return Ok(None),
                Err(error) => return Err(error),
            }
            if self.size != current_size() {
                self.size = current_size();
                return Ok(Some(Event::Resize(0, 0)));
            }
        }
    }

    fn size(&self) -> TerminalSize {
        self.size
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        match io::stderr().write_all(text.as_bytes()) {
            // `next` reports that, and the server is told.
            Err(_) if is_hung_up() => Ok(()),
            written => written,
        }
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        // Each on its own: if one fails, the others still leave a usable terminal.
        let _ = execute!(io::stderr(), cursor::Show, DisableBracketedPaste);
        let _ = terminal::disable_raw_mode();
    }
}

/// Whether the other end of the terminal is closed.
fn is_hung_up() -> bool {
    let stdin = io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut waiting, Some(&Timespec::default())).is_ok()
        && waiting[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

/// Raw mode also stops `\n` from returning to the first column, which log lines of other threads need.
fn enable_output_processing() -> io::Result<()> {
    let mut modes = tcgetattr(io::stdin())?;
    modes.output_modes |= OutputModes::OPOST;
    Ok(tcsetattr(io::stdin(), OptionalActions::Now, &modes)?)
}

/// Crossterm asks stdout, which may be a pipe here.
pub(super) fn current_size() -> TerminalSize {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            TerminalSize { columns: usize::from(size.ws_col), rows: usize::from(size.ws_row) }
        }
        _ => DEFAULT_SIZE,
    }
}
