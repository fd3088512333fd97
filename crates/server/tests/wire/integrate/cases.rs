//! Conversations as data: what the user does, what is asked, how it ends, what is left.

use serde_json::{Value, json};

use super::Reaction::{self, Edits, GoesBack, Refuses, Says};
use crate::repositories::{
    ROMAN, SHADOWED, SUPPORT_BOT, TWO_LANGUAGES, TWO_SERVICES, UNCLEAR_FIELD, WEB_CHAT,
};

pub(super) fn yes() -> Reaction {
    Says(json!({ "confirm": true }))
}

pub(super) fn keep() -> Reaction {
    Says(json!({ "after": "keep" }))
}

pub(super) fn undo() -> Reaction {
    Says(json!({ "after": "undo" }))
}

/// What stays on the disk.
pub(super) enum Left {
    /// Every byte as before.
    Nothing,
    /// These files are new or different, and no others.
    Changes(&'static [&'static str]),
}

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) repository: &'static str,
    pub(super) arguments: Value,
    pub(super) reactions: Vec<Reaction>,
    pub(super) asked: &'static [&'static str],
    /// The outcome, or a part of the failure.
    pub(super) end: &'static str,
    pub(super) left: Left,
}

fn case(
    name: &'static str,
    repository: &'static str,
    arguments: Value,
    reactions: Vec<Reaction>,
    asked: &'static [&'static str],
    end: &'static str,
    left: Left,
) -> Case {
    Case { name, repository, arguments, reactions, asked, end, left }
}

pub(super) fn cases() -> Vec<Case> {
    [choices(), short(), refusals(), turns(), nowhere()].into_iter().flatten().collect()
}

/// Much is open, and the user decides.
fn choices() -> Vec<Case> {
    vec![
        case(
            "everything is asked, and the usual answers are the defaults",
            TWO_SERVICES,
            json!({}),
            vec![Says(json!({})), Says(json!({})), Says(json!({})), yes(), Says(json!({}))],
            &["package", "variant", "agent", "confirm", "after"],
            "applied",
            Left::Changes(&[
                ".fluxloop/scenarios/chat/configs/simulation.yaml",
                "services/chat/chat/brain.py",
                "services/chat/pyproject.toml",
            ]),
        ),
        case(
            "the other package has one function, and nothing of it is touched",
            TWO_SERVICES,
            json!({}),
            vec![
                Says(json!({ "package": "services/digest" })),
                Says(json!({ "variant": "bridge" })),
                yes(),
                keep(),
            ],
            &["package", "variant", "confirm", "after"],
            "applied",
            Left::Changes(&[".fluxloop/scenarios/digest/configs/simulation.yaml"]),
        ),
        case(
            "going back, and then another function, which is asked for until it is one",
            TWO_SERVICES,
            json!({ "package": "chat" }),
            vec![
                Says(json!({ "variant": "sdk" })),
                GoesBack,
                Says(json!({ "variant": "bridge" })),
                Says(json!({ "agent": "another" })),
                Says(json!({ "agent": "count" })),
                Says(json!({ "agent": "services/chat/chat/brain.py:count" })),
                Says(json!({ "agent": "services/chat/chat/brain.py:translate" })),
                yes(),
                keep(),
            ],
            &["variant", "agent", "variant", "agent", "agent", "agent", "agent", "confirm", "after"],
            "applied",
            Left::Changes(&[".fluxloop/scenarios/chat/configs/simulation.yaml"]),
        ),
    ]
}

/// Little is open, or nothing.
fn short() -> Vec<Case> {
    vec![
        case(
            "one way in: all that is asked is whether it may be written",
            WEB_CHAT,
            json!({}),
            vec![yes(), keep()],
            &["confirm", "after"],
            "applied",
            Left::Changes(&[
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
            Left::Changes(&[".fluxloop/scenarios/support-bot/configs/simulation.yaml", "support/agent.py"]),
        ),
        case(
            "two languages in one folder are two frameworks",
            TWO_LANGUAGES,
            json!({}),
            vec![Says(json!({ "framework": "flask" })), Says(json!({ "variant": "bridge" })), yes(), undo()],
            &["framework", "variant", "confirm", "after"],
            "undone",
            Left::Nothing,
        ),
        case(
            "a field that the code does not show is asked for",
            UNCLEAR_FIELD,
            json!({ "variant": "bridge" }),
            vec![Says(json!({ "request_field": "wish" })), yes(), keep()],
            &["request_field", "confirm", "after"],
            "applied",
            Left::Changes(&[
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
            Left::Changes(&[".fluxloop/scenarios/agent/configs/simulation.yaml"]),
        ),
    ]
}

/// The user does not want it.
fn refusals() -> Vec<Case> {
    vec![
        case(
            "no is no",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![Says(json!({ "confirm": false }))],
            &["confirm"],
            "declined",
            Left::Nothing,
        ),
        case(
            "a form that is sent back is no, too",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![Refuses("decline")],
            &["confirm"],
            "the user declined the question \"Add FluxLoop integration for fastapi project using python-function runner, \
             running support.agent:answer.\"; nothing was done",
            Left::Nothing,
        ),
        case(
            "an empty answer is not yes",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![Says(json!({})), Refuses("cancel")],
            &["confirm", "confirm"],
            "the user dismissed the question",
            Left::Nothing,
        ),
    ]
}

/// Something happens between question and answer, or after all is written.
fn turns() -> Vec<Case> {
    vec![
        case(
            "undo takes back every byte",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![yes(), undo()],
            &["confirm", "after"],
            "undone",
            Left::Nothing,
        ),
        case(
            "whoever turns away from the last question keeps what is written, and is told",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![yes(), Refuses("cancel")],
            &["confirm", "after"],
            "applied",
            Left::Changes(&[".fluxloop/scenarios/support-bot/configs/simulation.yaml", "support/agent.py"]),
        ),
        case(
            "there is no way back behind what is written",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![yes(), GoesBack, undo()],
            &["confirm", "after", "after"],
            "undone",
            Left::Nothing,
        ),
        case(
            "a file that changes before the answer is not overwritten",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![Edits("support/agent.py", json!({ "confirm": true }))],
            &["confirm"],
            "support/agent.py has changed since the plan was made (propose a new plan)",
            Left::Changes(&["support/agent.py"]),
        ),
        case(
            "a file that changes before undo is not lost",
            SUPPORT_BOT,
            json!({ "variant": "sdk" }),
            vec![yes(), Edits("support/agent.py", json!({ "after": "undo" }))],
            &["confirm", "after"],
            "The changes stay as they are written.",
            Left::Changes(&[".fluxloop/scenarios/support-bot/configs/simulation.yaml", "support/agent.py"]),
        ),
    ]
}

/// There is nothing to integrate, or it cannot be.
fn nowhere() -> Vec<Case> {
    vec![
        case(
            "a library has nothing to integrate",
            ROMAN,
            json!({ "confirm": true }),
            vec![],
            &[],
            "nothing_to_do",
            Left::Nothing,
        ),
        case(
            "an agent that is none is refused with a reason",
            ROMAN,
            json!({ "agent": "roman/__init__.py:arabic", "confirm": true }),
            vec![],
            &[],
            "there is no function and no known agent object `arabic` in roman/__init__.py",
            Left::Nothing,
        ),
        case(
            "a package that is not there is refused with those that are",
            TWO_SERVICES,
            json!({ "package": "services/mail" }),
            vec![],
            &[],
            "`package`: there is no package `services/mail`; there are services/chat, services/digest",
            Left::Nothing,
        ),
        case(
            "a folder that is not there is refused by name",
            ROMAN,
            json!({ "root": "nowhere" }),
            vec![],
            &[],
            "`root`: ",
            Left::Nothing,
        ),
    ]
}
