//! What a process that was killed has left behind in the allowed folders, put right when the next one starts.

use std::sync::Arc;

use codebase::plan;
use flow::Seal;
use tree::Roots;

use crate::App;
use crate::app::plans::PlanAuthor;

impl App {
    /// Puts back plans that were left half done in the allowed folders. Where nothing was, no database is
    /// opened. What cannot be put right now is logged, and tried again by the next call that works there.
    pub async fn recover_interrupted_plans(&self) {
        let roots = Roots::new(Arc::clone(&self.roots));
        // What cannot be read is not known to be in order, and is logged below.
        let needs_it = |root: &&std::path::PathBuf| {
            let tree = roots.open(&root.to_string_lossy());
            tree.is_ok_and(|tree| plan::has_interrupted_plan(&tree).unwrap_or(true))
        };
        let left: Vec<_> = self.roots.iter().filter(needs_it).cloned().collect();
        if left.is_empty() {
            return;
        }
        let Ok(sessions) = self.sessions().await else { return };
        for root in left {
            let root = root.to_string_lossy();
            recover_root(&roots, &root, sessions.seal());
        }
    }
}

fn recover_root(roots: &Roots, root: &str, seal: &Arc<Seal>) {
    let author = PlanAuthor::for_recovery(Arc::clone(seal));
    let cleaned = roots.open(root).ok().map(|tree| plan::recover_and_clean_up(&tree, &author));
    match cleaned {
        Some(Ok(plans)) => {
            for plan in plans {
                tracing::warn!(root, plan, "put back a plan that a killed process had left half done");
            }
        }
        Some(Err(error)) => tracing::warn!(root, %error, "leftovers of a killed process were not cleared"),
        None => {}
    }
}
