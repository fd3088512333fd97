//! Edits that create or update the FluxLoop configuration of a project.

use codebase::plan::{Anchor, Edit, Payload, Setting, Strategy};
use serde_json::{Value, json};
use tree::Tree;

use crate::layout::{self, FluxloopLayout};
use crate::release_line::ReleaseLine;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunnerConfig {
    Function {
        /// `module:function`.
        target: String,
        /// Folder the module is imported from, relative to the repository root; `None`: the project's folder.
        folder: Option<String>,
    },
    /// A program that reads and writes JSON lines. Only 0.4 supports it.
    Process { command: Vec<String> },
}

/// A FluxLoop project (0.2) or scenario (0.3, 0.4).
pub(crate) struct ProjectConfig<'a> {
    pub(crate) release_line: ReleaseLine,
    pub(crate) name: &'a str,
    pub(crate) runner: &'a RunnerConfig,
    /// The first input of a new project.
    pub(crate) sample_input: String,
}

pub(crate) fn create_file_edit(path: String, content: String, why: &str) -> Edit {
    Edit {
        filepath: path,
        strategy: Strategy::CreateFile,
        anchors: Vec::<Anchor>::new(),
        payload: Payload { code: Some(content), ..Payload::default() },
        rationale: why.to_owned(),
        changes: Vec::new(),
    }
}

impl ProjectConfig<'_> {
    /// Creates the project, or points the runner of an existing one at the agent.
    pub(crate) fn edits(&self, tree: &Tree, layout: &FluxloopLayout) -> Vec<Edit> {
        match layout.projects.iter().find(|(name, _)| name == self.name) {
            Some((_, folder)) => self.update_edits(tree, folder),
            None => self.create_edits(),
        }
    }

    fn create_edits(&self) -> Vec<Edit> {
        let folder = self.release_line.project_folder(self.name);
        let simulation = create_file_edit(
            format!("{folder}/configs/simulation.yaml"),
            self.render_simulation(),
            "Tells FluxLoop what to run and with which inputs.",
        );
        let inputs = || {
            create_file_edit(
                format!("{folder}/inputs/inputs.yaml"),
                format!("inputs:\n  - input: {}\n", json!(self.sample_input)),
                "A sample input to start with; add your own.",
            )
        };
        let head = |file: &str| {
            let path = format!("{folder}/configs/{file}");
            create_file_edit(
                path,
                format!("name: {}\n", self.name),
                "This FluxLoop release line does not start without this file.",
            )
        };
        match self.release_line {
            ReleaseLine::V02 => vec![head("project.yaml"), simulation, inputs()],
            ReleaseLine::V03 => vec![head("scenario.yaml"), simulation, inputs()],
            ReleaseLine::V04 => vec![simulation],
        }
    }

    /// The keys of `runner`, in the order that is easiest to read in the generated file.
    fn runner_keys(&self) -> Vec<(&'static str, Value)> {
        let mut keys = Vec::new();
        match self.runner {
            RunnerConfig::Function { target, folder } => {
                if self.release_line == ReleaseLine::V04 {
                    keys.push(("type", json!("function")));
                }
                keys.push(("target", json!(target)));
                let folder = match folder {
                    Some(folder) => self.release_line.working_directory(folder),
                    None => self.release_line.project_working_directory(self.name),
                };
                keys.push(("working_directory", json!(folder)));
            }
            RunnerConfig::Process { command } => {
                keys.push(("type", json!("process")));
                keys.push(("command", json!(command)));
            }
        }
        keys
    }

    fn render_simulation(&self) -> String {
        let runner: Vec<String> = self
            .runner_keys()
            .into_iter()
            .map(|(key, value)| format!("  {key}: {}\n", value.to_string().replace(",\"", ", \"")))
            .collect();
        let inputs = match self.release_line {
            ReleaseLine::V02 | ReleaseLine::V03 => "inputs_file: inputs/inputs.yaml\n".to_owned(),
            ReleaseLine::V04 => format!("input:\n  items:\n    - text: {}\n", json!(self.sample_input)),
        };
        let head = format!("name: {}\niterations: 1\nrunner:\n", self.name);
        [head, runner.concat(), inputs].concat()
    }

    fn update_edits(&self, tree: &Tree, folder: &str) -> Vec<Edit> {
        let inside =
            |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
        let path = inside("configs/simulation.yaml");
        let text = tree
            .read(&path, 1 << 20)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .unwrap_or_default();
        let setting = |key: &str, value: Value| Setting {
            key: key.split('.').map(str::to_owned).collect(),
            value,
            append: false,
        };
        let mut set: Vec<Setting> = self
            .runner_keys()
            .into_iter()
            .map(|(key, value)| setting(&format!("runner.{key}"), value))
            .collect();
        // Generated files also contain the older form of the target, `module_path` and `function_name`, and
        // the CLI displays that one: update it too, or the CLI would show the previous target.
        if let RunnerConfig::Function { target, .. } = self.runner
            && let Some((module, function)) = target.split_once(':')
            && text.contains("module_path:")
        {
            set.push(setting("runner.module_path", json!(module)));
            set.push(setting("runner.function_name", json!(function)));
        }
        let named = layout::find_inputs_file(tree, folder);
        let needs_inputs = self.release_line != ReleaseLine::V04;
        if needs_inputs && named.is_none() {
            set.push(setting("inputs_file", json!("inputs/inputs.yaml")));
        }
        let mut edits = vec![Edit {
            filepath: path,
            strategy: Strategy::ModifyConfig,
            anchors: Vec::new(),
            payload: Payload { set, ..Payload::default() },
            rationale: "Points this project's runner at the agent; the rest of the file is unchanged."
                .to_owned(),
            changes: Vec::new(),
        }];
        let inputs = inside(named.as_deref().unwrap_or("inputs/inputs.yaml"));
        if needs_inputs && tree.metadata(&inputs).is_ok_and(|found| found.is_none()) {
            let content = format!("inputs:\n  - input: {}\n", json!(self.sample_input));
            edits.push(create_file_edit(
                inputs,
                content,
                "The project references this file and does not run without it.",
            ));
        }
        edits
    }
}
