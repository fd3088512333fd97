//! Arguments that only some actions take. A schema could say it by `oneOf`, which some clients refuse.

use crate::error::RequestError;

/// An argument of a tool that does several things.
pub(crate) struct ArgumentRule<'a, A> {
    name: &'a str,
    is_given: bool,
    actions: &'a [A],
    is_required: bool,
}

/// These actions cannot do without it.
pub(crate) const fn required<'a, A>(name: &'a str, is_given: bool, actions: &'a [A]) -> ArgumentRule<'a, A> {
    ArgumentRule { name, is_given, actions, is_required: true }
}

/// These actions may have it.
pub(crate) const fn optional<'a, A>(name: &'a str, is_given: bool, actions: &'a [A]) -> ArgumentRule<'a, A> {
    ArgumentRule { name, is_given, actions, is_required: false }
}

/// Refuses what an action does not take, and misses what it needs: everything at once, by name. `subject` is what the
/// arguments are of, such as `changes.3.`, and `what` is what takes them, such as `action`.
pub(crate) fn check_rules<A: PartialEq>(
    repository: &str,
    what: &str,
    action: &A,
    table: &[ArgumentRule<'_, A>],
) -> Result<(), RequestError> {
    let wrong = |row: &ArgumentRule<'_, A>| {
        let is_taken = row.actions.contains(action);
        match (row.is_given, is_taken) {
            (true, false) => Some(format!("is not for this {what}; leave it out")),
            (false, true) if row.is_required => Some(format!("is needed for this {what}")),
            _ => None,
        }
    };
    let mut mistakes = table.iter().filter_map(|row| wrong(row).map(|why| (row.name, why)));
    let Some((name, first)) = mistakes.next() else { return Ok(()) };
    let rest = mistakes.map(|(name, why)| format!("; `{repository}{name}` {why}"));
    Err(RequestError::invalid_argument(&format!("{repository}{name}"), first + &rest.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_argument_errors_are_reported_together() {
        let table = |a, b, c| [required("a", a, &[1]), optional("b", b, &[1, 2]), required("c", c, &[2])];
        for (action, given, expected) in [
            (1, (true, false, false), ""),
            (1, (true, true, false), ""),
            (2, (false, true, true), ""),
            (1, (false, false, false), "`x.a`: is needed for this step"),
            (3, (false, true, false), "`x.b`: is not for this step; leave it out"),
            (
                2,
                (true, false, false),
                "`x.a`: is not for this step; leave it out; `x.c` is needed for this step",
            ),
        ] {
            let (a, b, c) = given;
            let told = check_rules("x.", "step", &action, &table(a, b, c)).err();
            assert_eq!(told.map(|failure| failure.to_string()).unwrap_or_default(), expected);
        }
    }
}
