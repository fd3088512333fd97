//! Validation of SVG: no active content, no external references.
//!
//! The file is read by an XML parser rather than by patterns, and checked after character references are
//! resolved, so the checks see what a browser would see. Anything that the parser and a browser could read
//! differently (another encoding, DTD definitions, references in namespaces) is rejected. SVG elements are
//! allowed from a list that contains none that run code or embed foreign content. Event handlers, HTML
//! elements, URLs other than `#fragment` and embedded raster images, and styles that load something are
//! rejected.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesDecl, BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

const SVG_NAMESPACE: &str = "http://www.w3.org/2000/svg";
/// Editor metadata. Every other W3C namespace has a meaning to browsers.
const RDF_NAMESPACE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const W3C_NAMESPACE_PREFIX: &str = "http://www.w3.org/";

/// Maximum nesting of elements.
const MAX_ELEMENT_DEPTH: usize = 256;

/// SVG elements that draw or describe. Filter elements are matched separately, in [`is_allowed_element`].
const ALLOWED_ELEMENTS: &str = " svg g defs symbol use a title desc metadata switch style view \
    path rect circle ellipse line polyline polygon text tspan textPath tref altGlyph image \
    marker pattern hatch hatchpath clipPath mask filter linearGradient radialGradient meshgradient meshrow meshpatch stop \
    solidcolor animate animateColor animateMotion animateTransform set mpath cursor \
    font font-face font-face-src font-face-name glyph glyphRef missing-glyph hkern vkern \
    flowRoot flowRegion flowPara flowSpan flowDiv flowLine ";

/// Attributes whose value is a URL.
const URL_ATTRIBUTES: [&str; 10] =
    ["href", "src", "srcset", "action", "formaction", "data", "poster", "background", "ping", "base"];

/// Data URLs allowed for embedded images.
const EMBEDDED_IMAGE_PREFIXES: [&str; 4] =
    ["data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;"];

/// CSS functions other than `url(` that load something.
const CSS_LOADING_FUNCTIONS: [&str; 3] = ["image-set(", "image(", "src("];

/// Whether the content looks like SVG: an `<svg>` root, or an XML prologue followed by one.
pub(super) fn looks_like_svg(content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_xml = text.starts_with("<?xml") || text.starts_with("<!--") || text.starts_with("<!DOCTYPE svg");
    text.starts_with("<svg") || (is_xml && text.contains("<svg"))
}

/// Rejects unsafe or malformed SVG with the reason.
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
            Event::PI(_) => return Err("contains a processing instruction; remove it".to_owned()),
            Event::Decl(declaration) => check_declaration(&declaration)?,
            Event::DocType(words) if words.xml10_content().contains('[') => {
                return Err("has a DOCTYPE with an internal subset; remove it".to_owned());
            }
            Event::DocType(_) | Event::Comment(_) => {}
            Event::Eof => break,
        }
    }
    if judge.roots == 1 && judge.open_elements.is_empty() {
        Ok(())
    } else {
        Err("is not a complete SVG document".to_owned())
    }
}

/// A browser decodes the bytes in the declared encoding, while this parser reads UTF-8.
fn check_declaration(declaration: &BytesDecl<'_>) -> Result<(), String> {
    match declaration.encoding() {
        None => Ok(()),
        Some(Ok(name)) if name.eq_ignore_ascii_case("utf-8") => Ok(()),
        _ => Err("declares an encoding other than UTF-8; save it as UTF-8".to_owned()),
    }
}

#[derive(Default)]
struct SvgChecker {
    open_elements: Vec<String>,
    roots: usize,
    /// The text of the open style element. Browsers concatenate all of its parts, so it is checked as a
    /// whole.
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
            return Err(format!("has a <{name}> inside a style; remove it"));
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
            return Err("has text outside its root element; remove it".to_owned());
        }
        if self.is_in_style() {
            self.css.push_str(words);
        }
        Ok(())
    }

    fn check_reference(&self, name: &str, is_character: bool) -> Result<(), String> {
        let is_known = is_character || ["lt", "gt", "amp", "quot", "apos"].contains(&name);
        if self.open_elements.is_empty() || self.is_in_style() || !is_known {
            return Err(format!("contains the reference `&{name};`; write the character itself"));
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

/// Whether an SVG element only draws or describes.
fn is_allowed_element(name: &str) -> bool {
    // Filter primitives such as `feBlend`. Their URLs are checked like any other attribute.
    let is_filter =
        name.strip_prefix("fe").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphabetic()));
    is_filter || ALLOWED_ELEMENTS.split(' ').any(|known| known == name)
}

/// Validates an element and its attributes, and returns its name.
fn check_element(namespace: &ResolveResult<'_>, start: &BytesStart<'_>) -> Result<String, String> {
    let name = start.local_name().as_ref().to_owned();
    match namespace {
        ResolveResult::Bound(found) if found.as_ref() == SVG_NAMESPACE => {
            if name.is_empty() || !is_allowed_element(&name) {
                return Err(format!("contains <{name}>, which is not allowed; remove it"));
            }
        }
        // Editors add elements in their own namespaces, which browsers do not render.
        ResolveResult::Bound(found)
            if found.as_ref() == RDF_NAMESPACE || !found.as_ref().starts_with(W3C_NAMESPACE_PREFIX) => {}
        ResolveResult::Unknown(prefix) => {
            return Err(format!("uses the undeclared namespace prefix {prefix:?}; declare it"));
        }
        _ => return Err(format!("has <{name}> outside the namespace {SVG_NAMESPACE}; remove it")),
    }
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| format!("has a malformed attribute: {error}; fix it"))?;
        let key = attribute.key.local_name().as_ref().to_ascii_lowercase();
        let prefix = attribute.key.prefix().map(|prefix| prefix.as_ref().to_owned());
        if prefix.as_deref() == Some("xmlns") || attribute.key.as_ref() == "xmlns" {
            // The parser compares namespaces as written, while a browser resolves references in them first.
            if attribute.value.contains('&') {
                return Err(format!(
                    "has a character reference in the namespace of <{name}>; write it literally"
                ));
            }
            continue;
        }
        let value = attribute.normalized_value(XmlVersion::Explicit1_0);
        let value = value.map_err(|error| format!("has a malformed value of {key}: {error}; fix it"))?;
        check_attribute(&name, &key, &value)?;
    }
    Ok(name)
}

fn check_attribute(element: &str, key: &str, value: &str) -> Result<(), String> {
    if key.starts_with("on") {
        return Err(format!("contains the event handler {key}; remove it"));
    }
    // Browsers ignore whitespace and control characters in URLs.
    let plain: String = value.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    let plain = plain.to_ascii_lowercase();
    if URL_ATTRIBUTES.contains(&key) && !is_internal_url(&plain) {
        return Err(format!("has an external reference in {key} of <{element}>; embed or remove it"));
    }
    // An animation can set a URL on an attribute that has none.
    if key == "attributename"
        && (URL_ATTRIBUTES.contains(&plain.rsplit(':').next().unwrap_or("")) || plain.starts_with("on"))
    {
        return Err(format!("animates {plain} with <{element}>; remove it"));
    }
    if plain.contains("javascript:") || plain.contains("vbscript:") || plain.contains("data:text") {
        return Err(format!("contains code in {key} of <{element}>; remove it"));
    }
    check_css(value)
}

fn is_internal_url(address: &str) -> bool {
    address.is_empty()
        || address.starts_with('#')
        || EMBEDDED_IMAGE_PREFIXES.iter().any(|image| address.starts_with(image))
}

/// Validates CSS, or any attribute value that could contain a CSS URL.
fn check_css(css: &str) -> Result<(), String> {
    let plain: String = css.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    let plain = plain.to_ascii_lowercase();
    let outside = |(at, word): (usize, &str)| {
        let rest = plain[at + word.len()..].trim_start_matches(['"', '\'']);
        !is_internal_url(rest) || rest.is_empty()
    };
    // Rejected rather than decoded: backslashes and comments can hide anything.
    let hidden = plain.contains('\\') || plain.contains("/*");
    if (hidden && (plain.contains('(') || plain.contains('@')))
        || plain.contains("@import")
        || plain.contains("expression(")
    {
        return Err("has a style that could load something; remove escapes, comments and imports".to_owned());
    }
    if plain.match_indices("url(").any(outside)
        || CSS_LOADING_FUNCTIONS.iter().any(|word| plain.contains(word))
    {
        return Err("has a style that loads an external resource; remove it".to_owned());
    }
    Ok(())
}
