//! The times in the names of folders. They are local times of the machine that ran, without a zone.

use jiff::civil::DateTime;

/// `desk_20260302_093000` and `desk-20260302-093000`: `2026-03-02T09:30:00`.
pub(super) fn parse_name_time(name: &str) -> Option<String> {
    let start = name.len().checked_sub(15)?;
    let (date, rest) = name.get(start..)?.split_at_checked(8)?;
    let time = rest.strip_prefix(['_', '-'])?;
    if !date.bytes().chain(time.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
    let (hour, minute, second) = (&time[..2], &time[2..4], &time[4..]);
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}");
    text.parse::<DateTime>().is_ok().then_some(text)
}

/// The name without the time at its end.
pub(super) fn strip_name_time(name: &str) -> &str {
    match parse_name_time(name) {
        Some(_) => name[..name.len() - 15].trim_end_matches(['_', '-']),
        None => name,
    }
}

/// The second of a time that a file says, as it stands there.
pub(super) fn parse_text_time(text: &str) -> Option<String> {
    let second = text.get(..19)?.replacen(' ', "T", 1);
    second.parse::<DateTime>().is_ok().then_some(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_name_times_are_parsed() {
        let check =
            |name: &str, time: Option<&str>| assert_eq!(parse_name_time(name).as_deref(), time, "{name}");
        check("desk_smoke_20260302_093000", Some("2026-03-02T09:30:00"));
        check("Checkout-flow-v2-20260603-003000", Some("2026-06-03T00:30:00"));
        check("20260603_003000", Some("2026-06-03T00:30:00"));
        check("exp_20261399_256199", None);
        check("exp_20260230_000000", None);
        check("exp_2026060_3003000", None);
        check("backup", None);
        check("", None);
        check("größe_20260603ä03000", None);
        assert_eq!(strip_name_time("Checkout-flow-v2-20260603-003000"), "Checkout-flow-v2");
        assert_eq!(strip_name_time("backup"), "backup");
    }

    #[test]
    fn text_times_are_parsed() {
        assert_eq!(parse_text_time("2026-02-04T10:00:00.500000").as_deref(), Some("2026-02-04T10:00:00"));
        assert_eq!(parse_text_time("2026-02-04 10:00:00+00:00").as_deref(), Some("2026-02-04T10:00:00"));
        assert_eq!(parse_text_time("yesterday"), None);
        assert_eq!(parse_text_time("2026-99-04T10:00:00"), None);
    }
}
