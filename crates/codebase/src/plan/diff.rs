//! Differences for people.

use similar::TextDiff;

/// A unified diff, as `git apply` takes it. A file that is not there is `/dev/null`.
pub fn unified(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (from, to) = (name("a", old), name("b", new));
    let diff = TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
    diff.unified_diff().context_radius(3).header(&from, &to).to_string()
}
