//! News: what changes, and who is told. `subscriptions/listen` for clients without a session,
//! `resources/subscribe` for those with one.

use std::sync::Arc;

use access::Principal;
use protocol::encode;
use protocol::mcp::keys;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use crate::app::project_scope::ProjectChange;
use crate::connection::quotas::QuotaKind;
use crate::error::{RequestError, RequestRejection};
use crate::rpc::context::{self, RequestContext};
use crate::rpc::resources::{self, projects};

/// Resources that one client may watch.
const MAX_SUBSCRIPTIONS: usize = 100;
/// News that may wait for a slow listener. Who falls further behind has missed something.
const CHANGE_BUFFER_CAPACITY: usize = 256;

/// Something that changed.
#[derive(Clone, Debug)]
pub(crate) enum ChangeEvent {
    /// The lists of tools, resources and prompts. All three follow the set of tools, so they change together.
    Lists,
    /// One resource.
    Resource(Arc<str>),
    /// Something of a project, for those who may see it.
    Project { project: ChangedProject, change: ProjectChange },
    /// Unknown: a subscriber should read everything again.
    Lagged,
}

/// Whose something is.
#[derive(Clone, Debug)]
pub(crate) struct ChangedProject {
    pub(crate) tenant: Arc<str>,
    pub(crate) project: Arc<str>,
}

impl ChangedProject {
    /// Whether the caller may be notified of it.
    fn is_visible_to(&self, principal: &Principal) -> bool {
        principal.tenant() == &*self.tenant && principal.project().is_none_or(|only| only == &*self.project)
    }
}

/// Where news is told.
pub(crate) fn channel() -> broadcast::Sender<ChangeEvent> {
    broadcast::Sender::new(CHANGE_BUFFER_CAPACITY)
}

/// The next news; `None` when there will be no more.
pub(crate) async fn next_change(news: &mut broadcast::Receiver<ChangeEvent>) -> Option<ChangeEvent> {
    match news.recv().await {
        Ok(news) => Some(news),
        Err(broadcast::error::RecvError::Lagged(_)) => Some(ChangeEvent::Lagged),
        Err(broadcast::error::RecvError::Closed) => None,
    }
}

/// A notification and its parameters.
type ChangeNotification = (&'static str, Map<String, Value>);

/// What a client may hear of.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SubscriptionFilter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_subscriptions: Vec<String>,
}

impl SubscriptionFilter {
    /// All lists.
    pub(crate) const ALL_LISTS: Self = Self {
        tools_list_changed: true,
        resources_list_changed: true,
        prompts_list_changed: true,
        resource_subscriptions: Vec::new(),
    };

    /// The notifications that tell of this news, with their parameters.
    pub(crate) fn notifications_for(
        &self,
        news: &ChangeEvent,
        listener: &Principal,
    ) -> Vec<ChangeNotification> {
        match news {
            ChangeEvent::Lists => self.list_notifications().collect(),
            ChangeEvent::Lagged => {
                self.list_notifications().chain(self.update_notifications(|_| true)).collect()
            }
            ChangeEvent::Resource(uri) => self.update_notifications(|one| *one == **uri).collect(),
            ChangeEvent::Project { project: whose, .. } if !whose.is_visible_to(listener) => Vec::new(),
            ChangeEvent::Project { project: whose, change: changed } => {
                // Names stand in the list.
                let is_listed =
                    matches!(changed, ProjectChange::List | ProjectChange::Name | ProjectChange::Everything);
                let list = ("notifications/resources/list_changed", Map::new());
                let list = Some(list).filter(|_| is_listed && self.resources_list_changed);
                self.update_notifications(|one| projects::is_affected_by(one, &whose.project, changed))
                    .chain(list)
                    .collect()
            }
        }
    }

    /// The notifications for the lists.
    fn list_notifications(&self) -> impl Iterator<Item = ChangeNotification> {
        let lists = [
            (self.tools_list_changed, "notifications/tools/list_changed"),
            (self.resources_list_changed, "notifications/resources/list_changed"),
            (self.prompts_list_changed, "notifications/prompts/list_changed"),
        ];
        lists.into_iter().filter(|(wanted, _)| *wanted).map(|(_, method)| (method, Map::new()))
    }

    /// The notifications for the watched resources that have changed.
    fn update_notifications(
        &self,
        has_changed: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = ChangeNotification> {
        let changed = self.resource_subscriptions.iter().filter(move |uri| has_changed(uri));
        let notice = |uri: &String| {
            ("notifications/resources/updated", Map::from_iter([("uri".to_owned(), json!(uri))]))
        };
        changed.map(notice)
    }

    /// Watches a resource too. `false`: these are too many.
    pub(crate) fn add_resource(&mut self, uri: String) -> bool {
        let is_new = !self.resource_subscriptions.contains(&uri);
        if is_new && self.resource_subscriptions.len() < MAX_SUBSCRIPTIONS {
            self.resource_subscriptions.push(uri);
            return true;
        }
        !is_new
    }

    /// Watches it no longer.
    pub(crate) fn remove_resource(&mut self, uri: &str) {
        self.resource_subscriptions.retain(|one| one != uri);
    }
}

#[derive(Deserialize)]
struct ListenParams {
    notifications: SubscriptionFilter,
}

/// Stays open until the client cancels it or the connection ends.
pub(crate) async fn listen(
    ctx: &RequestContext,
    params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let ListenParams { notifications: mut interests } = context::parse_params(params, &["notifications"])?;
    if !ctx.call.notifier.outbox().supports_notifications() {
        return Err(RequestRejection::NotAcceptable { offered: "text/event-stream" }.into());
    }
    let _seat = ctx.app().acquire_permit(&ctx.call.principal, QuotaKind::Stream)?;
    // Before anything is looked up: what changes meanwhile is heard.
    let mut news = ctx.app().subscribe_changes();
    // What is not offered is left out of the acknowledgement, which is how the client learns of it.
    interests.resource_subscriptions.truncate(MAX_SUBSCRIPTIONS);
    let mut offered = Vec::new();
    for uri in std::mem::take(&mut interests.resource_subscriptions) {
        if resources::exists(ctx, &uri).await? {
            offered.push(uri);
        }
    }
    interests.resource_subscriptions = offered;
    let meta = json!({ keys::SUBSCRIPTION_ID: ctx.id });
    send_notification(
        ctx,
        "notifications/subscriptions/acknowledged",
        &json!({ "_meta": meta, "notifications": interests }),
    );
    loop {
        let news = tokio::select! {
            () = ctx.connection.closing().cancelled() => break,
            () = ctx.app().shutdown.cancelled() => break,
            news = next_change(&mut news) => news,
        };
        let Some(news) = news else { break };
        for (method, mut params) in interests.notifications_for(&news, &ctx.call.principal) {
            params.insert("_meta".to_owned(), meta.clone());
            send_notification(ctx, method, &params);
        }
    }
    let info = &ctx.app().info;
    let mut meta = json!({ "io.modelcontextprotocol/serverInfo": info });
    meta[keys::SUBSCRIPTION_ID] = json!(ctx.id);
    Ok(encode::result(&ctx.id, &json!({ "resultType": "complete", "_meta": meta })))
}

fn send_notification(ctx: &RequestContext, method: &str, params: &impl Serialize) {
    ctx.call.notifier.send_notification(encode::notification(method, Some(params)));
}

#[derive(Deserialize)]
struct SubscribeParams {
    uri: String,
}

/// `resources/subscribe`.
pub(crate) async fn subscribe(
    ctx: &RequestContext,
    params: Map<String, Value>,
) -> Result<Vec<u8>, RequestError> {
    let SubscribeParams { uri } = context::parse_params(params, &["uri"])?;
    if !resources::exists(ctx, &uri).await? {
        return Err(RequestError::MissingResource { uri: uri.chars().take(512).collect() });
    }
    if ctx.session().with_subscriptions(|interests| interests.add_resource(uri)) {
        Ok(ctx.result(&json!({})))
    } else {
        Err(RequestError::invalid_params(
            "uri",
            format!("{MAX_SUBSCRIPTIONS} resources are watched already; forget one first"),
        ))
    }
}

/// `resources/unsubscribe`.
pub(crate) fn unsubscribe(ctx: &RequestContext, params: Map<String, Value>) -> Result<Vec<u8>, RequestError> {
    let SubscribeParams { uri } = context::parse_params(params, &["uri"])?;
    ctx.session().with_subscriptions(|interests| interests.remove_resource(&uri));
    Ok(ctx.result(&json!({})))
}
