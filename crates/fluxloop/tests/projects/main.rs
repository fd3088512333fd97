//! The readers against projects that real CLIs wrote (`README.md`), and against broken ones (`damaged/README.md`).

#![expect(clippy::unwrap_used, reason = "a test that fails should stop")]
#![expect(clippy::disallowed_methods, reason = "tests prepare folders")]

mod damaged;
mod made;
mod sound;

use std::path::{Path, PathBuf};

use fluxloop::project::{Detail, Experiments, Projects, Warning};
use tree::{Budget, Tree};

const ALL: Detail = Detail { newest: usize::MAX, bytes: u64::MAX };

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects").join(name)
}

fn open(path: &Path) -> Tree {
    Tree::open(path).unwrap()
}

/// Everything that can be told of a tree.
struct Told {
    projects: Projects,
    experiments: Experiments,
}

fn told(tree: &Tree, inside: &str) -> Told {
    let projects = Projects::find(tree, inside);
    let experiments = projects.experiments(tree, ALL, &Budget::unlimited());
    Told { projects, experiments }
}

impl Told {
    fn warnings(&self) -> impl Iterator<Item = &Warning> {
        let of_projects = self.projects.list.iter().flat_map(|project| &project.warnings);
        of_projects.chain(&self.projects.warnings).chain(&self.experiments.warnings)
    }
}
