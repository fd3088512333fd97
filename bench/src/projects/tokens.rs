//! A design system of 5,000 tokens, most of them aliases, with two modes: read, resolved, judged, changed, exported.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use design_tokens::export::{Options, css};
use design_tokens::{Document, Kind, NewToken, rename, resolve, set, validate};
use serde_json::Value;
use server::projects::DesignEdit;

use crate::Outcome;
use crate::table::{Table, median};

const HUES: usize = 30;
const STEPS: usize = 50;
/// Aliases of the palette, with another for dark; and aliases of those.
const ROLES: usize = 2_000;
const PARTS: usize = 700;
const SPACES: usize = 600;
const STYLES: usize = 199;
/// All of them, and a font.
const TOKENS: usize = HUES * STEPS + ROLES + PARTS + SPACES + STYLES + 1;

type Work<'a> = (&'static str, Box<dyn Fn() -> Outcome<()> + 'a>);

pub(super) fn table(quick: bool) -> Outcome<Table> {
    let rounds = if quick { 3 } else { 51 };
    let text = text()?;
    let document = Document::parse(&text)?;
    let wrong = validate(&document);
    let (light, dark) = (resolve(&document, None), resolve(&document, Some("dark")));
    if !wrong.is_empty() || light.tokens().len() != TOKENS || dark.tokens().len() != TOKENS {
        return Err(format!("not {TOKENS} good tokens: {:?}", wrong.first()).into());
    }
    let all = works(&text, &document);
    let mut times = vec![Vec::new(); all.len()];
    // In turn, so that whatever else the machine does is shared by all.
    for _ in 0..rounds {
        for ((_, work), times) in all.iter().zip(&mut times) {
            let start = Instant::now();
            work()?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    let title = format!("A design system of {TOKENS} tokens in {} KB", text.len() / 1024);
    let mut table = Table::plain(title, &["ms", "times reading it by serde_json"]);
    let floor = times.first().cloned().unwrap_or_default();
    for ((name, _), times) in all.iter().zip(times) {
        // Of each round by itself: a round in which the machine was busy was so for all.
        let ratio = median(times.iter().zip(&floor).map(|(ours, floor)| ours / floor).collect());
        table.row(name, vec![median(times), ratio]);
    }
    Ok(table)
}

fn works<'a>(text: &'a str, document: &'a Document) -> Vec<Work<'a>> {
    fn work<'a, T>(name: &'static str, work: impl Fn() -> Outcome<T> + 'a) -> Work<'a> {
        (name, Box::new(move || work().map(|done| drop(black_box(done)))))
    }
    vec![
        work("serde_json: read into a Value", || Ok(serde_json::from_str::<Value>(text)?)),
        work("read", || Ok(Document::parse(text)?)),
        work("print", || Ok(document.to_string())),
        work("resolve", || Ok(resolve(document, None))),
        work("resolve, dark", || Ok(resolve(document, Some("dark")))),
        work("validate", || Ok(validate(document))),
        work("set a token", || Ok(set(document, "space.s0", &NewToken::new(Kind::Dimension, "{space.s1}"))?)),
        work("set 20 tokens in one call", || Ok(changes(20).apply(document)?)),
        work("rename a group of 50, and 86 aliases", || Ok(rename(document, "palette.h0", "palette.zero")?)),
        work("export css", || Ok(css(document, &Options::default()))),
    ]
}

/// As a tool makes them: all or none.
fn changes(count: usize) -> DesignEdit {
    let token = NewToken::new(Kind::Dimension, "{space.s599}");
    let set = |number| DesignEdit::Set { path: format!("space.s{number}"), token: token.clone() };
    DesignEdit::All((0..count).map(set).collect())
}

/// Written by hand as files of design systems are: a palette, roles that name it, parts that name roles.
fn text() -> Outcome<String> {
    let mut text = String::from(r#"{"palette":{"$type":"color""#);
    for hue in 0..HUES {
        write!(text, r#","h{hue}":{{"#)?;
        for step in 0..STEPS {
            let [red, green, blue] =
                [hue * 33, step * 20, (hue + step) * 12].map(|part| part as f64 / 1000.0);
            let value = format!(r#"{{"colorSpace":"srgb","components":[{red},{green},{blue}]}}"#);
            write!(text, r#"{}"s{step}":{{"$value":{value}}}"#, comma(step))?;
        }
        text.push('}');
    }
    text.push_str(r#"},"role":{"$type":"color""#);
    for role in 0..ROLES {
        let color = |at: usize| format!("{{palette.h{}.s{}}}", at % HUES, at / HUES % STEPS);
        let (light, dark) = (color(role), color(role * 7 + 11));
        write!(text, r#","r{role}":{{"$value":"{light}","$extensions":{{"mode":{{"dark":"{dark}"}}}}}}"#)?;
    }
    text.push_str(r#"},"part":{"$type":"color","$description":"What components are painted with.""#);
    for part in 0..PARTS {
        write!(text, r#","p{part}":{{"$value":"{{role.r{}}}"}}"#, part * 2)?;
    }
    text.push_str(r#"},"space":{"$type":"dimension""#);
    for space in 0..SPACES {
        write!(text, r#","s{space}":{{"$value":{{"value":{},"unit":"px"}}}}"#, space * 2)?;
    }
    text.push_str(
        r#"},"font":{"$type":"fontFamily","$value":["Inter","sans-serif"]},"style":{"$type":"typography""#,
    );
    for style in 0..STYLES {
        let size = format!(r#""fontFamily":"{{font}}","fontSize":"{{space.s{style}}}""#);
        let rest = r#""fontWeight":400,"letterSpacing":{"value":0,"unit":"px"},"lineHeight":1.5"#;
        write!(text, r#","t{style}":{{"$value":{{{size},{rest}}}}}"#)?;
    }
    text.push_str("}}");
    Ok(text)
}

fn comma(at: usize) -> &'static str {
    if at == 0 { "" } else { "," }
}
