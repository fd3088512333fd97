//! Front matter: what a page says about itself before its text.

/// The title and the version. Only plain `key: value` (YAML) and `key = value` (TOML) lines count; that is how both are
/// written, and a page is not refused for the rest.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FrontMatter {
    pub(super) title: Option<String>,
    pub(super) version: Option<String>,
}

pub(super) fn parse(text: &str) -> FrontMatter {
    let value = |key: &str| {
        text.lines().find_map(|line| {
            let rest = line.strip_prefix(key)?.trim_start().strip_prefix([':', '='])?;
            let value = unquote(rest.trim());
            (!value.is_empty()).then(|| value.to_owned())
        })
    };
    FrontMatter { title: value("title"), version: value("version").or_else(|| value("versions")) }
}

fn unquote(value: &str) -> &str {
    let inside = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(value).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_and_version_are_read_from_yaml_and_toml() {
        let check = |text, title: Option<&str>, version: Option<&str>| {
            let expected = FrontMatter { title: title.map(Into::into), version: version.map(Into::into) };
            assert_eq!(parse(text), expected, "{text}");
        };
        check("title: First steps\nversion: 0.3\n", Some("First steps"), Some("0.3"));
        check("title: \"Quoted: yes\"\n", Some("Quoted: yes"), None);
        check("versions: \"0.2, 0.3\"\n", None, Some("0.2, 0.3"));
        check("title = 'TOML'\nversion = \"1\"", Some("TOML"), Some("1"));
        check("sidebar_title: no\nparent:\n  title: nested", None, None);
        check("title:\n", None, None);
    }
}
