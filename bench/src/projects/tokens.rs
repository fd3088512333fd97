//! A design system of 5,000 tokens, most of them aliases, with two modes: read, resolved, judged, changed, exported.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use design_tokens::export::{ExportOptions, css};
use design_tokens::{NewToken, TokenDocument, TokenKind, rename_path, resolve, set_token, validate};
use serde_json::Value;
use server::projects::DesignEdit;

use crate::BenchResult;
use crate::table::{FigureTable, median};

const HUES: usize = 30;
const STEPS: usize = 50;
/// Aliases of the palette, with another for dark; and aliases of those.
const ROLES: usize = 2_000;
const PARTS: usize = 700;
const SPACES: usize = 600;
const STYLES: usize = 199;
/// All of them, and a font.
const TOKENS: usize = HUES * STEPS + ROLES + PARTS + SPACES + STYLES + 1;

type TokenBenchStep<'a> = (&'static str, Box<dyn Fn() -> BenchResult<()> + 'a>);

pub(super) fn build_table(quick: bool) -> BenchResult<FigureTable> {
    let rounds = if quick { 3 } else { 51 };
    let text = generate_design_system()?;
    let document = TokenDocument::parse(&text)?;
    let wrong = validate(&document);
    let (light, dark) = (resolve(&document, None), resolve(&document, Some("dark")));
    if !wrong.is_empty() || light.tokens().len() != TOKENS || dark.tokens().len() != TOKENS {
        return Err(format!("not {TOKENS} good tokens: {:?}", wrong.first()).into());
    }
    let all = bench_steps(&text, &document);
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
    let mut table = FigureTable::without_ratios(title, &["ms", "times reading it by serde_json"]);
    let floor = times.first().cloned().unwrap_or_default();
    for ((name, _), times) in all.iter().zip(times) {
        // Of each round by itself: a round in which the machine was busy was so for all.
        let ratio = median(times.iter().zip(&floor).map(|(ours, floor)| ours / floor).collect());
        table.add_row(name, vec![median(times), ratio]);
    }
    Ok(table)
}

fn bench_steps<'a>(text: &'a str, document: &'a TokenDocument) -> Vec<TokenBenchStep<'a>> {
    fn bench_step<'a, T>(name: &'static str, work: impl Fn() -> BenchResult<T> + 'a) -> TokenBenchStep<'a> {
        (name, Box::new(move || work().map(|done| drop(black_box(done)))))
    }
    vec![
        bench_step("serde_json: read into a Value", || Ok(serde_json::from_str::<Value>(text)?)),
        bench_step("read", || Ok(TokenDocument::parse(text)?)),
        bench_step("print", || Ok(document.to_string())),
        bench_step("resolve", || Ok(resolve(document, None))),
        bench_step("resolve, dark", || Ok(resolve(document, Some("dark")))),
        bench_step("validate", || Ok(validate(document))),
        bench_step("set a token", || {
            Ok(set_token(document, "space.s0", &NewToken::new(TokenKind::Dimension, "{space.s1}"))?)
        }),
        bench_step("set 20 tokens in one call", || Ok(changes(20).apply(document)?)),
        bench_step("rename a group of 50, and 86 aliases", || {
            Ok(rename_path(document, "palette.h0", "palette.zero")?)
        }),
        bench_step("export css", || Ok(css(document, &ExportOptions::default()))),
    ]
}

/// As a tool makes them: all or none.
fn changes(count: usize) -> DesignEdit {
    let token = NewToken::new(TokenKind::Dimension, "{space.s599}");
    let set = |number| DesignEdit::Set { path: format!("space.s{number}"), token: token.clone() };
    DesignEdit::All((0..count).map(set).collect())
}

/// Written by hand as files of design systems are: a palette, roles that name it, parts that name roles.
fn generate_design_system() -> BenchResult<String> {
    let mut text = String::from(r#"{"palette":{"$type":"color""#);
    for hue in 0..HUES {
        write!(text, r#","h{hue}":{{"#)?;
        for step in 0..STEPS {
            let [red, green, blue] =
                [hue * 33, step * 20, (hue + step) * 12].map(|part| part as f64 / 1000.0);
            let value = format!(r#"{{"colorSpace":"srgb","components":[{red},{green},{blue}]}}"#);
            write!(text, r#"{}"s{step}":{{"$value":{value}}}"#, separator(step))?;
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

fn separator(at: usize) -> &'static str {
    if at == 0 { "" } else { "," }
}
