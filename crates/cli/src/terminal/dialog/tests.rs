//! Forms in, keys in; screens and answers out.

use std::collections::VecDeque;
use std::io;

use serde_json::{Value, json};

use super::super::script::{keys, screen};
use super::*;

/// A terminal whose user types from a script, and whose screen is remembered before each key.
struct Scripted {
    keys: VecDeque<Key>,
    terminal: vt100::Parser,
    screens: Vec<String>,
    written: String,
}

impl Console for Scripted {
    fn next(&mut self) -> io::Result<Event> {
        self.screens.push(self.terminal.screen().contents());
        Ok(Event::Key(self.keys.pop_front().expect("the script is long enough")))
    }

    fn size(&self) -> Size {
        let (rows, columns) = self.terminal.screen().size();
        Size { columns: columns.get().into(), rows: rows.get().into() }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.written.push_str(text);
        self.terminal.process(text.replace('\n', "\r\n").as_bytes());
        Ok(())
    }
}

struct Played {
    answer: Value,
    screens: Vec<String>,
    at_the_end: String,
    written: String,
}

impl Played {
    /// What was to be seen before the last key.
    fn last_screen(&self) -> &str {
        self.screens.last().unwrap()
    }
}

fn play(message: &str, required: &[&str], properties: Value, typed: &str, coloured: bool) -> Played {
    play_again(message, required, properties, typed, coloured, &mut Memory::default())
}

fn play_again(
    message: &str,
    required: &[&str],
    properties: Value,
    typed: &str,
    coloured: bool,
    memory: &mut Memory,
) -> Played {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let form = Form::read(&json!({ "message": message, "requestedSchema": schema }));
    let terminal = screen(16, 60);
    let mut console =
        Scripted { keys: keys(typed).into(), terminal, screens: Vec::new(), written: String::new() };
    let answer = run(&form, &mut console, memory, coloured).unwrap().result();
    assert!(console.keys.is_empty(), "{:?} were not read", console.keys);
    assert!(!console.terminal.screen().hide_cursor(), "the cursor is still hidden");
    let at_the_end = console.terminal.screen().contents();
    Played { answer, screens: console.screens, at_the_end, written: console.written }
}

/// A form of one required field, called `x`; what is answered for it.
#[track_caller]
fn check_one(field: Value, typed: &str, expected: Value) {
    let found = play("What?", &["x"], json!({ "x": field }), typed, false).answer;
    assert_eq!(found, json!({ "action": "accept", "content": { "x": expected } }), "{typed}");
}

fn classes() -> Value {
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
    let choice = json!({ "type": "string", "oneOf": classes(), "default": "business" });
    check_one(choice.clone(), "⏎", json!("business"));
    check_one(choice.clone(), "↑⏎", json!("economy"));
    check_one(choice.clone(), "↓↓⏎", json!("economy"));
    check_one(choice, "fir⏎", json!("first"));
    let several = json!({ "type": "array", "items": { "anyOf": classes() }, "minItems": 1 });
    check_one(several.clone(), " ↓↓ ⏎", json!(["economy", "first"]));
    check_one(several, "⏎bus ⏎", json!(["business"]));
    let several = json!({ "type": "array", "items": { "anyOf": classes() }, "default": ["first"] });
    check_one(several.clone(), "⏎", json!(["first"]));
    check_one(several, "↑ ⏎", json!([]));
    check_one(json!({ "type": "boolean" }), "⏎y⏎", json!(true));
    check_one(json!({ "type": "boolean" }), "yn⏎", json!(false));
    check_one(json!({ "type": "boolean", "default": true }), "⏎", json!(true));
    check_one(json!({ "type": "boolean", "default": true }), "→⏎", json!(false));
}

#[test]
fn what_may_stay_open_is_left_out() {
    for field in [
        json!({ "type": "string", "format": "date" }),
        json!({ "type": "integer" }),
        json!({ "type": "boolean" }),
        json!({ "type": "string", "oneOf": classes() }),
        json!({ "type": "array", "items": { "anyOf": classes() } }),
    ] {
        let played = play("What?", &[], json!({ "x": field }), "⏎", false);
        assert_eq!(played.answer, json!({ "action": "accept", "content": {} }), "{field}");
    }
}

#[test]
fn leaving_is_told_apart() {
    let one = || json!({ "x": { "type": "string" } });
    let back = json!({ "action": "accept", "content": {}, "_meta": { "fluxway/action": "back" } });
    let played = play("What?", &["x"], one(), "ab⎋", false);
    assert_eq!((played.answer, played.at_the_end.as_str()), (back, "What?\n< back"));
    for typed in ["ab⌃c", "ab⌃d"] {
        let played = play("What?", &["x"], one(), typed, false);
        assert_eq!((played.answer, played.at_the_end.as_str()), (json!({ "action": "cancel" }), "What?"));
    }
}

#[test]
fn a_line_shows_help_default_and_problem() {
    let field = json!({
        "type": "integer", "minimum": 1, "maximum": 9, "default": 2, "description": "Children count.",
    });
    let played = play("How many?", &[], json!({ "n": field }), "12⏎⌃c", false);
    assert_eq!(
        played.screens[0],
        "How many?\n  Children count.; 1 to 9; default: 2\n> \n  Esc: back, Ctrl-C: stop"
    );
    assert_eq!(
        played.last_screen(),
        "How many?\n  Children count.; 1 to 9; default: 2\n> 12\n  That is out of range: 1 to 9.\n  Esc: back, Ctrl-C: stop"
    );
}

#[test]
fn a_choice_shows_where_it_is() {
    let field = json!({ "type": "string", "oneOf": classes(), "default": "economy" });
    let played = play("Where?", &[], json!({ "class": field }), "↓⏎", false);
    assert_eq!(
        played.last_screen(),
        "Where?\n  Economy (default)\n> Business\n  First class\n  Esc: back, Ctrl-C: stop, ↑↓: move, Enter: take it, type …"
    );
    assert_eq!(played.at_the_end, "Where?\n> Business");
}

#[test]
fn a_long_label_is_shown_to_its_end() {
    let title = "Which of these many lines of the command line tool is the one that you would like to have?";
    let properties = json!({ "a": { "type": "string", "title": title }, "b": { "type": "string" } });
    let played = play("About it", &["a"], properties, "⌃c", false);
    assert_eq!(
        played.last_screen(),
        "About it\nWhich of these many lines of the command line tool is the\none that you would like to have?\n> \n  \
         Esc: back, Ctrl-C: stop"
    );
}

#[test]
fn a_confirmation_shows_its_default() {
    let field = json!({ "type": "boolean", "default": false });
    let played = play("Sure?", &[], json!({ "ok": field }), "y⏎", false);
    assert!(played.screens[0].starts_with("Sure?\n  default: No\n   Yes  [No]\n"), "{}", played.screens[0]);
    assert!(played.last_screen().contains("  [Yes]  No"), "{}", played.last_screen());
    assert_eq!(played.at_the_end, "Sure?\n> Yes");
}

fn dates() -> Value {
    json!({
        "departure": { "type": "string", "format": "date", "title": "First day" },
        "return": { "type": "string", "format": "date", "title": "Last day" },
    })
}

#[test]
fn a_form_goes_from_field_to_field_and_back() {
    let played = play("When?", &["departure"], dates(), "2028-02-01⏎2028-02-02⏎", false);
    assert_eq!(
        played.last_screen(),
        "When?\n> First day: 2028-02-01\nLast day\n  YYYY-MM-DD; may stay empty\n> 2028-02-02\n  Esc: back, Ctrl-C: stop"
    );
    assert_eq!(played.at_the_end, "When?\n> First day: 2028-02-01\n> Last day: 2028-02-02");

    // What was answered is still there, on both sides of going back.
    let played = play("When?", &["departure"], dates(), "2028-02-01⏎⎋⌫9⏎⏎", false);
    let content = json!({ "departure": "2028-02-09" });
    assert_eq!(played.answer, json!({ "action": "accept", "content": content }));
    assert_eq!(played.at_the_end, "When?\n> First day: 2028-02-09\n> Last day: (left open)");
}

#[test]
fn who_is_asked_again_mends_what_they_said() {
    let mut memory = Memory::default();
    let mut again = |typed| play_again("When?", &["departure"], dates(), typed, false, &mut memory).answer;
    again("2001-02-01⏎⏎");
    let mended = again("⌫2⏎2001-02-03⏎");
    assert_eq!(mended["content"], json!({ "departure": "2001-02-02", "return": "2001-02-03" }));
    assert_eq!(again("⏎⌃u⏎")["content"], json!({ "departure": "2001-02-02" }));
    assert_eq!(again("⏎⏎")["content"], json!({ "departure": "2001-02-02" }));

    // But who agreed once has not agreed again, and another question is not answered yet.
    let mut once = |title: &str, kind: &str, typed: &str| {
        let field = json!({ "x": { "type": kind, "title": title } });
        play_again("Well?", &["x"], field, typed, false, &mut memory).screens[0].clone()
    };
    once("Sure?", "boolean", "y⏎");
    assert!(once("Sure?", "boolean", "⌃c").contains("   Yes   No"));
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
    let played = play(&message, &["x"], field, "y⏎", true);
    assert_eq!(played.written.matches("+line 150\u{1b}").count(), 1);
    assert!(played.written.contains("\u{1b}[32m+line 299\u{1b}[0m\n"));
    assert!(played.written.contains("\u{1b}[31m-\\u{1b}[5mold\u{1b}[0m\n"));
    let screen = played.last_screen();
    assert!(screen.contains("+end\nApply this?\n  [Yes]  No"), "{screen}");
}

#[test]
fn colours_are_there_or_not() {
    let seen = |coloured| {
        let played = play("When?", &["departure"], dates(), "x⏎⌃c", coloured);
        played.written
    };
    assert!(
        seen(true).contains("\u{1b}[31m  That is not a day") && seen(true).contains("\u{1b}[2m  Esc: back")
    );
    let plain = seen(false);
    let codes =
        plain.split("\u{1b}[").skip(1).map(|code| code.trim_start_matches(|c: char| !c.is_alphabetic()));
    assert!(codes.clone().count() > 0 && codes.clone().all(|code| !code.starts_with('m')), "{plain:?}");
}
