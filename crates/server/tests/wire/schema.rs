//! The official JSON schemas of the revisions, as judges of what the server says.
//!
//! They are read from the folder that `MCP_SCHEMA_DIR` names. Without it nothing is checked, and the tests
//! say so.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

type DefinitionKey = (&'static str, String);

struct OfficialSchemas {
    schemas: HashMap<&'static str, Value>,
    validators: Mutex<HashMap<DefinitionKey, &'static Validator>>,
}

static OFFICIAL_SCHEMAS: LazyLock<Option<OfficialSchemas>> = LazyLock::new(|| {
    #[expect(clippy::disallowed_methods, reason = "a switch of the tests alone")]
    let Ok(folder) = std::env::var("MCP_SCHEMA_DIR") else {
        // Written past the test harness, which would swallow it.
        let _ = writeln!(io::stderr(), "NOT CHECKED against the official schemas: MCP_SCHEMA_DIR is not set");
        return None;
    };
    let read = |revision: &'static str| {
        let text = std::fs::read_to_string(format!("{folder}/{revision}.json"))
            .expect("the schemas are in MCP_SCHEMA_DIR");
        (revision, serde_json::from_str(&text).expect("a schema is JSON"))
    };
    Some(OfficialSchemas { schemas: REVISIONS.into_iter().map(read).collect(), validators: Mutex::default() })
});

impl OfficialSchemas {
    /// The validator for one definition of one revision.
    fn validator(&self, revision: &'static str, definition: &str) -> &'static Validator {
        let mut validators = self.validators.lock().unwrap();
        validators.entry((revision, definition.to_owned())).or_insert_with(|| {
            let mut schema = self.schemas[revision].clone();
            let definitions = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
            assert!(schema[definitions].get(definition).is_some(), "{revision} has no {definition}");
            schema["$ref"] = json!(format!("#/{definitions}/{definition}"));
            Box::leak(Box::new(jsonschema::validator_for(&schema).expect("the official schemas compile")))
        })
    }

    fn assert_valid(&self, revision: &'static str, definition: &str, value: &Value) {
        if let Err(error) = self.validator(revision, definition).validate(value) {
            panic!("not a {definition} of {revision}: {error} at {}\n{value}", error.instance_path());
        }
    }
}

/// Remembers what was asked, so that each answer can be held against the right definition.
pub(crate) struct SchemaChecker {
    /// The revision of the session.
    revision: &'static str,
    /// Id to (revision, method).
    pending: HashMap<String, DefinitionKey>,
}

impl SchemaChecker {
    pub(crate) fn load() -> Self {
        LazyLock::force(&OFFICIAL_SCHEMAS);
        Self { revision: "2025-11-25", pending: HashMap::new() }
    }

    pub(crate) fn record_requests(&mut self, line: &[u8]) {
        match serde_json::from_slice::<Value>(line) {
            Ok(Value::Array(batch)) => batch.iter().for_each(|request| self.record_request(request)),
            Ok(request) => self.record_request(&request),
            Err(_) => {}
        }
    }

    fn record_request(&mut self, request: &Value) {
        let (Some(id), Some(method)) = (request.get("id"), request["method"].as_str()) else { return };
        let version = request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        let revision = if version == Some("2026-07-28") { "2026-07-28" } else { self.revision };
        self.pending.insert(id.to_string(), (revision, method.to_owned()));
    }

    pub(crate) fn check(&mut self, message: &str) {
        let message: Value = serde_json::from_str(message).expect("messages are JSON");
        let parts = match message {
            Value::Array(parts) => parts,
            one => vec![one],
        };
        for part in parts.iter().filter(|part| part.get("jsonrpc").is_some()) {
            self.check_one(part);
        }
    }

    fn check_one(&mut self, message: &Value) {
        let asked = message.get("id").and_then(|id| self.pending.get(&id.to_string())).cloned();
        if let (Some((_, method)), Some(version)) = (&asked, message["result"]["protocolVersion"].as_str())
            && method == "initialize"
        {
            self.revision = REVISIONS.into_iter().find(|known| *known == version).expect("a known revision");
        }
        let Some(official) = OFFICIAL_SCHEMAS.as_ref() else { return };
        if let Some(method) = message["method"].as_str() {
            self.check_server_message(official, method, message);
        } else if let Some(result) = message.get("result") {
            let (mut revision, method) = asked.expect("a result answers a request");
            if method == "initialize" {
                revision = self.revision;
            }
            if let Some(definition) = result_definition(&method, result) {
                official.assert_valid(revision, definition, result);
            }
        } else if message["id"].is_null() || !(message["id"].is_string() || message["id"].is_i64()) {
            // The schemas have no errors without an id, nor ids that are not integers; JSON-RPC has both.
        } else {
            let revision = asked.map_or(self.revision, |(revision, _)| revision);
            let definition = if revision < "2025-11-25" { "JSONRPCError" } else { "JSONRPCErrorResponse" };
            official.assert_valid(revision, definition, message);
            let special = match message["error"]["code"].as_i64() {
                Some(-32021) => "MissingRequiredClientCapabilityError",
                Some(-32022) => "UnsupportedProtocolVersionError",
                _ => return,
            };
            official.assert_valid("2026-07-28", special, message);
        }
    }

    fn check_server_message(&self, official: &OfficialSchemas, method: &str, message: &Value) {
        let definition = match method {
            "notifications/progress" => "ProgressNotification",
            "notifications/message" => "LoggingMessageNotification",
            "notifications/tools/list_changed" => "ToolListChangedNotification",
            "notifications/resources/list_changed" => "ResourceListChangedNotification",
            "notifications/prompts/list_changed" => "PromptListChangedNotification",
            "notifications/resources/updated" => "ResourceUpdatedNotification",
            "notifications/cancelled" => "CancelledNotification",
            "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
            "elicitation/create" => "ElicitRequest",
            "roots/list" => "ListRootsRequest",
            // The document has no schema; a message of JSON-RPC it is all the same.
            flow if flow.starts_with("interaction.") && message["id"].is_string() => "JSONRPCRequest",
            "interaction.timeoutWarning" => "JSONRPCNotification",
            other => panic!("the server sent {other}"),
        };
        let stateless = definition.starts_with("Subscriptions") || message["params"]["_meta"].is_object();
        official.assert_valid(if stateless { "2026-07-28" } else { self.revision }, definition, message);
    }
}

fn result_definition(method: &str, result: &Value) -> Option<&'static str> {
    if result["resultType"] == "input_required" {
        return Some("InputRequiredResult");
    }
    Some(match method {
        "initialize" => "InitializeResult",
        "server/discover" => "DiscoverResult",
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => "EmptyResult",
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
        "completion/complete" => "CompleteResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "subscriptions/listen" => "SubscriptionsListenResult",
        _ => return None,
    })
}
