//! One question: what its keys do, how it is drawn, and what its answer is.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use super::check;
use super::editor::Editor;
use super::form::{Choice, Field, Kind};
use super::list::{List, Row};
use super::screen::{Line, Size, Style, View};
use super::symbols::Symbols;
use crate::paint::{self, safe};

/// What was answered: nothing, if the question was left open.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    pub(super) value: Option<Value>,
    pub(super) shown: String,
}

pub(super) struct Prompt<'a> {
    field: &'a Field,
    symbols: &'static Symbols,
    widget: Widget,
    problem: Option<String>,
}

enum Widget {
    Line(Editor),
    List(List),
    Confirm(Option<bool>),
}

/// Rows of a list that are shown at once, if the terminal has as many.
const PAGE: usize = 12;
/// Lines of a prompt below its list, at most: the filter, and the keys or a problem of two lines.
const BELOW_A_LIST: usize = 3;
/// Columns that the bar at the left takes.
const MARGIN: usize = 3;

impl<'a> Prompt<'a> {
    /// A question as it begins, or with the answer that it had before the user came back to it.
    pub(super) fn new(field: &'a Field, earlier: Option<&Given>, symbols: &'static Symbols) -> Self {
        let begin = match earlier {
            Some(earlier) => earlier.value.as_ref(),
            None => field.default.as_ref(),
        };
        let widget = match &field.kind {
            Kind::Confirm => Widget::Confirm(begin.and_then(Value::as_bool)),
            Kind::Choice(options) => Widget::List(List::new(rows(field, options, begin), false)),
            Kind::Choices { options, .. } => Widget::List(List::new(rows(field, options, begin), true)),
            Kind::Text { .. } | Kind::Date | Kind::Number { .. } => {
                // A default is not typed for the user: Enter accepts it.
                let typed = earlier.and_then(|earlier| earlier.value.as_ref());
                Widget::Line(typed.map(|value| Editor::with(plain(value))).unwrap_or_default())
            }
        };
        Self { field, symbols, widget, problem: None }
    }

    /// Handles a key. Enter submits a valid answer.
    pub(super) fn press(&mut self, key: KeyEvent, size: Size) -> Option<Given> {
        if key.code == KeyCode::Enter {
            return self.given().map_err(|problem| self.problem = Some(problem)).ok();
        }
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match &mut self.widget {
            Widget::Line(editor) => editor.press(key),
            Widget::List(list) => list.press(key, page(size.rows)),
            Widget::Confirm(chosen) => match key.code {
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
        self.check_again();
        None
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Widget::Line(editor) = &mut self.widget {
            editor.paste(text);
            self.check_again();
        }
    }

    /// Enter reports a problem first; from then on every key shows whether it is still there.
    fn check_again(&mut self) {
        if self.problem.is_some() {
            self.problem = self.given().err();
        }
    }

    pub(super) fn show(&self, view: &mut View, size: Size) {
        let Symbols { active, invalid, bar, end, .. } = *self.symbols;
        let (symbol, style) =
            if self.problem.is_some() { (invalid, Style::Invalid) } else { (active, Style::Active) };
        let width = size.columns.saturating_sub(MARGIN + 1);
        let margin = || Line::new(style, bar).and(Style::Plain, "  ");
        let mut heading = Line::new(style, symbol).and(Style::Plain, "  ");
        for line in wrapped(&self.field.label, width) {
            view.push(heading.and(Style::Bold, line));
            heading = margin();
        }
        for line in wrapped(&self.about(), width) {
            view.push(margin().and(Style::Dim, line));
        }
        match &self.widget {
            Widget::Line(editor) => {
                let (typed, column) = editor.window(width);
                view.cursor = Some((view.lines.len(), column + MARGIN));
                view.push(margin().and(Style::Plain, typed));
            }
            Widget::List(list) => {
                let rows = page(size.rows.saturating_sub(view.lines.len()));
                let rows = list.lines(rows, width, self.symbols);
                view.lines.extend(rows.into_iter().map(|row| margin().then(row)));
            }
            Widget::Confirm(chosen) => view.push(margin().then(self.confirm_line(*chosen))),
        }
        let mut last = Line::new(style, end).and(Style::Plain, "  ");
        let (text, style) = match &self.problem {
            Some(problem) => (format!("{problem}."), Style::Invalid),
            None => (self.keys(), Style::Dim),
        };
        for line in wrapped(&text, width) {
            view.push(last.and(style, line));
            last = Line::new(Style::Plain, "   ");
        }
    }

    /// Help, what is expected, and what Enter alone means.
    fn about(&self) -> String {
        let mut about: Vec<String> = self.field.help.iter().cloned().collect();
        about.extend(check::expected(&self.field.kind));
        match (&self.widget, &self.field.default) {
            (Widget::List(_), _) => {}
            (_, Some(default)) => about.push(format!("default: {}", safe(&plain(default)))),
            (Widget::Line(_), None) if !self.field.required => about.push("optional".to_owned()),
            (_, None) => {}
        }
        about.join("; ")
    }

    fn keys(&self) -> String {
        let arrows = self.symbols.arrows;
        let keys = match (&self.widget, &self.field.kind) {
            (Widget::Line(_), _) => String::new(),
            (Widget::Confirm(_), _) => "y/n, Enter: confirm, ".to_owned(),
            (Widget::List(_), Kind::Choices { .. }) => {
                format!("{arrows}: move, Space: select, Enter: confirm, type to filter, ")
            }
            (Widget::List(_), _) => format!("{arrows}: move, Enter: confirm, type to filter, "),
        };
        format!("{keys}Esc: back, Ctrl-C: stop")
    }

    fn given(&self) -> Result<Given, String> {
        let value = match (&self.widget, &self.field.kind) {
            (Widget::Line(editor), _) => check::typed(self.field, editor.text())?,
            (Widget::Confirm(Some(chosen)), _) => Some(json!(chosen)),
            (Widget::Confirm(None), _) if self.field.required => return Err("Press y or n".to_owned()),
            (Widget::Confirm(None), _) => None,
            (Widget::List(list), Kind::Choices { min, max, .. }) => return self.several(list, *min, *max),
            (Widget::List(list), _) => {
                let row = list.current().ok_or("Nothing matches the filter: shorten it with Backspace")?;
                return Ok(Given {
                    value: row.value.as_ref().map(|value| json!(value)),
                    shown: row.title.clone(),
                });
            }
        };
        let shown = value.as_ref().map_or_else(|| LEFT_OPEN.to_owned(), |value| safe(&plain(value)));
        Ok(Given { value, shown })
    }

    fn several(&self, list: &List, min: Option<u64>, max: Option<u64>) -> Result<Given, String> {
        check::marked(list.marked().count(), min, max)?;
        let titles: Vec<&str> = list.marked().map(|row| row.title.as_str()).collect();
        let values: Vec<&str> = list.marked().filter_map(|row| row.value.as_deref()).collect();
        let is_open = values.is_empty() && !self.field.required && self.field.default.is_none();
        let shown = if titles.is_empty() { "(none)".to_owned() } else { titles.join(", ") };
        Ok(Given { value: (!is_open).then(|| json!(values)), shown })
    }

    fn confirm_line(&self, chosen: Option<bool>) -> Line {
        let option = |word: &str, is_chosen: bool| {
            let style = if is_chosen { Style::Active } else { Style::Dim };
            let mark = Line::new(style, self.symbols.radio[usize::from(is_chosen)]);
            mark.and(if is_chosen { Style::Plain } else { Style::Dim }, format!(" {word}"))
        };
        option("Yes", chosen == Some(true)).and(Style::Dim, " / ").then(option("No", chosen == Some(false)))
    }
}

const LEFT_OPEN: &str = "(skipped)";

/// The options, and one that skips the question where that is allowed.
fn rows(field: &Field, options: &[Choice], begin: Option<&Value>) -> Vec<Row> {
    let is_in = |value: &str, chosen: Option<&Value>| match chosen {
        Some(Value::Array(chosen)) => chosen.iter().any(|one| one == value),
        Some(chosen) => chosen == value,
        None => false,
    };
    let open =
        Row { title: LEFT_OPEN.to_owned(), value: None, is_default: false, is_marked: begin.is_none() };
    let may_stay_open = matches!(field.kind, Kind::Choice(_)) && !field.required && field.default.is_none();
    let row = |choice: &Choice| Row {
        title: choice.title.clone(),
        value: Some(choice.value.clone()),
        is_default: is_in(&choice.value, field.default.as_ref()),
        is_marked: is_in(&choice.value, begin),
    };
    may_stay_open.then_some(open).into_iter().chain(options.iter().map(row)).collect()
}

/// A value as a person would write it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "Yes".to_owned(),
        Value::Bool(false) => "No".to_owned(),
        other => other.to_string(),
    }
}

/// A text in lines of at most `width` columns. An empty one has none.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    paint::wrap(text, width)
}

fn page(rows: usize) -> usize {
    rows.saturating_sub(BELOW_A_LIST).clamp(1, PAGE)
}
