//! A plan from any JSON. Whatever is wrong with its shape becomes a finding.

use serde_json::{Map, Value};

use super::document::{
    Anchor, AnchorKind, Edit, EditPlan, InsertLocation, LOCATION_NAMES, Payload, Setting, Strategy,
};
use super::finding::{PlanFinding, quote};

/// What could be read of a plan.
#[derive(Debug, Default)]
pub(crate) struct PlanDraft {
    pub(crate) summary: String,
    /// Each with its number in the plan.
    pub(crate) edits: Vec<(usize, Edit)>,
    pub(crate) post_checks: Vec<String>,
    pub(crate) rollback: Option<String>,
    /// The whole plan, if it is one of ours.
    pub(crate) full_plan: Option<EditPlan>,
}

/// The keys that only a plan of ours has.
const SERVER_PLAN_KEYS: [&str; 3] = ["id", "files", "schema"];

pub(crate) fn parse_plan(plan: &Value, findings: &mut Vec<PlanFinding>) -> PlanDraft {
    let Some(object) = plan.as_object() else {
        findings.push(PlanFinding::blocking("bad_plan", "the plan is not a JSON object"));
        return PlanDraft::default();
    };
    let mut draft = PlanDraft::default();
    match object.get("summary") {
        Some(Value::String(text)) => draft.summary.clone_from(text),
        None | Some(Value::Null) => {
            findings
                .push(PlanFinding::blocking("missing_field", "Required field 'summary' missing from plan"));
        }
        Some(_) => findings.push(PlanFinding::blocking("bad_field", "'summary' is not a text")),
    }
    match object.get("edits") {
        Some(Value::Array(edits)) => {
            // Beyond what is looked at anyway, only the number matters.
            for (at, edit) in edits.iter().enumerate().take(super::MAX_EDITS + 1) {
                match parse_edit(edit, at, findings) {
                    Ok(edit) => draft.edits.push((at, edit)),
                    Err(finding) => findings.push(finding.for_edit(at)),
                }
            }
        }
        None | Some(Value::Null) => {
            findings.push(PlanFinding::blocking("missing_field", "Required field 'edits' missing from plan"));
        }
        Some(_) => findings.push(PlanFinding::blocking("bad_field", "'edits' is not a list")),
    }
    draft.post_checks = parse_string_list(object, "postChecks", findings);
    draft.rollback = parse_rollback(object, findings);
    if SERVER_PLAN_KEYS.iter().all(|key| object.contains_key(*key)) {
        match serde_json::from_value::<EditPlan>(plan.clone()) {
            Ok(whole) => draft.full_plan = Some(whole),
            Err(error) => {
                let says = format!("it looks like a plan of this server, but cannot be read as one: {error}");
                findings.push(PlanFinding::blocking("bad_plan", says).with_fix(
                    "propose it anew, or take out `id`, `schema` and `files` to have it resolved again",
                ));
            }
        }
    }
    draft
}

fn parse_string_list(
    object: &Map<String, Value>,
    name: &str,
    findings: &mut Vec<PlanFinding>,
) -> Vec<String> {
    match object.get(name) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(_) => {
            findings.push(PlanFinding::blocking("bad_field", format!("'{name}' is not a list of texts")));
            Vec::new()
        }
    }
}

fn parse_rollback(object: &Map<String, Value>, findings: &mut Vec<PlanFinding>) -> Option<String> {
    match object.get("rollback") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Object(rollback)) => {
            rollback.get("instruction").and_then(Value::as_str).map(str::to_owned)
        }
        Some(_) => {
            findings
                .push(PlanFinding::blocking("bad_field", "'rollback' is not an object with `instruction`"));
            None
        }
    }
}

fn parse_edit(edit: &Value, at: usize, findings: &mut Vec<PlanFinding>) -> Result<Edit, PlanFinding> {
    let object =
        edit.as_object().ok_or_else(|| PlanFinding::blocking("bad_edit", "it is not a JSON object"))?;
    let text = |name: &str| match object.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        None | Some(Value::Null) => {
            Err(PlanFinding::blocking("missing_field", format!("Required field '{name}' missing from edit")))
        }
        Some(_) => Err(PlanFinding::blocking("bad_field", format!("'{name}' is not a text"))),
    };
    let filepath = text("filepath")?;
    let named = text("strategy")?;
    let strategy = Strategy::ALL.into_iter().find(|known| known.name() == named).ok_or_else(|| {
        let known: Vec<_> = Strategy::ALL.into_iter().map(Strategy::name).collect();
        PlanFinding::blocking("unknown_strategy", format!("there is no strategy {}", quote(&named)))
            .with_fix(format!("use one of {}", known.join(", ")))
    })?;
    let anchors = match object.get("anchors") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(anchors)) => anchors.iter().map(parse_anchor).collect::<Result<_, _>>()?,
        Some(_) => return Err(PlanFinding::blocking("bad_field", "'anchors' is not a list")),
    };
    let payload = match object.get("payload") {
        Some(Value::Object(payload)) => parse_payload(payload, at, findings)?,
        None | Some(Value::Null) => {
            return Err(PlanFinding::blocking("missing_field", "Required field 'payload' missing from edit"));
        }
        Some(_) => return Err(PlanFinding::blocking("bad_field", "'payload' is not an object")),
    };
    let rationale = object.get("rationale").and_then(Value::as_str).unwrap_or_default().to_owned();
    let changes = match object.get("changes") {
        None | Some(Value::Null) => Vec::new(),
        Some(changes) => serde_json::from_value(changes.clone()).map_err(|error| {
            PlanFinding::blocking("bad_field", format!("'changes' cannot be read: {error}"))
        })?,
    };
    Ok(Edit { filepath, strategy, anchors, payload, rationale, changes })
}

fn parse_anchor(anchor: &Value) -> Result<Anchor, PlanFinding> {
    let bad = |says: &str| PlanFinding::blocking("bad_anchor", says);
    let object = anchor.as_object().ok_or_else(|| bad("an anchor is not a JSON object"))?;
    let known: Vec<_> = AnchorKind::ALL.into_iter().map(AnchorKind::name).collect();
    let name = object
        .get("type")
        .and_then(Value::as_str)
        .ok_or_else(|| bad("an anchor has no `type`").with_fix(format!("use one of {}", known.join(", "))))?;
    let kind = AnchorKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        bad(&format!("there is no anchor type {}", quote(name)))
            .with_fix(format!("use one of {}", known.join(", ")))
    })?;
    let pattern = match object.get("pattern") {
        Some(Value::String(pattern)) => pattern.clone(),
        None if kind == AnchorKind::AppendFile => String::new(),
        _ => return Err(bad("an anchor has no `pattern`")),
    };
    let index = match object.get("index") {
        None | Some(Value::Null) => None,
        Some(index) => {
            let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
            Some(index.ok_or_else(|| bad("`index` of an anchor is not a number from 0"))?)
        }
    };
    Ok(Anchor { kind, pattern, index })
}

fn parse_payload(
    payload: &Map<String, Value>,
    at: usize,
    findings: &mut Vec<PlanFinding>,
) -> Result<Payload, PlanFinding> {
    let bad = |says: String| PlanFinding::blocking("bad_payload", says);
    let mut read = Payload::default();
    for (name, value) in payload {
        let text = || {
            value.as_str().map(str::to_owned).ok_or_else(|| bad(format!("`payload.{name}` is not a text")))
        };
        match name.as_str() {
            _ if value.is_null() => {}
            "import" => read.import = Some(text()?),
            "code" | "content" => read.code = Some(text()?),
            "location" => {
                let named = text()?;
                let known = LOCATION_NAMES.iter().zip(InsertLocation::ALL).find(|(name, _)| **name == named);
                let (_, location) = known.ok_or_else(|| {
                    bad(format!("there is no location {}", quote(&named)))
                        .with_fix(format!("use one of {}", LOCATION_NAMES.join(", ")))
                })?;
                read.location = Some(location);
            }
            "set" => {
                let says = "`payload.set` is neither an object nor a list of {key, value}";
                read.set = parse_settings(value).ok_or_else(|| bad(says.to_owned()))?;
            }
            _ => {
                let says = format!("{} in the payload is not known and was left aside", quote(name));
                findings.push(PlanFinding::warning("unknown_field", says).for_edit(at));
            }
        }
    }
    Ok(read)
}

/// `{"a.b": 1}` or `[{"key": ["a", "b"], "value": 1}]`.
fn parse_settings(value: &Value) -> Option<Vec<Setting>> {
    let way = |key: &str| key.split('.').map(str::to_owned).collect();
    match value {
        Value::Object(entries) => {
            let one = |(key, value): (&String, &Value)| Setting {
                key: way(key),
                value: value.clone(),
                append: false,
            };
            Some(entries.iter().map(one).collect())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| {
                let key = match item.get("key")? {
                    Value::String(key) => way(key),
                    Value::Array(parts) => {
                        parts.iter().map(|p| p.as_str().map(str::to_owned)).collect::<Option<_>>()?
                    }
                    _ => return None,
                };
                let append = item.get("append").and_then(Value::as_bool).unwrap_or(false);
                Some(Setting { key, value: item.get("value")?.clone(), append })
            })
            .collect(),
        _ => None,
    }
}
