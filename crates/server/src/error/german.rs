//! German error messages for `/api/mcp`, with the literal wording of the CODEFLUSS document where it has one.

use protocol::MessageError;
use serde_json::Value;

use super::{ArgumentError, RequestError, RequestRejection};

/// The description of a code in the document.
fn describe_code(code: i64) -> &'static str {
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

/// Translates the messages in `data` where a translation exists, and adds the description of the code.
pub(super) fn translate(failure: &RequestError, code: i64, data: &mut Value) {
    data["description"] = describe_code(code).into();
    if let Some(text) = translate_error(failure) {
        for member in ["detail", "reason", "error"] {
            if let Some(old) = data.get_mut(member) {
                *old = text.clone().into();
            }
        }
    }
}

fn translate_error(failure: &RequestError) -> Option<String> {
    let text = match failure {
        RequestError::Malformed(problem) => translate_message_error(problem)?,
        RequestError::InvalidParams { error, .. } if error == "Required field missing" => {
            "Pflichtfeld fehlt".to_owned()
        }
        RequestError::InvalidArguments(ArgumentError::Missing { .. }) | RequestError::InputNeeded { .. } => {
            "Pflichtfeld fehlt".to_owned()
        }
        RequestError::InvalidArguments(ArgumentError::Unknown { .. }) => "Unbekanntes Feld".to_owned(),
        RequestError::InvalidArguments(ArgumentError::Type { .. }) => "Hat den falschen Typ".to_owned(),
        RequestError::UnknownTool { name, .. } => format!("Unbekanntes Tool: {name}"),
        RequestError::Forbidden(forbidden) => {
            format!("Dafür braucht es den Scope `{}`; dieser Key hat `{}`", forbidden.needed, forbidden.has)
        }
        RequestError::BoundToProject => {
            "Dieser Key gilt nur für ein Projekt; einen Key für das ganze Konto verwenden".to_owned()
        }
        RequestError::Project(problem) => problem.german_text()?,
        RequestError::InvalidCursor => {
            "Der Cursor stammt nicht von dieser Liste; ohne ihn neu beginnen".to_owned()
        }
        RequestError::ShuttingDown => "Der Server wird beendet und nimmt keine Anfragen mehr an".to_owned(),
        RequestError::OutOfResources { .. } => {
            "Der Server konnte keinen Thread starten; später erneut versuchen".to_owned()
        }
        failure => translate_rejection(failure.rejection()?)?.to_owned(),
    };
    Some(text)
}

fn translate_message_error(problem: &MessageError) -> Option<String> {
    Some(match problem {
        MessageError::NotUtf8 { position } => format!("Kein gültiges UTF-8 an Position {position}"),
        MessageError::Syntax { position, .. } => format!("Unerwartetes Zeichen an Position {position}"),
        MessageError::LoneSurrogate { position } => format!("Halbes Surrogatpaar an Position {position}"),
        MessageError::TooLarge { limit } => format!("Die Nachricht ist länger als {limit} Bytes"),
        MessageError::TooDeep { limit } => {
            format!("Die Nachricht ist tiefer als {limit} Ebenen verschachtelt")
        }
        MessageError::TooManyValues { limit } => format!("Die Nachricht enthält mehr als {limit} Werte"),
        MessageError::DuplicateKey { key } => format!("Der Schlüssel `{key}` steht doppelt in einem Objekt"),
        MessageError::EmptyBatch => "Ein Batch braucht mindestens einen Request".to_owned(),
        MessageError::BatchTooLarge { limit, found } => {
            format!("Ein Batch darf höchstens {limit} Requests enthalten, dieser hat {found}")
        }
        MessageError::MissingField { field } => format!("Pflichtfeld fehlt: {field}"),
        MessageError::WrongVersion => "`jsonrpc` muss \"2.0\" sein".to_owned(),
        MessageError::NotAnObject { .. } => "Ein Request ist ein JSON-Objekt".to_owned(),
        MessageError::WrongType { field, .. } => format!("`{field}` hat den falschen Typ"),
        MessageError::UnknownType { .. } => return None,
    })
}

fn translate_rejection(rejection: &RequestRejection) -> Option<&'static str> {
    Some(match rejection {
        RequestRejection::MissingCredentials | RequestRejection::InvalidCredentials => {
            "Ungültiger oder fehlender API-Key"
        }
        RequestRejection::StoreUnavailable => {
            "Der Server erreicht seinen Speicher nicht; in ein paar Sekunden erneut versuchen"
        }
        RequestRejection::StoreFull => {
            "Der Server hat keinen Speicherplatz mehr; sein Betreiber muss zuerst Platz schaffen"
        }
        RequestRejection::Busy => "Der Server ist ausgelastet; gleich erneut versuchen",
        RequestRejection::MethodNotAllowed { .. } => "Nur POST erlaubt",
        RequestRejection::NotJson => "Der Body muss JSON sein; `Content-Type: application/json` senden",
        RequestRejection::BodyTimeout => "Der Body kam nicht rechtzeitig an; erneut senden",
        RequestRejection::HostNotAllowed => "Der Host-Header nennt nicht diesen Server",
        RequestRejection::OriginNotAllowed => "Seiten dieser Herkunft dürfen diesen Server nicht aufrufen",
        _ => return None,
    })
}
