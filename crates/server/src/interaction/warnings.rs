//! Telling a client that a session is about to end because its user is silent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use flow::session::{Clerk, Standing, State, Which};
use jiff::Timestamp;
use protocol::encode;
use serde_json::json;
use tokio::sync::Notify;

use super::{owner, pause, push};
use crate::context::Context;
use crate::{Connection, Principal};

/// The earliest that a warning comes.
const AHEAD: Duration = Duration::from_mins(1);

/// The sessions that one connection is to be warned of.
#[derive(Default)]
pub(crate) struct Warnings {
    due: Mutex<HashMap<String, Due>>,
    changed: Arc<Notify>,
}

struct Due {
    at: Timestamp,
    ends: Timestamp,
    whose: Principal,
}

impl Warnings {
    /// A session stands like this now: from here on its end counts anew.
    pub(super) fn watch(&self, ctx: &Context, standing: &Standing) {
        let mut due = self.lock();
        if standing.session.state() != State::WaitingUser || standing.token.is_some() || !push::reaches(ctx) {
            due.remove(&standing.id);
            return;
        }
        let is_first = due.is_empty();
        let before = AHEAD.min(standing.session.timeout() / 5);
        let at = standing.ends.checked_sub(before).unwrap_or(standing.ends);
        let whose = ctx.call.principal.clone();
        due.insert(standing.id.clone(), Due { at, ends: standing.ends, whose });
        drop(due);
        self.changed.notify_waiters();
        if is_first {
            tokio::spawn(warn(Arc::downgrade(&ctx.connection), Arc::clone(&self.changed)));
        }
    }

    /// The time of the next warning. `None`: there is none to come.
    fn next(&self) -> Option<Timestamp> {
        self.lock().values().map(|due| due.at).min()
    }

    /// What is due by now.
    fn take(&self, now: Timestamp) -> Vec<(String, Due)> {
        self.lock().extract_if(|_, due| due.at <= now).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Due>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Warns until there is nothing left to warn of, or nobody.
async fn warn(connection: Weak<Connection>, changed: Arc<Notify>) {
    loop {
        let news = changed.notified();
        let wait = {
            let Some(connection) = connection.upgrade().filter(|connection| !connection.is_ending()) else {
                return;
            };
            let now = connection.app().now();
            for (session, due) in connection.warnings().take(now) {
                tell(&connection, &session, &due).await;
            }
            let Some(next) = connection.warnings().next() else { return };
            Duration::try_from(next.duration_since(now)).unwrap_or_default()
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = news => {}
        }
    }
}

/// Warns of one session, if it really is about to end: it may have gone on over another connection.
async fn tell(connection: &Connection, session: &str, due: &Due) {
    let app = connection.app();
    let Ok(sessions) = app.sessions().await else { return };
    let clerk = Clerk {
        owner: owner(&due.whose),
        clock: &|| app.now(),
        entropy: app.entropy.as_ref(),
        pause: &pause,
        tools: &|_| None,
        progress: &|_| {},
    };
    let standing = sessions.look(&clerk, Which::Id(session)).await;
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
