//! One request on its way through the server.

use std::sync::{Arc, Mutex, PoisonError};

use protocol::mcp::{ClientCapabilities, InputRequired, StampedResult};
use protocol::{Dialect, Id, Revision, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::connection::session::McpSession;
use crate::connection::state::ConnectionState;
use crate::error::RequestError;
use crate::telemetry::RequestNotes;
use crate::{App, MirroredHeaders, ToolContext};

/// For how long a client may keep a list. Changes are announced, so this is only for those who do not listen.
const LIST_TTL_MS: u64 = 60_000;

/// What a handler knows about the request it answers.
pub(crate) struct RequestContext {
    pub(crate) connection: Arc<ConnectionState>,
    pub(crate) dialect: Dialect,
    /// What the client can do, whether it said so in this request or at the start of the session.
    pub(crate) client: ClientCapabilities,
    pub(crate) id: Id,
    pub(crate) call: ToolContext,
    /// What the headers say about it.
    pub(crate) headers: Option<MirroredHeaders>,
    pub(crate) notes: RequestNotes,
    /// What is done once the answer is out.
    pub(crate) after_response: Mutex<Option<ResponseHook>>,
}

/// Something to be done later.
pub(crate) type ResponseHook = Box<dyn FnOnce() + Send>;

impl RequestContext {
    pub(crate) fn app(&self) -> &Arc<App> {
        self.connection.app()
    }

    /// Does this once the answer is out.
    pub(crate) fn run_after_response(&self, act: ResponseHook) {
        *self.after_response.lock().unwrap_or_else(PoisonError::into_inner) = Some(act);
    }

    pub(crate) fn session(&self) -> &McpSession {
        self.connection.session()
    }

    /// The revision whose payloads are written.
    pub(crate) fn revision(&self) -> Revision {
        self.dialect.revision().unwrap_or(Revision::OFFERED)
    }

    /// The answer that carries this result.
    pub(crate) fn result(&self, result: &impl Serialize) -> Vec<u8> {
        if self.revision().stamps_results() {
            encode::result(&self.id, &StampedResult::complete(result, &self.app().info))
        } else {
            encode::result(&self.id, result)
        }
    }

    /// The answer that carries this list, and may be kept for a while.
    pub(crate) fn cacheable_result(&self, list: &impl Serialize) -> Vec<u8> {
        self.result_with_ttl(LIST_TTL_MS, list)
    }

    fn result_with_ttl(&self, ttl_ms: u64, result: &impl Serialize) -> Vec<u8> {
        if self.revision().has_cache_hints() {
            encode::result(
                &self.id,
                &StampedResult::complete(result, &self.app().info).with_cache_ttl(ttl_ms),
            )
        } else {
            encode::result(&self.id, result)
        }
    }

    /// A response with data that may change at any time, so clients must not cache it: after a write they must
    /// see its effect.
    pub(crate) fn uncacheable_result(&self, read: &impl Serialize) -> Vec<u8> {
        self.result_with_ttl(0, read)
    }

    /// The answer that asks for more.
    pub(crate) fn input_required(&self, input: &InputRequired) -> Vec<u8> {
        encode::result(&self.id, &StampedResult::input_required(input, &self.app().info))
    }
}

/// Reads the parameters of a method; says which one is wrong.
pub(crate) fn parse_params<T: DeserializeOwned>(
    params: Map<String, Value>,
    required: &[&str],
) -> Result<T, RequestError> {
    if let Some(missing) = required.iter().find(|name| !params.contains_key(**name)) {
        return Err(RequestError::invalid_params(*missing, "Required field missing"));
    }
    serde_path_to_error::deserialize(Value::Object(params))
        .map_err(|error| RequestError::invalid_params(error.path().to_string(), error.inner().to_string()))
}
