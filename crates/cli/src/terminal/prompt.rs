//! One question: what its keys do, how it is drawn, and what its answer is.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use super::editor::LineEditor;
use super::form::{PromptField, PromptFieldKind, PromptOption};
use super::list::{OptionList, OptionRow};
use super::screen::{ScreenView, StyledLine, TerminalSize, TextStyle};
use super::symbols::Symbols;
use super::validate;
use crate::styling::{self, escape_controls};

/// What was answered: nothing, if the question was left open.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FieldAnswer {
    pub(super) value: Option<Value>,
    pub(super) display_text: String,
}

pub(super) struct FieldPrompt<'a> {
    field: &'a PromptField,
    symbols: &'static Symbols,
    widget: PromptWidget,
    problem: Option<String>,
}

enum PromptWidget {
    Line(LineEditor),
    List(OptionList),
    Confirm(Option<bool>),
}

/// Rows of a list that are shown at once, if the terminal has as many.
const MAX_VISIBLE_ROWS: usize = 12;
/// Lines of a prompt below its list, at most: the filter, and the keys or a problem of two lines.
const MAX_LINES_BELOW_LIST: usize = 3;
/// Columns that the bar at the left takes.
const MARGIN_COLUMNS: usize = 3;

impl<'a> FieldPrompt<'a> {
    /// A question as it begins, or with the answer that it had before the user came back to it.
    pub(super) fn new(
        field: &'a PromptField,
        earlier: Option<&FieldAnswer>,
        symbols: &'static Symbols,
    ) -> Self {
        let begin = match earlier {
            Some(earlier) => earlier.value.as_ref(),
            None => field.default.as_ref(),
        };
        let widget = match &field.kind {
            PromptFieldKind::Confirm => PromptWidget::Confirm(begin.and_then(Value::as_bool)),
            PromptFieldKind::Choice(options) => {
                PromptWidget::List(OptionList::new(option_rows(field, options, begin), false))
            }
            PromptFieldKind::Choices { options, .. } => {
                PromptWidget::List(OptionList::new(option_rows(field, options, begin), true))
            }
            PromptFieldKind::Text { .. } | PromptFieldKind::Date | PromptFieldKind::Number { .. } => {
                // A default is not typed for the user: Enter accepts it.
                let typed = earlier.and_then(|earlier| earlier.value.as_ref());
                PromptWidget::Line(
                    typed.map(|value| LineEditor::with_text(format_value(value))).unwrap_or_default(),
                )
            }
        };
        Self { field, symbols, widget, problem: None }
    }

    /// Handles a key. Enter submits a valid answer.
    pub(super) fn press(&mut self, key: KeyEvent, size: TerminalSize) -> Option<FieldAnswer> {
        if key.code == KeyCode::Enter {
            return self.answer().map_err(|problem| self.problem = Some(problem)).ok();
        }
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match &mut self.widget {
            PromptWidget::Line(editor) => editor.press(key),
            PromptWidget::List(list) => list.press(key, visible_rows(size.rows)),
            PromptWidget::Confirm(chosen) => match key.code {
                KeyCode::Char('y' | 'Y') if !is_ctrl => *chosen = Some(true),
                KeyCode::Char('n' | 'N') if !is_ctrl => *chosen = Some(false),
                KeyCode::Left
                | KeyCode::Right
                | KeyCode::Up
                | KeyCode::Down
                | KeyCode::Tab
                | KeyCode::Char(' ') => *chosen = Some(!chosen.unwrap_or(false)),
                _ => {}
            },
        }
        self.revalidate();
        None
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let PromptWidget::Line(editor) = &mut self.widget {
            editor.paste(text);
            self.revalidate();
        }
    }

    /// Enter reports a problem first; from then on every key shows whether it is still there.
    fn revalidate(&mut self) {
        if self.problem.is_some() {
            self.problem = self.answer().err();
        }
    }

    pub(super) fn render(&self, view: &mut ScreenView, size: TerminalSize, can_go_back: bool) {
        let Symbols { active, invalid, bar, end, .. } = *self.symbols;
        let (symbol, style) =
            if self.problem.is_some() { (invalid, TextStyle::Invalid) } else { (active, TextStyle::Active) };
        let width = size.columns.saturating_sub(MARGIN_COLUMNS + 1);
        let margin = || StyledLine::new(style, bar).with_part(TextStyle::Plain, "  ");
        let mut heading = StyledLine::new(style, symbol).with_part(TextStyle::Plain, "  ");
        for line in wrap_lines(&self.field.label, width) {
            view.push(heading.with_part(TextStyle::Bold, line));
            heading = margin();
        }
        for line in wrap_lines(&self.description(), width) {
            view.push(margin().with_part(TextStyle::Dim, line));
        }
        match &self.widget {
            PromptWidget::Line(editor) => {
                let (typed, column) = editor.window(width);
                view.cursor = Some((view.lines.len(), column + MARGIN_COLUMNS));
                view.push(margin().with_part(TextStyle::Plain, typed));
            }
            PromptWidget::List(list) => {
                let rows = visible_rows(size.rows.saturating_sub(view.lines.len()));
                let rows = list.render(rows, width, self.symbols);
                view.lines.extend(rows.into_iter().map(|row| margin().append(row)));
            }
            PromptWidget::Confirm(chosen) => view.push(margin().append(self.confirm_line(*chosen))),
        }
        let mut last = StyledLine::new(style, end).with_part(TextStyle::Plain, "  ");
        let (text, style) = match &self.problem {
            Some(problem) => (format!("{problem}."), TextStyle::Invalid),
            None => (self.key_hints(can_go_back), TextStyle::Dim),
        };
        for line in wrap_lines(&text, width) {
            view.push(last.with_part(style, line));
            last = StyledLine::new(TextStyle::Plain, "   ");
        }
    }

    /// Help, what is expected, and what Enter alone means.
    fn description(&self) -> String {
        let mut about: Vec<String> = self.field.help.iter().cloned().collect();
        about.extend(validate::describe_expected(&self.field.kind));
        match (&self.widget, &self.field.default) {
            (PromptWidget::List(_), _) => {}
            (_, Some(default)) => about.push(format!("default: {}", escape_controls(&format_value(default)))),
            (PromptWidget::Line(_), None) if !self.field.required => about.push("optional".to_owned()),
            (_, None) => {}
        }
        about.join("; ")
    }

    fn key_hints(&self, can_go_back: bool) -> String {
        let arrows = self.symbols.arrows;
        let keys = match (&self.widget, &self.field.kind) {
            (PromptWidget::Line(_), _) => String::new(),
            (PromptWidget::Confirm(_), _) => "y/n, Enter: confirm, ".to_owned(),
            (PromptWidget::List(_), PromptFieldKind::Choices { .. }) => {
                format!("{arrows}: move, Space: select, Enter: confirm, type to filter, ")
            }
            (PromptWidget::List(_), _) => format!("{arrows}: move, Enter: confirm, type to filter, "),
        };
        let back = if can_go_back { "Esc: back, " } else { "" };
        format!("{keys}{back}Ctrl-C: stop")
    }

    fn answer(&self) -> Result<FieldAnswer, String> {
        let value = match (&self.widget, &self.field.kind) {
            (PromptWidget::Line(editor), _) => validate::parse_line(self.field, editor.text())?,
            (PromptWidget::Confirm(Some(chosen)), _) => Some(json!(chosen)),
            (PromptWidget::Confirm(None), _) if self.field.required => return Err("Press y or n".to_owned()),
            (PromptWidget::Confirm(None), _) => None,
            (PromptWidget::List(list), PromptFieldKind::Choices { min, max, .. }) => {
                return self.multi_answer(list, *min, *max);
            }
            (PromptWidget::List(list), _) => {
                let row = list.current().ok_or("Nothing matches the filter: shorten it with Backspace")?;
                return Ok(FieldAnswer {
                    value: row.value.as_ref().map(|value| json!(value)),
                    display_text: row.title.clone(),
                });
            }
        };
        let shown = value
            .as_ref()
            .map_or_else(|| SKIPPED_LABEL.to_owned(), |value| escape_controls(&format_value(value)));
        Ok(FieldAnswer { value, display_text: shown })
    }

    fn multi_answer(
        &self,
        list: &OptionList,
        min: Option<u64>,
        max: Option<u64>,
    ) -> Result<FieldAnswer, String> {
        validate::check_selection_count(list.marked_rows().count(), min, max)?;
        let titles: Vec<&str> = list.marked_rows().map(|row| row.title.as_str()).collect();
        let values: Vec<&str> = list.marked_rows().filter_map(|row| row.value.as_deref()).collect();
        let is_open = values.is_empty() && !self.field.required && self.field.default.is_none();
        let shown = if titles.is_empty() { "(none)".to_owned() } else { titles.join(", ") };
        Ok(FieldAnswer { value: (!is_open).then(|| json!(values)), display_text: shown })
    }

    fn confirm_line(&self, chosen: Option<bool>) -> StyledLine {
        let option = |word: &str, is_chosen: bool| {
            let style = if is_chosen { TextStyle::Active } else { TextStyle::Dim };
            let mark = StyledLine::new(style, self.symbols.radio[usize::from(is_chosen)]);
            mark.with_part(if is_chosen { TextStyle::Plain } else { TextStyle::Dim }, format!(" {word}"))
        };
        option("Yes", chosen == Some(true))
            .with_part(TextStyle::Dim, " / ")
            .append(option("No", chosen == Some(false)))
    }
}

const SKIPPED_LABEL: &str = "(skipped)";

/// The options, and one that skips the question where that is allowed.
fn option_rows(field: &PromptField, options: &[PromptOption], begin: Option<&Value>) -> Vec<OptionRow> {
    let is_in = |value: &str, chosen: Option<&Value>| match chosen {
        Some(Value::Array(chosen)) => chosen.iter().any(|one| one == value),
        Some(chosen) => chosen == value,
        None => false,
    };
    let open = OptionRow {
        title: SKIPPED_LABEL.to_owned(),
        value: None,
        is_default: false,
        is_marked: begin.is_none(),
    };
    let may_stay_open =
        matches!(field.kind, PromptFieldKind::Choice(_)) && !field.required && field.default.is_none();
    let row = |choice: &PromptOption| OptionRow {
        title: choice.title.clone(),
        value: Some(choice.value.clone()),
        is_default: is_in(&choice.value, field.default.as_ref()),
        is_marked: is_in(&choice.value, begin),
    };
    may_stay_open.then_some(open).into_iter().chain(options.iter().map(row)).collect()
}

/// A value as a person would write it.
fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "Yes".to_owned(),
        Value::Bool(false) => "No".to_owned(),
        other => other.to_string(),
    }
}

/// A text in lines of at most `width` columns. An empty one has none.
pub(super) fn wrap_lines(text: &str, width: usize) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    styling::wrap(text, width)
}

fn visible_rows(rows: usize) -> usize {
    rows.saturating_sub(MAX_LINES_BELOW_LIST).clamp(1, MAX_VISIBLE_ROWS)
}
