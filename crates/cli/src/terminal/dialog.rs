//! A whole form, question after question, on a terminal that reports every key.

use std::io;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use serde_json::Map;

use super::PromptOutcome;
use super::console::Console;
use super::form::PromptForm;
use super::history::AnswerHistory;
use super::prompt::{FieldAnswer, FieldPrompt, wrap_lines};
use super::screen::{ScreenFrame, ScreenView, StyledLine, TextStyle};
use super::symbols::Symbols;
use crate::styling;

/// How it looks.
#[derive(Clone, Copy)]
pub(super) struct DialogStyle {
    pub(super) symbols: &'static Symbols,
    pub(super) coloured: bool,
    /// Whether another form stands above it.
    pub(super) follows_form: bool,
    /// Whether the first question leads back to another form.
    pub(super) can_go_back: bool,
}

/// How a question was left.
enum QuestionOutcome {
    Answered(FieldAnswer),
    Back,
    EndOfInput,
    Stopped,
}

pub(super) fn run_dialog(
    form: &PromptForm,
    console: &mut impl Console,
    memory: &mut AnswerHistory,
    look: DialogStyle,
) -> io::Result<PromptOutcome> {
    let message = render_form_message(&form.message, console.size().columns, look);
    console.write(&message)?;
    let given = form.fields.iter().map(|field| memory.last_answer(field)).collect();
    let look = DialogStyle { follows_form: look.follows_form || !message.is_empty(), ..look };
    let answer =
        Dialog { form, console, style: look, frame: ScreenFrame::default(), answers: given }.run()?;
    if let PromptOutcome::Filled(content) = &answer {
        memory.record(form, content);
    }
    Ok(answer)
}

struct Dialog<'a, C> {
    form: &'a PromptForm,
    console: &'a mut C,
    style: DialogStyle,
    frame: ScreenFrame,
    /// The answers, including those from before: a question that is asked again starts with its answer.
    answers: Vec<Option<FieldAnswer>>,
}

impl<C: Console> Dialog<'_, C> {
    fn run(mut self) -> io::Result<PromptOutcome> {
        let mut at = 0;
        while at < self.answers.len() {
            match self.ask(at)? {
                QuestionOutcome::Answered(given) => {
                    self.answers[at] = Some(given);
                    at += 1;
                }
                QuestionOutcome::Back if at > 0 => at -= 1,
                QuestionOutcome::Back => return self.close(at, Some("back"), PromptOutcome::Back),
                QuestionOutcome::EndOfInput => return self.close(at, None, PromptOutcome::EndOfInput),
                QuestionOutcome::Stopped => return self.close(at, Some("stopped"), PromptOutcome::Stopped),
            }
        }
        let names = self.form.fields.iter().map(|field| field.name.clone());
        let values = self.answers.iter().map(|given| given.as_ref()?.value.clone());
        let content: Map<_, _> = names.zip(values).filter_map(|(name, value)| Some((name, value?))).collect();
        self.close(at, None, PromptOutcome::Filled(content))
    }

    /// Asks one question until it is left in one way or another.
    fn ask(&mut self, at: usize) -> io::Result<QuestionOutcome> {
        let field = &self.form.fields[at];
        let can_go_back = at > 0 || self.style.can_go_back;
        let mut prompt = FieldPrompt::new(field, self.answers[at].as_ref(), self.style.symbols);
        loop {
            let size = self.console.size();
            let mut view = self.answered_view(at);
            self.push_gap(&mut view);
            prompt.render(&mut view, size, can_go_back);
            let drawn = self.frame.draw(&view, size, self.style.coloured);
            self.console.write(&drawn)?;
            let key = match self.console.next_event()? {
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => key,
                Some(Event::Paste(text)) => {
                    prompt.paste(&text);
                    continue;
                }
                Some(_) => continue,
                None => return Ok(QuestionOutcome::EndOfInput),
            };
            match key.code {
                KeyCode::Esc if can_go_back => return Ok(QuestionOutcome::Back),
                KeyCode::Char('c') if key.modifiers == KeyModifiers::CONTROL => {
                    return Ok(QuestionOutcome::Stopped);
                }
                KeyCode::Char('d') if key.modifiers == KeyModifiers::CONTROL => {
                    return Ok(QuestionOutcome::EndOfInput);
                }
                _ => {
                    if let Some(given) = prompt.press(key, size) {
                        return Ok(QuestionOutcome::Answered(given));
                    }
                }
            }
        }
    }

    /// What has been answered so far.
    fn answered_view(&self, at: usize) -> ScreenView {
        let mut view = ScreenView::default();
        for (field, given) in self.form.fields.iter().zip(&self.answers).take(at) {
            let Some(given) = given else { continue };
            self.push_gap(&mut view);
            let text =
                [(field.label.as_str(), TextStyle::Plain), (given.display_text.as_str(), TextStyle::Dim)];
            self.push_settled_question(&mut view, self.style.symbols.done, TextStyle::Done, &text);
        }
        view
    }

    /// A question that is not asked any more.
    fn push_settled_question(
        &self,
        view: &mut ScreenView,
        symbol: &str,
        style: TextStyle,
        text: &[(&str, TextStyle)],
    ) {
        let width = self.console.size().columns.saturating_sub(4);
        let mut start = StyledLine::new(style, symbol);
        for (text, style) in text {
            for line in wrap_lines(text, width) {
                view.push(start.with_part(TextStyle::Plain, "  ").with_part(*style, line));
                start = StyledLine::new(TextStyle::Dim, self.style.symbols.bar);
            }
        }
    }

    /// The bar that joins a question to the one above it.
    fn push_gap(&self, view: &mut ScreenView) {
        if self.style.follows_form || !view.lines.is_empty() {
            view.push(StyledLine::new(TextStyle::Dim, self.style.symbols.bar));
        }
    }

    /// Leaves the answers on the screen, and how the last question was left if it has none.
    fn close(self, at: usize, left: Option<&str>, answer: PromptOutcome) -> io::Result<PromptOutcome> {
        let mut view = self.answered_view(at);
        if let (Some(left), Some(field)) = (left, self.form.fields.get(at)) {
            self.push_gap(&mut view);
            let text = [(field.label.as_str(), TextStyle::Dim), (left, TextStyle::Dim)];
            self.push_settled_question(&mut view, self.style.symbols.cancelled, TextStyle::Cancelled, &text);
        }
        let drawn = self.frame.close(&view, self.console.size(), self.style.coloured);
        self.console.write(&drawn)?;
        Ok(answer)
    }
}

/// What is printed above the questions, behind the bar: prose wrapped between words, diffs as they are.
fn render_form_message(message: &str, columns: usize, style: DialogStyle) -> String {
    let bar = TextStyle::Dim.paint(style.symbols.bar, style.coloured);
    let gap = if style.follows_form { format!("{bar}\n") } else { String::new() };
    let lines = styling::render_message(message, style.coloured, columns.saturating_sub(4));
    let lines: String =
        lines.lines().map(|line| format!("{bar}  {line}").trim_end().to_owned() + "\n").collect();
    if lines.is_empty() { lines } else { gap + &lines }
}

#[cfg(test)]
mod tests;
