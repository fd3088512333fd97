//! Questions on a real terminal, answered key by key.

use serde_json::{Value, json};

use crate::plans::{agent_repository, read_files};
use crate::process::{fluxway, run};
use crate::pty::PtyTerminal;

const UP: &str = "\x1b[A";
const DOWN: &str = "\x1b[B";
const LEFT: &str = "\x1b[D";
const ENTER: &str = "\r";
const ESCAPE: &str = "\x1b";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
/// Below the first question, from which Esc leads nowhere.
const KEY_HINT: &str = "└  Ctrl-C: stop";

/// A call that has only the class and the price to ask for.
const NEARLY_COMPLETE_BOOKING: [&str; 11] = [
    "call",
    "booking",
    "--json",
    "--destination",
    "Lisbon",
    "--departure",
    "2099-05-01",
    "--return",
    "2099-05-08",
    "--travellers",
    "2",
];

#[test]
fn a_booking_is_made_with_arrows_and_typing() {
    let mut terminal = PtyTerminal::start(&["call", "booking", "--json"]);
    for (question, keys) in [
        ("A city, such as Lisbon", &["Lisbn", LEFT, "o", ENTER][..]),
        ("First day", &["2099-05-01", ENTER]),
        ("optional", &[ENTER]),
        ("How many people are travelling?", &["2", ENTER]),
        ("● Economy (default)", &[DOWN, DOWN, UP]),
        ("● Business", &[ENTER]),
        ("Shall I book?", &["y"]),
        ("● Yes", &[ENTER]),
    ] {
        terminal.expect(question);
        terminal.press(&keys.concat());
    }
    let ended = terminal.wait_for_exit();
    let mut booked: Value = serde_json::from_str(&ended.answer).unwrap();
    let reference = booked["reference"].take();
    assert_eq!((ended.code, reference.as_str().map(str::len)), (0, Some(6)));
    assert_eq!(
        (&booked["destination"], &booked["departure"], &booked["travellers"], &booked["class"]),
        (&json!("Lisbon"), &json!("2099-05-01"), &json!(2), &json!("business"))
    );
    assert_eq!(booked.get("return"), None);
    assert!(
        ended.screen.starts_with(
            "◇  Where would you like to go?\n│  Lisbon\n│\n│  When would you like to travel?\n│\n◇  First day\n│  2099-05-01\n"
        ),
        "{}",
        ended.screen
    );
    assert!(ended.screen.contains("Shall I book?\n│  Yes"), "{}", ended.screen);
    assert!(!ended.screen.contains("Ctrl-C: stop"), "{}", ended.screen);
}

#[test]
fn invalid_date_is_reported_and_can_be_corrected() {
    let mut terminal = PtyTerminal::start(&["call", "booking", "--destination", "Lisbon"]);
    terminal.expect("First day");
    terminal.press("2099-02-30\r");
    // These are the words of the terminal; those of the server are others.
    terminal.expect("That is not a day of the calendar: use YYYY-MM-DD.");
    terminal.press("\x7f\x7f28\r");
    terminal.expect("◇  First day\n│  2099-02-28\n│\n◆  Last day");
    assert!(!terminal.screen().contains("not a day"), "{}", terminal.screen());
    terminal.press(CTRL_C);
    assert_eq!(terminal.wait_for_exit().code, 130);
}

#[test]
fn rejected_answers_are_asked_again_with_the_input() {
    let mut terminal = PtyTerminal::start(&["call", "booking", "--destination", "Lisbon"]);
    terminal.expect("First day");
    // A day of the calendar, but one that has passed: only the server knows that.
    terminal.press("2001-05-01\r");
    terminal.expect("Last day");
    terminal.press(ENTER);
    terminal.expect("departure: That day is out of range.");
    terminal.expect("│  2001-05-01\n└");
    terminal.press(&format!("{}\x7f\x7f\x7f091{ENTER}", LEFT.repeat(6)));
    terminal.expect("│  2091-05-01\n│\n◆  Last day");
    terminal.press(CTRL_C);
    assert_eq!(terminal.wait_for_exit().code, 130);
}

#[test]
fn escape_returns_to_the_previous_question() {
    let mut terminal = PtyTerminal::start(&["call", "booking", "--json", "--destination", "Lisbon"]);
    terminal.expect("First day");
    terminal.press("2099-05-01\r");
    terminal.expect("optional");
    terminal.press(ENTER);
    terminal.expect("How many people are travelling?");
    terminal.press("2\r");
    terminal.expect("● Economy (default)");
    terminal.press(ESCAPE);
    terminal.expect("│  back\n│\n◆  How many people are travelling?");
    // The answer from before is still there.
    terminal.press("\x7f3\r");
    terminal.expect("● Economy (default)");
    terminal.press(ENTER);
    terminal.expect("3 to Lisbon on 2099-05-01");
    terminal.press("y\r");
    let booked: Value = serde_json::from_str(&terminal.wait_for_exit().answer).unwrap();
    assert_eq!(booked["travellers"], json!(3));
}

#[test]
fn ctrl_c_stops_and_leaves_the_terminal_as_it_was() {
    let mut terminal = PtyTerminal::start(&["call", "booking", "--json"]);
    let before = terminal.initial_modes.clone();
    terminal.expect("A city, such as Lisbon");
    terminal.press("Lisbon\r");
    terminal.expect("First day");
    terminal.press("2099-");
    terminal.expect("│  2099-");
    assert_ne!(terminal.modes().local_modes, before.local_modes);
    terminal.press(CTRL_C);
    let ended = terminal.wait_for_exit();
    assert_eq!((ended.code, ended.answer.as_str()), (130, ""));
    assert_eq!(ended.modes.local_modes, before.local_modes);
    assert_eq!(ended.modes.input_modes, before.input_modes);
    assert_eq!(ended.modes.output_modes, before.output_modes);
    assert_eq!(
        ended.screen.trim_end(),
        "◇  Where would you like to go?\n│  Lisbon\n│\n│  When would you like to travel?\n│\n■  First day\n│  stopped\n\
         stopped: the user dismissed the question \"When would you like to travel?\";\n  nothing was done"
    );
    let shown_last = ended.written.rfind("\x1b[?25h");
    assert!(shown_last > ended.written.rfind("\x1b[?25l"), "the cursor is hidden");
    assert!(ended.written.contains("\x1b[?2004l"), "pasting is still marked");
}

#[test]
fn resize_and_paste_are_handled() {
    let mut terminal = PtyTerminal::start(&["call", "booking"]);
    terminal.expect(KEY_HINT);
    terminal.resize(20);
    terminal.expect("◆  Where would you\n│  like to go?");
    // A line break that is pasted is no Enter.
    terminal.press("\x1b[200~Rio de\nJaneiro\n\x1b[201~");
    terminal.expect("│  Rio de Janeiro\n");
    terminal.press(CTRL_C);
    assert_eq!(terminal.wait_for_exit().code, 130);
}

#[test]
fn end_of_input_dismisses_the_question() {
    let mut terminal = PtyTerminal::start(&["call", "booking"]);
    terminal.expect(KEY_HINT);
    terminal.press(CTRL_D);
    let ended = terminal.wait_for_exit();
    assert_eq!((ended.code, ended.answer.as_str()), (1, ""));
    assert!(ended.screen.contains("error: the user dismissed the question"), "{}", ended.screen);
}

#[test]
fn closed_terminal_ends_the_call() {
    let mut terminal = PtyTerminal::start(&["call", "booking"]);
    terminal.expect(KEY_HINT);
    let (code, answer) = terminal.hang_up();
    assert!(code != 0 && answer.is_empty(), "{code}: {answer}");
}

#[test]
fn enter_accepts_the_default() {
    let mut terminal = PtyTerminal::start(&NEARLY_COMPLETE_BOOKING);
    terminal.expect("● Economy (default)");
    terminal.press(ENTER);
    terminal.expect("Shall I book?");
    // There is no default for the price: Enter alone agrees to nothing.
    terminal.press(ENTER);
    terminal.expect("Press y or n.");
    terminal.press("y\r");
    let ended = terminal.wait_for_exit();
    let booked: Value = serde_json::from_str(&ended.answer).unwrap();
    assert_eq!((ended.code, &booked["class"]), (0, &json!("economy")));
}

#[test]
fn a_plan_is_undone_only_after_a_yes() {
    let folder = agent_repository();
    let root = folder.path().to_str().unwrap();
    let before = read_files(folder.path());
    assert_eq!(run(&["integrate", root, "--yes"]).0, 0);
    let applied = read_files(folder.path());
    for (keys, answer, expected) in [("n\r", "Nothing was undone.\n", &applied), ("y\r", "Undone. ", &before)]
    {
        let mut terminal = PtyTerminal::start(&["undo", "--root", root]);
        terminal.expect("◆  Undo this plan?");
        // Enter alone agrees to nothing.
        terminal.press(ENTER);
        terminal.expect("Press y or n.");
        terminal.press(keys);
        let ended = terminal.wait_for_exit();
        assert!(ended.code == 0 && ended.answer.starts_with(answer), "{}: {}", ended.code, ended.answer);
        assert_eq!(read_files(folder.path()), *expected, "{keys:?}");
    }
}

#[test]
fn no_color_disables_colours() {
    for (no_color, expected) in [("", true), ("1", false)] {
        let mut command = fluxway(&NEARLY_COMPLETE_BOOKING);
        let mut terminal =
            PtyTerminal::start_with(command.env("TERM", "xterm-256color").env("NO_COLOR", no_color));
        terminal.expect("● Economy (default)");
        terminal.press(DOWN);
        terminal.expect("● Business");
        terminal.press(CTRL_C);
        let written = terminal.wait_for_exit().written;
        let codes = written.split("\x1b[").skip(1);
        let has_colours =
            codes.filter_map(|code| code.chars().find(|c| c.is_alphabetic())).any(|end| end == 'm');
        assert_eq!(has_colours, expected, "NO_COLOR={no_color}: {written:?}");
    }
}

#[test]
fn questions_are_asked_line_by_line_on_request() {
    let args: Vec<_> =
        ["call", "--plain-prompts"].into_iter().chain(NEARLY_COMPLETE_BOOKING[1..].iter().copied()).collect();
    let mut terminal = PtyTerminal::start(&args);
    terminal.expect("  3. First class\nAnswer (a number or a name; default economy):");
    terminal.press("4\n");
    terminal.expect("`4` is not one of the options.");
    terminal.press("2\n");
    terminal.expect("Answer (y or n):");
    terminal.press("y\n");
    let ended = terminal.wait_for_exit();
    let booked: Value = serde_json::from_str(&ended.answer).unwrap();
    assert_eq!((ended.code, &booked["class"]), (0, &json!("business")));
    assert!(!ended.written.contains(['◆', '│']), "{:?}", ended.written);
}

#[test]
fn a_dumb_terminal_is_asked_line_by_line() {
    let mut terminal = PtyTerminal::start_with(fluxway(&NEARLY_COMPLETE_BOOKING).env("TERM", "dumb"));
    terminal.expect("Answer (a number or a name; default economy):");
    terminal.press("3\n");
    terminal.expect("Answer (y or n):");
    terminal.press("y\n");
    let ended = terminal.wait_for_exit();
    let booked: Value = serde_json::from_str(&ended.answer).unwrap();
    assert_eq!((ended.code, &booked["class"]), (0, &json!("first")));
    assert!(!ended.written.contains('\x1b'), "{:?}", ended.written);
}
