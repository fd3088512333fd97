//! Arguments that only some actions take. A schema would need `oneOf` for that, which some clients reject.

use crate::error::RequestError;

/// An argument of a tool with several actions.
pub(crate) struct ArgumentRule<'a, A> {
    name: &'a str,
    is_given: bool,
    actions: &'a [A],
    is_required: bool,
}

/// These actions require the argument.
pub(crate) const fn required<'a, A>(name: &'a str, is_given: bool, actions: &'a [A]) -> ArgumentRule<'a, A> {
    ArgumentRule { name, is_given, actions, is_required: true }
}

/// These actions accept the argument.
pub(crate) const fn optional<'a, A>(name: &'a str, is_given: bool, actions: &'a [A]) -> ArgumentRule<'a, A> {
    ArgumentRule { name, is_given, actions, is_required: false }
}

/// Reports all arguments that an action does not take, or that it lacks, in one error. `repository` is the
/// prefix of the arguments, such as `changes.3.`, and `what` is what takes them, such as `action`.
pub(crate) fn check_rules<A: PartialEq>(
    repository: &str,
    what: &str,
    action: &A,
    table: &[ArgumentRule<'_, A>],
) -> Result<(), RequestError> {
    let wrong = |row: &ArgumentRule<'_, A>| {
        let is_taken = row.actions.contains(action);
        match (row.is_given, is_taken) {
            (true, false) => Some(format!("does not apply to this {what}; leave it out")),
            (false, true) if row.is_required => Some(format!("is required for this {what}")),
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
            (1, (false, false, false), "`x.a`: is required for this step"),
            (3, (false, true, false), "`x.b`: does not apply to this step; leave it out"),
            (
                2,
                (true, false, false),
                "`x.a`: does not apply to this step; leave it out; `x.c` is required for this step",
            ),
        ] {
            let (a, b, c) = given;
            let told = check_rules("x.", "step", &action, &table(a, b, c)).err();
            assert_eq!(told.map(|failure| failure.to_string()).unwrap_or_default(), expected);
        }
    }
}
