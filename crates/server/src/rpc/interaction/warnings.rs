//! Telling a client that a session is about to end because its user is silent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use flow::session::{SessionRef, SessionSnapshot, SessionState};
use jiff::Timestamp;
use protocol::encode;
use serde_json::json;
use tokio::sync::Notify;

use super::env::InteractionEnv;
use super::push;
use crate::Principal;
use crate::connection::state::ConnectionState;
use crate::rpc::context::RequestContext;

/// The earliest that a warning comes.
const MAX_WARNING_LEAD_TIME: Duration = Duration::from_mins(1);

/// The sessions that one connection is to be warned of.
#[derive(Default)]
pub(crate) struct TimeoutWarnings {
    pending: Mutex<PendingWarnings>,
    rescheduled: Arc<Notify>,
}

#[derive(Default)]
struct PendingWarnings {
    sessions: HashMap<String, PendingWarning>,
    /// A task watches them and wakes at this time at the latest.
    next_wakeup: Option<Timestamp>,
}

struct PendingWarning {
    warn_at: Timestamp,
    expires_at: Timestamp,
    principal: Arc<Principal>,
}

impl TimeoutWarnings {
    /// A session stands like this now: from here on its end counts anew.
    pub(super) fn update(&self, ctx: &RequestContext, snapshot: &SessionSnapshot) {
        let mut due = self.lock();
        if snapshot.session.state() != SessionState::WaitingUser
            || snapshot.token.is_some()
            || !push::can_push(ctx)
        {
            due.sessions.remove(&snapshot.id);
            return;
        }
        let before = MAX_WARNING_LEAD_TIME.min(snapshot.session.timeout() / 5);
        let at = snapshot.expires_at.checked_sub(before).unwrap_or(snapshot.expires_at);
        let whose = Arc::clone(&ctx.call.principal);
        due.sessions.insert(
            snapshot.id.clone(),
            PendingWarning { warn_at: at, expires_at: snapshot.expires_at, principal: whose },
        );
        let watched = due.next_wakeup;
        due.next_wakeup = Some(watched.map_or(at, |time| time.min(at)));
        drop(due);
        match watched {
            None => drop(tokio::spawn(run_warnings(
                Arc::downgrade(&ctx.connection),
                Arc::clone(&self.rescheduled),
            ))),
            Some(time) if at < time => self.rescheduled.notify_waiters(),
            // A task that wakes too early waits again: most sessions continue long before that.
            Some(_) => {}
        }
    }

    /// The time of the next warning. `None`: there is none, and the task ends.
    fn next_due(&self) -> Option<Timestamp> {
        let mut due = self.lock();
        due.next_wakeup = due.sessions.values().map(|due| due.warn_at).min();
        due.next_wakeup
    }

    /// What is due by now.
    fn take_due(&self, now: Timestamp) -> Vec<(String, PendingWarning)> {
        self.lock().sessions.extract_if(|_, due| due.warn_at <= now).collect()
    }

    fn lock(&self) -> MutexGuard<'_, PendingWarnings> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends warnings until no session or no client is left.
async fn run_warnings(connection: Weak<ConnectionState>, changed: Arc<Notify>) {
    let Some(ending) = connection.upgrade().map(|connection| connection.closing().clone()) else { return };
    loop {
        let news = changed.notified();
        let wait = {
            let Some(connection) = connection.upgrade() else { return };
            let now = connection.app().now();
            for (session, due) in connection.timeout_warnings().take_due(now) {
                send_warning(&connection, &session, &due).await;
            }
            let Some(next) = connection.timeout_warnings().next_due() else { return };
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
async fn send_warning(connection: &ConnectionState, session: &str, due: &PendingWarning) {
    let app = connection.app();
    let Ok(sessions) = app.sessions().await else { return };
    let env = InteractionEnv::read_only(app, &due.principal);
    let snapshot = sessions.status(&env, SessionRef::Id(session)).await;
    if snapshot
        .is_ok_and(|now| now.expires_at <= due.expires_at && now.session.state() == SessionState::WaitingUser)
    {
        let left = due.expires_at.duration_since(app.now()).as_millis().max(0);
        let params = json!({
            "sessionId": session,
            "expiresAt": due.expires_at.as_millisecond(),
            "remaining": u64::try_from(left).unwrap_or(0),
        });
        connection
            .outbox()
            .send_notification(encode::notification("interaction.timeoutWarning", Some(&params)));
    }
}
