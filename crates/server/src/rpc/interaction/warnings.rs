//! Telling a client that a session is about to end because its user is silent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use flow::session::{Standing, State, Which};
use jiff::Timestamp;
use protocol::encode;
use serde_json::json;
use tokio::sync::Notify;

use super::env::InteractionEnv;
use super::push;
use crate::Principal;
use crate::connection::state::ConnectionState;
use crate::rpc::context::Context;

/// The earliest that a warning comes.
const AHEAD: Duration = Duration::from_mins(1);

/// The sessions that one connection is to be warned of.
#[derive(Default)]
pub(crate) struct Warnings {
    due: Mutex<Dues>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Dues {
    sessions: HashMap<String, Due>,
    /// Somebody sees to them, and looks at them at this time at the latest.
    watched: Option<Timestamp>,
}

struct Due {
    at: Timestamp,
    ends: Timestamp,
    whose: Arc<Principal>,
}

impl Warnings {
    /// A session stands like this now: from here on its end counts anew.
    pub(super) fn watch(&self, ctx: &Context, standing: &Standing) {
        let mut due = self.lock();
        if standing.session.state() != State::WaitingUser || standing.token.is_some() || !push::reaches(ctx) {
            due.sessions.remove(&standing.id);
            return;
        }
        let before = AHEAD.min(standing.session.timeout() / 5);
        let at = standing.ends.checked_sub(before).unwrap_or(standing.ends);
        let whose = Arc::clone(&ctx.call.principal);
        due.sessions.insert(standing.id.clone(), Due { at, ends: standing.ends, whose });
        let watched = due.watched;
        due.watched = Some(watched.map_or(at, |time| time.min(at)));
        drop(due);
        match watched {
            None => drop(tokio::spawn(warn(Arc::downgrade(&ctx.connection), Arc::clone(&self.changed)))),
            Some(time) if at < time => self.changed.notify_waiters(),
            // Whoever looks too early looks again: most sessions go on long before that.
            Some(_) => {}
        }
    }

    /// The time of the next warning. `None`: there is none to come, and nobody waits for one from here on.
    fn next(&self) -> Option<Timestamp> {
        let mut due = self.lock();
        due.watched = due.sessions.values().map(|due| due.at).min();
        due.watched
    }

    /// What is due by now.
    fn take(&self, now: Timestamp) -> Vec<(String, Due)> {
        self.lock().sessions.extract_if(|_, due| due.at <= now).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Dues> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Warns until there is nothing left to warn of, or nobody.
async fn warn(connection: Weak<ConnectionState>, changed: Arc<Notify>) {
    let Some(ending) = connection.upgrade().map(|connection| connection.ending().clone()) else { return };
    loop {
        let news = changed.notified();
        let wait = {
            let Some(connection) = connection.upgrade() else { return };
            let now = connection.app().now();
            for (session, due) in connection.warnings().take(now) {
                tell(&connection, &session, &due).await;
            }
            let Some(next) = connection.warnings().next() else { return };
            Duration::try_from(next.duration_since(now)).unwrap_or_default()
        };
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
            () = news => {}
        }
    }
}

/// Warns of one session, if it really is about to end: it may have gone on over another connection.
async fn tell(connection: &ConnectionState, session: &str, due: &Due) {
    let app = connection.app();
    let Ok(sessions) = app.sessions().await else { return };
    let env = InteractionEnv::read_only(app, &due.whose);
    let standing = sessions.look(&env, Which::Id(session)).await;
    if standing.is_ok_and(|now| now.ends <= due.ends && now.session.state() == State::WaitingUser) {
        let left = due.ends.duration_since(app.now()).as_millis().max(0);
        let params = json!({
            "sessionId": session,
            "expiresAt": due.ends.as_millisecond(),
            "remaining": u64::try_from(left).unwrap_or(0),
        });
        connection.outbox().push(encode::notification("interaction.timeoutWarning", Some(&params)));
    }
}
