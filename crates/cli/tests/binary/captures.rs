//! What users see: the output of commands on terminals of 60, 80 and 120 columns, as snapshots, and the picture in the README.
//!
//! `INSTA_UPDATE=always UPDATE=1 cargo test -p fluxway-cli --test binary captures` writes them anew. Look at them before you
//! commit.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::process::fluxway;
use crate::pty::capture_screen;

const WIDTHS: [u16; 3] = [60, 80, 120];

/// The sample repository of the demo.
fn sample_repository() -> tempfile::TempDir {
    sample_repository_below("")
}

/// The sample repository in a folder of this name, in a temporary one.
pub(crate) fn sample_repository_below(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in include_str!("../../src/commands/demo/sample.txt").split("\n=== ").skip(1) {
        let (path, content) = file.split_once('\n').unwrap_or((file, ""));
        let path = folder.path().join(name).join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{content}\n")).unwrap();
    }
    folder
}

/// A command as a user types it in this folder, with no settings and no data but its own.
fn typed(args: &[&str], folder: &Path, home: &Path) -> Command {
    let mut command = fluxway(args);
    command.current_dir(folder).env("XDG_DATA_HOME", home).env("HOME", home);
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    command
}

/// The lines of a screen, with `{red}` and the like where the colour changes.
fn marked_lines(screen: &vt100::Screen) -> Vec<String> {
    let (rows, columns) = screen.size();
    let mut lines: Vec<String> = Vec::new();
    for row in 0..rows.get() {
        let (mut line, mut style) = (String::new(), "");
        for column in 0..columns.get() {
            let Some(cell) = screen.cell(row, column) else { continue };
            let text = if cell.has_contents() { cell.contents() } else { " " };
            let next = if text == " " { style } else { style_name(cell) };
            if next != style {
                line.push_str(if next.is_empty() { "{/}" } else { next });
                style = next;
            }
            line.push_str(text);
        }
        let mut line = line.trim_end().to_owned();
        if !style.is_empty() {
            line.push_str("{/}");
        }
        lines.push(line);
    }
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines.truncate(end);
    lines
}

fn style_name(cell: &vt100::Cell) -> &'static str {
    match cell.fgcolor() {
        vt100::Color::Idx(1) => "{red}",
        vt100::Color::Idx(2) => "{green}",
        vt100::Color::Idx(3) => "{yellow}",
        vt100::Color::Idx(4) => "{blue}",
        vt100::Color::Idx(5) => "{magenta}",
        vt100::Color::Idx(6) => "{cyan}",
        _ if cell.bold() => "{bold}",
        _ if cell.dim() => "{dim}",
        _ => "",
    }
}

fn without_marks(line: &str) -> String {
    let names = ["red", "green", "yellow", "blue", "magenta", "cyan", "bold", "dim", "/"];
    names.iter().fold(line.to_owned(), |line, name| line.replace(&format!("{{{name}}}"), ""))
}

/// Captures commands at every width. Without colour the same words must be at the same places.
fn capture(commands: &[&[&str]]) -> String {
    let mut page = String::new();
    for columns in WIDTHS {
        let _ = writeln!(page, "======== {columns} columns");
        for args in commands {
            let run = |no_color: &str| {
                let (folder, home) = (sample_repository(), tempfile::tempdir().unwrap());
                let mut command = typed(args, folder.path(), home.path());
                let screen = capture_screen(command.env("NO_COLOR", no_color), columns);
                let lines = marked_lines(screen.screen()).into_iter();
                // The one line that has the name of a temporary folder.
                lines.filter(|line| !line.starts_with("root: ")).collect::<Vec<_>>()
            };
            let (coloured, plain) = (run(""), run("1"));
            assert_eq!(
                coloured.iter().map(|line| without_marks(line)).collect::<Vec<_>>(),
                plain,
                "{args:?}"
            );
            let _ = writeln!(page, "$ fluxway {}\n{}\n", args.join(" "), coloured.join("\n"));
        }
    }
    page
}

macro_rules! captures {
    ($($name:ident: $commands:expr;)+) => {$(
        #[test]
        fn $name() {
            let commands: &[&[&str]] = $commands;
            insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "captures" }, {
                insta::assert_snapshot!(stringify!($name), capture(commands));
            });
        }
    )+};
}

captures! {
    demo: &[&["demo"]];
    plan: &[&["plan"]];
    integrate: &[&["integrate", "--yes"]];
    analyze_repository: &[&["call", "analyze_repository"]];
    faq: &[&["faq", "what is a persona?"]];
    tools: &[&["tools", "--toolsets", "reference"]];
    errors: &[
        &["call", "tell_fortun"],
        &["call", "create_project"],
        &["call", "tell_fortune", "--category", "weather"],
        &["call", "booking", "--destination", "Oslo"],
        &["serve", "--read-onyl"],
        &["serve", "--root", "/no/such/folder"],
        &["serve", "--http", "somewhere"],
        &["serve", "--http", "0.0.0.0:0"],
        &["serve", "--toolsets", "everything"],
        &["plan", "page"],
        &["apply", "missing.json"],
        &["undo"],
    ];
}

/// The picture of the demo in the README.
#[test]
fn demo_picture_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/demo.svg");
    let (folder, home) = (sample_repository(), tempfile::tempdir().unwrap());
    let mut command = typed(&["demo"], folder.path(), home.path());
    let picture = render_svg(&marked_lines(capture_screen(&mut command, 88).screen()));
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(path, &picture).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), picture, "run it with UPDATE=1");
}

fn render_svg(lines: &[String]) -> String {
    const LINE_HEIGHT: usize = 18;
    let height = (lines.len() + 1) * LINE_HEIGHT + 40;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"{height}\" viewBox=\"0 0 760 {height}\" role=\"img\" \
         aria-label=\"fluxway demo in a terminal\">\n\
         <style>text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6dbe1;white-space:pre}}\
         .bold{{font-weight:bold;fill:#fff}}.dim{{fill:#8a939c}}.red{{fill:#ff7b72}}.green{{fill:#7ee787}}.yellow{{fill:#e3b341}}\
         .blue{{fill:#79c0ff}}.magenta{{fill:#d2a8ff}}.cyan{{fill:#76e3ea}}</style>\n\
         <rect width=\"760\" height=\"{height}\" rx=\"8\" fill=\"#14181d\"/>\n\
         <circle cx=\"18\" cy=\"16\" r=\"5\" fill=\"#ff5f57\"/><circle cx=\"36\" cy=\"16\" r=\"5\" fill=\"#febc2e\"/>\
         <circle cx=\"54\" cy=\"16\" r=\"5\" fill=\"#28c840\"/>\n"
    );
    let prompt = "{green}${/} fluxway demo".to_owned();
    for (number, line) in std::iter::once(&prompt).chain(lines).enumerate() {
        let y = 46 + number * LINE_HEIGHT;
        let spans: String = line.split('{').enumerate().fold(String::new(), |mut spans, (at, part)| {
            let (class, text) = match part.split_once('}') {
                Some((class, text)) if at > 0 => (class.trim_matches('/'), text),
                _ => ("", part),
            };
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let _ = match (text.is_empty(), class.is_empty()) {
                (true, _) => Ok(()),
                (false, true) => write!(spans, "{text}"),
                (false, false) => write!(spans, "<tspan class=\"{class}\">{text}</tspan>"),
            };
            spans
        });
        if !spans.is_empty() {
            let _ = writeln!(svg, "<text x=\"16\" y=\"{y}\" xml:space=\"preserve\">{spans}</text>");
        }
    }
    svg + "</svg>\n"
}
