//! The terminal: asking a form of `elicitation/create`, and showing progress.
//!
//! A form is read (`form`), each of its fields becomes a prompt (`prompt`, `editor`, `list`) that handles keys and is drawn
//! (`screen`, `symbols`) until its answer is valid (`check`). `dialog` goes through the prompts; `console` is the real
//! terminal beneath it, on crossterm. `plain` asks line by line instead.

mod answered_forms;
mod console;
mod dialog;
mod editor;
mod form;
mod history;
mod line_mode;
mod list;
mod prompt;
mod screen;
mod symbols;
#[cfg(test)]
mod test_terminal;
mod validate;

use std::io::{self, IsTerminal, Write};

use serde_json::{Map, Value, json};

use crate::exit::CommandError;
use crate::styling;
use answered_forms::AnsweredForms;
use console::Tty;
use dialog::DialogStyle;
use form::PromptForm;
use history::AnswerHistory;
use screen::{StyledLine, TextStyle};
use symbols::Symbols;

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PromptOutcome {
    Filled(Map<String, Value>),
    /// To the question before this one.
    Back,
    /// The end of input.
    EndOfInput,
    /// Ctrl-C.
    Stopped,
}

impl PromptOutcome {
    /// The result of `elicitation/create`.
    pub(crate) fn to_result(&self) -> Value {
        match self {
            Self::Filled(content) => json!({ "action": "accept", "content": content }),
            Self::Back => {
                json!({ "action": "accept", "content": {}, "_meta": { "fluxway/action": "back" } })
            }
            Self::EndOfInput | Self::Stopped => json!({ "action": "cancel" }),
        }
    }
}

/// Asks forms on the terminal.
#[derive(Default)]
pub(crate) struct Prompter {
    /// Line by line, for screen readers.
    is_plain: bool,
    has_asked: bool,
    answered: AnsweredForms,
    history: AnswerHistory,
}

impl Prompter {
    pub(crate) fn new(is_plain: bool) -> Self {
        Self { is_plain, ..Self::default() }
    }

    pub(crate) fn ask(&mut self, params: &Value) -> Result<PromptOutcome, CommandError> {
        end_progress();
        let form = PromptForm::from_params(params);
        let schema = &params["requestedSchema"];
        let can_go_back = self.answered.precede(schema);
        let tty = if self.is_plain { None } else { Tty::open() };
        let answer = match tty {
            Some(mut tty) => {
                let look = DialogStyle {
                    symbols: Symbols::for_terminal(&styling::env_var("TERM"), &styling::locale()),
                    coloured: styling::use_colour_on_stderr(),
                    follows_form: self.has_asked,
                    can_go_back,
                };
                self.has_asked = true;
                dialog::run_dialog(&form, &mut tty, &mut self.history, look)
            }
            None => line_mode::ask(&form),
        };
        let answer = answer.map_err(CommandError::io("cannot ask"))?;
        self.answered.record(schema, &answer);
        Ok(answer)
    }
}

/// Whether stderr is a terminal on which a line can be overwritten.
pub(crate) fn shows_progress() -> bool {
    io::stderr().is_terminal() && !styling::is_dumb()
}

/// Shows how far the work is, in a line that is written over. That it cannot be shown is no reason to stop.
pub(crate) fn show_progress(params: &Value) {
    let (done, total) = (&params["progress"], &params["total"]);
    let total = if total.is_null() { String::new() } else { format!("/{total}") };
    let what = styling::escape_controls(params["message"].as_str().unwrap_or_default());
    // A line that the terminal has broken could not be written over.
    let line = StyledLine::new(TextStyle::Plain, format!("{done}{total} {what}"));
    let line = line.truncate_to_width(console::current_size().columns.saturating_sub(1));
    let _ = write!(io::stderr(), "\r\x1b[K{}", line.render(false));
}

/// Takes that line away.
pub(crate) fn end_progress() {
    if shows_progress() {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}
