//! HTML and JSX tags, taken out of what is searched.

/// The text without tags, comments, and `{/* comments */}` of MDX.
///
/// A `<` begins a tag only before a letter, `/`, `>` or `!`: "a < b" stays. JSX puts expressions into attributes, so a tag
/// ends at the first `>` outside of quotes and braces; one that never ends is text.
pub(super) fn strip_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '{']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = markup_length(from);
        // What stood on both sides of a tag are two words. What is no tag stays.
        out.push_str(if length.is_some() { " " } else { &from[..1] });
        rest = &from[length.unwrap_or(1)..];
    }
    out.push_str(rest);
    out
}

/// The length of the tag or comment that begins the text, if one does.
fn markup_length(text: &str) -> Option<usize> {
    // A comment that is not closed goes on to the end.
    let closed_by = |end: &str| Some(text.find(end).map_or(text.len(), |at| at + end.len()));
    if text.starts_with("<!--") {
        return closed_by("-->");
    }
    if text.starts_with("{/*") {
        return closed_by("*/}");
    }
    let is_tag = text.strip_prefix('<')?.starts_with(|c: char| c.is_ascii_alphabetic() || "/>!".contains(c));
    if is_tag { tag_length(text) } else { None }
}

fn tag_length(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut braces = 0_usize;
    // A tag is not longer than this. What seems so is an unclosed `<`, and must not cost a scan of the whole text each time.
    for (at, byte) in text.bytes().enumerate().take(1024) {
        match (quote, byte) {
            (Some(open), _) => quote = Some(open).filter(|open| *open != byte),
            (None, b'"' | b'\'' | b'`') => quote = Some(byte),
            (None, b'{') => braces += 1,
            (None, b'}') => braces = braces.saturating_sub(1),
            (None, b'>') if braces == 0 => return Some(at + 1),
            (None, _) => {}
        }
    }
    None
}

/// Whether a paragraph is an `import` or `export` of MDX, which is a program and no text.
pub(super) fn is_module_line(paragraph: &str) -> bool {
    let is_import = paragraph.strip_prefix("import ").is_some_and(|rest| {
        rest.starts_with(['"', '\'']) || rest.contains(" from '") || rest.contains(" from \"")
    });
    let exports =
        ["export const ", "export default ", "export function ", "export let ", "export {", "export * "];
    is_import || exports.iter().any(|export| paragraph.starts_with(export))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_stripped_and_text_kept() {
        let check = |text, expected: &str| {
            let words: Vec<_> = strip_tags(text).split_whitespace().map(str::to_owned).collect();
            assert_eq!(words.join(" "), expected, "{text}");
        };
        check("one<br/>two", "one two");
        check("<Tabs values={[{a: '>'}, {b: 2}]}>inside</Tabs>", "inside");
        check("a < b and c > d", "a < b and c > d");
        check("kept <!-- dropped\n\n--> kept", "kept kept");
        check("{/* dropped */}kept {expression}", "kept {expression}");
        check("<>fragment</>", "fragment");
        check("<never closed", "<never closed");
        check("kept <!-- never closed", "kept");
        check("<a title=\"x > y\">link</a>", "link");
    }

    #[test]
    fn mdx_imports_and_exports_are_recognized() {
        let check = |text, expected| assert_eq!(is_module_line(text), expected, "{text}");
        check("import Tabs from '@theme/Tabs';", true);
        check("import {\n  A,\n} from \"b\";", true);
        check("import 'style.css'", true);
        check("export const x = 1;", true);
        check("import your data from a file", false);
        check("export your data", false);
    }
}
