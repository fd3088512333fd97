//! The plan that a call is about: sent with it, or stored under its id.

use serde_json::{Map, Value};

use crate::app::plans::{PlanStore, StoredPlan};
use crate::error::{PlanRequestError, RequestError};

/// A plan and the folder it is for.
pub(in crate::tools) struct PlanInput {
    /// The plan to validate: any JSON that a client sent, or exactly what this server proposed.
    pub(in crate::tools) value: Value,
    /// The stored plan, if this is an unchanged plan that this server proposed.
    pub(in crate::tools) stored_plan: Option<StoredPlan>,
    pub(in crate::tools) root: String,
}

impl PlanInput {
    pub(in crate::tools) async fn find(
        plans: &PlanStore<'_>,
        plan_id: Option<&str>,
        plan: Option<&Map<String, Value>>,
        root: Option<&str>,
    ) -> Result<Self, RequestError> {
        let (value, kept) = match (plan_id, plan) {
            (Some(_), Some(_)) => {
                return Err(RequestError::invalid_argument(
                    "plan_id",
                    "pass either `plan_id` or `plan`, not both",
                ));
            }
            (None, None) => {
                return Err(RequestError::invalid_argument("plan_id", "pass `plan_id` or `plan`"));
            }
            (Some(id), None) => {
                let kept = plans.find(id).await?;
                let kept =
                    kept.ok_or_else(|| PlanRequestError::NotFound { id: id.chars().take(80).collect() })?;
                (exact_plan_value(&kept)?, Some(kept))
            }
            (None, Some(sent)) => {
                let id = sent.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
                let kept = match id {
                    Some(id) => plans.find(id).await?,
                    None => None,
                };
                let sent = Value::Object(sent.clone());
                match kept.filter(|kept| super::plan_view::is_own_plan(&kept.plan, &sent)) {
                    Some(kept) => (exact_plan_value(&kept)?, Some(kept)),
                    None => (sent, None),
                }
            }
        };
        let kept_root = kept.as_ref().map(|kept| kept.root.as_str());
        let root = root.or(kept_root).unwrap_or(".").to_owned();
        Ok(Self { value, stored_plan: kept, root })
    }
}

fn exact_plan_value(kept: &StoredPlan) -> Result<Value, RequestError> {
    serde_json::to_value(&kept.plan).map_err(RequestError::internal)
}
