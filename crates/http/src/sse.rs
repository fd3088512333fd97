//! The way of 2024-11-05: `GET /sse` is the stream that everything comes on, `POST /messages` what the client says.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use server::access::Standing;
use server::{Connection, Outbox, Place, Refusal, Rules};

use crate::body::{self, Accepts, Received, Unread};
use crate::caller::Source;
use crate::channel::Channel;
use crate::door::Takes;
use crate::reply::{self, Flow, HangUp, Kept};
use crate::session::{Kind, Session};
use crate::{State, route};

/// Takes a session away when its stream ends.
pub(crate) struct Farewell {
    state: Arc<State>,
    name: String,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        if let Some(session) = self.state.sessions.remove(&self.name) {
            tokio::spawn(async move { session.end(Duration::ZERO).await });
        }
    }
}

pub(crate) async fn open(state: &Arc<State>, source: &Source, request: Request) -> Response {
    let headers = &request.into_parts().0.headers;
    let outcome = async {
        let caller = state.authenticate(source, headers, Takes::KeysAndTokens).await?;
        let principal = caller.principal;
        if !Accepts::of(headers).stream {
            return Err(Refusal::NotAcceptable { offered: "text/event-stream" });
        }
        let seat = state.app.place(&principal, Place::Stream)?;
        let held = (state.app.place(&principal, Place::Session)?, state.metrics.session());
        let channel = Channel::for_stream();
        let outbox = Arc::clone(&channel) as Arc<dyn Outbox>;
        let connection = Connection::new(Arc::clone(&state.app), principal.clone(), Rules::Session, outbox);
        let hang_up = HangUp(Arc::clone(&connection));
        let session = Session::new(Kind::Pair, &principal, connection, Arc::clone(&channel), held);
        // A session with an open stream is in use.
        let in_use = Arc::clone(&session);
        let name = state.sessions.add(&state.app, session)?;
        let greeting = format!("event: endpoint\ndata: /messages?sessionId={name}\n\n");
        let farewell = Farewell { state: Arc::clone(state), name };
        let gauge = state.metrics.stream();
        let kept: Vec<Kept> = vec![
            Box::new(in_use),
            Box::new(seat),
            Box::new(hang_up),
            Box::new(gauge),
            Box::new(farewell),
            Box::new(caller.serving),
        ];
        let pass = Some((Arc::clone(state), state.door.pass(headers)));
        Ok(reply::stream(Flow { head: Some(greeting.into()), pass, kept, ..Flow::of(channel.read_after(0)) }))
    };
    outcome.await.unwrap_or_else(|refusal| route::refuse(state, Rules::Session, refusal))
}

pub(crate) async fn message(state: &Arc<State>, source: &Source, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let outcome = async {
        let caller = state.authenticate(source, &parts.headers, Takes::KeysAndTokens).await?;
        body::check_type(&parts.headers)?;
        let name =
            parts.uri.query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("sessionId="));
        let name = name.ok_or(Refusal::SessionRequired)?;
        let session = state.sessions.find(name, Kind::Pair, &caller.principal)?;
        let received = body::receive(state, &caller, body).await;
        let Received { letter, standing, held: _held } =
            received.map_err(|Unread { refusal, .. }| refusal)?;
        if let Some(Standing { granted: 0, retry_after, .. }) = standing.filter(|_| letter.wants_answer()) {
            return Err(Refusal::RateLimited { retry_after });
        }
        if !session.connection.has_room() || session.is_far_behind() {
            return Err(Refusal::Busy);
        }
        let delivery = body::delivery(session.news(), standing, body::correlation(&parts.extensions));
        session.connection.handle(letter, delivery.by(caller.principal));
        let mut response = reply::empty(StatusCode::ACCEPTED);
        body::tell_standing(&mut response, standing);
        Ok(response)
    };
    outcome.await.unwrap_or_else(|refusal| route::refuse(state, Rules::Session, refusal))
}
