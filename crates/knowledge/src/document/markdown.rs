//! Markdown and MDX: headings, and top-level blocks where they stand.

use std::ops::Range;

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::tags::{is_module_line, strip_tags};
use super::{DocumentBlock, DocumentBlockKind, DocumentOutline, OutlinePart, front_matter};

const PARSER_OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_YAML_STYLE_METADATA_BLOCKS)
    .union(Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_HEADING_ATTRIBUTES);

/// Finds title, headings and blocks.
pub(super) fn parse(source: &str) -> DocumentOutline {
    let mut outline = DocumentOutline::default();
    let mut depth = 0_usize;
    // The text of the heading or front matter that is being read.
    let mut text = String::new();
    for (event, bytes) in Parser::new_ext(source, PARSER_OPTIONS).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    text.clear();
                    outline.parts.extend(body_part(source, &tag, bytes));
                } else if depth == 1 && matches!(tag, Tag::Item | Tag::TableRow) {
                    add_split_point(&mut outline, bytes.start);
                }
                depth += 1;
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                close_tag(&mut outline, end, &text);
            }
            Event::Text(piece) | Event::Code(piece) => text.push_str(&piece),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    outline
}

/// The block that begins with a tag of the top level, if there is anything in it to be found or quoted.
fn body_part(source: &str, tag: &Tag<'_>, bytes: Range<usize>) -> Option<OutlinePart> {
    let end = bytes.start + source[bytes.clone()].trim_end().len();
    let content = &source[bytes.start..end];
    // The parser begins indented code behind its first indentation, without which it is no code.
    let is_indented = matches!(tag, Tag::CodeBlock(CodeBlockKind::Indented));
    let start =
        if is_indented { source[..bytes.start].rfind('\n').map_or(0, |at| at + 1) } else { bytes.start };
    let kind = match tag {
        Tag::Heading { .. } | Tag::MetadataBlock(_) => return None,
        Tag::CodeBlock(_) => DocumentBlockKind::Code,
        Tag::List(_) => DocumentBlockKind::List,
        Tag::Table(_) => DocumentBlockKind::Table,
        Tag::HtmlBlock if strip_tags(content).trim().is_empty() => return None,
        Tag::Paragraph if is_module_line(content) || is_admonition_marker(content) => return None,
        Tag::Paragraph if plain_text(content).trim().is_empty() => return None,
        _ => DocumentBlockKind::Prose,
    };
    Some(OutlinePart::body(kind, start..end))
}

/// The line that opens or closes an admonition (`:::tip`), alone.
fn is_admonition_marker(paragraph: &str) -> bool {
    paragraph.starts_with(":::") && !paragraph.contains('\n')
}

fn add_split_point(outline: &mut DocumentOutline, at: usize) {
    if let Some(OutlinePart::Body { block: DocumentBlock { bytes, .. }, split_points: seams }) =
        outline.parts.last_mut()
        && bytes.start < at
        && at < bytes.end
    {
        seams.push(at);
    }
}

fn close_tag(outline: &mut DocumentOutline, end: TagEnd, text: &str) {
    match end {
        TagEnd::MetadataBlock(_) => {
            let own = front_matter::parse(text);
            (outline.title, outline.version) = (own.title, own.version);
        }
        TagEnd::Heading(level) => {
            let text = strip_tags(text).split_whitespace().collect::<Vec<_>>().join(" ");
            if level == HeadingLevel::H1 && outline.title.is_none() && !text.is_empty() {
                outline.title = Some(text.clone());
            }
            outline.parts.push(OutlinePart::Heading { level: level as usize, text });
        }
        _ => {}
    }
}

/// The words of some Markdown: the text of links and not their targets, code, and nothing of tags.
pub(super) fn plain_text(markdown: &str) -> String {
    // A block is read apart from the definitions of its links. What looks like a link is one.
    let mut resolve = |_: BrokenLink<'_>| Some((CowStr::Borrowed(""), CowStr::Borrowed("")));
    let parser = Parser::new_with_broken_link_callback(markdown, PARSER_OPTIONS, Some(&mut resolve));
    let mut words = String::new();
    // Text comes in pieces; a tag of JSX may be spread over several.
    let mut pending = String::new();
    for event in parser {
        match event {
            Event::Text(piece) | Event::Html(piece) => pending.push_str(&piece),
            Event::SoftBreak | Event::HardBreak => pending.push('\n'),
            Event::Code(code) => {
                words.push_str(&strip_tags(&std::mem::take(&mut pending)));
                words.push_str(&code);
            }
            Event::Start(Tag::CodeBlock(_)) => words.push_str(&strip_tags(&std::mem::take(&mut pending))),
            Event::End(TagEnd::CodeBlock) => {
                words.push_str(&std::mem::take(&mut pending));
                words.push('\n');
            }
            Event::End(end) if !is_inline(end) => pending.push('\n'),
            _ => {}
        }
    }
    words.push_str(&strip_tags(&pending));
    words
}

fn is_inline(end: TagEnd) -> bool {
    matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}
