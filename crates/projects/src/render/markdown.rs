//! Plain text, and Markdown without HTML.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use super::BlockRenderer;
use super::html::HtmlWriter;

/// Extensions on top of `CommonMark`.
pub(crate) const MARKDOWN_OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH);

/// Blank lines separate paragraphs; line breaks are kept.
pub(super) fn render_plain_text(html: &mut HtmlWriter, text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    for paragraph in lines.split(|line| line.trim().is_empty()).filter(|paragraph| !paragraph.is_empty()) {
        html.open("p", &[]);
        for (at, line) in paragraph.iter().enumerate() {
            if at > 0 {
                html.void_element("br", &[]);
            }
            html.text(line);
        }
        html.close();
    }
}

/// An image whose alternative text is still being read. Nested images count as text.
struct PendingImage {
    address: String,
    alt: String,
    nested_images: usize,
}

/// `CommonMark` with tables and strikethrough. HTML is rendered as text.
pub(super) fn render_markdown(writer: &mut BlockRenderer<'_>, text: &str) {
    let height = writer.html.open_count();
    let mut image: Option<PendingImage> = None;
    let mut is_head = false;
    for event in Parser::new_ext(text, MARKDOWN_OPTIONS) {
        if writer.html.is_full() {
            break;
        }
        if let Some(open) = &mut image {
            match event {
                Event::Text(words) | Event::Code(words) => open.alt.push_str(&words),
                Event::SoftBreak | Event::HardBreak => open.alt.push(' '),
                Event::Start(Tag::Image { .. }) => open.nested_images += 1,
                Event::End(TagEnd::Image) if open.nested_images > 0 => open.nested_images -= 1,
                Event::End(TagEnd::Image) => {
                    render_image(writer, open);
                    image = None;
                }
                _ => {}
            }
            continue;
        }
        match event {
            Event::Start(Tag::Image { dest_url, .. }) => {
                image = Some(PendingImage {
                    address: dest_url.to_string(),
                    alt: String::new(),
                    nested_images: 0,
                });
            }
            Event::Start(tag) => {
                is_head |= tag == Tag::TableHead;
                open_tag(writer, &tag, is_head);
            }
            Event::End(tag) => {
                is_head &= tag != TagEnd::TableHead;
                writer.html.close();
                if matches!(tag, TagEnd::TableHead | TagEnd::CodeBlock) {
                    writer.html.close();
                }
            }
            Event::Code(words) => writer.html.text_element("code", &[], &words),
            Event::Text(words)
            | Event::Html(words)
            | Event::InlineHtml(words)
            | Event::InlineMath(words)
            | Event::DisplayMath(words)
            | Event::FootnoteReference(words) => writer.html.text(&words),
            Event::SoftBreak => writer.html.text("\n"),
            Event::HardBreak => writer.html.void_element("br", &[]),
            Event::Rule => writer.html.void_element("hr", &[]),
            Event::TaskListMarker(_) => {}
        }
    }
    // The loop stops early only if the output is full.
    while writer.html.is_full() && writer.html.open_count() > height {
        writer.html.close();
    }
}

/// Opens the element for a tag: one element, except for table heads and code blocks, which need two.
fn open_tag(writer: &mut BlockRenderer<'_>, tag: &Tag<'_>, is_head: bool) {
    match tag {
        Tag::Link { link_type, dest_url, .. } => {
            let address = match link_type {
                LinkType::Email => format!("mailto:{dest_url}"),
                _ => dest_url.to_string(),
            };
            match writer.resolve_link(&address) {
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
        tag => writer.html.open(tag_name(tag, is_head), &[]),
    }
}

fn render_image(writer: &mut BlockRenderer<'_>, image: &PendingImage) {
    match writer.resolve_source(&image.address) {
        Some(source) => {
            let alt = if image.alt.is_empty() { &source.alt } else { &image.alt };
            writer.html.void_element("img", &[("src", &source.url), ("alt", alt), ("loading", "lazy")]);
        }
        None => writer.html.text(&image.alt),
    }
}

/// Element names for the remaining tags.
fn tag_name(tag: &Tag<'_>, is_head: bool) -> &'static str {
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
