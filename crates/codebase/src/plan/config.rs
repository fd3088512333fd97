//! Values in configuration files: set where they stand, with everything around them left as it is.

mod json;
mod toml;
mod yaml;

use super::document::Setting;

/// The text with these values in it. YAML, TOML and JSON are known by the ending of the name.
pub(crate) fn apply_settings(path: &str, content: &str, settings: &[Setting]) -> Result<String, String> {
    let write = match path.rsplit('.').next().unwrap_or_default() {
        "yaml" | "yml" => yaml::set,
        "toml" => toml::set,
        "json" | "jsonc" => json::set,
        _ => return Err("`set` knows YAML, TOML and JSON".to_owned()),
    };
    let (mark, text) = match content.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", content),
    };
    let crlf = text.contains("\r\n");
    let plain = text.replace("\r\n", "\n");
    if crlf && plain.replace('\n', "\r\n") != text {
        return Err("its lines end in two ways".to_owned());
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

/// The way to a value, for people.
fn format_key(key: &[String]) -> String {
    format!("`{}`", key.join("."))
}
