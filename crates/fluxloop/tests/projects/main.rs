//! The readers against projects that real CLIs wrote (`README.md`), and against broken ones (`damaged/README.md`).

#![expect(clippy::unwrap_used, reason = "a test that fails should stop")]
#![expect(clippy::disallowed_methods, reason = "tests prepare folders")]

mod damaged;
mod generated;
mod valid;

use std::path::{Path, PathBuf};

use fluxloop::project::{DetailLimits, Experiments, FileWarning, FluxloopProjects};
use tree::{Tree, WorkBudget};

const UNLIMITED_DETAIL: DetailLimits = DetailLimits { newest: usize::MAX, bytes: u64::MAX };

fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects").join(name)
}

fn open_tree(path: &Path) -> Tree {
    Tree::open(path).unwrap()
}

/// Everything that can be told of a tree.
struct FixtureReport {
    projects: FluxloopProjects,
    experiments: Experiments,
}

fn read_all(tree: &Tree, inside: &str) -> FixtureReport {
    let projects = FluxloopProjects::find(tree, inside);
    let experiments = projects.experiments(tree, UNLIMITED_DETAIL, &WorkBudget::unlimited());
    FixtureReport { projects, experiments }
}

impl FixtureReport {
    fn warnings(&self) -> impl Iterator<Item = &FileWarning> {
        let of_projects = self.projects.list.iter().flat_map(|project| &project.warnings);
        of_projects.chain(&self.projects.warnings).chain(&self.experiments.warnings)
    }
}
