//! Minimal git config parser that finds `core.hooksPath`. Includes are not followed.

/// All values of `core.hooksPath`, in text order. Git uses the last one, but any of them becomes effective
/// when the later ones are removed.
pub(crate) fn hooks_paths(text: &str) -> Vec<String> {
    let joined = text.replace("\r\n", "\n").replace("\\\n", "");
    let (mut in_core, mut found) = (false, Vec::new());
    for line in joined.lines() {
        let mut rest = line.trim().trim_start_matches('\u{feff}');
        if let Some(header) = rest.strip_prefix('[') {
            let Some((section, after)) = header.split_once(']') else { continue };
            in_core = section.trim().eq_ignore_ascii_case("core");
            // A setting may follow the section header on the same line.
            rest = after.trim();
        }
        let Some((name, value)) = rest.split_once('=') else { continue };
        if in_core && name.trim().eq_ignore_ascii_case("hookspath") {
            found.push(unquote(value.trim()));
        }
    }
    found.retain(|path| !path.is_empty());
    found
}

/// A value without its quotes, escapes and comment.
fn unquote(value: &str) -> String {
    let (mut plain, mut is_quoted) = (String::new(), false);
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            '\\' => plain.extend(chars.next()),
            '#' | ';' if !is_quoted => break,
            c => plain.push(c),
        }
    }
    if is_quoted || value.ends_with('"') { plain } else { plain.trim_end().to_owned() }
}
