//! Sets values in configuration files in place, leaving everything around them untouched.

mod json;
mod toml;
mod yaml;

use super::document::Setting;

/// Returns `content` with the settings applied. The format is chosen by file extension.
pub(crate) fn apply_settings(path: &str, content: &str, settings: &[Setting]) -> Result<String, String> {
    let write = match path.rsplit('.').next().unwrap_or_default() {
        "yaml" | "yml" => yaml::set,
        "toml" => toml::set,
        "json" | "jsonc" => json::set,
        _ => return Err("`set` supports only YAML, TOML and JSON files".to_owned()),
    };
    let (mark, text) = match content.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", content),
    };
    let crlf = text.contains("\r\n");
    let plain = text.replace("\r\n", "\n");
    if crlf && plain.replace('\n', "\r\n") != text {
        return Err("it mixes LF and CRLF line endings".to_owned());
    }
    let mut new = plain;
    for setting in settings {
        if setting.key.is_empty() || setting.key.iter().any(String::is_empty) {
            return Err("a setting has no key".to_owned());
        }
        new = write(&new, setting)?;
    }
    let new = if crlf { new.replace('\n', "\r\n") } else { new };
    Ok(format!("{mark}{new}"))
}

fn format_key(key: &[String]) -> String {
    format!("`{}`", key.join("."))
}
