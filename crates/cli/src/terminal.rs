//! The terminal: asking a form of `elicitation/create`, and showing progress.
//!
//! A form is read (`form`), each of its fields becomes a prompt (`prompt`, `editor`, `list`) that handles keys and is drawn
//! (`screen`, `symbols`) until its answer is valid (`check`). `dialog` goes through the prompts; `console` is the real
//! terminal beneath it, on crossterm. `plain` asks line by line instead.

mod check;
mod console;
mod dialog;
mod editor;
mod form;
mod list;
mod memory;
mod plain;
mod prompt;
mod screen;
#[cfg(test)]
mod script;
mod symbols;

use std::io::{self, IsTerminal, Write};

use serde_json::{Map, Value, json};

use crate::exit::Failure;
use crate::paint;
use console::Tty;
use dialog::Look;
use form::Form;
use memory::Memory;
use screen::{Line, Style};
use symbols::Symbols;

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Filled(Map<String, Value>),
    /// To the question before this one.
    Back,
    /// The end of input.
    Gone,
    /// Ctrl-C.
    Stopped,
}

impl Answer {
    /// The result of `elicitation/create`.
    pub(crate) fn result(&self) -> Value {
        match self {
            Self::Filled(content) => json!({ "action": "accept", "content": content }),
            Self::Back => {
                json!({ "action": "accept", "content": {}, "_meta": { "fluxway/action": "back" } })
            }
            Self::Gone | Self::Stopped => json!({ "action": "cancel" }),
        }
    }
}

/// Asks forms on the terminal.
#[derive(Default)]
pub(crate) struct Prompter {
    /// Line by line, for screen readers.
    is_plain: bool,
    has_asked: bool,
    memory: Memory,
}

impl Prompter {
    pub(crate) fn new(is_plain: bool) -> Self {
        Self { is_plain, ..Self::default() }
    }

    pub(crate) fn ask(&mut self, params: &Value) -> Result<Answer, Failure> {
        end_progress();
        let form = Form::read(params);
        let tty = if self.is_plain { None } else { Tty::open() };
        let answer = match tty {
            Some(mut tty) => {
                let look = Look {
                    symbols: Symbols::for_terminal(&paint::variable("TERM"), &paint::locale()),
                    coloured: paint::on_stderr(),
                    continues: self.has_asked,
                };
                self.has_asked = true;
                dialog::run(&form, &mut tty, &mut self.memory, look)
            }
            None => plain::ask(&form),
        };
        answer.map_err(Failure::io("cannot ask"))
    }
}

/// Whether there is somebody to see it, on a screen where a line can be written over.
pub(crate) fn shows_progress() -> bool {
    io::stderr().is_terminal() && !paint::is_dumb()
}

/// Shows how far the work is, in a line that is written over. That it cannot be shown is no reason to stop.
pub(crate) fn show_progress(params: &Value) {
    let (done, total) = (&params["progress"], &params["total"]);
    let total = if total.is_null() { String::new() } else { format!("/{total}") };
    let what = paint::safe(params["message"].as_str().unwrap_or_default());
    // A line that the terminal has broken could not be written over.
    let line = Line::new(Style::Plain, format!("{done}{total} {what}"));
    let line = line.fitted(console::current_size().columns.saturating_sub(1));
    let _ = write!(io::stderr(), "\r\x1b[K{}", line.painted(false));
}

/// Takes that line away.
pub(crate) fn end_progress() {
    if shows_progress() {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}
