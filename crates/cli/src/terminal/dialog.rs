//! A whole form, question after question, on a terminal that reports every key.

use std::io;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use serde_json::Map;

use super::Answer;
use super::console::Console;
use super::form::Form;
use super::memory::Memory;
use super::prompt::{Given, Prompt, wrapped};
use super::screen::{Frame, Line, Style, View};
use super::symbols::Symbols;
use crate::paint;

/// How it looks.
#[derive(Clone, Copy)]
pub(super) struct Look {
    pub(super) symbols: &'static Symbols,
    pub(super) coloured: bool,
    /// Whether another form stands above it.
    pub(super) continues: bool,
}

/// How a question was left.
enum Left {
    With(Given),
    Back,
    Gone,
    Stopped,
}

pub(super) fn run(
    form: &Form,
    console: &mut impl Console,
    memory: &mut Memory,
    look: Look,
) -> io::Result<Answer> {
    let message = above(&form.message, console.size().columns, look);
    console.write(&message)?;
    let given = form.fields.iter().map(|field| memory.recall(field)).collect();
    let look = Look { continues: look.continues || !message.is_empty(), ..look };
    let answer = Dialog { form, console, look, frame: Frame::default(), given }.run()?;
    if let Answer::Filled(content) = &answer {
        memory.keep(form, content);
    }
    Ok(answer)
}

struct Dialog<'a, C> {
    form: &'a Form,
    console: &'a mut C,
    look: Look,
    frame: Frame,
    /// The answers, including those from before: a question that is asked again starts with its answer.
    given: Vec<Option<Given>>,
}

impl<C: Console> Dialog<'_, C> {
    fn run(mut self) -> io::Result<Answer> {
        let mut at = 0;
        while at < self.given.len() {
            match self.ask(at)? {
                Left::With(given) => {
                    self.given[at] = Some(given);
                    at += 1;
                }
                Left::Back if at > 0 => at -= 1,
                Left::Back => return self.close(at, Some("back"), Answer::Back),
                Left::Gone => return self.close(at, None, Answer::Gone),
                Left::Stopped => return self.close(at, Some("stopped"), Answer::Stopped),
            }
        }
        let names = self.form.fields.iter().map(|field| field.name.clone());
        let values = self.given.iter().map(|given| given.as_ref()?.value.clone());
        let content: Map<_, _> = names.zip(values).filter_map(|(name, value)| Some((name, value?))).collect();
        self.close(at, None, Answer::Filled(content))
    }

    /// Asks one question until it is left in one way or another.
    fn ask(&mut self, at: usize) -> io::Result<Left> {
        let field = &self.form.fields[at];
        let mut prompt = Prompt::new(field, self.given[at].as_ref(), self.look.symbols);
        loop {
            let size = self.console.size();
            let mut view = self.answered(at);
            self.gap(&mut view);
            prompt.show(&mut view, size);
            let drawn = self.frame.draw(&view, size, self.look.coloured);
            self.console.write(&drawn)?;
            let key = match self.console.next()? {
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => key,
                Some(Event::Paste(text)) => {
                    prompt.paste(&text);
                    continue;
                }
                Some(_) => continue,
                None => return Ok(Left::Gone),
            };
            match key.code {
                KeyCode::Esc => return Ok(Left::Back),
                KeyCode::Char('c') if key.modifiers == KeyModifiers::CONTROL => return Ok(Left::Stopped),
                KeyCode::Char('d') if key.modifiers == KeyModifiers::CONTROL => return Ok(Left::Gone),
                _ => {
                    if let Some(given) = prompt.press(key, size) {
                        return Ok(Left::With(given));
                    }
                }
            }
        }
    }

    /// What has been answered so far.
    fn answered(&self, at: usize) -> View {
        let mut view = View::default();
        for (field, given) in self.form.fields.iter().zip(&self.given).take(at) {
            let Some(given) = given else { continue };
            self.gap(&mut view);
            let text = [(field.label.as_str(), Style::Plain), (given.shown.as_str(), Style::Dim)];
            self.settled(&mut view, self.look.symbols.done, Style::Done, &text);
        }
        view
    }

    /// A question that is not asked any more.
    fn settled(&self, view: &mut View, symbol: &str, style: Style, text: &[(&str, Style)]) {
        let width = self.console.size().columns.saturating_sub(4);
        let mut start = Line::new(style, symbol);
        for (text, style) in text {
            for line in wrapped(text, width) {
                view.push(start.and(Style::Plain, "  ").and(*style, line));
                start = Line::new(Style::Dim, self.look.symbols.bar);
            }
        }
    }

    /// The bar that joins a question to the one above it.
    fn gap(&self, view: &mut View) {
        if self.look.continues || !view.lines.is_empty() {
            view.push(Line::new(Style::Dim, self.look.symbols.bar));
        }
    }

    /// Leaves the answers on the screen, and how the last question was left if it has none.
    fn close(self, at: usize, left: Option<&str>, answer: Answer) -> io::Result<Answer> {
        let mut view = self.answered(at);
        if let (Some(left), Some(field)) = (left, self.form.fields.get(at)) {
            self.gap(&mut view);
            let text = [(field.label.as_str(), Style::Dim), (left, Style::Dim)];
            self.settled(&mut view, self.look.symbols.cancelled, Style::Cancelled, &text);
        }
        let drawn = self.frame.close(&view, self.console.size(), self.look.coloured);
        self.console.write(&drawn)?;
        Ok(answer)
    }
}

/// What is printed above the questions, behind the bar: prose wrapped between words, diffs as they are.
fn above(message: &str, columns: usize, look: Look) -> String {
    let bar = Style::Dim.paint(look.symbols.bar, look.coloured);
    let gap = if look.continues { format!("{bar}\n") } else { String::new() };
    let lines = paint::message(message, look.coloured, columns.saturating_sub(4));
    let lines: String =
        lines.lines().map(|line| format!("{bar}  {line}").trim_end().to_owned() + "\n").collect();
    if lines.is_empty() { lines } else { gap + &lines }
}

#[cfg(test)]
mod tests;
