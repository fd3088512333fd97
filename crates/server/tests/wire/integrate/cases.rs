//! Conversations as data: what the user does, what is asked, how it ends, what is left.

use serde_json::{Value, json};

use super::IntegrateUserAction::{self, Dismiss, EditFileThenFillIn, FillIn, GoBack};
use crate::repositories::{
    ROMAN, SHADOWED, SUPPORT_BOT, TWO_LANGUAGES, TWO_SERVICES, UNCLEAR_FIELD, WEB_CHAT,
};

pub(super) fn confirm() -> IntegrateUserAction {
    FillIn(json!({ "confirm": true }))
}

pub(super) fn keep_changes() -> IntegrateUserAction {
    FillIn(json!({ "after": "keep" }))
}

pub(super) fn undo_changes() -> IntegrateUserAction {
    FillIn(json!({ "after": "undo" }))
}

/// What stays on the disk.
pub(super) enum ExpectedFiles {
    /// Every byte as before.
    Unchanged,
    /// These files are new or different, and no others.
    Changed(&'static [&'static str]),
}

pub(super) struct IntegrateCase {
    pub(super) name: &'static str,
    pub(super) repository: &'static str,
    pub(super) arguments: Value,
    pub(super) reactions: Vec<IntegrateUserAction>,
    pub(super) asked: &'static [&'static str],
    /// The outcome, or a part of the failure.
    pub(super) outcome: &'static str,
    pub(super) expected_files: ExpectedFiles,
}

fn case(
    name: &'static str,
    repository: &'static str,
    arguments: Value,
    reactions: Vec<IntegrateUserAction>,
    asked: &'static [&'static str],
    end: &'static str,
    left: ExpectedFiles,
) -> IntegrateCase {
    IntegrateCase { name, repository, arguments, reactions, asked, outcome: end, expected_files: left }
}

pub(super) fn cases() -> Vec<IntegrateCase> {
    [
        choice_cases(),
        few_question_cases(),
        refusal_cases(),
        interruption_cases(),
        nothing_to_integrate_cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Much is open, and the user decides.
fn choice_cases() -> Vec<IntegrateCase> {
    vec![
        case(
            "everything is asked, and the usual answers are the defaults",
            TWO_SERVICES,
            json!({}),
            vec![FillIn(json!({})), FillIn(json!({})), FillIn(json!({})), confirm(), FillIn(json!({}))],
            &["package", "variant", "agent", "confirm", "after"],
            "applied",
            ExpectedFiles::Changed(&[
                ".fluxloop/scenarios/chat/configs/simulation.yaml",
                ".fluxloop/scenarios/chat/fluxloop_target.py",
                "services/chat/chat/brain.py",
                "services/chat/pyproject.toml",
            ]),
        ),
        case(
            "the other package has one function, and nothing of it is touched",
            TWO_SERVICES,
            json!({}),
            vec![
                FillIn(json!({ "package": "services/digest" })),
                FillIn(json!({ "variant": "bridge" })),
                confirm(),
                keep_changes(),
            ],
            &["package", "variant", "confirm", "after"],
            "applied",
            ExpectedFiles::Changed(&[".fluxloop/scenarios/digest/configs/simulation.yaml"]),
        ),
        case(
            "going back, and then another function, which is asked for until it is one",
            TWO_SERVICES,
            json!({ "package": "chat" }),
            vec![
                FillIn(json!({ "variant": "sdk" })),
                GoBack,
                FillIn(json!({ "variant": "bridge" })),
                FillIn(json!({ "agent": "another" })),
                FillIn(json!({ "agent": "count" })),
                FillIn(json!({ "agent": "services/chat/chat/brain.py:count" })),
                FillIn(json!({ "agent": "services/chat/chat/brain.py:translate" })),
                confirm(),
                keep_changes(),
            ],
            &["variant", "agent", "variant", "agent", "agent", "agent", "agent", "confirm", "after"],
            "applied",
            ExpectedFiles::Changed(&[".fluxloop/scenarios/chat/configs/simulation.yaml"]),
        ),
    ]
}

/// Little is open, or nothing.
fn few_question_cases() -> Vec<IntegrateCase> {
    vec![
        case(
            "one way in: all that is asked is whether it may be written",
            WEB_CHAT,
            json!({}),
            vec![confirm(), keep_changes()],
            &["confirm", "after"],
            "applied",
            ExpectedFiles::Changed(&[
                ".fluxloop/scenarios/web-chat/bridge.mjs",
                ".fluxloop/scenarios/web-chat/configs/simulation.yaml",
            ]),
        ),
        case(
            "who agreed in advance is not asked at all",
            SUPPORT_BOT,
            json!({ "variant": "auto", "confirm": true }),
            vec![],
            &[],
            "applied",
            ExpectedFiles::Changed(&[
                ".fluxloop/scenarios/support-bot/configs/simulation.yaml",
                ".fluxloop/scenarios/support-bot/fluxloop_target.py",
                "support/agent.py",
            ]),
        ),
        case(
            "two languages in one folder are two frameworks",
            TWO_LANGUAGES,
            json!({}),
            vec![
                FillIn(json!({ "framework": "flask" })),
                FillIn(json!({ "variant": "bridge" })),
                confirm(),
                undo_changes(),
            ],
            &["framework", "variant", "confirm", "after"],
            "undone",
            ExpectedFiles::Unchanged,
        ),
        case(
            "a field that the code does not show is asked for",
            UNCLEAR_FIELD,
            json!({ "variant": "bridge" }),
            vec![FillIn(json!({ "request_field": "wish" })), confirm(), keep_changes()],
            &["request_field", "confirm", "after"],
            "applied",
            ExpectedFiles::Changed(&[
                ".fluxloop/scenarios/agent/configs/simulation.yaml",
                ".fluxloop/scenarios/agent/fluxloop_target.py",
            ]),
        ),
        case(
            "where the SDK cannot come in, a bridge is taken without a question",
            SHADOWED,
            json!({ "variant": "auto", "confirm": true }),
            vec![],
            &[],
            "applied",
            ExpectedFiles::Changed(&[".fluxloop/scenarios/agent/configs/simulation.yaml"]),
        ),
    ]
}

/// The user does not want it.
fn refusal_cases() -> Vec<IntegrateCase> {
    vec![
        case(
            "no is no",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![FillIn(json!({ "confirm": false }))],
            &["confirm"],
            "declined",
            ExpectedFiles::Unchanged,
        ),
        case(
            "a form that is sent back is no, too",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![Dismiss("decline")],
            &["confirm"],
            "the user declined the question \"Add FluxLoop integration for fastapi project using python-function runner, \
             running support.agent:answer.\"; nothing was done",
            ExpectedFiles::Unchanged,
        ),
        case(
            "an empty answer is not yes",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![FillIn(json!({})), Dismiss("cancel")],
            &["confirm", "confirm"],
            "the user dismissed the question",
            ExpectedFiles::Unchanged,
        ),
    ]
}

/// Something happens between question and answer, or after all is written.
fn interruption_cases() -> Vec<IntegrateCase> {
    vec![
        case(
            "undo takes back every byte",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![confirm(), undo_changes()],
            &["confirm", "after"],
            "undone",
            ExpectedFiles::Unchanged,
        ),
        case(
            "whoever turns away from the last question keeps what is written, and is told",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![confirm(), Dismiss("cancel")],
            &["confirm", "after"],
            "applied",
            ExpectedFiles::Changed(&[
                ".fluxloop/scenarios/support-bot/configs/simulation.yaml",
                ".fluxloop/scenarios/support-bot/fluxloop_target.py",
                "support/agent.py",
            ]),
        ),
        case(
            "there is no way back behind what is written",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![confirm(), GoBack, undo_changes()],
            &["confirm", "after", "after"],
            "undone",
            ExpectedFiles::Unchanged,
        ),
        case(
            "a file that changes before the answer is not overwritten",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![EditFileThenFillIn("support/agent.py", json!({ "confirm": true }))],
            &["confirm"],
            "support/agent.py has changed since the plan was made (propose a new plan)",
            ExpectedFiles::Changed(&["support/agent.py"]),
        ),
        case(
            "a file that changes before undo is not lost",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![confirm(), EditFileThenFillIn("support/agent.py", json!({ "after": "undo" }))],
            &["confirm", "after"],
            "undo would lose those edits",
            ExpectedFiles::Changed(&[
                ".fluxloop/scenarios/support-bot/configs/simulation.yaml",
                ".fluxloop/scenarios/support-bot/fluxloop_target.py",
                "support/agent.py",
            ]),
        ),
    ]
}

/// There is nothing to integrate, or it cannot be.
fn nothing_to_integrate_cases() -> Vec<IntegrateCase> {
    vec![
        case(
            "a library has nothing to integrate",
            ROMAN,
            json!({ "confirm": true }),
            vec![],
            &[],
            "nothing_to_do",
            ExpectedFiles::Unchanged,
        ),
        case(
            "an agent that is none is refused with a reason",
            ROMAN,
            json!({ "agent": "roman/__init__.py:arabic", "confirm": true }),
            vec![],
            &[],
            "no known agent object `arabic`; it has roman (roman/__init__.py)",
            ExpectedFiles::Unchanged,
        ),
        case(
            "a package that is not there is refused with those that are",
            TWO_SERVICES,
            json!({ "package": "services/mail" }),
            vec![],
            &[],
            "`package`: no package `services/mail`; the packages are services/chat, services/digest",
            ExpectedFiles::Unchanged,
        ),
        case(
            "a folder that is not there is refused by name",
            ROMAN,
            json!({ "root": "nowhere" }),
            vec![],
            &[],
            "`root`: ",
            ExpectedFiles::Unchanged,
        ),
    ]
}
