//! What the server says without being asked (contract row 17). Nobody waits for it to be acknowledged: everything that is
//! pushed also stands in the answer, so that nothing is missing where nothing can be pushed.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use flow::Progress;
use flow::session::{Standing, State};
use protocol::Revision;
use serde_json::{Value, json};

use super::render;
use crate::Rules;
use crate::connection::state::ConnectionState;
use crate::rpc::context::Context;

/// Whether this client can be told things. Who speaks 2026-07-28 may not be.
pub(super) fn reaches(ctx: &Context) -> bool {
    let has_stream = matches!(ctx.connection.rules(), Rules::Pipe | Rules::Session);
    let stateless = ctx.dialect.revision().is_some_and(Revision::is_stateless);
    has_stream && !stateless && ctx.connection.outbox().has_listener()
}

/// Does `work`. What it says about its progress is pushed whenever it has to wait; what it says in the step that ends it
/// stands in the answer.
pub(super) async fn telling<T>(
    ctx: &Context,
    session: Option<&str>,
    said: &Mutex<Option<Progress>>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(ctx.call.outlet.during(work));
    poll_fn(|cx| {
        let polled = work.as_mut().poll(cx);
        if polled.is_pending()
            && let Some(session) = session.filter(|_| reaches(ctx))
            && let Some(progress) = said.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            let params = json!({ "sessionId": session, "progress": render::progress(&progress) });
            announce(&ctx.connection, "interaction.continue", &params);
        }
        polled
    })
    .await
}

/// Pushes what comes next, once the answer is out.
pub(super) fn afterwards(ctx: &Context, standing: &Standing) {
    if !reaches(ctx) {
        return;
    }
    let Some((method, params)) = news(standing) else { return };
    let connection = Arc::clone(&ctx.connection);
    ctx.afterwards(Box::new(move || announce(&connection, method, &params)));
}

fn news(standing: &Standing) -> Option<(&'static str, Value)> {
    let Standing { id, session, .. } = standing;
    if let Some(prompt) = render::current(session) {
        let mut params = json!({ "sessionId": id, "prompt": prompt });
        if let Some(progress) = session.progress() {
            params["progress"] = render::progress(progress);
        }
        return Some(("interaction.prompt", params));
    }
    let result = render::result(session).filter(|_| session.state() != State::Cancelled)?;
    let summary = render::summary(session);
    Some(("interaction.complete", json!({ "sessionId": id, "result": result, "summary": summary })))
}

fn announce(connection: &ConnectionState, method: &str, params: &Value) {
    connection.peer().announce(connection.outbox(), method, params);
}
