//! A whole form, question after question, in a terminal that hands over every key.

use std::io;

use serde_json::Map;

use super::Answer;
use super::form::{Field, Form};
use super::frame::Frame;
use super::keys::Key;
use super::memory::Memory;
use super::prompt::{Given, Prompt};
use super::view::{Line, Size, Style, View};
use crate::paint;

/// A terminal, or a test's idea of one.
pub(super) trait Console {
    /// Waits for the next thing to happen.
    fn next(&mut self) -> io::Result<Event>;
    fn size(&self) -> Size;
    fn write(&mut self, text: &str) -> io::Result<()>;
}

#[derive(Debug)]
pub(super) enum Event {
    Key(Key),
    Resized,
}

/// How a question was left.
enum Left {
    With(Given),
    Back,
    Gone,
    Stopped,
}

/// Lines that a prompt takes at most, without a list.
const ROOM_FOR_A_PROMPT: usize = 6;

pub(super) fn run(
    form: &Form,
    console: &mut impl Console,
    memory: &mut Memory,
    coloured: bool,
) -> io::Result<Answer> {
    console.write(&heading(&form.message, coloured))?;
    let reminder = reminder(&form.message, console.size());
    let given = form.fields.iter().map(|field| memory.recall(field)).collect();
    let answer = Dialog { form, reminder, console, coloured, frame: Frame::default(), given }.run()?;
    if let Answer::Filled(content) = &answer {
        memory.keep(form, content);
    }
    Ok(answer)
}

struct Dialog<'a, C> {
    form: &'a Form,
    reminder: Option<String>,
    console: &'a mut C,
    coloured: bool,
    frame: Frame,
    /// The answers, also those from before: who comes back to a question finds theirs.
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
                Left::Back => {
                    let lines = vec![Line::new(Style::Dim, "< back")];
                    return self.close(View { lines, cursor: None }, Answer::Back);
                }
                Left::Gone => return self.leave(at, Answer::Gone),
                Left::Stopped => return self.leave(at, Answer::Stopped),
            }
        }
        let names = self.form.fields.iter().map(|field| field.name.clone());
        let values = self.given.iter().map(|given| given.as_ref()?.value.clone());
        let content = names.zip(values).filter_map(|(name, value)| Some((name, value?)));
        let content: Map<_, _> = content.collect();
        self.leave(at, Answer::Filled(content))
    }

    /// Asks one question until it is left in one way or another.
    fn ask(&mut self, at: usize) -> io::Result<Left> {
        let field = &self.form.fields[at];
        let reminder = self.reminder.clone();
        let label = field.label.as_deref().or(reminder.as_deref());
        let mut prompt = Prompt::new(field, label, self.given[at].as_ref());
        loop {
            let size = self.console.size();
            let mut view = self.answered(at);
            prompt.show(&mut view, size);
            let drawn = self.frame.draw(&view, size, self.coloured);
            self.console.write(&drawn)?;
            let Event::Key(key) = self.console.next()? else { continue };
            match key {
                Key::Escape => return Ok(Left::Back),
                Key::Stop => return Ok(Left::Stopped),
                Key::Gone => return Ok(Left::Gone),
                key => {
                    if let Some(given) = prompt.press(&key, size) {
                        return Ok(Left::With(given));
                    }
                }
            }
        }
    }

    /// What has been answered so far, a line each.
    fn answered(&self, at: usize) -> View {
        let answers = self.form.fields.iter().zip(&self.given).take(at);
        let line = |(field, given): (&Field, &Option<Given>)| {
            let label = field.label.as_ref().map_or_else(String::new, |label| format!("{label}: "));
            let shown = &given.as_ref()?.shown;
            Some(Line::new(Style::Chosen, "> ").and(Style::Plain, label).and(Style::Strong, shown))
        };
        View { lines: answers.filter_map(line).collect(), cursor: None }
    }

    fn leave(self, at: usize, answer: Answer) -> io::Result<Answer> {
        let answered = self.answered(at);
        self.close(answered, answer)
    }

    fn close(self, view: View, answer: Answer) -> io::Result<Answer> {
        let drawn = self.frame.close(&view, self.console.size(), self.coloured);
        match self.console.write(&drawn) {
            // The terminal itself may have gone, and the server is to hear of it all the same.
            Err(_) if matches!(answer, Answer::Gone) => Ok(answer),
            written => written.map(|()| answer),
        }
    }
}

/// The message. A single line of it is the question; more than that may be anything, also diffs.
fn heading(message: &str, coloured: bool) -> String {
    match message.lines().count() {
        0 => String::new(),
        1 => format!("{}\n", Style::Strong.paint(&paint::safe(message), coloured)),
        _ => paint::message(message, coloured),
    }
}

/// The question once more, if the rest of the message has pushed it off the screen.
fn reminder(message: &str, size: Size) -> Option<String> {
    let is_long = message.lines().count() + ROOM_FOR_A_PROMPT > size.rows;
    let first = message.lines().find(|line| !line.trim().is_empty())?;
    (is_long && !first.starts_with("--- ")).then(|| paint::safe(first))
}

#[cfg(test)]
mod tests;
