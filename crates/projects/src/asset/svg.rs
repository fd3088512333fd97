//! SVG without anything that acts or leads elsewhere.
//!
//! It is read by an XML parser and not by patterns, and judged after references to characters are resolved: what a
//! browser would see. Wherever the two could read the same bytes differently (another encoding, definitions of a document
//! type, references in namespaces) it is refused. Elements of SVG are taken if they are known: none that acts or holds what
//! is no SVG. Refused are handlers of events, anything of HTML, addresses other than `#fragment` and embedded raster images,
//! and styles that load something.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesDecl, BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

const SVG_NAMESPACE: &str = "http://www.w3.org/2000/svg";
/// What editors say of a drawing. All other namespaces of W3C mean something to a browser.
const RDF_NAMESPACE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const W3C_NAMESPACE_PREFIX: &str = "http://www.w3.org/";

/// The deepest that elements may be inside one another.
const MAX_ELEMENT_DEPTH: usize = 256;

/// The elements of SVG that draw or describe. Filters are beside them: [`is_allowed_element`].
const ALLOWED_ELEMENTS: &str = " svg g defs symbol use a title desc metadata switch style view \
    path rect circle ellipse line polyline polygon text tspan textPath tref altGlyph image \
    marker pattern hatch hatchpath clipPath mask filter linearGradient radialGradient meshgradient meshrow meshpatch stop \
    solidcolor animate animateColor animateMotion animateTransform set mpath cursor \
    font font-face font-face-src font-face-name glyph glyphRef missing-glyph hkern vkern \
    flowRoot flowRegion flowPara flowSpan flowDiv flowLine ";

/// Attributes that hold an address.
const URL_ATTRIBUTES: [&str; 10] =
    ["href", "src", "srcset", "action", "formaction", "data", "poster", "background", "ping", "base"];

/// What an embedded image may be.
const EMBEDDED_IMAGE_PREFIXES: [&str; 4] =
    ["data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;"];

/// What loads something in CSS beside `url(`.
const CSS_LOADING_FUNCTIONS: [&str; 3] = ["image-set(", "image(", "src("];

/// Whether a content is meant as SVG: XML that begins with it, after what may come before.
pub(super) fn looks_like_svg(content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_xml = text.starts_with("<?xml") || text.starts_with("<!--") || text.starts_with("<!DOCTYPE svg");
    text.starts_with("<svg") || (is_xml && text.contains("<svg"))
}

/// Says why it is refused.
pub(super) fn check_svg(text: &str) -> Result<(), String> {
    let mut reader = NsReader::from_str(text);
    let mut judge = SvgChecker::default();
    loop {
        let (namespace, event) =
            reader.read_resolved_event().map_err(|error| format!("is not well-formed XML: {error}"))?;
        match event {
            Event::Start(start) => judge.open_element(&namespace, &start)?,
            Event::Empty(start) => {
                judge.open_element(&namespace, &start)?;
                judge.close_element()?;
            }
            Event::End(_) => judge.close_element()?,
            Event::Text(words) => judge.check_text(&words.xml10_content())?,
            Event::CData(words) => judge.check_text(&words.xml10_content())?,
            Event::GeneralRef(reference) => {
                judge.check_reference(&reference.xml10_content(), reference.is_char_ref())?;
            }
            Event::PI(_) => return Err("has a processing instruction; take it out".to_owned()),
            Event::Decl(declaration) => check_declaration(&declaration)?,
            Event::DocType(words) if words.xml10_content().contains('[') => {
                return Err("has a document type with definitions; take it out".to_owned());
            }
            Event::DocType(_) | Event::Comment(_) => {}
            Event::Eof => break,
        }
    }
    if judge.roots == 1 && judge.open_elements.is_empty() {
        Ok(())
    } else {
        Err("is no complete SVG".to_owned())
    }
}

/// A browser reads the bytes in the encoding that they declare, and here they are UTF-8.
fn check_declaration(declaration: &BytesDecl<'_>) -> Result<(), String> {
    match declaration.encoding() {
        None => Ok(()),
        Some(Ok(name)) if name.eq_ignore_ascii_case("utf-8") => Ok(()),
        _ => Err("declares an encoding other than UTF-8; save it as UTF-8".to_owned()),
    }
}

/// What is known of a drawing so far.
#[derive(Default)]
struct SvgChecker {
    open_elements: Vec<String>,
    roots: usize,
    /// The text of the style that is open: a browser joins it, whatever is between its parts.
    css: String,
}

impl SvgChecker {
    fn open_element(&mut self, namespace: &ResolveResult<'_>, start: &BytesStart<'_>) -> Result<(), String> {
        let name = check_element(namespace, start)?;
        if self.open_elements.is_empty() {
            self.roots += 1;
            if self.roots > 1 {
                return Err("has more than one root element; keep one <svg>".to_owned());
            }
            if name != "svg" || !is_svg(namespace) {
                return Err(format!(
                    "has the root <{name}>; it must be <svg> in the namespace {SVG_NAMESPACE}"
                ));
            }
        }
        if self.is_in_style() {
            return Err(format!("has a <{name}> inside of a style; take it out"));
        }
        self.open_elements.push(name);
        if self.open_elements.len() > MAX_ELEMENT_DEPTH {
            return Err(format!("has elements nested more than {MAX_ELEMENT_DEPTH} levels deep; flatten it"));
        }
        Ok(())
    }

    fn close_element(&mut self) -> Result<(), String> {
        if self.is_in_style() {
            check_css(&std::mem::take(&mut self.css))?;
        }
        self.open_elements.pop();
        Ok(())
    }

    fn check_text(&mut self, words: &str) -> Result<(), String> {
        if self.open_elements.is_empty() && !words.trim().is_empty() {
            return Err("has text outside of its root element; take it out".to_owned());
        }
        if self.is_in_style() {
            self.css.push_str(words);
        }
        Ok(())
    }

    fn check_reference(&self, name: &str, is_character: bool) -> Result<(), String> {
        let is_known = is_character || ["lt", "gt", "amp", "quot", "apos"].contains(&name);
        if self.open_elements.is_empty() || self.is_in_style() || !is_known {
            return Err(format!("has the reference &{name}; in it; write the characters themselves"));
        }
        Ok(())
    }

    fn is_in_style(&self) -> bool {
        self.open_elements.last().is_some_and(|name| name.eq_ignore_ascii_case("style"))
    }
}

fn is_svg(namespace: &ResolveResult<'_>) -> bool {
    matches!(namespace, ResolveResult::Bound(found) if found.as_ref() == SVG_NAMESPACE)
}

/// Whether an element of SVG draws or describes, and nothing else.
fn is_allowed_element(name: &str) -> bool {
    // Those of filters: `feBlend` and so on. What they load is an address like any other.
    let is_filter =
        name.strip_prefix("fe").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphabetic()));
    is_filter || ALLOWED_ELEMENTS.split(' ').any(|known| known == name)
}

/// Judges an element and its attributes. Gives its name.
fn check_element(namespace: &ResolveResult<'_>, start: &BytesStart<'_>) -> Result<String, String> {
    let name = start.local_name().as_ref().to_owned();
    match namespace {
        ResolveResult::Bound(found) if found.as_ref() == SVG_NAMESPACE => {
            if name.is_empty() || !is_allowed_element(&name) {
                return Err(format!("has a <{name}> in it, which is not taken; take it out"));
            }
        }
        // Editors leave elements of their own, which nothing shows.
        ResolveResult::Bound(found)
            if found.as_ref() == RDF_NAMESPACE || !found.as_ref().starts_with(W3C_NAMESPACE_PREFIX) => {}
        ResolveResult::Unknown(prefix) => {
            return Err(format!("has the prefix {prefix:?} without a namespace; declare it"));
        }
        _ => return Err(format!("has <{name}> outside of the namespace {SVG_NAMESPACE}; take it out")),
    }
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| format!("has a broken attribute: {error}; mend it"))?;
        let key = attribute.key.local_name().as_ref().to_ascii_lowercase();
        let prefix = attribute.key.prefix().map(|prefix| prefix.as_ref().to_owned());
        if prefix.as_deref() == Some("xmlns") || attribute.key.as_ref() == "xmlns" {
            // The parser takes a namespace as it is written, and a browser what it means.
            if attribute.value.contains('&') {
                return Err(format!("has a reference in the namespace of <{name}>; write it out"));
            }
            continue;
        }
        let value = attribute.normalized_value(XmlVersion::Explicit1_0);
        let value = value.map_err(|error| format!("has a broken value of {key}: {error}; mend it"))?;
        check_attribute(&name, &key, &value)?;
    }
    Ok(name)
}

fn check_attribute(element: &str, key: &str, value: &str) -> Result<(), String> {
    if key.starts_with("on") {
        return Err(format!("has the event handler {key} in it; take it out"));
    }
    // As browsers read addresses: without what is blank or invisible.
    let plain: String = value.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    let plain = plain.to_ascii_lowercase();
    if URL_ATTRIBUTES.contains(&key) && !is_internal_url(&plain) {
        return Err(format!("refers to something outside in {key} of <{element}>; embed it or take it out"));
    }
    // An animation can write an address where none stands.
    if key == "attributename"
        && (URL_ATTRIBUTES.contains(&plain.rsplit(':').next().unwrap_or("")) || plain.starts_with("on"))
    {
        return Err(format!("changes {plain} by <{element}>; take it out"));
    }
    if plain.contains("javascript:") || plain.contains("vbscript:") || plain.contains("data:text") {
        return Err(format!("has code in {key} of <{element}>; take it out"));
    }
    check_css(value)
}

fn is_internal_url(address: &str) -> bool {
    address.is_empty()
        || address.starts_with('#')
        || EMBEDDED_IMAGE_PREFIXES.iter().any(|image| address.starts_with(image))
}

/// Judges CSS, and any value that could hold an address in the manner of CSS.
fn check_css(css: &str) -> Result<(), String> {
    let plain: String = css.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    let plain = plain.to_ascii_lowercase();
    let outside = |(at, word): (usize, &str)| {
        let rest = plain[at + word.len()..].trim_start_matches(['"', '\'']);
        !is_internal_url(rest) || rest.is_empty()
    };
    // What a backslash or a comment hides is not worth finding out.
    let hidden = plain.contains('\\') || plain.contains("/*");
    if (hidden && (plain.contains('(') || plain.contains('@')))
        || plain.contains("@import")
        || plain.contains("expression(")
    {
        return Err("has a style that could load something; make it plain".to_owned());
    }
    if plain.match_indices("url(").any(outside)
        || CSS_LOADING_FUNCTIONS.iter().any(|word| plain.contains(word))
    {
        return Err("has a style that loads something from outside; take it out".to_owned());
    }
    Ok(())
}
