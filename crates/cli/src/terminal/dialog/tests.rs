//! Forms in, keys in; screens and answers out.

use std::collections::VecDeque;
use std::io;

use crossterm::event::KeyEvent;
use serde_json::{Value, json};

use super::super::screen::TerminalSize;
use super::super::symbols::{ASCII, UNICODE};
use super::super::test_terminal::{new_terminal, parse_keys};
use super::*;

/// A terminal whose user types from a script, and whose screen is remembered before each key.
struct ScriptedConsole {
    keys: VecDeque<KeyEvent>,
    terminal: vt100::Parser,
    screens: Vec<String>,
    written: String,
}

impl Console for ScriptedConsole {
    fn next_event(&mut self) -> io::Result<Option<Event>> {
        self.screens.push(self.terminal.screen().contents());
        Ok(Some(Event::Key(self.keys.pop_front().expect("the script is long enough"))))
    }

    fn size(&self) -> TerminalSize {
        let (rows, columns) = self.terminal.screen().size();
        TerminalSize { columns: columns.get().into(), rows: rows.get().into() }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.written.push_str(text);
        self.terminal.process(text.replace('\n', "\r\n").as_bytes());
        Ok(())
    }
}

struct DialogRun {
    answer: Value,
    screens: Vec<String>,
    final_screen: String,
    written: String,
}

impl DialogRun {
    /// What was to be seen before the last key.
    fn last_screen(&self) -> &str {
        self.screens.last().unwrap()
    }
}

const PLAIN_STYLE: DialogStyle =
    DialogStyle { symbols: &UNICODE, coloured: false, follows_form: false, can_go_back: true };

fn play(message: &str, required: &[&str], properties: Value, typed: &str) -> DialogRun {
    play_with(message, required, properties, typed, PLAIN_STYLE, &mut AnswerHistory::default())
}

fn play_with(
    message: &str,
    required: &[&str],
    properties: Value,
    typed: &str,
    style: DialogStyle,
    memory: &mut AnswerHistory,
) -> DialogRun {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let form = PromptForm::from_params(&json!({ "message": message, "requestedSchema": schema }));
    let mut console = ScriptedConsole {
        keys: parse_keys(typed).into(),
        terminal: new_terminal(16, 60),
        screens: Vec::new(),
        written: String::new(),
    };
    let answer = run_dialog(&form, &mut console, memory, style).unwrap().to_result();
    assert!(console.keys.is_empty(), "{:?} were not read", console.keys);
    assert!(!console.terminal.screen().hide_cursor(), "the cursor is still hidden");
    let at_the_end = console.terminal.screen().contents();
    DialogRun { answer, screens: console.screens, final_screen: at_the_end, written: console.written }
}

/// A form of one required field, called `x`; what is answered for it.
#[track_caller]
fn check_one(field: Value, typed: &str, expected: Value) {
    let found = play("What?", &["x"], json!({ "x": field }), typed).answer;
    assert_eq!(found, json!({ "action": "accept", "content": { "x": expected } }), "{typed}");
}

fn class_options() -> Value {
    json!([
        { "const": "economy", "title": "Economy" },
        { "const": "business", "title": "Business" },
        { "const": "first", "title": "First class" },
    ])
}

#[test]
fn keys_become_answers() {
    let text = json!({ "type": "string", "minLength": 2 });
    check_one(text.clone(), "Lisbon⏎", json!("Lisbon"));
    check_one(text.clone(), "Lisbn←o⏎", json!("Lisbon"));
    check_one(text, "L⏎isbon⏎", json!("Lisbon"));
    let number = json!({ "type": "integer", "minimum": 1, "maximum": 9, "default": 2 });
    check_one(number.clone(), "⏎", json!(2));
    check_one(number, "10⏎⌫⏎", json!(1));
    check_one(json!({ "type": "string", "format": "date" }), "2027-02-29⏎⌫8⏎", json!("2027-02-28"));
    let choice = json!({ "type": "string", "oneOf": class_options(), "default": "business" });
    check_one(choice.clone(), "⏎", json!("business"));
    check_one(choice.clone(), "↑⏎", json!("economy"));
    check_one(choice.clone(), "↓↓⏎", json!("economy"));
    check_one(choice, "fir⏎", json!("first"));
    let several = json!({ "type": "array", "items": { "anyOf": class_options() }, "minItems": 1 });
    check_one(several.clone(), " ↓↓ ⏎", json!(["economy", "first"]));
    check_one(several, "⏎bus ⏎", json!(["business"]));
    let several = json!({ "type": "array", "items": { "anyOf": class_options() }, "default": ["first"] });
    check_one(several.clone(), "⏎", json!(["first"]));
    check_one(several, "↑ ⏎", json!([]));
    check_one(json!({ "type": "boolean" }), "⏎y⏎", json!(true));
    check_one(json!({ "type": "boolean" }), "yn⏎", json!(false));
    check_one(json!({ "type": "boolean", "default": true }), "⏎", json!(true));
    check_one(json!({ "type": "boolean", "default": true }), "→⏎", json!(false));
}

#[test]
fn skipped_optional_fields_are_omitted() {
    for field in [
        json!({ "type": "string", "format": "date" }),
        json!({ "type": "integer" }),
        json!({ "type": "boolean" }),
        json!({ "type": "string", "oneOf": class_options() }),
        json!({ "type": "array", "items": { "anyOf": class_options() } }),
    ] {
        let played = play("What?", &[], json!({ "x": field }), "⏎");
        assert_eq!(played.answer, json!({ "action": "accept", "content": {} }), "{field}");
    }
}

#[test]
fn back_stop_and_end_of_input_differ() {
    let one = || json!({ "x": { "type": "string" } });
    let back = json!({ "action": "accept", "content": {}, "_meta": { "fluxway/action": "back" } });
    let played = play("What?", &["x"], one(), "ab⎋");
    assert_eq!((played.answer, played.final_screen.as_str()), (back, "■  What?\n│  back"));
    for (typed, expected) in [("ab⌃c", "■  What?\n│  stopped"), ("ab⌃d", "")] {
        let played = play("What?", &["x"], one(), typed);
        assert_eq!((played.answer, played.final_screen.as_str()), (json!({ "action": "cancel" }), expected));
    }
}

#[test]
fn escape_is_offered_only_where_it_leads_back() {
    let look = DialogStyle { can_go_back: false, ..PLAIN_STYLE };
    let mut memory = AnswerHistory::default();
    let typed = "⎋2028-02-01⏎⎋⏎⏎";
    let played = play_with("When?", &["departure"], date_fields(), typed, look, &mut memory);
    let hints: Vec<&str> =
        played.screens.iter().map(|screen| screen.lines().next_back().unwrap_or_default()).collect();
    // Before the first key, and after it: Esc did nothing. The second question leads back to the first.
    assert_eq!((hints[0], hints[1]), ("└  Ctrl-C: stop", "└  Ctrl-C: stop"));
    assert_eq!((hints[12], hints[13]), ("└  Esc: back, Ctrl-C: stop", "└  Ctrl-C: stop"));
    assert_eq!(played.answer["content"], json!({ "departure": "2028-02-01" }));
}

fn count_field() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": 9, "default": 2, "description": "Children count." })
}

#[test]
fn a_line_shows_help_default_and_problem() {
    let played = play("How many?", &[], json!({ "n": count_field() }), "12⏎⌫⏎");
    let shown = [
        "◆  How many?\n│  Children count.; 1 to 9; default: 2\n│\n└  Esc: back, Ctrl-C: stop",
        "▲  How many?\n│  Children count.; 1 to 9; default: 2\n│  12\n└  That is out of range: 1 to 9.",
        // A problem goes as soon as the answer is right, without another Enter.
        "◆  How many?\n│  Children count.; 1 to 9; default: 2\n│  1\n└  Esc: back, Ctrl-C: stop",
    ];
    for (at, shown) in [0, 3, 4].into_iter().zip(shown) {
        let lines: Vec<_> = played.screens[at].lines().map(str::trim_end).collect();
        assert_eq!(lines.join("\n"), shown);
    }
    assert_eq!(played.final_screen, "◇  How many?\n│  1");
}

#[test]
fn ascii_symbols_write_only_ascii() {
    let look = DialogStyle { symbols: &ASCII, ..PLAIN_STYLE };
    let choice = json!({ "type": "string", "oneOf": class_options(), "default": "first" });
    let played = play_with("Class?", &[], json!({ "x": choice }), "⌃c", look, &mut AnswerHistory::default());
    assert!(played.screens[0].starts_with("*  Class?\n|  ( ) Economy\n|  ( ) Business\n|  (*) First"));
    assert!(played.written.is_ascii(), "{:?}", played.written);
}

#[test]
fn choice_marks_the_current_option() {
    let field = json!({ "type": "string", "oneOf": class_options(), "default": "economy" });
    let played = play("Where?", &[], json!({ "class": field }), "↓⏎");
    assert_eq!(
        played.last_screen(),
        "◆  Where?\n│  ○ Economy (default)\n│  ● Business\n│  ○ First class\n\
         └  ↑↓: move, Enter: confirm, type to filter, Esc: back,\n   Ctrl-C: stop"
    );
    assert_eq!(played.final_screen, "◇  Where?\n│  Business");
}

#[test]
fn a_long_label_is_wrapped_between_words() {
    let title = "Which of these many lines of the command line tool is the one that you would like to have?";
    let properties = json!({ "a": { "type": "string", "title": title }, "b": { "type": "string" } });
    let played = play("About it", &["a"], properties, "⌃c");
    let lines: Vec<_> = played.last_screen().lines().map(str::trim_end).collect();
    assert_eq!(
        lines.join("\n"),
        "│  About it\n│\n◆  Which of these many lines of the command line tool is\n│  the one that you would like to have?\n\
         │\n└  Esc: back, Ctrl-C: stop"
    );
}

#[test]
fn a_confirmation_shows_its_default() {
    let field = json!({ "type": "boolean", "default": false });
    let played = play("Sure?", &[], json!({ "ok": field }), "y⏎");
    assert!(
        played.screens[0].starts_with("◆  Sure?\n│  default: No\n│  ○ Yes / ● No\n"),
        "{}",
        played.screens[0]
    );
    assert!(played.last_screen().contains("│  ● Yes / ○ No"), "{}", played.last_screen());
    assert_eq!(played.final_screen, "◇  Sure?\n│  Yes");
}

fn date_fields() -> Value {
    json!({
        "departure": { "type": "string", "format": "date", "title": "First day" },
        "return": { "type": "string", "format": "date", "title": "Last day" },
    })
}

#[test]
fn a_form_goes_from_field_to_field_and_back() {
    let played = play("When?", &["departure"], date_fields(), "2028-02-01⏎2028-02-02⏎");
    assert_eq!(
        played.last_screen(),
        "│  When?\n│\n◇  First day\n│  2028-02-01\n│\n◆  Last day\n│  YYYY-MM-DD; optional\n│  2028-02-02\n\
         └  Esc: back, Ctrl-C: stop"
    );
    assert_eq!(
        played.final_screen,
        "│  When?\n│\n◇  First day\n│  2028-02-01\n│\n◇  Last day\n│  2028-02-02"
    );

    // Answers are still there, on both sides of going back.
    let played = play("When?", &["departure"], date_fields(), "2028-02-01⏎⎋⌫9⏎⏎");
    let content = json!({ "departure": "2028-02-09" });
    assert_eq!(played.answer, json!({ "action": "accept", "content": content }));
    assert!(
        played.final_screen.ends_with("│  2028-02-09\n│\n◇  Last day\n│  (skipped)"),
        "{}",
        played.final_screen
    );
}

#[test]
fn a_form_is_joined_to_the_one_above_it() {
    let look = DialogStyle { follows_form: true, ..PLAIN_STYLE };
    let name = json!({ "x": { "type": "string" } });
    let played =
        play_with("That is taken.\nName?", &["x"], name, "Ada⏎", look, &mut AnswerHistory::default());
    assert_eq!(played.final_screen, "│\n│  That is taken.\n│\n◇  Name?\n│  Ada");
}

#[test]
fn a_question_asked_again_starts_with_its_answer() {
    let mut memory = AnswerHistory::default();
    let mut again =
        |typed| play_with("When?", &["departure"], date_fields(), typed, PLAIN_STYLE, &mut memory).answer;
    again("2001-02-01⏎⏎");
    let mended = again("⌫2⏎2001-02-03⏎");
    assert_eq!(mended["content"], json!({ "departure": "2001-02-02", "return": "2001-02-03" }));
    assert_eq!(again("⏎⌃u⏎")["content"], json!({ "departure": "2001-02-02" }));
    assert_eq!(again("⏎⏎")["content"], json!({ "departure": "2001-02-02" }));

    // But a yes counts once, and another question has no answer yet.
    let mut once = |title: &str, kind: &str, typed: &str| {
        let field = json!({ "x": { "type": kind, "title": title } });
        play_with("Well?", &["x"], field, typed, PLAIN_STYLE, &mut memory).screens[0].clone()
    };
    once("Sure?", "boolean", "y⏎");
    assert!(once("Sure?", "boolean", "⌃c").contains("│  ○ Yes / ○ No"));
    once("Name?", "string", "Ada⏎");
    assert!(!once("Street?", "string", "⌃c").contains("Ada"));
    assert!(once("Name?", "string", "⌃c").contains("Ada"));
}

#[test]
fn a_long_message_is_printed_once_above_the_prompt() {
    let lines: Vec<String> = (1..300).map(|n| format!("+line {n}")).collect();
    let message =
        format!("Apply this?\n--- a/x\n+++ b/x\n@@ -1 +1,300 @@\n-\u{1b}[5mold\n{}\n+end", lines.join("\n"));
    let field = json!({ "x": { "type": "boolean", "title": message } });
    let look = DialogStyle { coloured: true, ..PLAIN_STYLE };
    let played = play_with(&message, &["x"], field, "y⏎", look, &mut AnswerHistory::default());
    assert_eq!(played.written.matches("+line 150\u{1b}").count(), 1);
    assert!(played.written.contains("\u{1b}[32m+line 299\u{1b}[0m\n"));
    assert!(played.written.contains("\u{1b}[31m-\\u{1b}[5mold\u{1b}[0m\n"));
    let screen = played.last_screen();
    assert!(screen.contains("│  +end\n│\n◆  Apply this?\n│  ● Yes / ○ No"), "{screen}");
}

#[test]
fn colours_are_written_only_if_enabled() {
    let seen = |coloured| {
        let look = DialogStyle { coloured, ..PLAIN_STYLE };
        play_with("When?", &["departure"], date_fields(), "x⏎⌃c", look, &mut AnswerHistory::default()).written
    };
    let coloured = seen(true);
    assert!(coloured.contains("\u{1b}[33mThat is not a day") && coloured.contains("\u{1b}[2mEsc: back"));
    let plain = seen(false);
    let codes =
        plain.split("\u{1b}[").skip(1).map(|code| code.trim_start_matches(|c: char| !c.is_alphabetic()));
    assert!(codes.clone().count() > 0 && codes.clone().all(|code| !code.starts_with('m')), "{plain:?}");
}
