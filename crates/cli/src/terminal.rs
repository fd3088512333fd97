//! The terminal: asking (a form of `elicitation/create`), and showing how far the work is.
//!
//! A form is read (`form`), each of its questions becomes a prompt (`prompt`) that takes keys (`keys`) and is drawn
//! (`view`, `frame`) until its answer is good (`check`). `dialog` leads through the questions; `tty` is the real terminal
//! beneath it. Where there is none that can do this, `plain` asks line by line.

mod check;
mod dialog;
mod editor;
mod form;
mod frame;
mod keys;
mod list;
mod memory;
mod plain;
mod prompt;
#[cfg(test)]
mod script;
mod tty;
mod view;

use std::io::{self, IsTerminal, Write};

use serde_json::{Map, Value, json};

use crate::exit::Failure;
use crate::paint;
use form::Form;
pub(crate) use memory::Memory;
use tty::Tty;
use view::{Line, Style};

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

/// Puts a form to the user.
pub(crate) fn ask(params: &Value, memory: &mut Memory) -> Result<Answer, Failure> {
    end_progress();
    let answer = match Tty::open() {
        Some(mut tty) => dialog::run(&Form::read(params), &mut tty, memory, paint::on_stderr()),
        None => plain::ask(params),
    };
    answer.map_err(Failure::io("cannot ask"))
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
    let line = line.fitted(tty::size_now().columns.saturating_sub(1));
    let _ = write!(io::stderr(), "\r\x1b[K{}", line.painted(false));
}

/// Takes that line away.
pub(crate) fn end_progress() {
    if shows_progress() {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}
