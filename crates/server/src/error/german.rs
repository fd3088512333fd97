//! The texts of errors in German, for `/api/mcp`. What the CODEFLUSS document says is said as it says it.

use protocol::Problem;
use serde_json::Value;

use super::{ArgumentProblem, Failure, Refusal};

/// What the document says about a code.
fn description(code: i64) -> &'static str {
    match code {
        -32700 => "Ungültiges JSON",
        -32600 => "Request-Objekt ist ungültig",
        -32601 => "Methode existiert nicht",
        -32602 => "Ungültige Methodenparameter",
        -32001 => "Ungültiger oder fehlender API-Key",
        -32002 => "Keine Berechtigung für diese Aktion",
        -32003 => "Projekt/Block/Asset nicht gefunden",
        -32004 => "Eingabedaten sind ungültig",
        -32000 => "Zu viele Anfragen",
        _ => "Interner Server-Fehler",
    }
}

/// Puts the texts in `data` into German, as far as there are words for them, and adds what the code means.
pub(super) fn translate(failure: &Failure, code: i64, data: &mut Value) {
    data["description"] = description(code).into();
    if let Some(text) = sentence(failure) {
        for member in ["detail", "reason", "error"] {
            if let Some(old) = data.get_mut(member) {
                *old = text.clone().into();
            }
        }
    }
}

fn sentence(failure: &Failure) -> Option<String> {
    let text = match failure {
        Failure::Malformed(problem) => malformed(problem)?,
        Failure::InvalidParams { error, .. } if error == "Required field missing" => {
            "Pflichtfeld fehlt".to_owned()
        }
        Failure::BadArguments(ArgumentProblem::Missing { .. }) | Failure::InputNeeded { .. } => {
            "Pflichtfeld fehlt".to_owned()
        }
        Failure::BadArguments(ArgumentProblem::Unknown { .. }) => "Unbekanntes Feld".to_owned(),
        Failure::BadArguments(ArgumentProblem::Type { .. }) => "Hat den falschen Typ".to_owned(),
        Failure::UnknownTool { name, .. } => format!("Unbekanntes Tool: {name}"),
        Failure::Forbidden(forbidden) => {
            format!("Dafür braucht es den Scope `{}`; dieser Key hat `{}`", forbidden.needed, forbidden.has)
        }
        Failure::BoundToProject => {
            "Dieser Key gilt nur für ein Projekt; einen Key für das ganze Konto verwenden".to_owned()
        }
        Failure::Project(problem) => problem.german()?,
        Failure::BadCursor => "Der Cursor stammt nicht von dieser Liste; ohne ihn neu beginnen".to_owned(),
        Failure::ShuttingDown => "Der Server wird beendet und nimmt keine Anfragen mehr an".to_owned(),
        Failure::OutOfResources { .. } => {
            "Der Server konnte keinen Thread starten; später erneut versuchen".to_owned()
        }
        failure => refused(failure.refusal()?)?.to_owned(),
    };
    Some(text)
}

fn malformed(problem: &Problem) -> Option<String> {
    Some(match problem {
        Problem::NotUtf8 { position } => format!("Kein gültiges UTF-8 an Position {position}"),
        Problem::Syntax { position, .. } => format!("Unerwartetes Zeichen an Position {position}"),
        Problem::LoneSurrogate { position } => format!("Halbes Surrogatpaar an Position {position}"),
        Problem::TooLarge { limit } => format!("Die Nachricht ist länger als {limit} Bytes"),
        Problem::TooDeep { limit } => format!("Die Nachricht ist tiefer als {limit} Ebenen verschachtelt"),
        Problem::TooManyValues { limit } => format!("Die Nachricht enthält mehr als {limit} Werte"),
        Problem::DuplicateKey { key } => format!("Der Schlüssel `{key}` steht doppelt in einem Objekt"),
        Problem::EmptyBatch => "Ein Batch braucht mindestens einen Request".to_owned(),
        Problem::BatchTooLarge { limit, found } => {
            format!("Ein Batch darf höchstens {limit} Requests enthalten, dieser hat {found}")
        }
        Problem::MissingField { field } => format!("Pflichtfeld fehlt: {field}"),
        Problem::WrongVersion => "`jsonrpc` muss \"2.0\" sein".to_owned(),
        Problem::NotAnObject { .. } => "Ein Request ist ein JSON-Objekt".to_owned(),
        Problem::WrongType { field, .. } => format!("`{field}` hat den falschen Typ"),
        Problem::UnknownType { .. } => return None,
    })
}

fn refused(refusal: &Refusal) -> Option<&'static str> {
    Some(match refusal {
        Refusal::NoKey | Refusal::BadKey => "Ungültiger oder fehlender API-Key",
        Refusal::StoreUnavailable => {
            "Der Server erreicht seinen Speicher nicht; in ein paar Sekunden erneut versuchen"
        }
        Refusal::StoreFull => {
            "Der Server hat keinen Speicherplatz mehr; sein Betreiber muss zuerst Platz schaffen"
        }
        Refusal::Busy => "Der Server ist ausgelastet; gleich erneut versuchen",
        Refusal::MethodNotAllowed { .. } => "Nur POST erlaubt",
        Refusal::NotJson => "Der Body muss JSON sein; `Content-Type: application/json` senden",
        Refusal::TooSlow => "Der Body kam nicht rechtzeitig an; erneut senden",
        Refusal::HostNotAllowed => "Der Host-Header nennt nicht diesen Server",
        Refusal::OriginNotAllowed => "Seiten dieser Herkunft dürfen diesen Server nicht aufrufen",
        _ => return None,
    })
}
