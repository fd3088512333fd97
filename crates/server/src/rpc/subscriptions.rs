//! News: what changes, and who is told. `subscriptions/listen` for clients without a session, `resources/subscribe` for
//! those with one.

use std::sync::Arc;

use access::Principal;
use protocol::encode;
use protocol::mcp::keys;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use crate::app::project_scope::Changed;
use crate::connection::quotas::Place;
use crate::error::{Failure, Refusal};
use crate::rpc::context::{self, Context};
use crate::rpc::resources::{self, projects};

/// Resources that one client may watch.
const WATCHED: usize = 100;
/// News that may wait for a slow listener. Who falls further behind has missed something.
const BACKLOG: usize = 256;

/// Something that changed.
#[derive(Clone, Debug)]
pub(crate) enum News {
    /// The lists of tools, resources and prompts. All three follow the set of tools, so they change together.
    Lists,
    /// One resource.
    Resource(Arc<str>),
    /// Something of a project, for those who may see it.
    Project { whose: Whose, changed: Changed },
    /// Nobody knows what: whoever is told this looks at everything again.
    Missed,
}

/// Whose something is.
#[derive(Clone, Debug)]
pub(crate) struct Whose {
    pub(crate) tenant: Arc<str>,
    pub(crate) project: Arc<str>,
}

impl Whose {
    /// Whether somebody may know of it.
    fn is_visible_to(&self, principal: &Principal) -> bool {
        principal.tenant() == &*self.tenant && principal.project().is_none_or(|only| only == &*self.project)
    }
}

/// Where news is told.
pub(crate) fn channel() -> broadcast::Sender<News> {
    broadcast::Sender::new(BACKLOG)
}

/// The next news; `None` when there will be no more.
pub(crate) async fn next(news: &mut broadcast::Receiver<News>) -> Option<News> {
    match news.recv().await {
        Ok(news) => Some(news),
        Err(broadcast::error::RecvError::Lagged(_)) => Some(News::Missed),
        Err(broadcast::error::RecvError::Closed) => None,
    }
}

/// A notification and its parameters.
type Notice = (&'static str, Map<String, Value>);

/// What a client may hear of.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Interests {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_subscriptions: Vec<String>,
}

impl Interests {
    /// All lists.
    pub(crate) const LISTS: Self = Self {
        tools_list_changed: true,
        resources_list_changed: true,
        prompts_list_changed: true,
        resource_subscriptions: Vec::new(),
    };

    /// The notifications that tell of this news, with their parameters.
    pub(crate) fn notices(&self, news: &News, listener: &Principal) -> Vec<Notice> {
        match news {
            News::Lists => self.lists().collect(),
            News::Missed => self.lists().chain(self.updates(|_| true)).collect(),
            News::Resource(uri) => self.updates(|one| *one == **uri).collect(),
            News::Project { whose, .. } if !whose.is_visible_to(listener) => Vec::new(),
            News::Project { whose, changed } => {
                // Names stand in the list.
                let is_listed = matches!(changed, Changed::List | Changed::Name | Changed::Everything);
                let list = ("notifications/resources/list_changed", Map::new());
                let list = Some(list).filter(|_| is_listed && self.resources_list_changed);
                self.updates(|one| projects::tells_of(one, &whose.project, changed)).chain(list).collect()
            }
        }
    }

    /// The notifications for the lists.
    fn lists(&self) -> impl Iterator<Item = Notice> {
        let lists = [
            (self.tools_list_changed, "notifications/tools/list_changed"),
            (self.resources_list_changed, "notifications/resources/list_changed"),
            (self.prompts_list_changed, "notifications/prompts/list_changed"),
        ];
        lists.into_iter().filter(|(wanted, _)| *wanted).map(|(_, method)| (method, Map::new()))
    }

    /// The notifications for the watched resources that have changed.
    fn updates(&self, has_changed: impl Fn(&str) -> bool) -> impl Iterator<Item = Notice> {
        let changed = self.resource_subscriptions.iter().filter(move |uri| has_changed(uri));
        let notice = |uri: &String| {
            ("notifications/resources/updated", Map::from_iter([("uri".to_owned(), json!(uri))]))
        };
        changed.map(notice)
    }

    /// Watches a resource too. `false`: these are too many.
    pub(crate) fn watch(&mut self, uri: String) -> bool {
        let is_new = !self.resource_subscriptions.contains(&uri);
        if is_new && self.resource_subscriptions.len() < WATCHED {
            self.resource_subscriptions.push(uri);
            return true;
        }
        !is_new
    }

    /// Watches it no longer.
    pub(crate) fn forget(&mut self, uri: &str) {
        self.resource_subscriptions.retain(|one| one != uri);
    }
}

#[derive(Deserialize)]
struct Listen {
    notifications: Interests,
}

/// Stays open until the client cancels it or the connection ends.
pub(crate) async fn listen(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let Listen { notifications: mut interests } = context::params(params, &["notifications"])?;
    if !ctx.call.outlet.outbox().carries_news() {
        return Err(Refusal::NotAcceptable { offered: "text/event-stream" }.into());
    }
    let _seat = ctx.app().place(&ctx.call.principal, Place::Stream)?;
    // Before anything is looked up: what changes meanwhile is heard.
    let mut news = ctx.app().news();
    // What is not offered is left out of the acknowledgement, which is how the client learns of it.
    interests.resource_subscriptions.truncate(WATCHED);
    let mut offered = Vec::new();
    for uri in std::mem::take(&mut interests.resource_subscriptions) {
        if resources::exists(ctx, &uri).await? {
            offered.push(uri);
        }
    }
    interests.resource_subscriptions = offered;
    let meta = json!({ keys::SUBSCRIPTION_ID: ctx.id });
    push(
        ctx,
        "notifications/subscriptions/acknowledged",
        &json!({ "_meta": meta, "notifications": interests }),
    );
    loop {
        let news = tokio::select! {
            () = ctx.connection.ending().cancelled() => break,
            () = ctx.app().closing.cancelled() => break,
            news = next(&mut news) => news,
        };
        let Some(news) = news else { break };
        for (method, mut params) in interests.notices(&news, &ctx.call.principal) {
            params.insert("_meta".to_owned(), meta.clone());
            push(ctx, method, &params);
        }
    }
    let info = &ctx.app().info;
    let mut meta = json!({ "io.modelcontextprotocol/serverInfo": info });
    meta[keys::SUBSCRIPTION_ID] = json!(ctx.id);
    Ok(encode::result(&ctx.id, &json!({ "resultType": "complete", "_meta": meta })))
}

fn push(ctx: &Context, method: &str, params: &impl Serialize) {
    ctx.call.outlet.push(encode::notification(method, Some(params)));
}

#[derive(Deserialize)]
struct Watched {
    uri: String,
}

/// `resources/subscribe`.
pub(crate) async fn subscribe(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let Watched { uri } = context::params(params, &["uri"])?;
    if !resources::exists(ctx, &uri).await? {
        return Err(Failure::MissingResource { uri: uri.chars().take(512).collect() });
    }
    if ctx.session().interests(|interests| interests.watch(uri)) {
        Ok(ctx.result(&json!({})))
    } else {
        Err(Failure::params("uri", format!("{WATCHED} resources are watched already; forget one first")))
    }
}

/// `resources/unsubscribe`.
pub(crate) fn unsubscribe(ctx: &Context, params: Map<String, Value>) -> Result<Vec<u8>, Failure> {
    let Watched { uri } = context::params(params, &["uri"])?;
    ctx.session().interests(|interests| interests.forget(&uri));
    Ok(ctx.result(&json!({})))
}
