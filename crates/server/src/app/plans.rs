//! Plans that the server has proposed and keeps under their ids: for their owner alone, sealed, for a day.

use std::sync::Arc;
use std::time::Instant;

use access::Principal;
use codebase::plan::{Actor, EditPlan, FileChange, Signer};
use flow::Seal;
use flow::session::{SessionDocuments, SessionOwner, Sessions, StoreError};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ToolContext;
use crate::error::RequestError;
use crate::rpc::context::RequestContext;
use crate::telemetry::request_span;
use crate::tools::visible_plan;

/// How long a plan is kept.
const PLAN_TTL: SignedDuration = SignedDuration::from_hours(24);
/// How many plans a caller has at most; the oldest goes first.
const MAX_PLANS_PER_CALLER: usize = 50;
/// The largest plan that is kept, in bytes. A larger one can still be passed as a whole.
const MAX_PLAN_BYTES: usize = 1 << 20;

/// The kinds of documents.
const PLAN_KIND: &str = "plan";
const INDEX_KIND: &str = "plans";

/// A plan that this server proposed, exactly as it was made.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct StoredPlan {
    pub(crate) plan: EditPlan,
    /// The folder that it was made for.
    pub(crate) root: String,
}

/// A plan in the list of a caller's plans.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct PlanListEntry {
    pub(crate) id: String,
    pub(crate) expires: Timestamp,
}

/// What applying and undoing need to know about a caller; it can go to another thread.
#[derive(Clone)]
pub(crate) struct PlanAuthor {
    principal: Arc<Principal>,
    seal: Arc<Seal>,
    /// Whether another process will be able to verify what this one signs.
    pub(crate) is_persistent: bool,
}

impl PlanAuthor {
    /// One that only verifies journals, on no caller's behalf.
    pub(crate) fn for_recovery(seal: Arc<Seal>) -> Self {
        Self { principal: Principal::local_user(access::Scope::Write).into(), seal, is_persistent: true }
    }

    pub(crate) fn actor(&self) -> Actor<'_> {
        Actor { tenant: self.principal.tenant(), subject: self.principal.subject(), signer: self }
    }
}

impl Signer for PlanAuthor {
    fn sign(&self, purpose: &str, text: &[u8]) -> String {
        self.seal.signature(purpose, text)
    }

    fn verify(&self, purpose: &str, text: &[u8], signature: &str) -> bool {
        self.seal.verify(purpose, text, signature)
    }
}

/// The plans of one caller.
pub(crate) struct PlanStore<'a> {
    call: &'a ToolContext,
    sessions: &'a Sessions,
}

impl<'a> PlanStore<'a> {
    /// The plans of the caller. Opens the store if it is not open yet.
    pub(crate) async fn open(call: &'a ToolContext) -> Result<Self, RequestError> {
        Ok(Self { call, sessions: call.app.sessions().await? })
    }

    pub(crate) fn author(&self) -> PlanAuthor {
        PlanAuthor {
            principal: Arc::clone(&self.call.principal),
            seal: Arc::clone(self.sessions.seal()),
            is_persistent: self.call.app.is_seal_configured || self.sessions.store().is_durable(),
        }
    }

    fn documents(&self) -> SessionDocuments<'_> {
        let owner =
            SessionOwner { tenant: self.call.principal.tenant(), subject: self.call.principal.subject() };
        self.sessions.documents(owner, self.call.entropy.as_ref())
    }

    /// Keeps a plan for this root; says until when. One without edits is not kept, and one that cannot be
    /// kept is still a plan that can be passed as a whole.
    pub(crate) async fn store(&self, plan: &EditPlan, root: &str) -> Option<Timestamp> {
        if plan.edits.is_empty() {
            return None;
        }
        let kept = StoredPlan { plan: plan.clone(), root: root.to_owned() };
        let bytes = serde_json::to_vec(&kept).ok().filter(|bytes| bytes.len() <= MAX_PLAN_BYTES)?;
        let expires = self.call.now.checked_add(PLAN_TTL).ok()?;
        let result = self.insert(&plan.id, &bytes, expires).await;
        if let Err(error) = &result {
            log_store_failure(error);
        }
        result.ok().map(|()| expires)
    }

    async fn insert(&self, id: &str, bytes: &[u8], expires: Timestamp) -> Result<(), StoreError> {
        let (documents, now) = (self.documents(), self.call.now);
        documents.put(PLAN_KIND, id, bytes, now, expires).await?;
        let dropped = std::sync::Mutex::new(Vec::new());
        let change = |index: Option<Vec<u8>>| {
            let mut listed = read_index(index, now);
            listed.retain(|plan| plan.id != id);
            listed.push(PlanListEntry { id: id.to_owned(), expires });
            let excess = listed.len().saturating_sub(MAX_PLANS_PER_CALLER);
            if let Ok(mut dropped) = dropped.lock() {
                *dropped = listed.drain(..excess).map(|plan| plan.id).collect();
            }
            Some((serde_json::to_vec(&listed).unwrap_or_default(), expires))
        };
        documents.update(INDEX_KIND, INDEX_KIND, now, change).await?;
        for id in dropped.into_inner().unwrap_or_default() {
            documents.update(PLAN_KIND, &id, now, |_| None).await?;
        }
        Ok(())
    }

    /// The plan of this id, if the caller has one.
    pub(crate) async fn find(&self, id: &str) -> Result<Option<StoredPlan>, RequestError> {
        let bytes = self
            .documents()
            .get(PLAN_KIND, id, self.call.now)
            .await
            .map_err(RequestError::store_unavailable)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// All plans of the caller, the newest first.
    pub(crate) async fn list(&self) -> Result<Vec<PlanListEntry>, RequestError> {
        let bytes = self
            .documents()
            .get(INDEX_KIND, INDEX_KIND, self.call.now)
            .await
            .map_err(RequestError::store_unavailable)?;
        let mut listed = read_index(bytes, self.call.now);
        listed.reverse();
        Ok(listed)
    }
}

/// The call goes on without it, so this is not the end of a request.
fn log_store_failure(error: &StoreError) {
    let admitted = request_span::current_request()
        .map_or(Some(0), |request| request.throttles().store.admit(Instant::now()));
    if let Some(suppressed) = admitted {
        let error = request_span::error_chain(error);
        request_span::in_request_span(|| tracing::warn!(error, suppressed, "a plan could not be kept"));
    }
}

fn read_index(bytes: Option<Vec<u8>>, now: Timestamp) -> Vec<PlanListEntry> {
    let listed: Option<Vec<PlanListEntry>> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let mut listed = listed.unwrap_or_default();
    listed.retain(|plan| plan.expires > now);
    listed
}

/// Where a plan can be read.
pub(crate) const URI_TEMPLATE: &str = "fluxway://plans/{id}";
const URI_PREFIX: &str = "fluxway://plans/";
/// The tool whose plans are resources: a caller who may not use it may not read them either.
pub(crate) const REQUIRED_TOOL: &str = "propose_edit_plan";

/// A plan as a resource: what its reader may see of it; and the diffs that tools withhold because a changed
/// line holds a secret, since a plan that is to be applied must be seen by the one who decides.
pub(crate) async fn read(ctx: &RequestContext, uri: &str) -> Result<Option<String>, RequestError> {
    let Some(id) = uri.strip_prefix(URI_PREFIX).filter(|_| is_served(ctx)) else { return Ok(None) };
    let Some(StoredPlan { plan, root }) = PlanStore::open(&ctx.call).await?.find(id).await? else {
        return Ok(None);
    };
    let shown = visible_plan(&ctx.call, &plan);
    let is_withheld = |file: &&FileChange| shown.withheld.contains(&file.path);
    let withheld = plan.files.iter().filter(is_withheld);
    let withheld: Vec<Value> = withheld.map(|file| json!({ "path": file.path, "diff": file.diff })).collect();
    Ok(Some(json!({ "root": root, "plan": shown.plan, "withheldDiffs": withheld }).to_string()))
}

/// The ids of the caller's plans.
pub(crate) async fn plan_ids(ctx: &RequestContext) -> Result<Vec<String>, RequestError> {
    if !is_served(ctx) {
        return Ok(Vec::new());
    }
    let listed = PlanStore::open(&ctx.call).await?.list().await?;
    Ok(listed.into_iter().map(|plan| plan.id).collect())
}

fn is_served(ctx: &RequestContext) -> bool {
    ctx.app().catalog().find(REQUIRED_TOOL).is_some()
}
