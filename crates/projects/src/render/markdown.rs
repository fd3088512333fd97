//! Texts: plain ones, and Markdown without HTML.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use super::Writer;
use super::html::Html;

/// What of Markdown is read beside `CommonMark`.
pub(crate) const MARKDOWN: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH);

/// Paragraphs between blank lines; a line break is one.
pub(super) fn plain(html: &mut Html, text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    for paragraph in lines.split(|line| line.trim().is_empty()).filter(|paragraph| !paragraph.is_empty()) {
        html.open("p", &[]);
        for (at, line) in paragraph.iter().enumerate() {
            if at > 0 {
                html.void("br", &[]);
            }
            html.text(line);
        }
        html.close();
    }
}

/// An image whose text is still read. Images in it are text like the rest.
struct Image {
    address: String,
    alt: String,
    inside: usize,
}

/// `CommonMark` with tables and strikethrough. HTML in it is text.
pub(super) fn write(writer: &mut Writer<'_>, text: &str) {
    let height = writer.html.height();
    let mut image: Option<Image> = None;
    let mut is_head = false;
    for event in Parser::new_ext(text, MARKDOWN) {
        if writer.html.is_full() {
            break;
        }
        if let Some(open) = &mut image {
            match event {
                Event::Text(words) | Event::Code(words) => open.alt.push_str(&words),
                Event::SoftBreak | Event::HardBreak => open.alt.push(' '),
                Event::Start(Tag::Image { .. }) => open.inside += 1,
                Event::End(TagEnd::Image) if open.inside > 0 => open.inside -= 1,
                Event::End(TagEnd::Image) => {
                    show(writer, open);
                    image = None;
                }
                _ => {}
            }
            continue;
        }
        match event {
            Event::Start(Tag::Image { dest_url, .. }) => {
                image = Some(Image { address: dest_url.to_string(), alt: String::new(), inside: 0 });
            }
            Event::Start(tag) => {
                is_head |= tag == Tag::TableHead;
                open(writer, &tag, is_head);
            }
            Event::End(tag) => {
                is_head &= tag != TagEnd::TableHead;
                writer.html.close();
                if matches!(tag, TagEnd::TableHead | TagEnd::CodeBlock) {
                    writer.html.close();
                }
            }
            Event::Code(words) => writer.html.line("code", &[], &words),
            Event::Text(words)
            | Event::Html(words)
            | Event::InlineHtml(words)
            | Event::InlineMath(words)
            | Event::DisplayMath(words)
            | Event::FootnoteReference(words) => writer.html.text(&words),
            Event::SoftBreak => writer.html.text("\n"),
            Event::HardBreak => writer.html.void("br", &[]),
            Event::Rule => writer.html.void("hr", &[]),
            Event::TaskListMarker(_) => {}
        }
    }
    // Only what is too much ends in the middle.
    while writer.html.is_full() && writer.html.height() > height {
        writer.html.close();
    }
}

/// Opens what a part of a text is in HTML: one element, but for the heads of tables and code, which are two.
fn open(writer: &mut Writer<'_>, tag: &Tag<'_>, is_head: bool) {
    match tag {
        Tag::Link { link_type, dest_url, .. } => {
            let address = match link_type {
                LinkType::Email => format!("mailto:{dest_url}"),
                _ => dest_url.to_string(),
            };
            match writer.link(&address) {
                Some(url) => writer.html.open("a", &[("href", &url)]),
                None => writer.html.open("span", &[]),
            }
        }
        Tag::List(Some(start)) if *start != 1 => {
            writer.html.open("ol", &[("start", &start.to_string())]);
        }
        Tag::TableHead => {
            writer.html.open("thead", &[]);
            writer.html.open("tr", &[]);
        }
        Tag::CodeBlock(kind) => {
            writer.html.open("pre", &[]);
            let language = match kind {
                CodeBlockKind::Fenced(info) => info.split_whitespace().next(),
                CodeBlockKind::Indented => None,
            };
            match language {
                Some(language) => writer.html.open("code", &[("class", &format!("language-{language}"))]),
                None => writer.html.open("code", &[]),
            }
        }
        tag => writer.html.open(element(tag, is_head), &[]),
    }
}

fn show(writer: &mut Writer<'_>, image: &Image) {
    match writer.source(&image.address) {
        Some(source) => {
            let alt = if image.alt.is_empty() { &source.alt } else { &image.alt };
            writer.html.void("img", &[("src", &source.url), ("alt", alt), ("loading", "lazy")]);
        }
        None => writer.html.text(&image.alt),
    }
}

/// What other parts of a text are in HTML.
fn element(tag: &Tag<'_>, is_head: bool) -> &'static str {
    match tag {
        Tag::Paragraph | Tag::HtmlBlock => "p",
        Tag::Heading { level, .. } => match level {
            HeadingLevel::H1 => "h1",
            HeadingLevel::H2 => "h2",
            HeadingLevel::H3 => "h3",
            HeadingLevel::H4 => "h4",
            HeadingLevel::H5 => "h5",
            HeadingLevel::H6 => "h6",
        },
        Tag::BlockQuote(_) => "blockquote",
        Tag::List(Some(_)) => "ol",
        Tag::List(None) => "ul",
        Tag::Item => "li",
        Tag::Table(_) => "table",
        Tag::TableRow => "tr",
        Tag::TableCell if is_head => "th",
        Tag::TableCell => "td",
        Tag::Emphasis => "em",
        Tag::Strong => "strong",
        Tag::Strikethrough => "del",
        _ => "div",
    }
}
