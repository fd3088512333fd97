//! One question: what its keys do, what is to be seen of it, and what its answer is.

use serde_json::{Value, json};

use super::check;
use super::editor::Editor;
use super::form::{Choice, Field, Kind};
use super::keys::Key;
use super::list::{List, Row};
use super::view::{Line, Size, Style, View};
use crate::paint::safe;

/// What was answered: nothing, if the question was left open.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    pub(super) value: Option<Value>,
    pub(super) shown: String,
}

pub(super) struct Prompt<'a> {
    field: &'a Field,
    /// What to call it, where that has not just been said.
    label: Option<&'a str>,
    widget: Widget,
    problem: Option<String>,
}

enum Widget {
    Line(Editor),
    List(List),
    Confirm(Option<bool>),
}

/// Rows of a list that are seen at once, if the terminal has as many.
const PAGE: usize = 12;
/// Lines of a prompt below its list, at most: the filter, what is wrong, the keys.
const BELOW_A_LIST: usize = 3;

impl<'a> Prompt<'a> {
    /// A question as it begins, or with the answer that it had before the user came back to it.
    pub(super) fn new(field: &'a Field, label: Option<&'a str>, earlier: Option<&Given>) -> Self {
        let begin = match earlier {
            Some(earlier) => earlier.value.as_ref(),
            None => field.default.as_ref(),
        };
        let widget = match &field.kind {
            Kind::Confirm => Widget::Confirm(begin.and_then(Value::as_bool)),
            Kind::Choice(options) => Widget::List(List::new(rows(field, options, begin), false)),
            Kind::Choices { options, .. } => Widget::List(List::new(rows(field, options, begin), true)),
            Kind::Text { .. } | Kind::Date | Kind::Number { .. } => {
                // A default is not typed for the user: Enter takes it.
                let typed = earlier.and_then(|earlier| earlier.value.as_ref());
                Widget::Line(typed.map(|value| Editor::with(plain(value))).unwrap_or_default())
            }
        };
        Self { field, label, widget, problem: None }
    }

    /// Takes a key. Enter ends it, if the answer is good.
    pub(super) fn press(&mut self, key: &Key, size: Size) -> Option<Given> {
        self.problem = None;
        if *key == Key::Enter {
            return self.given().map_err(|problem| self.problem = Some(problem)).ok();
        }
        match &mut self.widget {
            Widget::Line(editor) => editor.press(key),
            Widget::List(list) => list.press(key, page(size)),
            Widget::Confirm(chosen) => match key {
                Key::Char('y' | 'Y') => *chosen = Some(true),
                Key::Char('n' | 'N') => *chosen = Some(false),
                Key::Left | Key::Right | Key::Up | Key::Down | Key::Tab | Key::Char(' ') => {
                    *chosen = Some(!chosen.unwrap_or(false));
                }
                _ => {}
            },
        }
        None
    }

    pub(super) fn show(&self, view: &mut View, size: Size) {
        if let Some(label) = self.label {
            view.push_text(Style::Strong, "", label, size);
        }
        let about = self.about();
        if !about.is_empty() {
            view.push_text(Style::Dim, "  ", &about.join("; "), size);
        }
        match &self.widget {
            Widget::Line(editor) => {
                let (typed, column) = editor.window(size.columns.saturating_sub(3));
                view.cursor = Some((view.lines.len(), column + 2));
                view.push(Line::new(Style::Chosen, "> ").and(Style::Plain, typed));
            }
            Widget::List(list) => {
                let left = Size { rows: size.rows.saturating_sub(view.lines.len()), ..size };
                view.lines.extend(list.lines(page(left)));
            }
            Widget::Confirm(chosen) => view.push(confirm_line(*chosen)),
        }
        if let Some(problem) = &self.problem {
            view.push_text(Style::Wrong, "  ", &format!("{problem}."), size);
        }
        view.push(Line::new(Style::Dim, format!("  Esc: back, Ctrl-C: stop{}", self.keys())));
    }

    /// Help, what may be typed, and what Enter alone means.
    fn about(&self) -> Vec<String> {
        let mut about: Vec<String> = self.field.help.iter().cloned().collect();
        about.extend(check::expected(&self.field.kind));
        match (&self.widget, &self.field.default) {
            (Widget::List(_), _) => {}
            (_, Some(default)) => about.push(format!("default: {}", safe(&plain(default)))),
            (Widget::Line(_), None) if !self.field.required => about.push("may stay empty".to_owned()),
            (_, None) => {}
        }
        about
    }

    fn keys(&self) -> &'static str {
        match (&self.widget, &self.field.kind) {
            (Widget::Line(_), _) => "",
            (Widget::Confirm(_), _) => ", y/n, Enter: take it",
            (Widget::List(_), Kind::Choices { .. }) => ", ↑↓: move, Space: mark, Enter: done, type to filter",
            (Widget::List(_), _) => ", ↑↓: move, Enter: take it, type to filter",
        }
    }

    fn given(&self) -> Result<Given, String> {
        let value = match (&self.widget, &self.field.kind) {
            (Widget::Line(editor), _) => check::typed(self.field, editor.text())?,
            (Widget::Confirm(Some(chosen)), _) => Some(json!(chosen)),
            (Widget::Confirm(None), _) if self.field.required => return Err("Press y or n".to_owned()),
            (Widget::Confirm(None), _) => None,
            (Widget::List(list), Kind::Choices { min, max, .. }) => return self.several(list, *min, *max),
            (Widget::List(list), _) => {
                let row = list.current().ok_or("Nothing matches: Backspace takes the filter back")?;
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
}

const LEFT_OPEN: &str = "(left open)";

/// The options, and one that leaves the question open where that is allowed.
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

/// The choice stands in brackets: it must be seen without colours.
fn confirm_line(chosen: Option<bool>) -> Line {
    let word = |word: &str, is_chosen: bool| {
        if is_chosen { (Style::Chosen, format!("[{word}]")) } else { (Style::Plain, format!(" {word} ")) }
    };
    let (yes_style, yes) = word("Yes", chosen == Some(true));
    let (no_style, no) = word("No", chosen == Some(false));
    Line::new(Style::Plain, "  ").and(yes_style, yes).and(Style::Plain, " ").and(no_style, no)
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

fn page(size: Size) -> usize {
    size.rows.saturating_sub(BELOW_A_LIST).clamp(1, PAGE)
}
