//! "Did you mean …?"

/// The candidate that a mistyped name most resembles, if one is close enough to be meant.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A transposition, or about one wrong letter in three, as clap and cargo allow.
    let max_distance = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= max_distance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_close_names_are_suggested() {
        let tools = ["faq", "tell_fortune", "apply_edit_plan", "undo_edit_plan"];
        for (typed, expected) in [
            ("faqz", Some("faq")),
            ("tel_fortune", Some("tell_fortune")),
            ("apply_plan", None),
            ("applyeditplan", Some("apply_edit_plan")),
            ("nope", None),
        ] {
            assert_eq!(nearest(typed, tools), expected, "{typed}");
        }
    }
}
