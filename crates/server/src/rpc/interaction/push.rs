//! Messages that the server pushes (contract row 17). It does not wait for an acknowledgement:
//! everything that is pushed also stands in the answer, so that nothing is missing where nothing can be
//! pushed.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use flow::Progress;
use flow::session::{SessionSnapshot, SessionState};
use protocol::Revision;
use serde_json::{Value, json};

use super::render;
use crate::ConnectionMode;
use crate::connection::state::ConnectionState;
use crate::rpc::context::RequestContext;

/// Whether this client can be told things. Who speaks 2026-07-28 may not be.
pub(super) fn can_push(ctx: &RequestContext) -> bool {
    let has_stream = matches!(ctx.connection.mode(), ConnectionMode::Stream | ConnectionMode::Session);
    let stateless = ctx.dialect.revision().is_some_and(Revision::is_stateless);
    has_stream && !stateless && ctx.connection.outbox().has_listener()
}

/// Does `work`. What it says about its progress is pushed whenever it has to wait; what it says in the step
/// that ends it stands in the answer.
pub(super) async fn push_progress_while<T>(
    ctx: &RequestContext,
    session: Option<&str>,
    said: &Mutex<Option<Progress>>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(ctx.call.notifier.hold_progress(work));
    poll_fn(|cx| {
        let polled = work.as_mut().poll(cx);
        if polled.is_pending()
            && let Some(session) = session.filter(|_| can_push(ctx))
            && let Some(progress) = said.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            let params = json!({ "sessionId": session, "progress": render::progress(&progress) });
            send_push(&ctx.connection, "interaction.continue", &params);
        }
        polled
    })
    .await
}

/// Pushes what comes next, once the answer is out.
pub(super) fn push_after_response(ctx: &RequestContext, snapshot: &SessionSnapshot) {
    if !can_push(ctx) {
        return;
    }
    let Some((method, params)) = next_push_message(snapshot) else { return };
    let connection = Arc::clone(&ctx.connection);
    ctx.run_after_response(Box::new(move || send_push(&connection, method, &params)));
}

fn next_push_message(snapshot: &SessionSnapshot) -> Option<(&'static str, Value)> {
    let SessionSnapshot { id, session, .. } = snapshot;
    if let Some(prompt) = render::current_prompt(session) {
        let mut params = json!({ "sessionId": id, "prompt": prompt });
        if let Some(progress) = session.progress() {
            params["progress"] = render::progress(progress);
        }
        return Some(("interaction.prompt", params));
    }
    let result = render::result(session).filter(|_| session.state() != SessionState::Cancelled)?;
    let summary = render::summary(session);
    Some(("interaction.complete", json!({ "sessionId": id, "result": result, "summary": summary })))
}

fn send_push(connection: &ConnectionState, method: &str, params: &Value) {
    connection.client_peer().send_without_waiting(connection.outbox(), method, params);
}
